/* answer_tools.c -- what a model may do besides running code when it answers from a workspace: search it, and read files. What it
 * is shown carries a reference mark (marks.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/native_call.h"
#include "ask/answer.h"
#include "ask/answer_read.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"

enum { HITS_PRESET = 8, HITS_MAX = 20, SNIPPET_MAX = 2000, QUERY_MAX = 400 };

const char tools_instructions[] =
    "Answer from the files of the workspace. Find them with search_workspace and look into them with read_file. What they show you begins "
    "with a reference mark in square brackets, such as [3]. Put the mark of the place right behind everything that you took from "
    "there, like this: Revenue grew by 4 % [3]. Use only marks that you were shown, never make one up. Compute figures with code, do "
    "not guess them. If the files do not say it, say that they do not.";

/* ---- places ---- */

/* "lines 3-8", from what the API says of a place (docs/search.md). */
static void put_span(char *text, size_t size, const char *name, const json_t *cite)
{
    const json_t *span = json_object_get(cite, name);
    int64_t first = json_integer_value(json_array_get(span, 0));
    int64_t last = json_integer_value(json_array_get(span, 1));
    if (json_array_size(span) == 2 && first == last)
        (void)snprintf(text, size, "%.*s %" PRId64, (int)strlen(name) - 1, name, first);
    else if (json_array_size(span) == 2)
        (void)snprintf(text, size, "%s %" PRId64 "-%" PRId64, name, first, last);
}

static void put_named(char *text, size_t size, const char *name, const json_t *cite)
{
    const json_t *value = json_object_get(cite, name);
    if (json_is_integer(value))
        (void)snprintf(text, size, "%s %" PRId64, name, (int64_t)json_integer_value(value));
    else if (json_is_string(value))
        (void)snprintf(text, size, "%s %.100s", name, json_string_value(value));
}

static void put_where(char *text, size_t size, const json_t *cite)
{
    static const char *const spans[] = {"lines", "rows", "paragraphs"};
    static const char *const names[] = {"slide", "sheet", "cell"};
    *text = '\0';
    for (size_t i = 0; i < sizeof spans / sizeof *spans; i++)
        put_span(text, size, spans[i], cite);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put_named(text, size, names[i], cite);
    if (!utf8_is_valid(text, strlen(text)))
        *text = '\0';
}

/* ---- search ---- */

static void put_snippet(struct buf *out, const char *snippet)
{
    size_t left = strlen(snippet);
    left = left > SNIPPET_MAX ? utf8_cut(snippet, SNIPPET_MAX) : left;
    while (left > 0) {
        size_t len = strcspn(snippet, "\n");
        len = len < left ? len : left;
        buf_str(out, "   ");
        buf_add(out, snippet, len);
        buf_str(out, "\n");
        size_t used = len + (len < left);
        snippet += used;
        left -= used;
    }
}

static int put_hit(struct answer *a, const json_t *hit, struct buf *out, struct err *e)
{
    char where[160];
    const json_t *cite = json_object_get(hit, "cite");
    put_where(where, sizeof where, cite);
    const struct mark_place place = {.workspace = a->hands.workspace,
                                     .path = text_at(hit, "path"),
                                     .version = number_at(hit, "version"),
                                     .page = number_at(cite, "page"),
                                     .where = where};
    size_t number;
    if (marks_add(&a->marks, &place, &number, e))
        return -1;
    buf_fmt(out, "[%zu] %s", number, place.path);
    if (place.page)
        buf_fmt(out, ", page %" PRIu64, place.page);
    if (*where)
        buf_fmt(out, ", %s", where);
    buf_fmt(out, " (version %" PRIu64 "%s)\n", place.version,
            json_is_false(json_object_get(hit, "is_newest")) ? ", not the newest" : "");
    put_snippet(out, text_at(hit, "snippet"));
    return 0;
}

static int put_hits(struct answer *a, const json_t *found, struct buf *out, struct err *e)
{
    const json_t *data = json_object_get(found, "data");
    size_t i;
    json_t *hit;
    if (*text_at(found, "notice"))
        buf_fmt(out, "%s\n", text_at(found, "notice"));
    json_array_foreach(data, i, hit)
    {
        if (put_hit(a, hit, out, e))
            return -1;
    }
    if (i == 0)
        buf_str(
            out,
            "Nothing was found. Try other or fewer words, or words that the text itself would use.\n");
    return 0;
}

static int search(void *arg, const json_t *arguments, struct halt *halt, struct buf *ret,
                  struct err *e)
{
    struct answer *a = arg;
    scoped(native_done) struct native n = NATIVE("GET");
    uint64_t limit = number_at(arguments, "limit");
    char query[QUERY_MAX + 1];
    const char *wanted = text_at(arguments, "query");
    size_t len = strlen(wanted);
    (void)halt;
    len = len > QUERY_MAX ? utf8_cut(wanted, QUERY_MAX) : len;
    memcpy(query, wanted, len);
    query[len] = '\0';
    if (!*query)
        return err_set(e, ERR_INVALID, "query: some words are needed");
    native_workspace(&n, a->hands.workspace);
    native_text(&n, "/search");
    native_query(&n, "q", query);
    native_query(&n, "kind", "files");
    native_query_u64(&n, "limit",
                     limit > 0 && limit < HITS_MAX ? limit
                     : limit                       ? HITS_MAX
                                                   : HITS_PRESET);
    if (native_perform(&n, /* c= */ NULL, a->caller, "ask", e))
        return e->code == ERR_UNAVAILABLE
                   ? err_set(
                         e, ERR_UNAVAILABLE,
                         "this server keeps no index: look at /mnt/data with code, and use read_file")
                   : -1;
    return put_hits(a, n.json, ret, e);
}

/* ---- what the model is offered ---- */

void tools_fill(struct answer *a, struct agent_tool ret[TOOLS_COUNT])
{
    ret[0] = (struct agent_tool){
        .name = "search_workspace",
        .description =
            "Find places in the files of the workspace: text, code, CSV, PDF, DOCX, XLSX, PPTX, notebooks. Write words "
            "that the text would use, not a question. Each hit has a reference mark.",
        .parameters =
            "{\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"description\":\"words; \\\"in "
            "quotes\\\" they follow each other\"},\"limit\":{\"type\":\"integer\",\"description\":\"most hits, 8 if "
            "left out\"}},\"required\":[\"query\"]}",
        .call = search,
        .arg = a};
    ret[1] = (struct agent_tool){
        .name = "read_file",
        .description =
            "Read the text of a file of the workspace, of a document the text in it. The text has a reference mark.",
        .parameters =
            "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"},\"version\":{\"type\":\"integer\","
            "\"description\":\"the newest if left out\"},\"page\":{\"type\":\"integer\",\"description\":\"of a PDF, or slide "
            "of a presentation\"},\"offset\":{\"type\":\"integer\",\"description\":\"byte of the text to begin "
            "at\"}},\"required\":[\"path\"]}",
        .call = read_file,
        .arg = a};
}
