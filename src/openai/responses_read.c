/* responses_read.c -- what can be asked about a response: itself, as a stream, its input, and how many tokens an input has. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "ask/flight.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/sse.h"
#include "openai/events.h"
#include "openai/response_object.h"
#include "openai/responses_int.h"
#include "openai/shape.h"
#include "openai/store.h"
#include "openai/turn.h"

enum { STREAM_MAX = 200 << 20, INCLUDES_MAX = 16 };

/* ---- include ---- */

/* The next "name=value" of a query; false: there is none. */
static bool next_pair(struct str *query, struct str *ret)
{
    if (query->len == 0)
        return false;
    const char *end = memchr(query->ptr, '&', query->len);
    size_t len = end ? (size_t)(end - query->ptr) : query->len;
    *ret = (struct str){query->ptr, len};
    len += end ? 1 : 0;
    *query = (struct str){query->ptr + len, query->len - len};
    return true;
}

/* Appends its value if it is one of `include`. */
static int take_include(struct str pair, json_t *out)
{
    scoped(buf_done) struct buf text = BUF_INIT(256);
    struct err ignored = {0};
    if (http_decode(pair, /* is_form= */ true, &text, &ignored) || text.failed || !text.bytes)
        return 0;
    const char *value = strchr(text.bytes, '=');
    size_t len = value ? (size_t)(value - text.bytes) : 0;
    /* "include", "include[]", "include[0]" */
    if (len < 7 || memcmp(text.bytes, "include", 7) != 0 || (len > 7 && text.bytes[7] != '['))
        return 0;
    json_t *v = json_string(value + 1);
    return v ? json_array_append_new(out, v) : 0;
}

int responses_include(struct oa_call *o, bool *ret_has_outputs, struct err *e)
{
    scoped(json_decrefp) json_t *include = json_array();
    struct str query = o->c->request->query, pair;
    struct refusal r;
    bool wants = false;
    while (next_pair(&query, &pair) && json_array_size(include) < INCLUDES_MAX)
        if (take_include(pair, include))
            return err_set(e, ERR_NO_MEMORY, "read a request");
    if (oa_include_check(include, "include", &wants, &r))
        return oa_fail(o, e, ERR_INVALID, r.param, r.code, "%s", r.message);
    *ret_has_outputs = wants || o->oa->o.has_outputs;
    return 0;
}

/* ---- retrieve ---- */

/* The number of the event after which the client wants to hear on; -1: from the beginning. */
static int starting_after(struct oa_call *o, int64_t *ret, struct err *e)
{
    char text[24];
    uint64_t n;
    struct err why = {0};
    *ret = -1;
    if (oa_query(o, "starting_after", text, sizeof text, e))
        return -1;
    if (!*text)
        return 0;
    if (parse_u64(text, 0, INT32_MAX, &n, &why))
        return oa_fail(o, e, ERR_INVALID, "starting_after", "invalid_type",
                       "Invalid type for 'starting_after': expected an integer.");
    *ret = (int64_t)n;
    return 0;
}

struct replay {
    struct buf out;
    struct oa_events events;
    int64_t after;
};

static void emit_again(void *arg, const char *event, struct str data)
{
    struct replay *again = arg;
    if ((int64_t)again->events.next > again->after)
        sse_event(&again->out, /* id= */ 0, event, data.ptr, data.len);
}

/* Nobody remembers the events: they are made again from what is kept. */
static int stream_again(struct oa_call *o, const struct oa_stored *s, int64_t after,
                        bool has_outputs, struct err *e)
{
    scoped(json_decrefp) json_t *shown = oa_response_shown(s->object, has_outputs);
    struct replay again = {.out = BUF_INIT(STREAM_MAX), .after = after};
    again.events.emit = emit_again;
    again.events.arg = &again;
    if (!shown)
        return err_set(e, ERR_NO_MEMORY, "tell of a response");
    oa_events_again(&again.events, shown, s->events > 0 ? s->events - 1 : 0);
    oa_events_done(&again.events);
    int failed = buf_check(&again.out, e);
    if (!failed) {
        o->c->is_answered = true;
        failed = http_send(o->c->x, 200, "text/event-stream; charset=utf-8", again.out.bytes,
                           again.out.len, e);
    }
    buf_done(&again.out);
    return failed;
}

