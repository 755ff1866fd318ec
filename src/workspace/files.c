#include "workspace/files.h"

#include <stdlib.h>
#include <string.h>

#include "base/disk.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/files_int.h"
#include "workspace/paths.h"

int files_open(const struct files_options *options, struct files **ret, struct err *e)
{
    struct files *f = calloc(1, sizeof *f);
    if (!f)
        return err_set(e, ERR_NO_MEMORY, "open the files");
    f->o = *options;
    line_init(&f->line);
    *ret = f;
    return 0;
}

void files_close(struct files *f)
{
    if (f)
        line_done(&f->line);
    free(f);
}

struct meta *files_meta(struct files *f)
{
    return f->o.meta;
}

/* ---- room on the disk ---- */

int files_check_room(struct files *f, enum room_use use, uint64_t bytes, uint64_t count,
                     struct err *e)
{
    static const unsigned parts[] = {
        [ROOM_FOR_FILES] = 1, [ROOM_FOR_COPIES] = 2, [ROOM_FOR_RESULTS] = 4, [ROOM_FOR_RUNS] = 8};
    uint64_t kept_bytes = f->o.reserve_bytes / parts[use];
    struct disk_room room;
    struct err ignored = {0};
    /* A disk that does not say is not full, and results may compress: writing will tell. */
    if (f->o.space_fd < 0 || (kept_bytes == 0 && use == ROOM_FOR_RESULTS) ||
        disk_look(f->o.space_fd, kept_bytes, &room, &ignored) ||
        (!room.is_full && room.bytes >= bytes && room.inodes >= count))
        return 0;
    return err_set(e, ERR_NO_SPACE,
                   "the server's disk is nearly full, and what is left is kept in reserve; delete "
                   "and purge what is not needed, or have the operator make room");
}

bool files_is_full(struct files *f)
{
    struct err ignored = {0};
    return files_check_room(f, ROOM_FOR_FILES, 0, 0, &ignored) != 0;
}

int files_check_space(struct files *f, struct err *e)
{
    return files_check_room(f, ROOM_FOR_FILES, 0, 0, e);
}

/* ---- reading ---- */

/* What is at the path now, at that version. */
static int stat_live(struct files *f, const struct workspace_row *ws, const char *path,
                     uint64_t version, struct version_row *ret, struct err *e)
{
    struct file_row row;
    if (meta_file_get(f->o.meta, ws->id, path, &row, e))
        return -1;
    int failed = meta_version_get(f->o.meta, row.id, version ? version : row.version, ret, e);
    file_row_done(&row);
    return failed;
}

/* An address with a version is good for ever: also after the file was moved or deleted. */
int files_stat(struct files *f, const struct workspace_row *ws, const char *path, uint64_t version,
               struct version_row *ret, struct err *e)
{
    char clean[PATH_BYTES_MAX + 1];
    if (path_clean(path, clean, e))
        return -1;
    int failed = stat_live(f, ws, clean, version, ret, e);
    if (failed && e->code == ERR_NOT_FOUND && version > 0)
        failed = meta_version_of_path(f->o.meta, ws->id, clean, version, ret, e);
    if (failed && e->code == ERR_NOT_FOUND)
        return version ? err_set(e, ERR_NOT_FOUND, "%.150s has no version %llu", clean,
                                 (unsigned long long)version)
                       : err_set(e, ERR_NOT_FOUND, "there is no file %.150s", clean);
    return failed;
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
