/* native_search.c -- looking for words in files and runs, and how far the index is. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/object.h"
#include "workspace/search.h"
#include "json/fields.h"
#include "json/write.h"

enum { PROBLEMS_MAX = 100, COLUMN_NAME_SIZE = 8, TYPE_MAX = 60, PATTERN_MAX = 1024 };

static const char *const kinds[] = {"all", "files", "runs", NULL};

/* ---- what they take ---- */

struct search_args {
    const char *q, *workspace, *path, *type, *after, *before;
    int kind;
    int64_t limit;
};

#define SEARCH_FIELDS(s)                                                                        \
    {JF_TEXT(s, q), .required = true, .min = 1, .max = SEARCH_TEXT_MAX,                         \
     .doc = "words; \"several in quotes\" follow each other, -word must not be there, wor* "    \
            "begins so"},                                                                       \
        {JF_TEXT(s, path), .max = PATTERN_MAX,                                                  \
         .doc = "what the path begins with, or a pattern with * and **"},                       \
        {JF_TEXT(s, type), .max = TYPE_MAX, .doc = "csv, text/csv, or image/ for all of them"}, \
        {JF_TEXT(s, after), .max = 40, .doc = "changed then or later: a date or a time"},       \
        {JF_TEXT(s, before), .max = 40, .doc = "changed before: a date or a time"},             \
        {JF_CHOICE(s, kind, kinds), .preset = 0, .doc = "where to look"},                       \
    {                                                                                           \
        JF_INT(s, limit), .min = 1, .max = SEARCH_LIMIT_MAX, .preset = 20                       \
    }

static const struct json_field everywhere_fields[] = {
    SEARCH_FIELDS(struct search_args),
    {JF_TEXT(struct search_args, workspace), .max = 256,
     .doc = "only in this one, by id or name; otherwise in all you may read"},
    {0},
};
static const struct json_field workspace_fields[] = {
    SEARCH_FIELDS(struct search_args),
    {0},
};

/* ---- what they answer ---- */

/* 28 is AB. */
static void put_column(uint32_t column, char ret[COLUMN_NAME_SIZE])
{
    char letters[COLUMN_NAME_SIZE];
    size_t count = 0, at = 0;
    for (; column > 0 && count < COLUMN_NAME_SIZE - 1; column = (column - 1) / 26)
        letters[count++] = (char)('A' + (column - 1) % 26);
    while (count > 0)
        ret[at++] = letters[--count];
    ret[at] = '\0';
}

static void put_span(struct json_writer *w, const char *key, uint32_t first, uint32_t last)
{
    jw_key(w, key);
    jw_array(w);
    jw_u64(w, first);
    jw_u64(w, last);
    jw_end_array(w);
}

static void put_number(struct json_writer *w, const char *key, uint32_t number)
{
    jw_key(w, key);
    jw_u64(w, number);
}

static void put_label(struct json_writer *w, const char *key, const struct search_cite *c)
{
    if (!*c->label)
        return;
    jw_key(w, key);
    jw_text(w, c->label);
}

static void put_sheet(struct json_writer *w, const struct search_cite *c)
{
    char last[COLUMN_NAME_SIZE], cell[COLUMN_NAME_SIZE], text[64];
    put_label(w, "sheet", c);
    put_column(c->last_column, last);
    (void)snprintf(text, sizeof text, "A%u:%s%u", c->first, last, c->last);
    jw_key(w, "range");
    jw_text(w, text);
    if (c->cell_row == 0)
        return;
    put_column(c->cell_column, cell);
    (void)snprintf(text, sizeof text, "%s%u", cell, c->cell_row);
    jw_key(w, "cell");
    jw_text(w, text);
}

