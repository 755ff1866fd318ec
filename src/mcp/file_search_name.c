/* file_search_name.c -- search_files with mode name: files by a part of their path, or by a pattern. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/scope.h"
#include "mcp/file_common.h"
#include "mcp/file_search.h"
#include "mcp/mcp_int.h"

enum { LOOKED_AT_MAX = 50000, PATTERN_MAX = 2048 };

/* How well a path fits, 0: not. Case does not matter, but what is the same in case, too, is better. */
static double rate(const char *path, const char *query, const char *pattern)
{
    const char *name = file_name(path);
    if (pattern)
        return glob_fits(pattern, path) ? 1 : 0;
    if (strcmp(path, query) == 0)
        return 1;
    if (strcmp(name, query) == 0)
        return 0.95;
    if (strcasecmp(name, query) == 0)
        return 0.9;
    if (strncasecmp(name, query, strlen(query)) == 0)
        return 0.8;
    if (strcasestr(name, query))
        return 0.7;
    return strcasestr(path, query) ? 0.5 : 0;
}

/* Puts it where it belongs among those that are kept, best first. */
static int keep(json_t *hits, const json_t *file, double score, size_t limit, struct err *e)
{
    size_t count = json_array_size(hits), at = count;
    while (at > 0 &&
           json_real_value(json_object_get(json_array_get(hits, at - 1), "score")) < score)
        at--;
    if (at >= limit)
        return 0;
    json_t *hit = search_hit(hits, file, "name", score);
    if (!hit)
        return err_set(e, ERR_NO_MEMORY, "search");
    json_incref(hit);
    if (json_array_remove(hits, count) || json_array_insert_new(hits, at, hit))
        return err_set(e, ERR_NO_MEMORY, "search");
    if (json_array_size(hits) > limit)
        (void)json_array_remove(hits, limit);
    return 0;
}

static int take_page(struct mcp_call *m, const json_t *data, const char *pattern, json_t *hits,
                     struct err *e)
{
    const struct search_args *in = m->in;
    const char *query = native_clean(in->query);
    size_t i;
    json_t *file;
    json_array_foreach(data, i, file)
    {
        double score = rate(file_text(file, "path"), *query ? query : in->query, pattern);
        if (score > 0 && keep(hits, file, score, (size_t)in->limit, e))
            return -1;
    }
    return 0;
}

int search_names(struct mcp_call *m, json_t *hits, struct err *e)
{
    const struct search_args *in = m->in;
    scoped(buf_done) struct buf pattern = BUF_INIT(PATTERN_MAX);
    scoped(freep) char *cursor = NULL;
    size_t seen = 0;
    bool is_pattern = strpbrk(in->query, "*?[") != NULL;
    if (is_pattern)
        buf_fmt(&pattern, "%s%s", strchr(native_clean(in->query), '/') ? "" : "**/",
                native_clean(in->query));
    if (buf_check(&pattern, e))
        return -1;
    do {
        scoped(native_done) struct native n = NATIVE("GET");
        if (search_files_page(m, &cursor, &n, e))
            return -1;
        const json_t *data = json_object_get(n.json, "data");
        if (take_page(m, data, is_pattern ? pattern.bytes : NULL, hits, e))
            return -1;
        seen += json_array_size(data);
    } while (cursor && seen < LOOKED_AT_MAX);
    if (cursor)
        buf_fmt(&m->reply.text,
                "Only the first %zu files were looked at: narrow it with path_glob.\n", seen);
    return 0;
}
