/* file_search.c -- search_files: the index of words and meanings, and how hits are told. */
#include "mcp/file_search.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/file_common.h"
#include "mcp/mcp_int.h"
#include "json/fields.h"
#include "json/write.h"

enum {
    QUERY_MAX = 1000,
    GLOB_MAX = 1024,
    LIMIT_MAX = 50,
};

static const char *const modes[] = {"auto", "text", "semantic", "name", "regex", NULL};

static const struct json_field fields[] = {
    {JF_TEXT(struct search_args, query), .required = true, .min = 1, .max = QUERY_MAX,
     .doc =
         "Words, such as `quarterly revenue`; \"in quotes\" they follow each other, -word must not be "
         "there, wor* begins so. Mode name: a part of the path, or a pattern such as `*.csv`. Mode "
         "regex: a regular expression for a line."},
    {JF_CHOICE(struct search_args, mode, modes),
     .doc =
         "`auto`: by words, and by meaning where the workspace has intelligence on. `text`: by words "
         "only. `semantic`: by meaning. `name`: in names of files. `regex`: reads the text files "
         "themselves, line by line; slower, exact, case matters unless it begins with (?i)."},
    {JF_TEXT(struct search_args, path_glob), .min = 1, .max = GLOB_MAX,
     .doc =
         "Only files that fit: `*.py` anywhere, `reports/**`, or a directory such as `reports/`."},
    {JF_INT(struct search_args, limit), .min = 1, .max = LIMIT_MAX, .preset = 10,
     .doc = "Most hits."},
    {JF_INT(struct search_args, context_lines), .min = 0, .max = 10, .preset = 2,
     .doc = "Mode regex: lines shown around a line that fits. The others show a snippet."},
    {JF_TEXT(struct search_args, workspace_id), .min = 1, .max = FILE_WORKSPACE_MAX,
     .doc = FILE_WORKSPACE_DOC},
    {0},
};

/* ---- what the three share ---- */

struct json_t *search_hit(struct json_t *hits, const struct json_t *file, const char *match,
                          double score)
{
    json_t *hit =
        json_pack("{s:s, s:s, s:I, s:s, s:f}", "workspace_id", file_text(file, "workspace_id"),
                  "path", file_text(file, "path"), "version",
                  (json_int_t)file_number(file, "version"), "match", match, "score", score);
    if (!hit || json_array_append_new(hits, hit))
        return NULL;
    return hit;
}

/* A name of one part is looked for everywhere. */
static void put_glob(struct buf *out, const char *glob)
{
    const char *clean = native_clean(glob);
    if (strpbrk(clean, "*?[") && !strchr(clean, '/'))
        buf_str(out, "**/");
    buf_str(out, clean);
}

int search_files_page(struct mcp_call *m, char **cursor, struct native *n, struct err *e)
{
    const struct search_args *in = m->in;
    scoped(buf_done) struct buf glob = BUF_INIT(2 * GLOB_MAX);
    if (in->path_glob)
        put_glob(&glob, in->path_glob);
    bool is_pattern = glob.len && strpbrk(glob.bytes, "*?[");
    native_workspace(n, in->workspace_id);
    native_text(n, "/files");
    native_query(n, "recursive", "true");
    native_query(n, "limit", "1000");
    native_query(n, "cursor", *cursor);
    native_query(n, is_pattern ? "glob" : "prefix", glob.len ? glob.bytes : NULL);
    if (buf_check(&glob, e) || native_call(m, n, e))
        return file_workspace_failed(m, e);
    const char *next = json_string_value(json_object_get(n->json, "next_cursor"));
    free(*cursor);
    *cursor = next ? strdup(next) : NULL;
    return next && !*cursor ? err_set(e, ERR_NO_MEMORY, "list files") : 0;
}

/* ---- the index ---- */

static int64_t item(const json_t *cite, const char *key, size_t index)
{
    return json_integer_value(json_array_get(json_object_get(cite, key), index));
}

static void put_span(json_t *hit, char *text, size_t size, const char *name, const json_t *cite,
                     const char *key)
{
    int64_t first = item(cite, key, 0), last = item(cite, key, 1);
    if (first == 0)
        return;
    size_t len = strlen(text);
    (void)snprintf(text + len, size - len, "%s%s %" PRId64 "-%" PRId64, len ? ", " : "", name,
                   first, last);
    if (strcmp(key, "lines") == 0 && !json_object_get(cite, "cell")) {
        (void)json_object_set_new(hit, "line_start", json_integer(first));
        (void)json_object_set_new(hit, "line_end", json_integer(last));
    }
}

static void put_named(char *text, size_t size, const char *name, const json_t *cite,
                      const char *key)
{
    const json_t *value = json_object_get(cite, key);
    size_t len = strlen(text);
    if (json_is_integer(value))
        (void)snprintf(text + len, size - len, "%s%s %" PRId64, len ? ", " : "", name,
                       (int64_t)json_integer_value(value));
    else if (json_is_string(value))
        (void)snprintf(text + len, size - len, "%s%s %.100s", len ? ", " : "", name,
                       json_string_value(value));
}

/* Where in the file it is, as people say it: what the API tells of it (docs/search.md). */
static void cite(json_t *hit, const json_t *place)
{
    char text[400] = "";
    const json_t *page = json_object_get(place, "page");
    put_named(text, sizeof text, "page", place, "page");
    put_named(text, sizeof text, "slide", place, "slide");
    put_named(text, sizeof text, "sheet", place, "sheet");
    put_named(text, sizeof text, "range", place, "range");
    put_named(text, sizeof text, "cell", place, "cell");
    put_named(text, sizeof text, "part", place, "part");
    put_span(hit, text, sizeof text, "lines", place, "lines");
    put_span(hit, text, sizeof text, "rows", place, "rows");
    put_span(hit, text, sizeof text, "paragraphs", place, "paragraphs");
    put_named(text, sizeof text, "under", place, "heading");
    if (page)
        (void)json_object_set(hit, "page", (json_t *)page);
    if (*text && utf8_is_valid(text, strlen(text)))
        (void)json_object_set_new(hit, "cite", json_string(text));
}

