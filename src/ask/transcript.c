/* transcript.c -- an answer and how it was found, as Markdown. */
#include "ask/transcript.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "ask/transcript_steps.h"
#include "base/buf.h"
#include "base/scope.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

/* ---- pieces of text ---- */

/* A block with a fence that is longer than any in it. */
static void put_fenced(struct buf *out, const char *language, const char *text)
{
    size_t longest = 2, run = 0, len = strlen(text);
    for (const char *at = text; *at; at++) {
        run = *at == '`' ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    for (size_t i = 0; i <= longest; i++)
        buf_str(out, "`");
    buf_fmt(out, "%s\n%s%s", language, text, len > 0 && text[len - 1] != '\n' ? "\n" : "");
    for (size_t i = 0; i <= longest; i++)
        buf_str(out, "`");
    buf_str(out, "\n\n");
}

static void put_quoted(struct buf *out, const char *text)
{
    while (*text) {
        size_t len = strcspn(text, "\n");
        buf_str(out, "> ");
        buf_add(out, text, len);
        buf_str(out, "\n");
        text += len + (text[len] == '\n');
    }
    buf_str(out, "\n");
}

/* One line, for a cell of a table. */
static void put_cell(struct buf *out, const char *text)
{
    for (; *text; text++)
        if (*text == '|' || *text == '\\')
            buf_fmt(out, "\\%c", *text);
        else
            buf_add(out, *text == '\n' || *text == '\r' ? " " : text, 1);
}

/* ---- steps ---- */

struct writing {
    struct buf *out;
    size_t number; /* of runs */
};

static void put_output(struct buf *out, const char *name, const char *text)
{
    if (!*text)
        return;
    buf_fmt(out, "%s:\n\n", name);
    put_fenced(out, "text", text);
}

static void put_files(struct buf *out, const json_t *files)
{
    size_t i;
    json_t *file;
    json_array_foreach(files, i, file)
    {
        json_int_t version = json_integer_value(json_object_get(file, "version"));
        buf_fmt(out, "- file %s: `%s`", text_of(file, "change"), text_of(file, "path"));
        if (version > 0)
            buf_fmt(out, ", version %" PRId64, (int64_t)version);
        buf_str(out, "\n");
    }
    if (i > 0)
        buf_str(out, "\n");
}

static void put_run(struct writing *w, const struct step *s)
{
    const json_t *error = json_object_get(s->run, "error");
    const char *end = text_of(s->run, "end");
    buf_fmt(w->out, "### Run %zu", ++w->number);
    if (s->run)
        buf_fmt(w->out, " (`%s`%s%s)", text_of(s->run, "id"), *end ? ", " : "", end);
    buf_str(w->out, "\n\n");
    put_fenced(w->out, "python", s->code);
    if (!s->run)
        buf_str(w->out, "It was not run.\n\n");
    put_output(w->out, "Output", text_of(s->run, "stdout"));
    put_output(w->out, "Errors", text_of(s->run, "stderr"));
    put_output(w->out, "Result", text_of(json_object_get(s->run, "result"), "text/plain"));
    if (json_is_object(error))
        put_output(w->out, "Failed with", text_of(error, "traceback"));
    put_files(w->out, json_object_get(s->run, "files"));
}

static void put_step(void *arg, const struct step *s)
{
    struct writing *w = arg;
    switch (s->kind) {
    case STEP_SAID: buf_fmt(w->out, "%s\n\n", s->text); return;
    case STEP_THOUGHT: put_quoted(w->out, s->text); return;
    case STEP_RUN: put_run(w, s); return;
    case STEP_TOOL:
        buf_fmt(w->out, "### %s\n\n", s->name);
        put_fenced(w->out, "json", s->input);
        put_output(w->out, "Found", s->text);
        return;
    }
}

/* ---- what it rests on ---- */

static void put_figures(struct buf *out, const json_t *figures)
{
    size_t i;
    json_t *one;
    if (json_array_size(figures) == 0)
        return;
    buf_str(out, "## Figures\n\n| figure | run | line |\n|---|---|---|\n");
    json_array_foreach(figures, i, one)
    {
        const char *run = text_of(one, "run_id"), *line = text_of(one, "line");
        const char *none = *line ? "not computed; it was read" : "not found in any output";
        buf_str(out, "| ");
        put_cell(out, text_of(one, "text"));
        buf_fmt(out, " | %s | ", *run ? run : none);
        put_cell(out, text_of(one, "line"));
        buf_str(out, " |\n");
    }
    buf_str(out, "\n");
}

static bool was_listed(const json_t *citations, size_t index)
{
    json_int_t mark = json_integer_value(json_object_get(json_array_get(citations, index), "mark"));
    for (size_t i = 0; i < index; i++)
        if (json_integer_value(json_object_get(json_array_get(citations, i), "mark")) == mark)
            return true;
    return false;
}

static void put_source(struct buf *out, const json_t *one)
{
    json_int_t page = json_integer_value(json_object_get(one, "page"));
    buf_fmt(out, "- [%" PRId64 "] `%s`, version %" PRId64,
            (int64_t)json_integer_value(json_object_get(one, "mark")), text_of(one, "path"),
            (int64_t)json_integer_value(json_object_get(one, "version")));
    if (page > 0)
        buf_fmt(out, ", page %" PRId64, (int64_t)page);
    if (*text_of(one, "where"))
        buf_fmt(out, ", %s", text_of(one, "where"));
    buf_fmt(out, " <%s>\n", text_of(one, "url"));
}

static void put_sources(struct buf *out, const json_t *answer)
{
    const json_t *citations = json_object_get(answer, "citations");
    const json_t *unknown = json_object_get(answer, "unknown_marks");
    size_t i;
    json_t *one;
    if (json_array_size(citations) + json_array_size(unknown) == 0)
        return;
    buf_str(out, "## Sources\n\n");
    json_array_foreach(citations, i, one)
    {
        if (!was_listed(citations, i))
            put_source(out, one);
    }
    json_array_foreach(unknown, i, one)
    {
        buf_fmt(out, "- [%" PRId64 "] stands for nothing that the model was shown\n",
                (int64_t)json_integer_value(one));
    }
    buf_str(out, "\n");
}

static void put_differences(struct buf *out, const json_t *run)
{
    size_t i;
    json_t *one;
    json_array_foreach(json_object_get(run, "differences"), i, one)
    {
        buf_fmt(out, "\n%s was:\n\n", text_of(one, "what"));
        put_fenced(out, "text", text_of(one, "was"));
        buf_str(out, "and is:\n\n");
        put_fenced(out, "text", text_of(one, "is"));
    }
}

static void put_verification(struct buf *out, const json_t *v)
{
    size_t i;
    json_t *one;
    if (!json_is_object(v))
        return;
    buf_fmt(out, "## Verification: %s\n\n", text_of(v, "status"));
    if (*text_of(v, "detail"))
        buf_fmt(out, "%s\n\n", text_of(v, "detail"));
    json_array_foreach(json_object_get(v, "runs"), i, one)
    {
        buf_fmt(out, "- `%s`, repeated as `%s`: %s\n", text_of(one, "run_id"),
                text_of(one, "repeated_as"), text_of(one, "status"));
        put_differences(out, one);
    }
    json_array_foreach(json_object_get(v, "files"), i, one)
    {
        buf_fmt(out, "- file `%s`: %s\n", text_of(one, "path"), text_of(one, "status"));
    }
    buf_str(out, "\n");
}

static void put_facts(struct buf *out, const json_t *answer)
{
    const char *end = text_of(answer, "end"), *model = text_of(answer, "model");
    const json_t *error = json_object_get(answer, "error");
    buf_fmt(out, "Asked %s", text_of(answer, "created_at"));
    if (*model)
        buf_fmt(out, ", answered by %s", model);
    if (*end && strcmp(end, "ok") != 0)
        buf_fmt(out, "; it ended with **%s**", end);
    if (json_is_object(error))
        buf_fmt(out, ": %s", text_of(error, "message"));
    buf_fmt(out, ". Answer `%s`.\n\n", text_of(answer, "id"));
}

void transcript_markdown(const json_t *record, struct buf *out)
{
    const json_t *answer = json_object_get(record, "answer");
    struct writing w = {.out = out};
    buf_str(out, "# Question\n\n");
    put_quoted(out, text_of(answer, "question"));
    put_facts(out, answer);
    buf_str(out, "## How it was found\n\n");
    steps_each(record, put_step, &w);
    buf_fmt(out, "## Answer\n\n%s\n\n",
            *text_of(answer, "answer") ? text_of(answer, "answer") : "There is none.");
    put_figures(out, json_object_get(answer, "figures"));
    put_sources(out, answer);
    put_verification(out, json_object_get(answer, "verification"));
}
