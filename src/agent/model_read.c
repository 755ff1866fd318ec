#include "agent/model_read.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/id.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "json/read.h"

void model_reader_init(struct model_reader *r, const char *key, const struct model_sink *sink,
                       struct model_answer *a)
{
    assert(strlen(key) <= MODEL_KEY_MAX);
    *r = (struct model_reader){.key = key, .secret = model_secret(key), .sink = sink, .a = a};
}

/* Some endpoints cut characters in two and send the halves. */
static int read_cleaned(struct str text, struct json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf clean = BUF_INIT(3 * text.len + 1);
    utf8_clean(text.ptr, text.len, &clean);
    if (buf_check(&clean, e))
        return -1;
    return json_read(clean.bytes ? clean.bytes : "", clean.len, ret, e);
}

int reader_json(struct str text, struct json_t **ret, struct err *e)
{
    struct err why = {0};
    int failed = json_read(text.ptr, text.len, ret, &why);
    if (failed && !utf8_is_valid(text.ptr, text.len))
        failed = read_cleaned(text, ret, &why);
    if (failed)
        return err_set(e, ERR_PROTOCOL, "the model's endpoint answers with what is %s", why.text);
    return 0;
}

int reader_trouble(struct model_reader *r, const struct json_t *root, struct err *e)
{
    if (!json_is_object(root) && !json_is_array(root))
        return err_set(e, ERR_PROTOCOL, "the model's endpoint answers with no object");
    if (!model_trouble_find(root, r->key, &r->trouble))
        return 0;
    r->has_failed = true;
    return model_trouble_say(&r->trouble, e);
}

void reader_name(struct model_reader *r, const struct json_t *name)
{
    const size_t max = sizeof r->a->name - 1;
    const char *text = json_string_value(name);
    if (!text || *r->a->name)
        return;
    size_t len = strlen(text) <= max ? strlen(text) : utf8_cut(text, max);
    memcpy(r->a->name, text, len);
    r->a->name[len] = '\0';
}

/* ---- texts ---- */

static int gone(struct err *e)
{
    return err_set(e, ERR_GONE, "nobody wants the model's answer any more");
}

static int too_long(struct err *e)
{
    return err_set(e, ERR_PROTOCOL, "the model's answer is longer than %d MiB; ask for less",
                   MODEL_TEXT_MAX >> 20);
}

static int pass_arguments(struct model_reader *r, size_t index, struct str delta, struct err *e)
{
    if (delta.len == 0)
        return 0;
    r->has_passed = true;
    return r->sink && r->sink->arguments && r->sink->arguments(r->sink->arg, index, delta) ? gone(e)
                                                                                           : 0;
}

static int too_long_or_gone(bool is_too_long, struct err *e)
{
    return is_too_long ? too_long(e) : gone(e);
}

static int deliver_text(struct model_reader *r, struct buf *to, int (*fn)(void *, struct str),
                        struct str text, struct err *e)
{
    buf_add(to, text.ptr, text.len);
    r->has_passed = true;
    return to->failed || (fn && fn(r->sink->arg, text)) ? too_long_or_gone(to->failed, e) : 0;
}

static int deliver_arguments(struct model_reader *r, size_t index, struct str delta, struct err *e)
{
    struct buf *to = &r->a->calls[index].arguments;
    buf_add(to, delta.ptr, delta.len);
    if (to->failed)
        return too_long(e);
    return r->is_told[index] ? pass_arguments(r, index, delta, e) : 0;
}

static int deliver(struct model_reader *r, struct str text, struct err *e)
{
    const struct model_sink *s = r->sink;
    if (text.len == 0)
        return 0;
    switch (r->channel) {
    case READER_TEXT: return deliver_text(r, &r->a->text, s ? s->text : NULL, text, e);
    case READER_THOUGHT: return deliver_text(r, &r->a->reasoning, s ? s->reasoning : NULL, text, e);
    case READER_REFUSAL: return deliver_text(r, &r->a->refusal, s ? s->refusal : NULL, text, e);
    default: return deliver_arguments(r, (size_t)(r->channel - READER_CALL), text, e);
    }
}

int reader_flush(struct model_reader *r, struct err *e)
{
    const struct str held = {r->held, r->held_len};
    r->held_len = 0;
    return deliver(r, held, e);
}

/* What an endpoint says may show our key, in pieces: what could be its beginning waits for what follows. */
static int feed(struct model_reader *r, int channel, struct str text, struct err *e)
{
    if (text.len == 0 || (r->channel != channel && reader_flush(r, e)))
        return text.len == 0 ? 0 : -1;
    r->channel = channel;
    if (!*r->secret)
        return deliver(r, text, e);
    scoped(buf_done) struct buf joined = BUF_INIT(2 * MODEL_TEXT_MAX);
    scoped(buf_done) struct buf masked = BUF_INIT(4 * MODEL_TEXT_MAX);
    buf_add(&joined, r->held, r->held_len);
    buf_add(&joined, text.ptr, text.len);
    if (joined.failed)
        return too_long(e);
    const size_t keep = model_key_begun((struct str){joined.bytes, joined.len}, r->secret);
    model_mask((struct str){joined.bytes, joined.len - keep}, r->secret, &masked);
    if (masked.failed)
        return too_long(e);
    memcpy(r->held, joined.bytes + joined.len - keep, keep);
    r->held_len = keep;
    return deliver(r, (struct str){masked.bytes ? masked.bytes : "", masked.len}, e);
}

