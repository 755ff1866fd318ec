/* record.c -- cards of answers and what is on them. */
#include <stdio.h>
#include <string.h>

#include "ask/answer.h"
#include "ask/flight.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/object.h"
#include "workspace/people.h"
#include "json/write.h"

const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

uint64_t number_at(const json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));
    return v > 0 ? (uint64_t)v : 0;
}

static int add_piece(const char *bytes, size_t len, void *out)
{
    buf_add(out, bytes, len);
    return 0;
}

void put_json(struct buf *out, const json_t *value)
{
    if (json_dump_callback(value, add_piece, out, JSON_COMPACT | JSON_ENCODE_ANY))
        out->failed = true;
}

json_t *time_json(int64_t wall_us)
{
    scoped(buf_done) struct buf text = BUF_INIT(256);
    struct json_writer w = JSON_WRITER(&text);
    jw_object(&w);
    object_time(&w, "t", wall_us);
    jw_end_object(&w);
    scoped(json_freep) json_t *object = json_loadb(text.bytes ? text.bytes : "", text.len, 0, NULL);
    json_t *time = json_object_get(object, "t");
    return time ? json_incref(time) : json_null();
}

/* ---- reading ---- */

void record_done(struct record *r)
{
    card_done(&r->card);
    json_decref(r->body);
    *r = (struct record){0};
}

int record_read(const struct card *card, json_t **ret, struct err *e)
{
    json_error_t why;
    *ret = json_loadb(card->body, card->body_len, JSON_ALLOW_NUL, &why); /* written here */
    if (*ret && json_is_object(json_object_get(*ret, "answer")))
        return 0;
    json_decref(*ret);
    *ret = NULL;
    return err_set(e, ERR_DAMAGED, "the record of answer %s", card->id);
}

int record_load(struct ask *a, const struct who *who, const char *id, struct record *ret,
                struct err *e)
{
    struct record r = {0};
    if (card_get(a->o.cards, who->is_admin ? NULL : who->principal, CARD_ANSWER, id, &r.card, e))
        return -1;
    if (record_read(&r.card, &r.body, e)) {
        card_done(&r.card);
        return -1;
    }
    *ret = r;
    return 0;
}

static bool is_running(const struct record *r)
{
    return strcmp(text_at(json_object_get(r->body, "answer"), "status"), "running") == 0;
}

static bool is_in_flight(struct ask *a, const struct card *card)
{
    struct flight *f = flight_find(a->o.flights, card->principal, card->id);
    bool goes_on = f && !flight_is_over(f);
    flight_unref(f);
    return goes_on;
}

const char answer_stopped[] =
    "the server was stopped before it was answered: ask again; what its code wrote by then is in "
    "the workspace";

/* The server ended under it. */
static void tell_lost(json_t *object)
{
    (void)json_object_set_new(object, "status", json_string("done"));
    (void)json_object_set_new(object, "end", json_string("failed"));
    (void)json_object_set_new(
        object, "error",
        json_pack("{s:s, s:s}", "code", err_wire(ERR_UNAVAILABLE), "message", answer_stopped));
}

int record_load_settled(struct ask *a, const struct who *who, const char *id, struct record *ret,
                        struct err *e)
{
    if (record_load(a, who, id, ret, e))
        return -1;
    if (!is_running(ret) || is_in_flight(a, &ret->card))
        return 0;
    record_done(ret); /* it may have ended in between: what it is now counts */
    if (record_load(a, who, id, ret, e))
        return -1;
    if (is_running(ret))
        tell_lost(json_object_get(ret->body, "answer"));
    return 0;
}

/* ---- writing ---- */

int record_save(struct ask *a, const struct card *card, json_t *body, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(RECORD_MAX);
    struct card now = *card;
    put_json(&text, body);
    if (buf_check(&text, e))
        return err_wrap(e, "keep answer %s", card->id);
    now.name = text_at(json_object_get(body, "answer"), "session_id");
    now.used_us = clock_wall_us();
    now.body = text.bytes;
    now.body_len = text.len;
    return card_update(a->o.cards, &now, e);
}
