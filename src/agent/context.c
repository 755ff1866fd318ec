#include "agent/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "agent/context_int.h"
#include "base/err.h"
#include "base/scope.h"

enum { OUTPUTS_KEPT = 2 }; /* not shortened until nothing else helps */

#define NO_GROUP SIZE_MAX

/* A call of a function, or an output of one. */
struct mate {
    const char *id;
    size_t index; /* among all items */
    bool is_output;
};

/* Calls and outputs go together, in groups: calls with an id and the outputs with that id up to the next such call. Looked up and
 * walked once for every group, as there may be very many of them. */
struct fit {
    json_t *all; /* as they are by now */
    bool *is_gone;
    struct mate *mates; /* by id, then by index */
    size_t mate_count;
    size_t *group;   /* of an item: where it begins among the mates; NO_GROUP: of none */
    size_t *outputs; /* of a group: where its last output is among the items; 0: it has none */
    uint64_t total, room;
    size_t count, gone;
};

static bool is_too_much(const struct fit *f)
{
    return f->total > f->room;
}

static const json_t *at(const struct fit *f, size_t i)
{
    return json_array_get(f->all, i);
}

/* Puts `item` (stolen; NULL: nothing) in its place. */
static void replace(struct fit *f, size_t i, json_t *item)
{
    if (!item)
        return;
    f->total -= fit_tokens(at(f, i));
    f->total += fit_tokens(item);
    (void)json_array_set_new(f->all, i, item); /* the index is there */
}

static void drop(struct fit *f, size_t i)
{
    if (f->is_gone[i])
        return;
    f->is_gone[i] = true;
    f->gone++;
    f->total -= fit_tokens(at(f, i));
}

/* ---- outputs and images ---- */

/* Where the last `keep` outputs begin. */
static size_t outputs_end(const struct fit *f, size_t keep)
{
    size_t i = f->count;
    for (size_t seen = 0; i > 0 && seen < keep; i--)
        seen += fit_is_output(at(f, i - 1));
    return keep ? i : f->count;
}

static void shorten_outputs(struct fit *f, size_t keep)
{
    size_t end = outputs_end(f, keep);
    for (size_t i = 0; i < end && is_too_much(f); i++)
        if (!f->is_gone[i] && fit_is_output(at(f, i)))
            replace(f, i, fit_shortened(at(f, i)));
}

static size_t last_message(const struct fit *f)
{
    size_t i = f->count;
    while (i > 0 && !fit_is_of(at(f, i - 1), "user"))
        i--;
    return i > 0 ? i - 1 : 0;
}

static void leave_out_images(struct fit *f, size_t end)
{
    for (size_t i = 0; i < end && is_too_much(f); i++)
        if (!f->is_gone[i] && fit_is(at(f, i), "message"))
            replace(f, i, fit_without_images(at(f, i)));
}

/* ---- exchanges and calls ---- */

static bool stays(const json_t *item)
{
    return fit_is_of(item, "system") || fit_is_of(item, "developer");
}

/* A call goes with its output, and an output with its call. */
static void drop_with_group(struct fit *f, size_t i)
{
    size_t group = f->group[i];
    if (f->is_gone[i])
        return; /* so are the others */
    drop(f, i);
    for (size_t k = group; k < f->mate_count && f->group[f->mates[k].index] == group; k++)
        drop(f, f->mates[k].index);
}

static void leave_out_exchanges(struct fit *f)
{
    size_t last = last_message(f);
    for (size_t i = 0; i < last; i++) {
        if (fit_is_of(at(f, i), "user") && !is_too_much(f))
            return;
        if (!stays(at(f, i)))
            drop_with_group(f, i);
    }
}

/* Whether it goes with an output at `end` or later. */
static bool is_answered_after(const struct fit *f, size_t i, size_t end)
{
    return f->group[i] != NO_GROUP && f->outputs[f->group[i]] >= end;
}

static void leave_out_calls(struct fit *f)
{
    size_t end = outputs_end(f, 1);
    for (size_t i = last_message(f) + 1; i < end && is_too_much(f); i++)
        if (!stays(at(f, i)) && !is_answered_after(f, i, end))
            drop_with_group(f, i);
}

/* ---- what goes together ---- */

