/* answer_make.c -- from a request to a card and a flight. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/inner.h"
#include "api/native_ask.h"
#include "api/native_call.h"
#include "api/op.h"
#include "ask/answer.h"
#include "ask/flight.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/once.h"

static const char no_model[] =
    "For Ollama on this machine: CICADA_MODEL_URL=http://127.0.0.1:11434/v1 and CICADA_MODEL_NAME=qwen3 (or any "
    "model that `ollama list` shows).\nFor a hosted API: CICADA_MODEL_URL=https://api.openai.com/v1, CICADA_MODEL_KEY=sk-... and "
    "CICADA_MODEL_NAME=gpt-4.1.\nSet them in the environment of `cicada serve`, or as url, key and name below [model] in its "
    "configuration file; then start it again.";

static void drop_json(json_t **value)
{
    json_decref(*value);
    *value = NULL;
}

static void drop_text(char **text)
{
    free(*text);
    *text = NULL;
}

void answer_lighten(struct answer *a)
{
    marks_done(&a->marks);
    drop_text(&a->instructions);
    drop_text(&a->said);
    drop_json(&a->asked);
    drop_json(&a->past);
    drop_json(&a->items);
    drop_json(&a->runs);
}

void answer_free(void *arg)
{
    struct answer *a = arg;
    if (!a)
        return;
    answer_lighten(a);
    caller_free(a->caller);
    free(a->model);
    json_decref(a->object);
    free(a);
}

static void flight_unrefp(struct flight **f)
{
    flight_unref(*f);
}

static void answer_freep(struct answer **a)
{
    answer_free(*a);
}

/* ---- what was asked ---- */

/* A path of the workspace, as it is known there; ERR_NOT_FOUND when it is not. */
static int check_file(struct answer *a, struct call *c, const char *path, json_t *files,
                      struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    const char *clean = native_clean(path);
    native_workspace(&n, a->hands.workspace);
    native_text(&n, "/files/");
    native_path(&n, clean);
    native_query(&n, "stat", "true");
    if (native_perform(&n, c, /* k= */ NULL, "ask", e))
        return err_wrap(e, "files: %.200s", clean);
    return json_array_append_new(files, json_string(clean)) ? err_set(e, ERR_NO_MEMORY, "files")
                                                            : 0;
}

static int check_files(struct answer *a, struct call *c, const struct json_texts *named,
                       struct err *e)
{
    json_t *files = json_array();
    if (!files || json_object_set_new(a->asked, "files", files))
        return err_set(e, ERR_NO_MEMORY, "files");
    for (size_t i = 0; i < named->count; i++)
        if (check_file(a, c, named->items[i], files, e))
            return -1;
    return 0;
}

/* The question, with the files it is about in front. */
static int write_question(struct answer *a, const char *question, struct err *e)
{
    const json_t *files = json_object_get(a->asked, "files");
    struct buf text = BUF_INIT(4 << 20);
    size_t i;
    json_t *one;
    if (json_array_size(files) > 0)
        buf_str(&text, "Files this is about:\n");
    json_array_foreach(files, i, one)
    {
        buf_fmt(&text, "/mnt/data/%s\n", json_string_value(one));
    }
    buf_fmt(&text, "%s%s", i > 0 ? "\n" : "", question);
    if (buf_check(&text, e)) {
        buf_done(&text);
        return -1;
    }
    a->said = buf_take(&text, NULL);
    return json_object_set_new(a->asked, "said", json_string(a->said))
               ? err_set(e, ERR_NO_MEMORY, "read the question")
               : 0;
}

static int copy(char **to, const char *text, struct err *e)
{
    *to = text ? strdup(text) : NULL;
    return text && !*to ? err_set(e, ERR_NO_MEMORY, "read the question") : 0;
}

static uint64_t least(uint64_t ours, uint64_t theirs)
{
    return theirs > 0 && (ours == 0 || theirs < ours) ? theirs : ours;
}

static int take_wishes(struct answer *a, struct call *c, struct err *e)
{
    const struct question_args *in = c->in;
    uint32_t calls = a->ask->o.limits.calls_max ? a->ask->o.limits.calls_max : AGENT_CALLS;
    a->limits = a->ask->o.limits;
    a->limits.calls_max = (uint32_t)least(calls, in->max_runs > 0 ? (uint64_t)in->max_runs : 0);
    a->limits.tokens_max =
        least(a->limits.tokens_max, in->max_tokens > 0 ? (uint64_t)in->max_tokens : 0);
    a->timeout_ms = in->timeout_s;
    a->searches = in->search;
    a->verifies = in->verify;
    a->is_background = in->background;
    a->asked = json_pack("{s:s?, s:b}", "instructions", in->instructions, "search", in->search);
    if (!a->asked)
        return err_set(e, ERR_NO_MEMORY, "read the question");
    return past_load(a, c, in->workspace, in->session, e) || check_files(a, c, &in->files, e) ||
                   write_question(a, in->question, e) || copy(&a->model, in->model, e) ||
                   copy(&a->instructions, in->instructions, e)
               ? -1
               : 0;
}

/* ---- the answer ---- */

static json_t *first_object(const struct answer *a, const char *question)
{
    return json_pack("{s:s, s:s, s:n, s:s, s:s, s:s?, s:s, s:s?, s:[], s:[], s:[], s:[], s:[], s:n,"
                     " s:{s:i, s:i, s:i, s:i}, s:n, s:o, s:n}",
                     "id", a->card.id, "status", "running", "end", "question", question, "answer",
                     "", "session_id", *a->hands.session ? a->hands.session : NULL, "workspace_id",
                     a->hands.workspace, "model", a->model, "runs", "files", "figures", "citations",
                     "unknown_marks", "verification", "usage", "input_tokens", 0, "output_tokens",
                     0, "total_tokens", 0, "questions", 0, "error", "created_at",
                     time_json(a->card.created_us), "duration_ms");
}