static int put(struct model_reader *r, int channel, const json_t *delta, struct err *e)
{
    return json_is_string(delta)
               ? feed(r, channel, (struct str){json_string_value(delta), json_string_length(delta)},
                      e)
               : 0;
}

int reader_text(struct model_reader *r, const struct json_t *delta, struct err *e)
{
    return put(r, READER_TEXT, delta, e);
}

int reader_reasoning(struct model_reader *r, const struct json_t *delta, struct err *e)
{
    return put(r, READER_THOUGHT, delta, e);
}

int reader_refusal(struct model_reader *r, const struct json_t *delta, struct err *e)
{
    return put(r, READER_REFUSAL, delta, e);
}

/* ---- calls ---- */

int reader_find(const struct model_reader *r, int64_t key)
{
    for (size_t i = r->a->call_count; i-- > 0;)
        if (r->keys[i] == key)
            return (int)i;
    return -1;
}

int reader_begin(struct model_reader *r, int64_t key, size_t *ret, struct err *e)
{
    struct model_answer *a = r->a;
    if (a->call_count == MODEL_CALLS_MAX)
        return err_set(e, ERR_PROTOCOL, "the model calls more than %d functions at once",
                       MODEL_CALLS_MAX);
    if (!a->calls && !(a->calls = calloc(MODEL_CALLS_MAX, sizeof *a->calls)))
        return err_set(e, ERR_NO_MEMORY, "read the model's calls");
    a->calls[a->call_count].arguments = BUF_INIT(MODEL_TEXT_MAX);
    r->keys[a->call_count] = key;
    *ret = a->call_count++;
    return 0;
}

/* Sets it once; what comes later is a repetition. */
static int set_once(char **to, const json_t *value, size_t max, struct err *e)
{
    size_t len = json_string_length(value);
    if (*to || !json_is_string(value) || len == 0)
        return 0;
    if (len > max || strlen(json_string_value(value)) != len)
        return err_set(e, ERR_PROTOCOL,
                       "the model's endpoint gives a call a name of %zu bytes, or with NULs in it",
                       len);
    *to = strdup(json_string_value(value));
    return *to ? 0 : err_set(e, ERR_NO_MEMORY, "read the model's calls");
}

/* The sink hears of a call when its name is known, and then of all its arguments up to now. */
static int announce(struct model_reader *r, size_t index, struct err *e)
{
    struct model_call *c = &r->a->calls[index];
    char id[ID_SIZE];
    if (!c->id && (id_make("call_", id, e) || !(c->id = strdup(id))))
        return err_set(e, ERR_NO_MEMORY, "name the model's call");
    r->is_told[index] = r->has_passed = true;
    if (r->sink && r->sink->call && r->sink->call(r->sink->arg, index, c->id, c->name))
        return gone(e);
    return pass_arguments(
        r, index, (struct str){c->arguments.bytes ? c->arguments.bytes : "", c->arguments.len}, e);
}

static int add_arguments(struct model_reader *r, size_t index, const json_t *value, struct err *e)
{
    scoped(freep) char *made = NULL;
    struct str delta = {json_string_value(value), json_string_length(value)};
    if (json_is_object(value) || json_is_array(value)) {
        if (!(made = json_dumps(value, JSON_COMPACT)))
            return err_set(e, ERR_NO_MEMORY, "read the model's calls");
        delta = str_of(made);
    }
    return feed(r, READER_CALL + (int)index, delta, e);
}

int reader_call(struct model_reader *r, size_t index, const struct json_t *id,
                const struct json_t *name, const struct json_t *arguments, struct err *e)
{
    struct model_call *c = &r->a->calls[index];
    if (set_once(&c->id, id, MODEL_ID_MAX, e) || set_once(&c->name, name, MODEL_NAME_MAX, e) ||
        add_arguments(r, index, arguments, e))
        return -1;
    return c->name && !r->is_told[index] ? announce(r, index, e) : 0;
}

int model_reader_end(struct model_reader *r, struct err *e)
{
    struct model_answer *a = r->a;
    if (reader_flush(r, e))
        return -1;
    for (size_t i = 0; i < a->call_count; i++) {
        if (r->is_told[i])
            continue;
        if (!a->calls[i].name && !(a->calls[i].name = strdup("")))
            return err_set(e, ERR_NO_MEMORY, "read the model's calls");
        if (announce(r, i, e))
            return -1;
    }
    if (a->call_count > 0 && a->finish == MODEL_STOP) /* some say so although there are calls */
        a->finish = MODEL_CALLS;
    if (a->call_count == 0 && a->finish == MODEL_CALLS)
        a->finish = MODEL_STOP;
    return 0;
}
