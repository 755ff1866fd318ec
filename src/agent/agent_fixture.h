/* agent_fixture.h -- for tests of the loop: a model that plays a script instead of being asked, and hands that run nothing.
 *
 * The script of the model is an array; each question takes the next step, and the last one stays:
 *     {"think", "say", "refuse", "calls": [{"name", "arguments": a text or JSON}], "more": said after the calls, "finish": "length"
 *      | "filter", "usage": [in, out], "chunk": bytes at once, "fail": name of an error, "lacks_tools": true, "halt": true}
 * That of the hands is an array of run objects, or {"fail": name of an error}, or {"halt": true}.
 * What the sink hears is written down in `heard`: "+0message t0[hello] -0completed".
 */
#ifndef AGENT_AGENT_FIXTURE_H
#define AGENT_AGENT_FIXTURE_H

#include "agent/agent.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "agent/halt.h"
#include "agent/model.h"
#include "base/err.h"
#include "base/scope.h"

struct fixture {
    json_t *script, *runs;
    json_t *questions; /* what was asked: {"instructions","items","tools","choice"} */
    json_t *codes;     /* what was run */
    size_t asked, ran, opened;
    bool has_images, cannot_open;
    struct buf heard;
    struct halt halt;
    struct agent_wishes w;
    struct agent_hands hands;
    struct agent_outcome o;
    struct err e;
    json_t *items, *functions, *choice;
};

static struct fixture *fixture; /* of the test that runs */

/* ---- the model ---- */

static const char *get(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static enum err_code error_called(const char *name)
{
    for (int code = 0; code < ERR_COUNT; code++)
        if (strcmp(err_wire((enum err_code)code), name) == 0)
            return (enum err_code)code;
    fail_msg("no error %s", name);
    return ERR_NONE;
}

static json_t *step_of(json_t *script, size_t at)
{
    size_t count = json_array_size(script);
    assert_true(count > 0);
    return json_array_get(script, at < count ? at : count - 1);
}

static int in_pieces(const char *text, size_t chunk, int (*put)(void *, struct str), void *arg,
                     struct buf *all)
{
    for (size_t at = 0, len = strlen(text); at < len;) {
        size_t size = chunk && chunk < len - at ? chunk : len - at;
        buf_add(all, text + at, size);
        if (put && put(arg, (struct str){text + at, size}))
            return -1;
        at += size;
    }
    return 0;
}

struct to_arguments {
    const struct model_sink *sink;
    size_t index;
};

static int put_arguments(void *arg, struct str piece)
{
    const struct to_arguments *to = arg;
    return to->sink->arguments(to->sink->arg, to->index, piece);
}

static int play_calls(const json_t *step, size_t chunk, const struct model_sink *sink,
                      struct model_answer *a)
{
    const json_t *calls = json_object_get(step, "calls");
    size_t i;
    json_t *call;
    a->calls = calloc(json_array_size(calls) + 1, sizeof *a->calls);
    json_array_foreach(calls, i, call)
    {
        struct model_call *to = &a->calls[a->call_count++];
        const json_t *arguments = json_object_get(call, "arguments");
        char *text = json_is_string(arguments) ? strdup(json_string_value(arguments))
                                               : json_dumps(arguments, JSON_COMPACT);
        char id[32];
        (void)snprintf(id, sizeof id, "call_%zu_%zu", fixture->asked, i);
        *to = (struct model_call){.id = strdup(id),
                                  .name = strdup(get(call, "name")),
                                  .arguments = BUF_INIT(MODEL_TEXT_MAX)};
        struct to_arguments arg = {sink, i};
        int failed = sink->call(sink->arg, i, to->id, to->name) ||
                     in_pieces(text, chunk, put_arguments, &arg, &to->arguments);
        free(text);
        if (failed)
            return -1;
    }
    return 0;
}

static int play(const json_t *step, const struct model_sink *sink, struct model_answer *a,
                struct err *e)
{
    size_t chunk = (size_t)json_integer_value(json_object_get(step, "chunk"));
    if (in_pieces(get(step, "think"), chunk, sink->reasoning, sink->arg, &a->reasoning) ||
        in_pieces(get(step, "say"), chunk, sink->text, sink->arg, &a->text) ||
        in_pieces(get(step, "refuse"), chunk, sink->refusal, sink->arg, &a->refusal) ||
        play_calls(step, chunk, sink, a) ||
        in_pieces(get(step, "more"), chunk, sink->text, sink->arg, &a->text))
        return err_set(e, ERR_GONE, "the sink did not want more");
    if (json_is_true(json_object_get(step, "halt"))) {
        halt_now(&fixture->halt);
        return err_set(e, ERR_GONE, "halted");
    }
    if (!json_object_get(step, "fail"))
        return 0;
    a->status = 503;
    (void)snprintf(a->code, sizeof a->code, "busy");
    a->lacks_tools = json_is_true(json_object_get(step, "lacks_tools"));
    return err_set(e, error_called(get(step, "fail")), "the endpoint failed");
}

int __wrap_model_ask(struct model *m, const struct model_question *q, const struct model_sink *sink,
                     struct halt *halt, struct model_answer *ret, struct err *e);
void __wrap_model_answer_done(struct model_answer *a);
bool __wrap_model_has_images(const struct model *m);

int __wrap_model_ask(struct model *m, const struct model_question *q, const struct model_sink *sink,
                     struct halt *halt, struct model_answer *ret, struct err *e)
{
    const json_t *step = step_of(fixture->script, fixture->asked);
    const char *finish = get(step, "finish");
    const json_t *usage = json_object_get(step, "usage");
    (void)m;
    assert_ptr_equal(halt, &fixture->halt);
    *ret = (struct model_answer){.text = BUF_INIT(MODEL_TEXT_MAX),
                                 .reasoning = BUF_INIT(MODEL_TEXT_MAX),
                                 .refusal = BUF_INIT(MODEL_TEXT_MAX),
                                 .name = "fake-1"};
    json_array_append_new(fixture->questions,
                          json_pack("{s:s?, s:O, s:O?, s:O?}", "instructions", q->instructions,
                                    "items", q->items, "tools", q->tools, "choice", q->choice));
    ret->finish = strcmp(finish, "length") == 0   ? MODEL_LENGTH
                  : strcmp(finish, "filter") == 0 ? MODEL_FILTER
                                                  : MODEL_STOP;
    int failed = play(step, sink, ret, e);
    fixture->asked++;
    ret->usage.input = (uint64_t)json_integer_value(json_array_get(usage, 0));
    ret->usage.output = (uint64_t)json_integer_value(json_array_get(usage, 1));
    return failed;
}

void __wrap_model_answer_done(struct model_answer *a)
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
}

