/* desk_own.c -- which paths are the session's own: those that it has committed, in order; and those that it
 * could not commit. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/desk_int.h"
#include "service/service_int.h"
#include "store/meta_files.h"

enum { UNSAVED_MAX = 10000 };

static size_t own_place(const struct desk *d, const char *path, bool *ret_found)
{
    size_t low = 0, high = d->own.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(d->own.items[middle].path, path);
        if (order == 0) {
            *ret_found = true;
            return middle;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_found = false;
    return low;
}

const struct session_path *desk_own(const struct desk *d, const char *path)
{
    bool is_there;
    size_t at = own_place(d, path, &is_there);
    return is_there ? &d->own.items[at] : NULL;
}

uint64_t desk_since(const struct desk *d, const char *path)
{
    const struct session_path *own = desk_own(d, path);
    return own ? own->rev : d->base;
}

static int own_insert(struct desk *d, size_t at, const char *path, struct err *e)
{
    size_t count = d->own.count;
    if (count % 64 == 0) { /* grows by so many */
        struct session_path *grown = realloc(d->own.items, (count + 64) * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "remember a file");
        d->own.items = grown;
    }
    char *copy = strdup(path);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "remember a file");
    memmove(&d->own.items[at + 1], &d->own.items[at], (count - at) * sizeof *d->own.items);
    d->own.items[at] = (struct session_path){.path = copy};
    d->own.count++;
    return 0;
}

int desk_set_own(struct desk *d, const char *path, uint64_t rev, const char *aside, struct err *e)
{
    bool is_there;
    size_t at = own_place(d, path, &is_there);
    if (!is_there && own_insert(d, at, path, e))
        return -1;
    char *copy = aside ? strdup(aside) : NULL;
    if (aside && !copy)
        return err_set(e, ERR_NO_MEMORY, "remember a file");
    free(d->own.items[at].aside);
    d->own.items[at].aside = copy;
    d->own.items[at].rev = rev;
    return 0;
}

void desk_drop_own(struct desk *d, const char *path)
{
    bool is_there;
    size_t at = own_place(d, path, &is_there);
    if (!is_there)
        return;
    free(d->own.items[at].path);
    free(d->own.items[at].aside);
    d->own.count--;
    memmove(&d->own.items[at], &d->own.items[at + 1], (d->own.count - at) * sizeof *d->own.items);
}

/* The list as the store has it may be of any capacity: ours grows in steps. */
int desk_load_own(struct desk *d, struct err *e)
{
    struct meta *meta = d->service->o.meta;
    struct session_paths kept = {0};
    if (meta_session_base(meta, d->session, &d->base, e) ||
        meta_session_paths(meta, d->session, &kept, e))
        return -1;
    int failed = 0;
    for (size_t i = 0; i < kept.count && !failed; i++)
        failed = desk_set_own(d, kept.items[i].path, kept.items[i].rev, kept.items[i].aside, e);
    session_paths_done(&kept);
    return failed;
}

/* ---- what could not be committed ---- */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

bool desk_is_unsaved(const struct desk *d, const char *path)
{
    return d->is_all_unsaved ||
           (d->unsaved_count > 0 &&
            bsearch(&path, d->unsaved, d->unsaved_count, sizeof *d->unsaved, compare_texts));
}

static void free_texts(char **texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(texts[i]);
    free(texts);
}

void desk_set_unsaved(struct desk *d, char **paths, size_t count)
{
    free_texts(d->unsaved, d->unsaved_count);
    d->is_all_unsaved = count > UNSAVED_MAX;
    d->has_unsaved = count > 0;
    if (d->is_all_unsaved || count == 0) {
        free_texts(paths, count);
        paths = NULL;
        count = 0;
    } else {
        qsort(paths, count, sizeof *paths, compare_texts);
    }
    d->unsaved = paths;
    d->unsaved_count = count;
}