static int stream(struct oa_call *o, const struct oa_stored *s, bool has_outputs, struct err *e)
{
    int64_t after;
    if (starting_after(o, &after, e))
        return -1;
    struct oa_turn *t = s->flight ? flight_arg(s->flight) : NULL;
    if (t && t->is_told)
        return flight_stream(s->flight, o->c, (uint64_t)(after + 1), /* is_owner= */ false, e);
    return stream_again(o, s, after, has_outputs, e);
}

int responses_retrieve(struct oa_call *o, struct err *e)
{
    scoped(oa_stored_done) struct oa_stored s = {0};
    char wants[8];
    bool has_outputs;
    if (responses_include(o, &has_outputs, e) || oa_query(o, "stream", wants, sizeof wants, e) ||
        responses_find(o, &s, e))
        return -1;
    if (strcmp(wants, "true") == 0 || strcmp(wants, "1") == 0)
        return stream(o, &s, has_outputs, e);
    return responses_shown(o, s.object, has_outputs, e);
}

/* ---- pages of items ---- */

static size_t index_of(const json_t *items, const char *id)
{
    size_t i, count = json_array_size(items);
    for (i = 0; i < count; i++)
        if (shape_is(json_array_get(items, i), "id", id))
            break;
    return i;
}

int responses_page(struct oa_call *o, const struct json_t *items, bool has_outputs, struct err *e)
{
    struct oa_page page;
    size_t count = json_array_size(items), skip = 0;
    if (oa_page(o, 20, 100, &page, e))
        return -1;
    if (*page.after) {
        size_t at = index_of(items, page.after);
        if (at == count)
            return oa_fail(o, e, ERR_INVALID, "after", "invalid_value",
                           "Invalid 'after': there is no item '%.64s'.", page.after);
        skip = page.is_ascending ? at + 1 : count - at;
    }
    json_t *data = json_array();
    for (size_t i = skip; i < count && i - skip < page.limit; i++) {
        const json_t *item = json_array_get(items, page.is_ascending ? i : count - 1 - i);
        if (json_array_append_new(data, oa_item_shown(item, has_outputs))) {
            json_decref(data);
            return err_set(e, ERR_NO_MEMORY, "list items");
        }
    }
    return oa_answer_list(o, data, skip + page.limit < count, e);
}

int responses_input_items(struct oa_call *o, struct err *e)
{
    scoped(oa_stored_done) struct oa_stored s = {0};
    bool has_outputs;
    if (responses_include(o, &has_outputs, e) || responses_find(o, &s, e))
        return -1;
    return responses_page(o, s.input, has_outputs, e);
}

/* ---- tokens ---- */

enum { BYTES_OF_A_TOKEN = 4, TOKENS_OF_AN_IMAGE = 765 };

/* About how many: each model counts in its own way. */
static uint64_t count_tokens(const json_t *v)
{
    uint64_t sum = 0;
    size_t i;
    const char *key;
    json_t *one;
    if (json_is_string(v)) {
        if (strncmp(json_string_value(v), "data:image/", 11) == 0)
            return TOKENS_OF_AN_IMAGE;
        return (json_string_length(v) + BYTES_OF_A_TOKEN - 1) / BYTES_OF_A_TOKEN;
    }
    json_array_foreach((json_t *)v, i, one) sum += count_tokens(one);
    json_object_foreach((json_t *)v, key, one)
    {
        if (strcmp(key, "id") != 0 && strcmp(key, "status") != 0)
            sum += count_tokens(one);
    }
    return sum;
}

int responses_input_tokens(struct oa_call *o, struct err *e)
{
    struct oa_request q;
    struct oa_turn *t;
    if (oa_body(o, e))
        return -1;
    (void)json_object_del(o->json, "personality"); /* how it is said, not what */
    if (responses_read(o, &q, e))
        return -1;
    q.has_code = false; /* nothing is run, and no container is needed */
    if (oa_turn_new(o, &q, &t, e))
        return -1;
    const uint64_t sum = count_tokens(t->items) +
                         count_tokens(json_object_get(t->q.body, "instructions")) +
                         count_tokens(json_object_get(t->q.body, "tools"));
    oa_turn_free(t);
    return oa_answer_take(
        o,
        json_pack("{s:s, s:I}", "object", "response.input_tokens", "input_tokens", (json_int_t)sum),
        e);
}
