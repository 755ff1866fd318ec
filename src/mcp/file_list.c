/* file_list.c -- list_files: what is in a directory, below it, or in the trash.
 *
 * Sorted by name, pages are those of the native API. Every other order needs all of them first: up to
 * LOOKED_AT_MAX are fetched, and the cursor counts how many were shown. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/parse.h"
#include "base/scope.h"
#include "mcp/file_list_int.h"
#include "mcp/mcp_int.h"
#include "workspace/paths.h"
#include "json/fields.h"
#include "json/write.h"

enum {
    LIMIT_MAX = 500,
    FETCH = 1000, /* at once */
    LOOKED_AT_MAX = 20000,
    PATTERN_MAX = 8 << 10,
    CURSOR_MAX = 4096,
};

enum list_sort { SORT_NAME, SORT_MODIFIED, SORT_SIZE };
static const char *const sorts[] = {"name", "modified", "size", NULL};

static const struct json_field fields[] = {
    {JF_TEXT(struct list_args, path), .max = FILE_PATH_MAX, .preset_text = "/",
     .doc = "Directory to list. `/` and `/mnt/data` are the whole workspace."},
    {JF_BOOL(struct list_args, recursive), .doc = "Also what is in directories below it."},
    {JF_TEXT(struct list_args, glob), .min = 1, .max = 1024,
     .doc =
         "Only names that fit, relative to path: `*.csv` in the directory itself (with recursive: "
         "anywhere below), `**/*.csv` anywhere below. Case matters."},
    {JF_CHOICE(struct list_args, sort, sorts),
     .doc = "`modified`: newest first; `size`: largest first."},
    {JF_INT(struct list_args, limit), .min = 1, .max = LIMIT_MAX, .preset = 100,
     .doc = "Most entries of a page; fewer where names are long."},
    {JF_TEXT(struct list_args, cursor), .min = 1, .max = CURSOR_MAX,
     .doc = "next_cursor of the page before; repeat the other arguments."},
    {JF_BOOL(struct list_args, deleted),
     .doc = "List the trash instead, newest first; manage_file restores from it."},
    {JF_TEXT(struct list_args, workspace_id), .min = 1, .max = FILE_WORKSPACE_MAX,
     .doc = FILE_WORKSPACE_DOC},
    {0},
};

/* What is shown: entries of the native API in their order. */
struct listing {
    json_t *all; /* an array, owned */
    json_t **order;
    size_t count;
    bool is_cut; /* there are more than were looked at */
};

static void listing_done(struct listing *l)
{
    json_decref(l->all);
    free(l->order);
}

/* ---- what is asked for ---- */

/* A directory as the beginning of paths: "" or "plots/". */
static void put_prefix(struct buf *out, const char *path)
{
    const char *clean = native_clean(path);
    size_t len = strlen(clean);
    buf_fmt(out, "%s%s", clean, len > 0 && clean[len - 1] != '/' ? "/" : "");
}

/* The pattern for whole paths. What is special in the directory's name stands for itself. */
static void put_pattern(struct buf *out, const char *prefix, const struct list_args *in)
{
    for (const char *at = prefix; *at; at++) {
        if (strchr("*?[", *at))
            buf_fmt(out, "[%c]", *at);
        else
            buf_add(out, at, 1);
    }
    if (in->recursive && !strchr(in->glob, '/'))
        buf_str(out, "**/");
    const char *glob = native_clean(in->glob);
    buf_str(out, *glob ? glob : in->glob);
}

static void asked_done(struct asked *a)
{
    buf_done(&a->prefix);
    buf_done(&a->pattern);
}

static int ask(const struct list_args *in, struct asked *a, struct err *e)
{
    put_prefix(&a->prefix, in->path);
    buf_add(&a->prefix, "", 1);
    if (in->glob && !a->prefix.failed)
        put_pattern(&a->pattern, a->prefix.bytes, in);
    return buf_check(&a->prefix, e) || buf_check(&a->pattern, e) ? -1 : 0;
}

static int fetch(struct mcp_call *m, const struct asked *a, const char *cursor, uint64_t limit,
                 struct native *n, struct err *e)
{
    const struct list_args *in = m->in;
    native_workspace(n, in->workspace_id);
    native_text(n, in->deleted ? "/trash" : "/files");
    native_query_u64(n, "limit", limit);
    native_query(n, "cursor", cursor);
    if (!in->deleted) {
        native_query(n, "prefix", a->prefix.bytes);
        native_query(n, "glob", a->pattern.len ? a->pattern.bytes : NULL);
        native_query(n, "recursive", in->recursive ? "true" : NULL);
    }
    return native_call(m, n, e) ? file_workspace_failed(m, e) : 0;
}

/* ---- other orders ---- */

static bool is_wanted(const struct list_args *in, const struct asked *a, const json_t *entry)
{
    const char *path = file_text(entry, "path");
    if (!in->deleted)
        return true;
    if (strncmp(path, a->prefix.bytes, strlen(a->prefix.bytes)) != 0)
        return false;
    return a->pattern.len == 0 || glob_fits(a->pattern.bytes, path);
}

static int by_modified(const void *x, const void *y)
{
    json_t *const *a = x, *const *b = y;
    int order = strcmp(file_text(*b, "modified_at"), file_text(*a, "modified_at"));
    return order ? order : strcmp(file_text(*a, "path"), file_text(*b, "path"));
}

static int by_size(const void *x, const void *y)
{
    json_t *const *a = x, *const *b = y;
    uint64_t one = file_number(*a, "size"), other = file_number(*b, "size");
    if (one != other)
        return one < other ? 1 : -1;
    return strcmp(file_text(*a, "path"), file_text(*b, "path"));
}

