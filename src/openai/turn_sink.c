/* turn_sink.c -- what the agent does, as items of the response and as events. */
#include <jansson.h>

#include "agent/agent.h"
#include "base/scope.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "openai/turn.h"

static const char lost_words[] =
    "[The session was gone and a new one was begun: variables, imports and functions of earlier "
    "runs are gone, files in /mnt/data are there.]\n";

static const char left_out_words[] =
    "[a figure is left out: there were too many large ones before; save it to a file]\n";

static bool is_code(const json_t *item)
{
    return shape_is(item, "type", "code_interpreter_call");
}

/* A copy of its own, with the container on it. */
static json_t *copy_item(struct oa_turn *t, const json_t *item)
{
    struct err ignored = {0}; /* the run that follows fails with the same, and is told of */
    json_t *copy = json_copy((json_t *)item);
    if (!is_code(item))
        return copy;
    (void)oa_turn_open(t, &ignored);
    (void)json_object_set_new(copy, "container_id",
                              json_string(t->container.id)); /* or it is NULL below */
    return copy;
}

/* Takes the item: it is the one at that place now. */
static void put_item(struct oa_turn *t, size_t index, json_t *item)
{
    pthread_mutex_lock(&t->lock);
    json_t *output = oa_response_output(t->object);
    /* For want of memory it is missing; the next one then has no place either. */
    if (index < json_array_size(output))
        (void)json_array_set_new(output, index, item);
    else
        (void)json_array_append_new(output, item);
    pthread_mutex_unlock(&t->lock);
}

static void on_item(void *arg, size_t index, const struct json_t *item)
{
    struct oa_turn *t = arg;
    json_t *copy = copy_item(t, item);
    if (!copy)
        return;
    if (t->is_told)
        oa_events_item(&t->events, index, copy);
    put_item(t, index, copy);
}

static void on_delta(struct oa_turn *t, size_t index, enum oa_delta what, struct str delta)
{
    if (t->is_told)
        oa_events_delta(&t->events, index, what, delta);
}

static void on_text(void *arg, size_t index, struct str delta)
{
    on_delta(arg, index, OA_TEXT, delta);
}

static void on_reasoning(void *arg, size_t index, struct str delta)
{
    on_delta(arg, index, OA_REASONING, delta);
}

static void on_refusal(void *arg, size_t index, struct str delta)
{
    on_delta(arg, index, OA_REFUSAL, delta);
}

static void on_code(void *arg, size_t index, struct str delta)
{
    on_delta(arg, index, OA_CODE, delta);
}

static void on_arguments(void *arg, size_t index, struct str delta)
{
    on_delta(arg, index, OA_ARGUMENTS, delta);
}

static void on_running(void *arg, size_t index, const struct json_t *item)
{
    struct oa_turn *t = arg;
    json_t *copy = copy_item(t, item);
    if (t->is_told)
        oa_events_running(&t->events, index, item);
    if (!copy)
        return;
    (void)json_object_set_new(copy, "status",
                              json_string("interpreting")); /* only shown meanwhile */
    put_item(t, index, copy);
}

static void on_ran(void *arg, size_t index, const struct json_t *run)
{
    struct oa_turn *t = arg;
    oa_turn_ran(t, run, t->marks);
    if (t->is_told)
        oa_events_ran(&t->events, index);
}

/* The outputs begin with a line that says what is gone. */
static void say_lost(json_t *item)
{
    scoped(json_decrefp) json_t *outputs = json_array();
    json_t *before = json_object_get(item, "outputs"), *first = json_array_get(before, 0);
    const bool has_logs = shape_is(first, "type", "logs");
    json_t *text = json_sprintf("%s%s", lost_words, has_logs ? shape_text(first, "logs") : "");
    if (json_array_append_new(outputs, json_pack("{s:s, s:o}", "type", "logs", "logs", text)) ||
        (before && json_array_extend(outputs, before)))
        return;
    if (has_logs)
        (void)json_array_remove(outputs, 1);         /* it is the first one's text now */
    (void)json_object_set(item, "outputs", outputs); /* or it is as it was */
}

/* Code that could not be run has no outputs; why, the model was told, and so is everybody else. */
static void say_not_run(json_t *item)
{
    json_t *why = json_object_get(item, "x_text");
    if (json_is_string(why) && json_array_size(json_object_get(item, "outputs")) == 0)
        (void)json_object_set_new(item, "outputs", /* or there are none */
                                  json_pack("[{s:s, s:O}]", "type", "logs", "logs", why));
}

/* Images beyond what the events and the card of one response can hold become a line. */
static void bound_images(struct oa_turn *t, json_t *item)
{
    scoped(json_decrefp) json_t *outputs = json_copy(json_object_get(item, "outputs"));
    bool is_changed = false;
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *url = json_object_get(json_array_get(outputs, i), "url");
        const size_t len = json_string_length(url);
        if (t->image_bytes + len <= OA_IMAGES_MAX) {
            t->image_bytes += len;
            continue;
        }
        json_t *line = json_pack("{s:s, s:s}", "type", "logs", "logs", left_out_words);
        is_changed = json_array_set_new(outputs, i, line) == 0 || is_changed;
    }
    if (is_changed)
        (void)json_object_set(item, "outputs",
                              outputs); /* or the events are too large and it ends */
}

static void mark_code(struct oa_turn *t, json_t *item)
{
    const json_t *exec = json_object_get(t->marks, "x_exec");
    (void)json_object_update(item, t->marks); /* extras: left out for want of memory */
    (void)json_object_del(item, "x_run");
    if (shape_is(exec, "state", "lost"))
        say_lost(item);
    if (!exec)
        say_not_run(item);
    if (!json_object_get(item, "outputs"))
        (void)json_object_set_new(item, "outputs", json_array());
    bound_images(t, item);
    (void)json_object_clear(t->marks);
}

static void on_item_done(void *arg, size_t index, const struct json_t *item)
{
    struct oa_turn *t = arg;
    json_t *copy = copy_item(t, item);
    if (!copy)
        return;
    if (is_code(copy))
        mark_code(t, copy);
    if (t->is_told) {
        scoped(json_decrefp) json_t *shown = oa_item_shown(copy, t->has_outputs);
        oa_events_item_done(&t->events, index, shown);
    }
    put_item(t, index, copy);
}

static void on_annotate(void *arg, const char *text, struct json_t **ret)
{
    oa_turn_cite(arg, text, ret);
}

void oa_turn_sink(struct oa_turn *t, struct agent_sink *ret)
{
    *ret = (struct agent_sink){
        .item = on_item,
        .text = on_text,
        .reasoning = on_reasoning,
        .refusal = on_refusal,
        .code = on_code,
        .arguments = on_arguments,
        .running = on_running,
        .ran = on_ran,
        .item_done = on_item_done,
        .annotate = on_annotate,
        .arg = t,
    };
}