bool __wrap_model_has_images(const struct model *m)
{
    (void)m;
    return fixture->has_images;
}

/* ---- the hands ---- */

static int hands_open(void *arg, char ret_container[ID_SIZE], struct err *e)
{
    (void)arg;
    fixture->opened++;
    if (fixture->cannot_open)
        return err_set(e, ERR_UNAVAILABLE, "no containers today");
    (void)snprintf(ret_container, ID_SIZE, "cntr_1");
    return 0;
}

static int hands_run(void *arg, struct str code, struct halt *halt, json_t **ret_run, struct err *e)
{
    json_t *run = step_of(fixture->runs, fixture->ran++);
    (void)arg;
    (void)halt;
    json_array_append_new(fixture->codes, json_stringn(code.ptr, code.len));
    if (json_is_true(json_object_get(run, "halt"))) {
        halt_now(&fixture->halt);
        return err_set(e, ERR_GONE, "halted");
    }
    if (json_object_get(run, "fail"))
        return err_set(e, error_called(get(run, "fail")), "no room for a session");
    *ret_run = json_deep_copy(run);
    return 0;
}

/* ---- the sink ---- */

static void hear(const char *what, size_t index, struct str text)
{
    buf_fmt(&fixture->heard, "%s%s%zu[", fixture->heard.len ? " " : "", what, index);
    buf_add(&fixture->heard, text.ptr, text.len);
    buf_str(&fixture->heard, "]");
}

static void hear_item(void *arg, size_t index, const json_t *item)
{
    (void)arg;
    assert_true(strlen(get(item, "id")) > 10);
    buf_fmt(&fixture->heard, "%s+%zu%s", fixture->heard.len ? " " : "", index, get(item, "type"));
}

static void hear_text(void *arg, size_t index, struct str delta)
{
    (void)arg;
    hear("t", index, delta);
}