static void put_cite(struct json_writer *w, const struct search_cite *c)
{
    jw_object(w);
    switch (c->place) {
    case PLACE_LINES: put_span(w, "lines", c->first, c->last); break;
    case PLACE_PAGE: put_number(w, "page", c->first); break;
    case PLACE_SHEET: put_sheet(w, c); break;
    case PLACE_SLIDE:
        put_number(w, "slide", c->first);
        put_label(w, "part", c);
        break;
    case PLACE_CELL:
        put_number(w, "cell", c->first);
        put_label(w, "part", c);
        put_span(w, "lines", c->cell_row, c->cell_column);
        break;
    case PLACE_ROWS: put_span(w, "rows", c->first, c->last); break;
    case PLACE_PARAGRAPH:
        put_span(w, "paragraphs", c->first, c->last);
        put_label(w, "heading", c);
        break;
    case PLACE_CODE:
    case PLACE_OUTPUT:
        jw_key(w, "part");
        jw_text(w, c->place == PLACE_CODE ? "code" : "output");
        put_span(w, "lines", c->first, c->last);
        break;
    case PLACE_NONE:
    case PLACE_COUNT: break;
    }
    jw_end_object(w);
}

static void put_result(struct json_writer *w, const struct search_result *r)
{
    jw_object(w);
    jw_key(w, "workspace_id");
    jw_text(w, r->workspace);
    jw_key(w, "kind");
    jw_text(w, r->kind == DOC_FILE ? "file" : "run");
    jw_key(w, r->kind == DOC_FILE ? "file_id" : "run_id");
    jw_text(w, r->id);
    jw_key(w, "path");
    jw_text(w, r->kind == DOC_RUN && !*r->path ? NULL : r->path);
    if (r->kind == DOC_FILE) {
        jw_key(w, "version");
        jw_u64(w, r->version);
        jw_key(w, "is_newest");
        jw_bool(w, !r->is_old);
    }
    object_time(w, "changed_at", r->changed_us);
    jw_key(w, "match");
    jw_text(w, search_match_names[r->match]);
    jw_key(w, "score");
    jw_decimal(w, r->score > 0 ? (uint64_t)(r->score * 1e4 + 0.5) : 0, 4);
    jw_key(w, "snippet");
    jw_text(w, r->snippet);
    jw_key(w, "cite");
    put_cite(w, &r->cite);
    jw_end_object(w);
}

/* ---- what they do ---- */

