/* answer_fly.c -- the flight of a question: the model is asked, whoever follows is told, what came of it is kept. */
#include <string.h>

#include "agent/halt.h"
#include "api/inner.h"
#include "ask/answer.h"
#include "ask/flight.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"

enum { EVENT_MAX = RECORD_MAX };

/* ---- events ---- */

static void emit(struct answer *a, const char *event, json_t *what)
{
    scoped(buf_done) struct buf text = BUF_INIT(EVENT_MAX);
    put_json(&text, what);
    if (what && !text.failed)
        flight_emit(a->flight, event, (struct str){text.bytes, text.len});
    json_decref(what);
}

static void emit_text(struct answer *a, const char *event, struct str delta)
{
    emit(a, event, json_pack("{s:s%}", "text", delta.ptr ? delta.ptr : "", delta.len));
}

static void on_text(void *arg, size_t index, struct str delta)
{
    (void)index;
    emit_text(arg, "text", delta);
}

static void on_reasoning(void *arg, size_t index, struct str delta)
{
    (void)index;
    emit_text(arg, "thinking", delta);
}

static void on_code(void *arg, size_t index, struct str delta)
{
    (void)index;
    emit_text(arg, "code", delta);
}

static void on_running(void *arg, size_t index, const json_t *item)
{
    (void)index;
    emit(arg, "run.started", json_pack("{s:s}", "code", text_at(item, "code")));
}

/* ---- runs ---- */

static void set_session(struct answer *a)
{
    if (*a->hands.session)
        (void)json_object_set_new(a->object, "session_id", json_string(a->hands.session));
}

/* Of a file the last that happened to it counts. */
static void keep_file(struct answer *a, const json_t *run, json_t *file)
{
    json_t *files = json_object_get(a->object, "files"), *one;
    json_t *own = json_copy(file);
    size_t i;
    (void)json_object_set(own, "run_id", json_object_get(run, "id"));
    emit(a, "file", json_incref(own));
    json_array_foreach(files, i, one)
    {
        if (strcmp(text_at(one, "path"), text_at(file, "path")) != 0)
            continue;
        (void)json_array_remove(files, i);
        break;
    }
    if (json_array_size(files) >= FILES_MAX)
        (void)json_array_remove(files, 0);
    (void)json_array_append_new(files, own);
}

static void on_ran(void *arg, size_t index, const json_t *run)
{
    struct answer *a = arg;
    size_t i;
    json_t *file;
    (void)index;
    set_session(a);
    (void)json_array_append_new(a->runs, run_keep(a, run));
    (void)json_array_append_new(json_object_get(a->object, "runs"), run_brief(run));
    emit(a, "run.done", run_tell(run));
    json_array_foreach(json_object_get(run, "files"), i, file)
    {
        if (i >= RUN_FILES_MAX)
            break;
        keep_file(a, run, file);
    }
}

static int hands_open(void *arg, char ret_container[ID_SIZE], struct err *e)
{
    const struct answer *a = arg;
    (void)e;
    memcpy(ret_container, a->hands.session, ID_SIZE);
    return 0;
}

static int run_code(void *arg, struct str code, struct halt *halt, json_t **ret_run, struct err *e)
{
    struct answer *a = arg;
    return hands_run(&a->hands, code, halt, ret_run, e);
}

/* ---- all of it ---- */

static int add_question(struct answer *a, struct err *e)
{
    json_t *item =
        json_pack("{s:s, s:s, s:s}", "type", "message", "role", "user", "content", a->said);
    return item && json_array_append_new(a->past, item) == 0
               ? 0
               : err_set(e, ERR_NO_MEMORY, "ask the question");
}

/* The caller's instructions, and how to cite. */
static int write_instructions(const struct answer *a, struct buf *out, struct err *e)
{
    if (a->searches)
        buf_str(out, tools_instructions);
    if (a->instructions)
        buf_fmt(out, "%s%s", out->len ? "\n\n" : "", a->instructions);
    return buf_check(out, e);
}