static int gather(struct mcp_call *m, const struct asked *a, struct listing *l, struct err *e)
{
    scoped(freep) char *cursor = NULL;
    l->all = json_array();
    while (l->all && !l->is_cut) {
        scoped(native_done) struct native n = NATIVE("GET");
        if (fetch(m, a, cursor, FETCH, &n, e))
            return -1;
        if (json_array_extend(l->all, json_object_get(n.json, "data")))
            break;
        const char *next = json_string_value(json_object_get(n.json, "next_cursor"));
        if (!next)
            return 0;
        free(cursor);
        cursor = strdup(next);
        if (!cursor)
            break;
        l->is_cut = json_array_size(l->all) >= LOOKED_AT_MAX;
    }
    return l->is_cut ? 0 : err_set(e, ERR_NO_MEMORY, "list files");
}

static int put_in_order(const struct list_args *in, const struct asked *a, struct listing *l,
                        struct err *e)
{
    size_t total = json_array_size(l->all);
    l->order = calloc(total + 1, sizeof(void *));
    if (!l->order)
        return err_set(e, ERR_NO_MEMORY, "list files");
    for (size_t i = 0; i < total; i++) {
        json_t *entry = json_array_get(l->all, i);
        if (is_wanted(in, a, entry))
            l->order[l->count++] = entry;
    }
    if (in->sort != SORT_NAME)
        qsort(l->order, l->count, sizeof(void *), in->sort == SORT_SIZE ? by_size : by_modified);
    return 0;
}

/* ---- the ways to list ---- */

/* A file that was named as if it were a directory. */
static int list_one(struct mcp_call *m, const struct asked *a, bool *ret_found, struct err *e)
{
    const struct list_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    struct file_facts f;
    if (file_stat(m, in->workspace_id, in->path, 0, &n, &f, e))
        return -1;
    *ret_found = !f.is_dir;
    if (*ret_found)
        list_tell(m, a, &n.json, 1, NULL);
    return 0;
}

static int list_empty(struct mcp_call *m, const struct asked *a, struct err *e)
{
    const struct list_args *in = m->in;
    bool is_found = false;
    if (*a->prefix.bytes && !in->deleted && !in->glob && !in->cursor &&
        list_one(m, a, &is_found, e))
        return -1;
    if (!is_found)
        list_tell(m, a, NULL, 0, NULL);
    return 0;
}

/* By name: the pages are the store's. One that does not fit is asked for again, shorter, so that its
 * cursor is right. */
static int list_by_name(struct mcp_call *m, const struct asked *a, struct err *e)
{
    const struct list_args *in = m->in;
    uint64_t limit = (uint64_t)in->limit;
    for (;;) {
        scoped(native_done) struct native n = NATIVE("GET");
        scoped(listing_done) struct listing l = {0};
        if (fetch(m, a, in->cursor, limit, &n, e))
            return -1;
        l.all = json_incref(json_object_get(n.json, "data"));
        const char *next = json_string_value(json_object_get(n.json, "next_cursor"));
        if (put_in_order(in, a, &l, e))
            return -1;
        if (l.count == 0 && !next)
            return list_empty(m, a, e);
        size_t fits = list_fitting((const json_t *const *)l.order, l.count);
        if (fits == l.count) {
            list_tell(m, a, l.order, l.count, next);
            return 0;
        }
        limit = fits;
    }
}

static int list_sorted(struct mcp_call *m, const struct asked *a, struct err *e)
{
    const struct list_args *in = m->in;
    scoped(listing_done) struct listing l = {0};
    uint64_t from = 0;
    char next[32];
    if (in->cursor && parse_u64(in->cursor, 0, LOOKED_AT_MAX * 2, &from, e))
        return err_wrap(e, "cursor");
    if (gather(m, a, &l, e) || put_in_order(in, a, &l, e))
        return -1;
    if (l.count == 0)
        return list_empty(m, a, e);
    size_t first = from < l.count ? (size_t)from : l.count, count = l.count - first;
    if (count > (size_t)in->limit)
        count = (size_t)in->limit;
    count = list_fitting((const json_t *const *)l.order + first, count);
    (void)snprintf(next, sizeof next, "%zu", first + count);
    list_tell(m, a, l.order + first, count, first + count < l.count ? next : NULL);
    if (l.is_cut)
        buf_fmt(&m->reply.text, "Only the first %d by name were looked at: name a directory.\n",
                LOOKED_AT_MAX);
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct list_args *in = m->in;
    scoped(asked_done) struct asked a = {.prefix = BUF_INIT(FILE_PATH_MAX + 2),
                                         .pattern = BUF_INIT(PATTERN_MAX * 2)};
    if (ask(in, &a, e))
        return -1;
    return in->sort == SORT_NAME && !in->deleted ? list_by_name(m, &a, e) : list_sorted(m, &a, e);
}

const struct mcp_tool tool_list_files = {
    .name = "list_files",
    .title = "List files",
    .description =
        "List what is in the workspace: size, time of the last change, version and path of each file, one "
        "directory at a time (directories end with `/`). Use recursive=true with a glob to look "
        "everywhere, e.g. {\"glob\": \"*.csv\", \"recursive\": true}; without recursive `*.csv` "
        "finds only files of the directory itself. To find files by what is in them use search_files. "
        "deleted=true lists the trash.",
    .fields = fields,
    .size = sizeof(struct list_args),
    .scope = SCOPE_FILES_READ,
    .flags = TOOL_CORE | TOOL_READS | TOOL_REPEATS,
    .run = run,
};
