/* container_list.c -- all files are asked for and sorted: the native list is by path, and this one by time. */
#include "openai/container_list.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "openai/container.h"

enum { LIST_PRESET = 20, LIST_MAX = 100, NATIVE_PAGE = 1000 };

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

int file_place_compare(const struct file_place *a, const struct file_place *b)
{
    int order = strcmp(a->created, b->created);
    return order ? order : strcmp(a->id, b->id);
}

static struct file_place place_of(const json_t *file)
{
    return (struct file_place){text_of(file, "created_at"), text_of(file, "id")};
}

/* ---- all of them ---- */

static bool is_file(const json_t *row)
{
    return strcmp(text_of(row, "kind"), "file") == 0;
}

static int add_page(const json_t *page, json_t *all, struct err *e)
{
    size_t index;
    json_t *row;
    json_array_foreach((json_t *)page, index, row) /* which does not change it */
        if (is_file(row) && json_array_append(all, row)) return err_set(e, ERR_NO_MEMORY,
                                                                        "list files");
    if (json_array_size(all) > CONTAINER_FILES_MAX)
        return err_set(e, ERR_LIMIT, "the container has more than %d files", CONTAINER_FILES_MAX);
    return 0;
}

static int read_page(struct oa_call *o, const char *workspace, char **cursor, json_t *all,
                     struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, workspace);
    native_text(&n, "/files");
    native_query(&n, "recursive", "true");
    native_query_u64(&n, "limit", NATIVE_PAGE);
    native_query(&n, "cursor", *cursor);
    if (oa_perform(o, &n, e) || add_page(json_object_get(n.json, "data"), all, e))
        return -1;
    const char *next = json_string_value(json_object_get(n.json, "next_cursor"));
    free(*cursor);
    *cursor = next ? strdup(next) : NULL;
    return next && !*cursor ? err_set(e, ERR_NO_MEMORY, "list files") : 0;
}

static int read_all(struct oa_call *o, const char *workspace, json_t *all, struct err *e)
{
    scoped(freep) char *cursor = NULL;
    do {
        if (read_page(o, workspace, &cursor, all, e))
            return -1;
    } while (cursor);
    return 0;
}

/* ---- a page ---- */

static int ascending(const void *a, const void *b)
{
    struct file_place left = place_of(*(json_t *const *)a), right = place_of(*(json_t *const *)b);
    return file_place_compare(&left, &right);
}

static int descending(const void *a, const void *b)
{
    return ascending(b, a);
}

/* Borrowed from `all`. */
static int sorted(const json_t *all, bool is_ascending, json_t ***ret, struct err *e)
{
    size_t count = json_array_size(all);
    json_t **rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        return err_set(e, ERR_NO_MEMORY, "sort files");
    for (size_t i = 0; i < count; i++)
        rows[i] = json_array_get(all, i);
    qsort(rows, count, sizeof *rows, is_ascending ? ascending : descending);
    *ret = rows;
    return 0;
}

/* What stood at `after`, if it is still known; it may have been deleted. */
static int find_after(struct oa_call *o, const struct oa_container *in, const char *after,
                      json_t **ret, struct err *e)
{
    if (!*after || container_file_find(o, in, after, ret, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND)
        return -1;
    return oa_fail(o, e, ERR_INVALID, "after", "invalid_value",
                   "Invalid 'after': there is no file %.64s on the container.", after);
}

static bool is_past(const json_t *row, const json_t *after, bool is_ascending)
{
    if (!after)
        return true;
    struct file_place here = place_of(row), there = place_of(after);
    int order = file_place_compare(&here, &there);
    return is_ascending ? order > 0 : order < 0;
}

int container_list(struct oa_call *o, const struct oa_container *in, struct err *e)
{
    struct oa_page page;
    scoped(json_decrefp) json_t *all = json_array(), *data = json_array(), *after = NULL;
    scoped(freep) json_t **rows = NULL;
    if (!all || !data)
        return err_set(e, ERR_NO_MEMORY, "list files");
    if (oa_page(o, LIST_PRESET, LIST_MAX, &page, e) || find_after(o, in, page.after, &after, e) ||
        read_all(o, in->workspace, all, e) || sorted(all, page.is_ascending, &rows, e))
        return -1;
    bool has_more = false;
    for (size_t i = 0; rows[i] && !has_more; i++) {
        if (!is_past(rows[i], after, page.is_ascending))
            continue;
        has_more = json_array_size(data) == page.limit;
        if (!has_more && json_array_append_new(data, container_file_object(in->id, rows[i])))
            return err_set(e, ERR_NO_MEMORY, "list files");
    }
    return oa_answer_list(o, take(data), has_more, e);
}
