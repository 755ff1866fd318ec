/* desk_tell.c -- what happened to files, as the run that it happened in will tell it. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/desk_int.h"

int tell_file(struct capture *c, const struct captured_file *f, struct err *e)
{
    char *path = strdup(f->path), *aside = f->aside ? strdup(f->aside) : NULL;
    char *why = f->why ? strdup(f->why) : NULL;
    struct captured_file *grown =
        c->count % 64 ? c->files : realloc(c->files, (c->count + 64) * sizeof *grown);
    if (grown)
        c->files = grown;
    if (!path || (f->aside && !aside) || (f->why && !why) || !grown) {
        free(path);
        free(aside);
        free(why);
        return err_set(e, ERR_NO_MEMORY, "list the files");
    }
    c->files[c->count] = *f;
    c->files[c->count].path = path;
    c->files[c->count].why = why;
    c->files[c->count++].aside = aside;
    return 0;
}

/* What two changes of one path in one run look like from outside. */
static enum capture_change joined(enum capture_change first, enum capture_change then)
{
    if (then == FILE_DELETED)
        return FILE_DELETED;
    return first == FILE_CREATED ? FILE_CREATED : FILE_MODIFIED;
}

static int by_path(const void *left, const void *right)
{
    const struct captured_file *a = left, *b = right;
    return strcmp(a->path, b->path);
}

static void sort(struct captured_file *files, size_t count)
{
    if (count > 1)
        qsort(files, count, sizeof *files, by_path);
}

/* Both lists are sorted, and have each path once. */
static size_t merge(struct captured_file *old, size_t old_count, struct captured_file *new,
                    size_t new_count, struct captured_file *to)
{
    size_t count = 0;
    for (size_t i = 0, k = 0; i < old_count || k < new_count;) {
        int order = i == old_count ? 1 : k == new_count ? -1 : by_path(&old[i], &new[k]);
        if (order == 0) {
            new[k].change = joined(old[i].change, new[k].change);
            free(old[i].path);
            free(old[i].why);
            free(old[i++].aside);
        }
        to[count++] = order < 0 ? old[i++] : new[k++];
    }
    return count;
}

int tell_more(struct capture *all, struct capture *found, struct err *e)
{
    size_t room = (all->count + found->count + 64) / 64 * 64; /* as tell_file has it */
    sort(found->files, found->count);
    if (found->count == 0)
        return 0;
    struct captured_file *joint = malloc(room * sizeof *joint);
    if (!joint)
        return err_set(e, ERR_NO_MEMORY, "list the files");
    all->count = merge(all->files, all->count, found->files, found->count, joint);
    found->count = 0;
    free(all->files);
    all->files = joint;
    return 0;
}

int tell_brought(struct capture *c, const char *path, enum capture_change change, struct err *e)
{
    if (c->brought_count % 64 == 0) {
        struct brought_file *grown = realloc(c->brought, (c->brought_count + 64) * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "list the files");
        c->brought = grown;
    }
    char *copy = strdup(path);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "list the files");
    c->brought[c->brought_count++] = (struct brought_file){.path = copy, .change = change};
    return 0;
}

void untell_brought(struct capture *c, const char *path)
{
    for (size_t i = c->brought_count; i-- > 0;) {
        if (strcmp(c->brought[i].path, path) != 0)
            continue;
        free(c->brought[i].path);
        c->brought_count--;
        memmove(&c->brought[i], &c->brought[i + 1], (c->brought_count - i) * sizeof *c->brought);
        return;
    }
}