static int ask_model(struct answer *a, struct agent_outcome *outcome, struct err *e)
{
    scoped(buf_done) struct buf instructions = BUF_INIT(1 << 20);
    struct agent_tool tools[TOOLS_COUNT];
    const struct agent_hands hands = {.open = hands_open, .run = run_code, .arg = a};
    const struct agent_sink sink = {.text = on_text,
                                    .reasoning = on_reasoning,
                                    .code = on_code,
                                    .running = on_running,
                                    .ran = on_ran,
                                    .arg = a};
    if (add_question(a, e) || write_instructions(a, &instructions, e))
        return -1;
    tools_fill(a, tools);
    const struct agent_wishes wishes = {.model = a->model,
                                        .instructions =
                                            instructions.len ? instructions.bytes : NULL,
                                        .items = a->past,
                                        .is_parallel = true,
                                        .hands = &hands,
                                        .code = a->ask->o.code,
                                        .tools = a->searches ? tools : NULL,
                                        .tool_count = a->searches ? TOOLS_COUNT : 0,
                                        .limits = a->limits};
    return agent_run(a->ask->o.model, &wishes, &sink, flight_halt(a->flight), outcome, e);
}

static void verify(struct answer *a)
{
    const struct verify_from from = {.who = caller_who(a->caller),
                                     .request = caller_request(a->caller),
                                     .halt = flight_halt(a->flight)};
    struct err e = {0};
    if (!a->verifies || !can_verify(a->object) || halt_is(from.halt))
        return;
    if (answer_verify(a->ask, &from, a->object, a->runs, &e))
        log_line(a->ask->o.log, LOG_WARNING, "an answer could not be verified",
                 LOG_STR("answer", a->card.id), LOG_STR("why", e.text));
}

static int save(struct answer *a, struct err *e)
{
    scoped(json_freep) json_t *record = answer_record(a);
    return record ? record_save(a->ask, &a->card, record, e)
                  : err_set(e, ERR_NO_MEMORY, "keep an answer");
}

static void keep(struct answer *a)
{
    struct err e = {0};
    int failed = save(a, &e);
    if (failed &&
        e.code == ERR_LIMIT) { /* too much was said: the answer is kept, how it was found is not */
        e = (struct err){0};
        (void)json_array_clear(a->items);
        (void)json_array_clear(a->runs);
        failed = save(a, &e);
    }
    if (failed)
        log_line(a->ask->o.log, LOG_WARNING, "an answer could not be kept",
                 LOG_STR("answer", a->card.id), LOG_STR("why", e.text));
}

static bool emit_last(struct answer *a, const json_t *object)
{
    scoped(buf_done) struct buf text = BUF_INIT(EVENT_MAX);
    put_json(&text, object);
    return object && !text.failed &&
           flight_emit_last(a->flight, "answer.done", (struct str){text.bytes, text.len});
}

/* Whoever follows is always told that it is over; without room for all of it, how it ended. */
static void emit_done(struct answer *a)
{
    static const char *const lists[] = {"runs", "files", "figures", "citations", "unknown_marks"};
    if (emit_last(a, a->object))
        return;
    scoped(json_freep) json_t *brief = json_copy(a->object);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        (void)json_object_set_new(brief, lists[i], json_array());
    (void)json_object_set_new(brief, "answer", json_string(""));
    (void)emit_last(a, brief);
}

void answer_fly(struct flight *f, void *arg)
{
    struct answer *a = arg;
    struct agent_outcome outcome = {0};
    struct err e = {0};
    a->flight = f;
    emit(a, "answer.started", json_deep_copy(a->object));
    int failed = a->timeout_ms > 0
                     ? alarm_set(a->ask->alarms, &a->alarm, a->begun_us + a->timeout_ms * 1000,
                                 flight_halt(f), &e)
                     : 0;
    failed = failed || ask_model(a, &outcome, &e);
    set_session(a);
    answer_end(a, &outcome, failed, &e);
    verify(a);
    (void)alarm_clear(a->ask->alarms, &a->alarm);
    int64_t took_us = clock_us() - a->begun_us;
    (void)json_object_set_new(a->object, "status", json_string("done"));
    (void)json_object_set_new(a->object, "duration_ms", json_integer(took_us / 1000));
    agent_outcome_done(&outcome);
    keep(a);
    answer_lighten(a);
    emit_done(a);
}
