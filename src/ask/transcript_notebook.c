/* transcript_notebook.c -- an answer and how it was found, as a Jupyter notebook (nbformat 4.5). */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ask/transcript.h"
#include "ask/transcript_steps.h"
#include "base/buf.h"
#include "base/scope.h"
#include "json/write.h"

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

struct notebook {
    struct json_writer w;
    size_t cells, runs;
};

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void begin_cell(struct notebook *n, const char *type)
{
    char id[32];
    (void)snprintf(id, sizeof id, "cell-%zu", ++n->cells);
    jw_object(&n->w);
    put_text(&n->w, "cell_type", type);
    put_text(&n->w, "id", id);
    jw_key(&n->w, "metadata");
    jw_object(&n->w);
    jw_end_object(&n->w);
}

static void put_markdown(struct notebook *n, const char *title, const char *text)
{
    scoped(buf_done) struct buf all = BUF_INIT(16 << 20);
    buf_fmt(&all, "%s%s", title, text);
    begin_cell(n, "markdown");
    jw_key(&n->w, "source");
    jw_str(&n->w, all.bytes ? all.bytes : "", all.failed ? 0 : all.len);
    jw_end_object(&n->w);
}

/* ---- outputs ---- */

static void put_stream(struct json_writer *w, const json_t *run, const char *name)
{
    const char *text = text_of(run, name);
    if (!*text)
        return;
    jw_object(w);
    put_text(w, "output_type", "stream");
    put_text(w, "name", name);
    put_text(w, "text", text);
    jw_end_object(w);
}

static void put_bundle(struct json_writer *w, const json_t *bundle, size_t number)
{
    const char *mime;
    json_t *form;
    if (!json_is_object(bundle))
        return;
    jw_object(w);
    put_text(w, "output_type", number ? "execute_result" : "display_data");
    if (number) {
        jw_key(w, "execution_count");
        jw_u64(w, number);
    }
    jw_key(w, "data");
    jw_object(w);
    json_object_foreach((json_t *)(uintptr_t)bundle, mime, form)
    {
        if (json_is_string(form))
            put_text(w, mime, json_string_value(form));
    }
    jw_end_object(w);
    jw_key(w, "metadata");
    jw_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

static void put_error(struct json_writer *w, const json_t *error)
{
    if (!json_is_object(error))
        return;
    jw_object(w);
    put_text(w, "output_type", "error");
    put_text(w, "ename", text_of(error, "name"));
    put_text(w, "evalue", text_of(error, "message"));
    jw_key(w, "traceback");
    jw_array(w);
    for (const char *at = text_of(error, "traceback"); *at;) {
        size_t len = strcspn(at, "\n");
        jw_str(w, at, len);
        at += len + (at[len] == '\n');
    }
    jw_end_array(w);
    jw_end_object(w);
}

static void put_outputs(struct json_writer *w, const json_t *run, size_t number)
{
    size_t i;
    json_t *one;
    jw_key(w, "outputs");
    jw_array(w);
    put_stream(w, run, "stdout");
    put_stream(w, run, "stderr");
    json_array_foreach(json_object_get(run, "displays"), i, one)
    {
        put_bundle(w, one, /* number= */ 0);
    }
    put_bundle(w, json_object_get(run, "result"), number);
    put_error(w, json_object_get(run, "error"));
    jw_end_array(w);
}

/* ---- cells ---- */

static void put_code(struct notebook *n, const struct step *s)
{
    size_t number = ++n->runs;
    begin_cell(n, "code");
    jw_key(&n->w, "execution_count");
    jw_u64(&n->w, number);
    put_text(&n->w, "source", s->code);
    put_outputs(&n->w, s->run, number);
    jw_end_object(&n->w);
}

static void put_tool(struct notebook *n, const struct step *s)
{
    scoped(buf_done) struct buf text = BUF_INIT(1 << 20);
    buf_fmt(&text, "*%s* ", s->name);
    for (const char *at = s->input; *at; at++) /* what is in it stays text */
        buf_add(&text, *at == '`' || *at == '<' ? "'" : at, 1);
    put_markdown(n, "", text.failed ? s->name : text.bytes);
}

static void put_step(void *arg, const struct step *s)
{
    struct notebook *n = arg;
    switch (s->kind) {
    case STEP_SAID: put_markdown(n, "", s->text); return;
    case STEP_THOUGHT: return;
    case STEP_RUN: put_code(n, s); return;
    case STEP_TOOL: put_tool(n, s); return;
    }
}

static void begin_notebook(struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "nbformat");
    jw_u64(w, 4);
    jw_key(w, "nbformat_minor");
    jw_u64(w, 5);
    jw_key(w, "metadata");
    jw_object(w);
    jw_key(w, "kernelspec");
    jw_object(w);
    put_text(w, "name", "python3");
    put_text(w, "display_name", "Python 3");
    put_text(w, "language", "python");
    jw_end_object(w);
    jw_key(w, "language_info");
    jw_object(w);
    put_text(w, "name", "python");
    jw_end_object(w);
    jw_end_object(w);
    jw_key(w, "cells");
    jw_array(w);
}

void transcript_notebook(const json_t *record, struct buf *out)
{
    const json_t *answer = json_object_get(record, "answer");
    struct notebook n = {.w = JSON_WRITER(out)};
    begin_notebook(&n.w);
    put_markdown(&n, "# Question\n\n", text_of(answer, "question"));
    steps_each(record, put_step, &n);
    put_markdown(&n, "# Answer\n\n", text_of(answer, "answer"));
    jw_end_array(&n.w);
    jw_end_object(&n.w);
}
