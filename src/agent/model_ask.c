/* One question: what is sent, what comes back, and when it is tried again. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "agent/halt.h"
#include "agent/model_int.h"
#include "agent/model_read.h"
#include "agent/model_sse.h"
#include "agent/model_trouble.h"
#include "agent/model_write.h"
#include "base/err.h"
#include "base/scope.h"

/* One try of a question. */
struct attempt {
    struct model *m;
    const struct model_question *q;
    struct model_reader reader;
    struct model_sse sse;
    struct buf body; /* of what is not a stream */
    int status;
    unsigned without; /* what it was not sent */
    unsigned found;   /* what else the endpoint may not take */
    bool is_stream, has_begun;
    bool has_err; /* from within: err is why */
    struct err err;
};

/* ---- what comes ---- */

static int take_event(void *arg, struct str text, struct err *e)
{
    struct attempt *a = arg;
    return a->m->api == MODEL_CHAT ? chat_event(&a->reader, text, e)
                                   : responses_event(&a->reader, text, e);
}

static int on_head(void *arg, int status, const char *type)
{
    struct attempt *a = arg;
    (void)type; /* not everybody says what it is; the first byte does */
    a->status = status;
    a->body.max = status == 200 ? MODEL_BODY_MAX : MODEL_ERROR_MAX;
    return 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* JSON and pages begin in a way that no event does. */
static void look(struct attempt *a, struct str bytes)
{
    for (size_t i = 0; i < bytes.len && !a->has_begun; i++) {
        a->has_begun = !is_blank(bytes.ptr[i]);
        a->is_stream = a->status == 200 && !strchr("{[<", bytes.ptr[i]);
    }
}

static int on_bytes(void *arg, struct str bytes)
{
    struct attempt *a = arg;
    const struct model_sse_sink sink = {.put = take_event, .arg = a};
    if (!a->has_begun)
        look(a, bytes);
    if (a->is_stream) {
        a->has_err = model_sse_feed(&a->sse, bytes, &sink, &a->err) != 0;
        return a->has_err ? -1 : 0;
    }
    if (a->status != 200 && bytes.len > a->body.max - a->body.len)
        bytes.len = a->body.max - a->body.len;
    buf_add(&a->body, bytes.ptr, bytes.len);
    if (a->body.failed)
        a->has_err = err_set(&a->err, ERR_PROTOCOL, "the model's answer is longer than %d MiB",
                             MODEL_BODY_MAX >> 20) != 0;
    return a->body.failed ? -1 : 0;
}

/* ---- what came of it ---- */

static void note_trouble(struct model_answer *ret, const struct model_trouble *t)
{
    ret->status = t->status;
    memcpy(ret->code, t->code, sizeof ret->code);
    memcpy(ret->type, t->type, sizeof ret->type);
}

/* It ended as HTTP says it should, with 200. */
static int complete(struct attempt *a, struct err *e)
{
    const struct model_sse_sink sink = {.put = take_event, .arg = a};
    const struct str body = {a->body.bytes ? a->body.bytes : "", a->body.len};
    if (a->is_stream || !a->has_begun)
        return model_sse_end(&a->sse, &sink, e);
    return a->m->api == MODEL_CHAT ? chat_whole(&a->reader, body, e)
                                   : responses_whole(&a->reader, body, e);
}

/* What the endpoint may not take, from its refusal; 0: nothing new, it is not to be asked again for that. */
static unsigned learn(const struct model_trouble *t, unsigned without)
{
    static const struct {
        enum model_without bit;
        const char *name;
    } wishes[] = {
        {WITHOUT_STREAM_OPTIONS, "stream_options"},
        {WITHOUT_PARALLEL, "parallel_tool_calls"},
        {WITHOUT_MAX_TOKENS, "max_completion_tokens"},
        {WITHOUT_STORE, "store"},
    };
    unsigned found = 0;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++)
        if (!(without & wishes[i].bit) && model_trouble_names(t, wishes[i].name))
            found |= wishes[i].bit;
    return found;
}

enum what_next { DONE, FAILED, AGAIN_LATER, AGAIN_NOW };

static enum what_next refused(struct attempt *a, struct model_answer *ret, struct err *e)
{
    struct model_trouble t;
    model_trouble_read((struct str){a->body.bytes, a->body.len}, a->m->key, &t);
    t.status = a->status;
    note_trouble(ret, &t);
    (void)model_trouble_say(&t, e);
    a->found = learn(&t, a->without);
    if (a->found)
        return AGAIN_NOW;
    if (json_array_size(a->q->tools) > 0 && model_trouble_is_tools(&t)) {
        ret->lacks_tools = true;
        return FAILED;
    }
    return model_trouble_passes(&t) ? AGAIN_LATER : FAILED;
}

static enum what_next judge(struct attempt *a, const struct line_end *end, struct model_answer *ret,
                            struct err *e)
{
    struct model_reader *r = &a->reader;
    if (end->how == LINE_HALTED || end->how == LINE_ENDLESS)
        return model_silence(a->m, end, e), FAILED;
    if (!a->has_err && end->how == LINE_COMPLETE && a->status != 200)
        return refused(a, ret, e);
    if (!a->has_err && end->how == LINE_COMPLETE)
        a->has_err = complete(a, &a->err) != 0;
    if (a->has_err) {
        *e = a->err;
        if (r->has_failed)
            note_trouble(ret, &r->trouble);
        return r->has_failed && !r->has_passed ? AGAIN_LATER : FAILED;
    }
    if (r->has_end)
        return model_reader_end(r, e) ? FAILED : DONE;
    (void)model_silence(a->m, end, e);
    return r->has_passed ? FAILED : AGAIN_LATER;
}