static int begin(struct answer *a, struct call *c, struct err *e)
{
    const struct question_args *in = c->in;
    a->begun_us = clock_us();
    a->hands.via = "ask";
    a->card.kind = CARD_ANSWER;
    a->card.created_us = a->card.used_us = clock_wall_us();
    memcpy(a->card.principal, c->who.principal, ID_SIZE);
    if (card_make_id("ans_", a->card.id, e) || take_wishes(a, c, e) || caller_new(c, &a->caller, e))
        return -1;
    a->hands.caller = a->caller;
    a->object = first_object(a, in->question);
    a->items = json_array();
    a->runs = json_array();
    return a->object && a->items && a->runs ? 0 : err_set(e, ERR_NO_MEMORY, "answer a question");
}

static int insert(struct answer *a, struct err *e)
{
    scoped(json_freep) json_t *record = answer_record(a);
    scoped(buf_done) struct buf text = BUF_INIT(RECORD_MAX);
    struct card card = a->card;
    if (!record)
        return err_set(e, ERR_NO_MEMORY, "answer a question");
    put_json(&text, record);
    if (buf_check(&text, e))
        return -1;
    card.name = a->hands.session;
    card.body = text.bytes;
    card.body_len = text.len;
    return card_insert(a->ask->o.cards, &card, ANSWERS_MAX, e);
}

/* ---- who waits for it ---- */

static int show(struct call *c, struct flight *f, struct err *e)
{
    const struct answer *a = flight_arg(f);
    put_json(&c->out, a->object);
    return buf_check(&c->out, e);
}

static int show_object(struct call *c, const json_t *object, int status, struct err *e)
{
    c->status = status;
    put_json(&c->out, object);
    return buf_check(&c->out, e);
}

static int serve(struct call *c, struct flight *f, const json_t *begun, struct err *e)
{
    const struct question_args *in = c->in;
    if (in->background)
        return show_object(c, begun, 202, e);
    if (wants_events(c))
        return flight_stream(f, c, /* from= */ 0, /* is_owner= */ true, e);
    flight_wait(f, c);
    return show(c, f, e);
}

/* A question that was asked before, with the same Idempotency-Key. Nobody waits here for one that still goes on: any number of
 * them would, and each with a thread of the server. */
static int make_again(struct ask *ask, struct call *c, struct err *e)
{
    const struct question_args *in = c->in;
    scoped(record_done) struct record r = {0};
    scoped(flight_unrefp) struct flight *f =
        flight_find(ask->o.flights, c->who.principal, c->once.subject);
    if (record_load_settled(ask, &c->who, c->once.subject, &r, e))
        return -1;
    const json_t *object = json_object_get(r.body, "answer");
    bool goes_on = strcmp(text_at(object, "status"), "running") == 0;
    http_add_header(c->x, "X-Answer-Id", "%s", text_at(object, "id"));
    if (wants_events(c) && !in->background && (f || !goes_on))
        return f ? flight_stream(f, c, /* from= */ 0, /* is_owner= */ false, e)
                 : answer_tell_last(c, &r, /* seen= */ 0, e);
    return show_object(c, object, goes_on || in->background ? 202 : 200, e);
}

/* The end of a stream when the server ends; the answer itself is finished, if that does not take long. */
static const char last_words[] =
    "event: error\ndata: {\"code\":\"unavailable\",\"message\":\"The server is stopping. Get the answer "
    "by its id in a moment, or ask again.\"}\n\n";

/* Its flight begins; *a is the flight's from here on, and NULL. */
static int launch(struct answer **a, struct flight **ret, struct err *e)
{
    struct ask *ask = (*a)->ask;
    struct err ignored = {0};
    char id[ID_SIZE];
    memcpy(id, (*a)->card.id, sizeof id);
    const struct flight_options options = {.id = (*a)->card.id,
                                           .principal = (*a)->card.principal,
                                           .is_background = (*a)->is_background,
                                           .has_ids = true,
                                           .last_words = last_words,
                                           .run = answer_fly,
                                           .free_arg = answer_free,
                                           .arg = *a};
    int failed = flight_start(ask->o.flights, &options, ret, e);
    *a = NULL;
    if (failed)
        (void)card_delete(ask->o.cards, NULL, CARD_ANSWER, id, &ignored); /* it never was */
    return failed;
}

static int refuse(struct call *c, struct err *e)
{
    c->hint = no_model;
    return err_set(e, ERR_UNAVAILABLE,
                   "no model is configured on this server: set CICADA_MODEL_URL and "
                   "CICADA_MODEL_NAME (and CICADA_MODEL_KEY where one is needed)");
}

int answer_make(struct ask *ask, struct call *c, struct err *e)
{
    scoped(answer_freep) struct answer *a = NULL;
    scoped(flight_unrefp) struct flight *f = NULL;
    if (c->once.state == ONCE_AGAIN)
        return make_again(ask, c, e);
    a = calloc(1, sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "answer a question");
    a->ask = ask;
    if (begin(a, c, e))
        return -1;
    if (!ask->o.model)
        return refuse(c, e);
    scoped(json_freep) json_t *begun = json_deep_copy(a->object);
    if (!begun)
        return err_set(e, ERR_NO_MEMORY, "answer a question");
    if (insert(a, e) || launch(&a, &f, e))
        return -1;
    once_made(&c->once, text_at(begun, "id"));
    http_add_header(c->x, "X-Answer-Id", "%s", text_at(begun, "id"));
    return serve(c, f, begun, e);
}