static bool is_wanted(const struct search_args *in, const char *match)
{
    if (in->mode == SEARCH_TEXT)
        return strcmp(match, "semantic") != 0;
    return in->mode != SEARCH_SEMANTIC || strcmp(match, "keyword") != 0;
}

static int take_results(struct mcp_call *m, const json_t *data, json_t *hits, struct err *e)
{
    const struct search_args *in = m->in;
    size_t i;
    json_t *result;
    json_array_foreach(data, i, result)
    {
        const char *match = file_text(result, "match");
        if (!is_wanted(in, match) || json_array_size(hits) >= (size_t)in->limit)
            continue;
        json_t *hit =
            search_hit(hits, result, match, json_number_value(json_object_get(result, "score")));
        if (!hit)
            return err_set(e, ERR_NO_MEMORY, "search");
        cite(hit, json_object_get(result, "cite"));
        (void)json_object_set(hit, "snippet", json_object_get(result, "snippet"));
        if (json_is_false(json_object_get(result, "is_newest")))
            (void)json_object_set_new(hit, "is_newest", json_false());
    }
    return 0;
}

static int search_index_of(struct mcp_call *m, json_t *hits, struct err *e)
{
    const struct search_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf glob = BUF_INIT(2 * GLOB_MAX);
    if (in->path_glob)
        put_glob(&glob, in->path_glob);
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/search");
    native_query(&n, "q", in->query);
    native_query(&n, "kind", "files");
    native_query(&n, "path", glob.len ? glob.bytes : NULL);
    native_query_u64(&n, "limit", in->mode == SEARCH_AUTO ? (uint64_t)in->limit : 100);
    if (buf_check(&glob, e) || native_call(m, &n, e)) {
        if (e->code == ERR_UNAVAILABLE)
            (void)snprintf(m->hint, sizeof m->hint,
                           "This server keeps no index. Use mode \"regex\" to look into files, or "
                           "\"name\" for their names.");
        return file_workspace_failed(m, e);
    }
    const char *notice = file_text(n.json, "notice");
    if (*notice)
        buf_fmt(&m->reply.text, "%s\n", notice);
    return take_results(m, json_object_get(n.json, "data"), hits, e);
}

/* How far the index is: what was found may not be all. *ret_can_mean: texts are known by meaning. */
static int look_at_index(struct mcp_call *m, uint64_t *ret_pending, bool *ret_can_mean,
                         struct err *e)
{
    const struct search_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/index");
    if (native_call(m, &n, e))
        return -1;
    const json_t *mind = json_object_get(n.json, "intelligence");
    *ret_pending = file_number(n.json, "pending");
    *ret_can_mean = json_is_true(json_object_get(mind, "is_on")) &&
                    json_is_string(json_object_get(mind, "model"));
    return 0;
}

/* ---- which way ---- */

static int search_by_index(struct mcp_call *m, json_t *hits, uint64_t *ret_pending, struct err *e)
{
    const struct search_args *in = m->in;
    bool can_mean = false;
    if (search_index_of(m, hits, e) || look_at_index(m, ret_pending, &can_mean, e))
        return -1;
    if (in->mode == SEARCH_SEMANTIC && !can_mean)
        buf_str(&m->reply.text,
                "Meanings are not known here: intelligence is off for this workspace (the tool "
                "workspace turns it on). Use mode \"auto\" to go by words.\n");
    if (in->mode != SEARCH_AUTO || json_array_size(hits) > 0)
        return 0;
    if (search_names(m, hits, e))
        return -1;
    if (json_array_size(hits) > 0)
        buf_str(&m->reply.text, "No file says that, but names do.\n");
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct search_args *in = m->in;
    json_t *hits = json_array();
    uint64_t pending = 0;
    if (!hits)
        return err_set(e, ERR_NO_MEMORY, "search");
    int failed = in->mode == SEARCH_NAME    ? search_names(m, hits, e)
                 : in->mode == SEARCH_REGEX ? search_lines(m, hits, e)
                                            : search_by_index(m, hits, &pending, e);
    if (!failed) {
        search_tell(m, hits);
        jw_key(&m->reply.w, "pending");
        jw_u64(&m->reply.w, pending);
        if (pending)
            buf_fmt(&m->reply.text,
                    "%" PRIu64 " files are not indexed yet: search again in a moment.\n", pending);
    }
    json_decref(hits);
    return failed;
}

const struct mcp_tool tool_search_files = {
    .name = "search_files",
    .title = "Search files",
    .description =
        "Find files of the workspace, and the place in them, by words, meaning, name or regular expression. "
        "Looks into text, code, CSV, notebooks, PDF, DOCX, XLSX and PPTX, and cites where: "
        "`notes.md:12-18`, `q3.pdf, page 12`. Write the words you expect in the text, e.g. {\"query\": "
        "\"quarterly revenue europe\"}, not a question to somebody; for an identifier or an error message "
        "exactly as written use {\"mode\": \"regex\", \"query\": \"def load_\\\\w+\", "
        "\"path_glob\": \"*.py\"}; for a file whose name you half know {\"mode\": \"name\"}. Then read_file "
        "with offset shows the place.",
    .fields = fields,
    .size = sizeof(struct search_args),
    .scope = SCOPE_FILES_READ,
    .flags = TOOL_CORE | TOOL_READS | TOOL_REPEATS,
    .run = run,
};