static void hear_reasoning(void *arg, size_t index, struct str delta)
{
    (void)arg;
    hear("r", index, delta);
}

static void hear_refusal(void *arg, size_t index, struct str delta)
{
    (void)arg;
    hear("no", index, delta);
}

static void hear_code(void *arg, size_t index, struct str delta)
{
    (void)arg;
    hear("c", index, delta);
}

static void hear_arguments(void *arg, size_t index, struct str delta)
{
    (void)arg;
    hear("a", index, delta);
}

static void hear_running(void *arg, size_t index, const json_t *item)
{
    (void)arg;
    assert_string_equal(get(item, "status"), "interpreting");
    hear("running", index, str_of(get(item, "code")));
}

static void hear_ran(void *arg, size_t index, const json_t *run)
{
    (void)arg;
    hear("ran", index, str_of(get(run, "end")));
}

static void hear_done(void *arg, size_t index, const json_t *item)
{
    (void)arg;
    buf_fmt(&fixture->heard, " -%zu%s", index, get(item, "status"));
}

static void annotate(void *arg, const char *text, json_t **ret)
{
    (void)arg;
    *ret = json_pack("[{s:I}]", "length", (json_int_t)strlen(text));
}

/* ---- a test ---- */

#define RUN_OK \
    "{\"id\":\"run_1\",\"end\":\"ok\",\"state\":\"kept\",\"stdout\":\"42\\n\",\"duration_ms\":5}"

static json_t *json_of(const char *text)
{
    json_error_t why;
    json_t *json = json_loads(text, JSON_DECODE_ANY, &why);
    if (!json)
        fail_msg("%s: %s", why.text, text);
    return json;
}

static int set_up(void **state)
{
    fixture = calloc(1, sizeof *fixture);
    halt_init(&fixture->halt);
    fixture->questions = json_array();
    fixture->codes = json_array();
    fixture->heard = BUF_INIT(1 << 20);
    fixture->hands = (struct agent_hands){.open = hands_open, .run = hands_run};
    fixture->items =
        json_of("[{\"type\":\"message\",\"role\":\"user\",\"content\":\"How many?\"}]");
    fixture->w = (struct agent_wishes){.hands = &fixture->hands, .items = fixture->items};
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    agent_outcome_done(&f->o);
    json_decref(f->script);
    json_decref(f->runs);
    json_decref(f->questions);
    json_decref(f->codes);
    json_decref(f->items);
    json_decref(f->functions);
    json_decref(f->choice);
    buf_done(&f->heard);
    halt_done(&f->halt);
    free(f);
    return 0;
}

/* Runs the loop by these scripts. */
static int go(const char *script, const char *runs)
{
    static const struct agent_sink sink = {.item = hear_item,
                                           .text = hear_text,
                                           .reasoning = hear_reasoning,
                                           .refusal = hear_refusal,
                                           .code = hear_code,
                                           .arguments = hear_arguments,
                                           .running = hear_running,
                                           .ran = hear_ran,
                                           .item_done = hear_done,
                                           .annotate = annotate};
    fixture->script = json_of(script);
    fixture->runs = json_of(runs ? runs : "[" RUN_OK "]");
    if (fixture->functions)
        fixture->w.functions = fixture->functions;
    if (fixture->choice)
        fixture->w.choice = fixture->choice;
    return agent_run(/* m= */ NULL, &fixture->w, &sink, &fixture->halt, &fixture->o, &fixture->e);
}

static void check_heard(const char *expected)
{
    assert_string_equal(fixture->heard.bytes ? fixture->heard.bytes : "", expected);
}

static const json_t *item_at(size_t index)
{
    assert_true(index < json_array_size(fixture->o.items));
    return json_array_get(fixture->o.items, index);
}

/* The text of an item that is a message. */
static const char *said_at(size_t index)
{
    const json_t *content = json_object_get(item_at(index), "content");
    return get(json_array_get(content, 0), "text");
}

static const json_t *asked_at(size_t index, const char *what)
{
    assert_true(index < json_array_size(fixture->questions));
    return json_object_get(json_array_get(fixture->questions, index), what);
}

/* The last item of a question. */
static const json_t *last_asked(size_t index)
{
    const json_t *items = asked_at(index, "items");
    return json_array_get(items, json_array_size(items) - 1);
}

#endif
