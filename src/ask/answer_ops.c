/* answer_ops.c -- answers that there are: shown, listed, forgotten, called off, followed, exported, verified. */
#include <stdio.h>
#include <string.h>

#include "agent/halt.h"
#include "api/inner.h"
#include "api/native_ask.h"
#include "api/op.h"
#include "ask/answer.h"
#include "ask/flight.h"
#include "ask/transcript.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/sse.h"

enum { EXPORT_MAX = 128 << 20 };

static void flight_unrefp(struct flight **f)
{
    flight_unref(*f);
}

static int show(struct call *c, const struct record *r, struct err *e)
{
    put_json(&c->out, json_object_get(r->body, "answer"));
    return buf_check(&c->out, e);
}

static int get(struct ask *a, struct call *c, struct err *e)
{
    scoped(record_done) struct record r = {0};
    return record_load_settled(a, &c->who, c->param[0], &r, e) || show(c, &r, e) ? -1 : 0;
}

/* Ends it if it goes on, and waits for that. */
static void call_off(struct ask *a, const struct card *card)
{
    scoped(flight_unrefp) struct flight *f = flight_find(a->o.flights, card->principal, card->id);
    if (!f || flight_is_over(f))
        return;
    halt_now(flight_halt(f));
    flight_wait(f, /* c= */ NULL);
}

static int cancel(struct ask *a, struct call *c, struct err *e)
{
    scoped(record_done) struct record r = {0};
    if (record_load(a, &c->who, c->param[0], &r, e))
        return -1;
    call_off(a, &r.card);
    return get(a, c, e);
}

static int forget(struct ask *a, struct call *c, struct err *e)
{
    scoped(record_done) struct record r = {0};
    if (record_load(a, &c->who, c->param[0], &r, e))
        return -1;
    call_off(a, &r.card);
    return card_delete(a->o.cards, r.card.principal, CARD_ANSWER, r.card.id, e);
}

/* ---- lists ---- */

/* One at a time, as records may be large: only what is shown of them stays. */
static int list_one(struct ask *a, struct call *c, const char *after, json_t *data,
                    char ret_id[ID_SIZE], bool *ret_has_more, struct err *e)
{
    const struct answers_args *in = c->query;
    const struct card_filter filter = {.principal = c->who.principal,
                                       .kind = CARD_ANSWER,
                                       .name = in->session,
                                       .after = after,
                                       .limit = 1};
    struct card_rows rows;
    scoped(record_done) struct record r = {0};
    if (card_list(a->o.cards, &filter, &rows, e))
        return -1;
    *ret_has_more = rows.has_more && rows.count > 0;
    bool is_there = rows.count > 0;
    if (is_there)
        memcpy(ret_id, rows.items[0].id, ID_SIZE);
    card_rows_done(&rows);
    if (!is_there)
        return 0;
    struct err gone = {0};
    if (record_load_settled(a, &c->who, ret_id, &r, &gone))
        return 0; /* deleted in between */
    return json_array_append(data, json_object_get(r.body, "answer"))
               ? err_set(e, ERR_NO_MEMORY, "list answers")
               : 0;
}

static int list(struct ask *a, struct call *c, struct err *e)
{
    const struct answers_args *in = c->query;
    scoped(json_freep) json_t *page = json_pack("{s:[]}", "data");
    json_t *data = json_object_get(page, "data");
    char last[ID_SIZE] = "";
    bool has_more = true;
    const char *after = in->cursor;
    for (int64_t i = 0; i < in->limit && has_more; i++) {
        if (list_one(a, c, after, data, last, &has_more, e))
            return -1;
        after = *last ? last : after;
    }
    (void)json_object_set_new(page, "has_more", json_boolean(has_more));
    (void)json_object_set_new(page, "next_cursor", has_more ? json_string(last) : json_null());
    put_json(&c->out, page);
    return buf_check(&c->out, e);
}

/* ---- events ---- */

