#include "ask/transcript_steps.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/scope.h"

enum { TEXT_MAX = 16 << 20 };

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static bool is_type(const json_t *item, const char *type)
{
    return strcmp(text_of(item, "type"), type) == 0;
}

static const json_t *find_by(const json_t *all, const char *key, const char *value, size_t from)
{
    for (size_t i = from; i < json_array_size(all); i++)
        if (strcmp(text_of(json_array_get(all, i), key), value) == 0)
            return json_array_get(all, i);
    return NULL;
}

static void add_parts(const json_t *parts, struct buf *out)
{
    size_t i;
    json_t *part;
    if (json_is_string(parts))
        buf_str(out, json_string_value(parts));
    json_array_foreach(parts, i, part)
    {
        buf_str(out, text_of(part, "text"));
        buf_str(out, text_of(part, "refusal"));
    }
}

struct walk {
    const json_t *items, *runs;
    void (*put)(void *arg, const struct step *s);
    void *arg;
    size_t last; /* index of the answer's item */
    bool is_run_seen[1000];
};

static void put_words(const struct walk *w, const json_t *item)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    bool is_thought = is_type(item, "reasoning");
    if (is_thought)
        add_parts(json_object_get(item, "summary"), &text);
    if (text.len == 0)
        add_parts(json_object_get(item, "content"), &text);
    if (text.len > 0 && !text.failed)
        w->put(w->arg,
               &(struct step){.kind = is_thought ? STEP_THOUGHT : STEP_SAID, .text = text.bytes});
}

static void put_run(struct walk *w, const json_t *item)
{
    const char *id = text_of(json_object_get(item, "x_run"), "id");
    const json_t *run = *id ? find_by(w->runs, "id", id, 0) : NULL;
    for (size_t i = 0; run && i < sizeof w->is_run_seen; i++)
        if (json_array_get(w->runs, i) == run)
            w->is_run_seen[i] = true;
    w->put(w->arg, &(struct step){.kind = STEP_RUN, .run = run, .code = text_of(item, "code")});
}

static void put_tool(const struct walk *w, const json_t *item, size_t index)
{
    const json_t *output = find_by(w->items, "call_id", text_of(item, "call_id"), index + 1);
    w->put(w->arg, &(struct step){.kind = STEP_TOOL,
                                  .name = text_of(item, "name"),
                                  .input = text_of(item, "arguments"),
                                  .text = text_of(output, "output")});
}

/* The last message, if nothing but thoughts come after it. */
static size_t answer_at(const json_t *items)
{
    size_t i = json_array_size(items);
    while (i > 0 && is_type(json_array_get(items, i - 1), "reasoning"))
        i--;
    return i > 0 && is_type(json_array_get(items, i - 1), "message") ? i - 1 : SIZE_MAX;
}

/* Runs of an answer that was cut short may be in no item. */
static void put_others(const struct walk *w)
{
    size_t i;
    json_t *run;
    json_array_foreach(w->runs, i, run)
    {
        if (i >= sizeof w->is_run_seen || !w->is_run_seen[i])
            w->put(w->arg,
                   &(struct step){.kind = STEP_RUN, .run = run, .code = text_of(run, "code")});
    }
}

void steps_each(const json_t *record, void (*put)(void *arg, const struct step *s), void *arg)
{
    struct walk w = {.items = json_object_get(record, "items"),
                     .runs = json_object_get(record, "runs"),
                     .put = put,
                     .arg = arg};
    size_t i;
    json_t *item;
    w.last = answer_at(w.items);
    json_array_foreach(w.items, i, item)
    {
        if (i == w.last)
            continue;
        if (is_type(item, "message") || is_type(item, "reasoning"))
            put_words(&w, item);
        else if (is_type(item, "code_interpreter_call"))
            put_run(&w, item);
        else if (is_type(item, "function_call"))
            put_tool(&w, item, i);
    }
    put_others(&w);
}
