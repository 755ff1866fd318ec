/* transcript_notebook.c -- an answer and how it was found, as a Jupyter notebook (nbformat 4.5). */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "ask/transcript.h"
#include "ask/transcript_steps.h"
#include "base/buf.h"
#include "base/scope.h"
#include "service/ipynb.h"
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

/* ---- cells ---- */

static void put_code(struct notebook *n, const struct step *s)
{
    size_t number = ++n->runs;
    begin_cell(n, "code");
    jw_key(&n->w, "execution_count");
    jw_u64(&n->w, number);
    put_text(&n->w, "source", s->code);
    ipynb_outputs(&n->w, s->run, number);
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

void transcript_notebook(const json_t *record, struct buf *out)
{
    const json_t *answer = json_object_get(record, "answer");
    struct notebook n = {.w = JSON_WRITER(out)};
    ipynb_begin(&n.w);
    put_markdown(&n, "# Question\n\n", text_of(answer, "question"));
    steps_each(record, put_step, &n);
    put_markdown(&n, "# Answer\n\n", text_of(answer, "answer"));
    ipynb_end(&n.w);
}