/* ---- asking ---- */

static int write_question(struct model *m, const struct model_question *q, unsigned without,
                          struct buf *out, struct err *e)
{
    const struct model_manner manner = {.name = q->model && *q->model ? q->model : m->name,
                                        .has_images = m->has_images,
                                        .without = without};
    return m->api == MODEL_CHAT ? chat_request(q, &manner, out, e)
                                : responses_request(q, &manner, out, e);
}

static void answer_init(struct model_answer *a)
{
    *a = (struct model_answer){.text = BUF_INIT(MODEL_TEXT_MAX),
                               .reasoning = BUF_INIT(MODEL_TEXT_MAX),
                               .refusal = BUF_INIT(MODEL_TEXT_MAX)};
}

/* A question, through all its tries. */
struct asking {
    struct model *m;
    struct line *line;
    const char *url;
    const struct model_question *q;
    const struct model_sink *sink;
    struct halt *halt;
    uint32_t asked_ms; /* for how long it asked to be left alone */
    unsigned
        found; /* what it may not take: only this question knows, until that proves to be true */
};

/* A word in a refusal may be the client's own. Only when it was left out and the refusals ended it is known for others, too. */
static void keep_found(struct asking *k, const struct attempt *a)
{
    k->found |= a->found;
    if (a->status == 200 && k->found)
        atomic_fetch_or_explicit(&k->m->without, k->found, memory_order_relaxed);
}

static enum what_next ask_once(struct asking *k, struct model_answer *ret, struct err *e)
{
    struct model *m = k->m;
    scoped(buf_done) struct buf request = BUF_INIT(MODEL_REQUEST_MAX);
    unsigned known = atomic_load_explicit(&m->without, memory_order_relaxed);
    struct attempt a = {
        .m = m, .q = k->q, .sse = MODEL_SSE(MODEL_EVENT_MAX), .without = known | k->found};
    struct line_end end;
    if (write_question(m, k->q, a.without, &request, e))
        return FAILED;
    const struct line_request r = {.url = k->url,
                                   .headers = m->headers,
                                   .body = {request.bytes, request.len},
                                   .silence_ms = m->timeout_ms,
                                   .whole_ms = m->whole_ms};
    const struct line_sink line_sink = {.head = on_head, .bytes = on_bytes, .arg = &a};
    model_reader_init(&a.reader, m->key, k->sink, ret);
    line_perform(k->line, &r, &line_sink, k->halt, &end);
    k->asked_ms = end.retry_after_ms;
    enum what_next next = judge(&a, &end, ret, e);
    keep_found(k, &a);
    model_sse_done(&a.sse);
    buf_done(&a.body);
    return next;
}

static void count(atomic_ullong *what, uint64_t more)
{
    atomic_fetch_add_explicit(what, more, memory_order_relaxed);
}

static void count_answer(struct model *m, const struct model_answer *a, bool is_done)
{
    count(is_done ? &m->counts.answered : &m->counts.failed, 1);
    count(&m->counts.tries, a->tries);
    count(&m->counts.input, a->usage.input);
    count(&m->counts.output, a->usage.output);
}

void model_look(struct model *m, struct model_info *ret)
{
    *ret = (struct model_info){.answered = m->counts.answered,
                               .failed = m->counts.failed,
                               .tries = m->counts.tries,
                               .input = m->counts.input,
                               .output = m->counts.output};
}

static enum what_next ask_until(struct asking *k, struct model_answer *ret, struct err *e)
{
    enum what_next next = AGAIN_NOW;
    unsigned tries = 0, failures = 0;
    while (next == AGAIN_NOW || next == AGAIN_LATER) {
        model_answer_done(ret);
        next = ask_once(k, ret, e);
        ret->tries = ++tries;
        if (next == AGAIN_LATER && ++failures > k->m->retries)
            next = FAILED;
        if (next == AGAIN_LATER &&
            line_pause(k->line, model_pause_ms(failures, k->asked_ms), k->halt)) {
            (void)err_set(e, ERR_GONE, "the question to the model was called off");
            next = FAILED;
        }
    }
    return next;
}

int model_ask(struct model *m, const struct model_question *q, const struct model_sink *sink,
              struct halt *halt, struct model_answer *ret, struct err *e)
{
    scoped(freep) char *url = NULL;
    scoped(line_closep) struct line *l = NULL;
    answer_init(ret);
    if (model_address(m, m->api == MODEL_CHAT ? "chat/completions" : "responses", &url, e) ||
        !(l = lines_get(&m->lines, e)))
        return -1;
    struct asking k = {.m = m, .line = l, .url = url, .q = q, .sink = sink, .halt = halt};
    enum what_next next = ask_until(&k, ret, e);
    lines_give(&m->lines, take(l));
    count_answer(m, ret, next == DONE);
    return next == DONE ? 0 : -1;
}

void model_answer_done(struct model_answer *a)
{
    for (size_t i = 0; i < a->call_count; i++) {
        free(a->calls[i].id);
        free(a->calls[i].name);
        buf_done(&a->calls[i].arguments);
    }
    free(a->calls);
    buf_done(&a->text);
    buf_done(&a->reasoning);
    buf_done(&a->refusal);
    answer_init(a);
}