static int by_id(const void *a, const void *b)
{
    const struct mate *one = a, *other = b;
    int order = strcmp(one->id, other->id);
    return order ? order : (one->index > other->index) - (one->index < other->index);
}

static void find_mates(struct fit *f)
{
    for (size_t i = 0; i < f->count; i++) {
        const char *id = json_string_value(json_object_get(at(f, i), "call_id"));
        bool is_output = fit_is(at(f, i), "function_call_output");
        f->group[i] = NO_GROUP;
        if (id && (is_output || fit_is(at(f, i), "function_call")))
            f->mates[f->mate_count++] = (struct mate){.id = id, .index = i, .is_output = is_output};
    }
    if (f->mate_count > 0)
        qsort(f->mates, f->mate_count, sizeof *f->mates, by_id);
}

static bool begins_group(const struct fit *f, size_t k)
{
    const struct mate *m = &f->mates[k];
    return k == 0 || strcmp(m->id, m[-1].id) != 0 || (m[-1].is_output && !m->is_output);
}

static int group_items(struct fit *f, struct err *e)
{
    f->mates = calloc(f->count + 1, sizeof *f->mates);
    f->group = calloc(f->count + 1, sizeof *f->group);
    f->outputs = calloc(f->count + 1, sizeof *f->outputs);
    if (!f->mates || !f->group || !f->outputs)
        return err_set(e, ERR_NO_MEMORY, "fit a conversation");
    find_mates(f);
    for (size_t k = 0, group = 0; k < f->mate_count; k++) {
        const struct mate *m = &f->mates[k];
        group = begins_group(f, k) ? k : group;
        f->group[m->index] = group;
        if (m->is_output)
            f->outputs[group] = m->index;
    }
    return 0;
}

/* ---- the whole ---- */

static int read_items(struct fit *f, const json_t *items, struct err *e)
{
    size_t i;
    json_t *item;
    f->all = json_array();
    f->is_gone = calloc(json_array_size(items) + 1, sizeof *f->is_gone);
    if (!f->all || !f->is_gone)
        return err_set(e, ERR_NO_MEMORY, "fit a conversation");
    json_array_foreach(items, i, item)
    {
        if (fit_is(item, "reasoning"))
            continue;
        if (json_array_append(f->all, item))
            return err_set(e, ERR_NO_MEMORY, "fit a conversation");
        f->total += fit_tokens(item);
        f->count++;
    }
    return 0;
}

static json_t *gap(size_t count)
{
    char text[160];
    (void)snprintf(
        text, sizeof text,
        "[%zu earlier messages and calls of this conversation are left out here for lack of "
        "room; files in /mnt/data are still there.]",
        count);
    return json_pack("{s:s, s:s, s:s}", "type", "message", "role", "user", "content", text);
}

/* What is left, with a line where the first is gone. */
static int write_items(const struct fit *f, json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *out = json_array();
    bool is_told = false, failed = !out;
    for (size_t i = 0; i < f->count && !failed; i++) {
        if (!f->is_gone[i])
            failed = json_array_append(out, json_array_get(f->all, i)) != 0;
        else if (!is_told)
            failed = json_array_append_new(out, gap(f->gone)) != 0;
        is_told = is_told || f->is_gone[i];
    }
    if (failed)
        return err_set(e, ERR_NO_MEMORY, "fit a conversation");
    *ret = take(out);
    return 0;
}

static void shrink(struct fit *f)
{
    shorten_outputs(f, OUTPUTS_KEPT);
    leave_out_images(f, last_message(f));
    leave_out_exchanges(f);
    shorten_outputs(f, 0);
    leave_out_images(f, f->count);
    leave_out_calls(f);
}

int context_fit(const struct json_t *items, uint64_t room, struct json_t **ret, struct err *e)
{
    struct fit f = {.room = room};
    int failed = read_items(&f, items, e);
    if (!failed && is_too_much(&f)) {
        failed = group_items(&f, e);
        if (!failed)
            shrink(&f);
    }
    if (!failed)
        failed = write_items(&f, ret, e);
    json_decref(f.all);
    free(f.is_gone);
    free(f.mates);
    free(f.group);
    free(f.outputs);
    return failed;
}