/* A day, or a second of one; UTC. */
static int time_read(const char *name, const char *text, int64_t *ret, struct err *e)
{
    struct tm utc = {0};
    const char *rest = strptime(text, "%Y-%m-%d", &utc);
    if (rest && (*rest == 'T' || *rest == ' '))
        rest = strptime(rest + 1, "%H:%M:%S", &utc);
    if (rest && *rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    if (!rest || (*rest && strcmp(rest, "Z") != 0))
        return err_set(e, ERR_INVALID, "%s: write 2026-07-01 or 2026-07-01T12:30:00Z", name);
    *ret = (int64_t)timegm(&utc) * 1000000;
    return 0;
}

static int ask(struct call *c, const struct workspace_row *ws, struct err *e)
{
    const struct search_args *in = c->query;
    struct search_question question = {.text = in->q,
                                       .path = in->path,
                                       .type = in->type,
                                       .kind = in->kind - 1,
                                       .limit = (uint32_t)in->limit};
    struct json_writer w = JSON_WRITER(&c->out);
    struct search_results results;
    if ((in->after && time_read("after", in->after, &question.after_us, e)) ||
        (in->before && time_read("before", in->before, &question.before_us, e)) ||
        search_ask(c->api->o.search, &c->who, ws, &question, &results, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < results.count; i++)
        put_result(&w, &results.items[i]);
    jw_end_array(&w);
    jw_key(&w, "notice");
    jw_text(&w, *results.notice ? results.notice : NULL);
    jw_end_object(&w);
    search_results_done(&results);
    return 0;
}

static int search_everywhere(struct call *c, struct err *e)
{
    const struct search_args *in = c->query;
    scoped(workspace_row_done) struct workspace_row ws = {0};
    if (!in->workspace)
        return ask(c, NULL, e);
    return named_workspace(c, in->workspace, RIGHT_READ, &ws, e) || ask(c, &ws, e) ? -1 : 0;
}

static int search_workspace(struct call *c, struct err *e)
{
    return ask(c, &c->ws, e);
}

static int put_problems(struct call *c, struct json_writer *w, const char *key,
                        enum doc_state state, struct err *e)
{
    scoped(freep) struct text_problem *list = NULL;
    size_t count = 0;
    if (text_index_problems(search_index(c->api->o.search), c->ws.id, state, PROBLEMS_MAX, &list,
                            &count, e))
        return -1;
    jw_key(w, key);
    jw_array(w);
    for (size_t i = 0; i < count; i++) {
        jw_object(w);
        jw_key(w, "path");
        jw_text(w, list[i].doc.path);
        jw_key(w, list[i].doc.kind == DOC_FILE ? "file_id" : "run_id");
        jw_text(w, list[i].doc.id);
        jw_key(w, "version");
        jw_u64(w, list[i].doc.version);
        jw_key(w, "reason");
        jw_text(w, list[i].reason);
        jw_end_object(w);
    }
    jw_end_array(w);
    return 0;
}

/* Whether what texts mean is known, of how many, and why not. */
static int put_intelligence(struct call *c, struct json_writer *w, struct err *e)
{
    struct search_mind mind;
    if (search_mind(c->api->o.search, &c->ws, &mind, e))
        return -1;
    jw_key(w, "intelligence");
    jw_object(w);
    jw_key(w, "is_on");
    jw_bool(w, c->ws.has_intelligence);
    jw_key(w, "model");
    jw_text(w, mind.model);
    put_number(w, "chunks", (uint32_t)mind.chunks);
    jw_key(w, "error");
    jw_text(w, c->ws.has_intelligence && !mind.model ? mind.why : NULL);
    jw_end_object(w);
    return 0;
}

static int show_index(struct call *c, struct err *e)
{
    static const char *const names[] = {"pending", "ready", "failed", "skipped"};
    struct text_index *index = search_index(c->api->o.search);
    struct json_writer w = JSON_WRITER(&c->out);
    struct text_counts counts = {0};
    if (index && text_index_count(index, c->ws.id, &counts, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "workspace_id");
    jw_text(&w, c->ws.id);
    jw_key(&w, "is_on");
    jw_bool(&w, index != NULL);
    for (size_t i = 0; i < 4; i++) {
        jw_key(&w, names[i]);
        jw_u64(&w, counts.docs[i]);
    }
    jw_key(&w, "chunks");
    jw_u64(&w, counts.chunks);
    if (put_intelligence(c, &w, e))
        return -1;
    if (index && (put_problems(c, &w, "failures", DOC_FAILED, e) ||
                  put_problems(c, &w, "without_text", DOC_SKIPPED, e)))
        return -1;
    jw_end_object(&w);
    return 0;
}

#define QUERY(table) .query = (table), .query_size = sizeof(struct search_args)

static const struct op ops[] = {
    {.method = "GET",
     .path = "/api/v1/search",
     .name = "search",
     .summary = "Look for words in the files of all workspaces you may read, and in your runs.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_FILES_READ,
     QUERY(everywhere_fields),
     .status = 200,
     .answer = "SearchResults",
     .run = search_everywhere},
    {.method = "GET",
     .path = "/api/v1/workspaces/{ws}/search",
     .name = "searchWorkspace",
     .summary = "Look for words in the files of a workspace, and in your runs there.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     QUERY(workspace_fields),
     .status = 200,
     .answer = "SearchResults",
     .run = search_workspace},
    {.method = "GET",
     .path = "/api/v1/workspaces/{ws}/index",
     .name = "getIndex",
     .summary = "How far the index of a workspace is, and what could not be read.",
     .needs = NEEDS_READ,
     .scope = SCOPE_FILES_READ,
     .status = 200,
     .answer = "Index",
     .run = show_index},
};

const struct op_table native_search = {ops, sizeof ops / sizeof *ops};
