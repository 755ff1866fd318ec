#include "workspace/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/files_int.h"
#include "workspace/paths.h"

enum { SPACE_LOOK_US = 1000000 };

int files_open(const struct files_options *options, struct files **ret, struct err *e)
{
    struct files *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NO_MEMORY, "open the files");
    f->o = *options;
    *ret = f;
    return 0;
}

void files_close(struct files *f)
{
    free(f);
}

struct meta *files_meta(struct files *f)
{
    return f->o.meta;
}

/* ---- room on the disk ---- */

static void look_at_space(struct files *f)
{
    struct statvfs disk;
    int looked;
    do
        looked = fstatvfs(f->o.space_fd, &disk);
    while (looked && errno == EINTR);
    /* A disk that does not say is not full; writing will tell. */
    bool is_full = looked == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < f->o.reserve_bytes;
    atomic_store_explicit(&f->is_full, is_full, memory_order_relaxed);
}

int files_check_space(struct files *f, struct err *e)
{
    if (f->o.space_fd < 0)
        return 0;
    int64_t now_us = clock_us();
    int64_t looked_us = atomic_load_explicit(&f->space_us, memory_order_relaxed);
    if (looked_us == 0 || now_us - looked_us >= SPACE_LOOK_US) {
        look_at_space(f);
        atomic_store_explicit(&f->space_us, now_us, memory_order_relaxed);
    }
    if (atomic_load_explicit(&f->is_full, memory_order_relaxed))
        return err_set(e, ERR_NO_SPACE,
                       "the server's disk is nearly full, and what is left is kept in reserve; the "
                       "operator has to make room");
    return 0;
}

/* ---- reading ---- */

/* A trashed file keeps its history under its id; of several that had this path, the one that was
 * deleted last. */
static int find_trashed(struct files *f, const struct workspace_row *ws, const char *path,
                        char ret[ID_SIZE], struct err *e)
{
    bool is_plain = strpbrk(path, "*?[]\\") == NULL;
    scoped(freep) char *after = NULL;
    do {
        const struct file_query query = {.prefix = "",
                                         .glob = is_plain ? path : NULL,
                                         .state = FILE_TRASHED,
                                         .after = after,
                                         .limit = PAGE_MAX};
        struct file_rows rows = {0};
        char *next = NULL;
        if (meta_file_list(f->o.meta, ws->id, &query, &rows, &next, e))
            return -1;
        bool is_found = false;
        for (size_t i = 0; i < rows.count && !is_found; i++) {
            is_found = strcmp(rows.items[i].path, path) == 0;
            if (is_found)
                memcpy(ret, rows.items[i].id, ID_SIZE);
        }
        file_rows_done(&rows);
        free(after);
        after = next;
        if (is_found)
            return 0;
    } while (after);
    return err_set(e, ERR_NOT_FOUND, "there is no file %.150s", path);
}

int files_stat(struct files *f, const struct workspace_row *ws, const char *path, uint64_t version,
               struct version_row *ret, struct err *e)
{
    char clean[PATH_BYTES_MAX + 1], id[ID_SIZE];
    if (path_clean(path, clean, e))
        return -1;
    struct file_row row;
    if (meta_file_get(f->o.meta, ws->id, clean, &row, e)) {
        if (e->code != ERR_NOT_FOUND)
            return -1;
        if (version == 0)
            return err_set(e, ERR_NOT_FOUND, "there is no file %.150s", clean);
        if (find_trashed(f, ws, clean, id, e))
            return -1;
    } else {
        memcpy(id, row.id, ID_SIZE);
        if (version == 0)
            version = row.version;
        file_row_done(&row);
    }
    if (meta_version_get(f->o.meta, id, version, ret, e)) {
        if (e->code != ERR_NOT_FOUND)
            return -1;
        return err_set(e, ERR_NOT_FOUND, "%.150s has no version %llu", clean,
                       (unsigned long long)version);
    }
    return 0;
}

int files_open_content(struct files *f, const struct workspace_row *ws,
                       const struct content *content, struct content_reader **ret, struct err *e)
{
    return content_open(f->o.contents, ws->vault, content, ret, e);
}

/* ---- what changed ---- */

/* The whole content, or NULL (and 0) when it is too large to be compared. */
static int read_whole(struct files *f, const struct workspace_row *ws,
                      const struct content *content, char **ret, struct err *e)
{
    *ret = NULL;
    if (content->size > DIFF_BYTES_MAX)
        return 0;
    scoped(content_closep) struct content_reader *reader = NULL;
    /* A deletion has no content. */
    if (content->size > 0 && files_open_content(f, ws, content, &reader, e))
        return -1;
    scoped(freep) char *bytes = malloc((size_t)content->size + 1);
    if (!bytes)
        return err_set(e, ERR_NO_MEMORY, "compare two versions");
    for (uint64_t at = 0; at < content->size;) {
        size_t len = 0;
        if (content_read(reader, at, bytes + at, (size_t)(content->size - at), &len, e))
            return -1;
        if (len == 0)
            return err_set(e, ERR_DAMAGED, "a content is shorter than it was");
        at += len;
    }
    *ret = take(bytes);
    return 0;
}

int files_diff(struct files *f, const struct workspace_row *ws, const struct version_row *from,
               const struct version_row *to, struct buf *out, enum diff_outcome *ret, struct err *e)
{
    scoped(freep) char *old = NULL;
    scoped(freep) char *new = NULL;
    if (read_whole(f, ws, &from->content, &old, e) || read_whole(f, ws, &to->content, &new, e))
        return -1;
    if (!old || !new) {
        *ret = DIFF_TOO_LARGE;
        return 0;
    }
    const struct diff_side a = {from->path, {old, (size_t)from->content.size}};
    const struct diff_side b = {to->path, {new, (size_t)to->content.size}};
    return diff_text(&a, &b, out, ret, e);
}