/* Of one that ended long ago there is the last. */
int answer_tell_last(struct call *c, const struct record *r, uint64_t seen, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(RECORD_MAX);
    uint64_t number = number_at(r->body, "events") + 1;
    put_json(&text, json_object_get(r->body, "answer"));
    if (buf_check(&text, e))
        return -1;
    c->type = "text/event-stream";
    http_add_header(c->x, "Cache-Control", "no-store");
    if (seen < number)
        sse_event(&c->out, number, "answer.done", text.bytes, text.len);
    return buf_check(&c->out, e);
}

static int follow(struct ask *a, struct call *c, struct err *e)
{
    scoped(record_done) struct record r = {0};
    uint64_t seen = 0;
    if (last_event_id(c, &seen, e) || record_load(a, &c->who, c->param[0], &r, e))
        return -1;
    scoped(flight_unrefp) struct flight *f = flight_find(a->o.flights, r.card.principal, r.card.id);
    if (f)
        return flight_stream(f, c, seen, /* is_owner= */ false, e);
    record_done(&r);
    return record_load_settled(a, &c->who, c->param[0], &r, e) || answer_tell_last(c, &r, seen, e)
               ? -1
               : 0;
}

/* ---- as a document ---- */

static int export(struct ask *a, struct call *c, struct err *e)
{
    static const struct {
        const char *type, *ending;
    } formats[] = {{"text/markdown; charset=utf-8", "md"},
                   {"application/x-ipynb+json", "ipynb"},
                   {"application/json", "json"}};
    const struct transcript_args *in = c->query;
    scoped(record_done) struct record r = {0};
    scoped(buf_done) struct buf text = BUF_INIT(EXPORT_MAX);
    if (record_load_settled(a, &c->who, c->param[0], &r, e))
        return -1;
    if (in->format == TRANSCRIPT_MARKDOWN)
        transcript_markdown(r.body, &text);
    else if (in->format == TRANSCRIPT_NOTEBOOK)
        transcript_notebook(r.body, &text);
    else
        put_json(&text, r.body);
    if (buf_check(&text, e))
        return -1;
    http_add_header(c->x, "Content-Disposition", "attachment; filename=\"answer.%s\"",
                    formats[in->format].ending);
    c->is_answered = true;
    return http_send(c->x, 200, formats[in->format].type, text.bytes, text.len, e);
}

/* ---- once more ---- */

static void hang_up(void *halt)
{
    halt_now(halt);
}

static int verify(struct ask *a, struct call *c, struct err *e)
{
    scoped(record_done) struct record r = {0};
    struct halt halt;
    if (record_load_settled(a, &c->who, c->param[0], &r, e))
        return -1;
    json_t *object = json_object_get(r.body, "answer");
    if (strcmp(text_at(object, "status"), "running") == 0)
        return err_set(e, ERR_BUSY, "it is still being answered; wait for its end");
    const struct verify_from from = {.who = &c->who, .request = c->id, .halt = &halt};
    halt_init(&halt);
    http_on_hangup(c->x, hang_up, &halt);
    int failed = answer_verify(a, &from, object, json_object_get(r.body, "runs"), e);
    http_on_hangup(c->x, NULL, NULL);
    halt_done(&halt);
    return failed || record_save(a, &r.card, r.body, e) || show(c, &r, e) ? -1 : 0;
}

int answer_op(struct ask *a, int op, struct call *c, struct err *e)
{
    switch ((enum ask_op)op) {
    case ASK_CREATE: return answer_make(a, c, e);
    case ASK_LIST: return list(a, c, e);
    case ASK_GET: return get(a, c, e);
    case ASK_DELETE: return forget(a, c, e);
    case ASK_CANCEL: return cancel(a, c, e);
    case ASK_EVENTS: return follow(a, c, e);
    case ASK_TRANSCRIPT: return export(a, c, e);
    case ASK_VERIFY: return verify(a, c, e);
    }
    return err_set(e, ERR_INTERNAL, "no such operation of answers");
}
