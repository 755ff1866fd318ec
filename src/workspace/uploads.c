#include "workspace/uploads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/files_int.h"
#include "workspace/paths.h"
#include "workspace/uploads_int.h"

enum { APPEND_SYNC_LEN = 32 << 20 }; /* so much a killed server lets somebody send again at most */

struct append {
    struct files *files;
    int fd; /* owned; locked */
    char id[ID_SIZE];
    uint64_t received; /* that count */
    uint64_t written;  /* that are in the file */
    uint64_t size_max; /* announced, or what a file may have */
    uint64_t room;     /* in the workspace: bytes that it takes from the beginning on */
    bool is_broken;    /* a sync failed: what came since then counts no more */
};

void upload_done(struct upload *u)
{
    upload_row_done(&u->row);
}

static int no_upload(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no upload %.64s; begin a new one", id);
}

/* The row and the open file of an upload of that workspace. */
static int open_upload(struct files *f, const struct workspace_row *ws, const char *id,
                       struct upload_row *ret, int *ret_fd, struct err *e)
{
    struct upload_row row;
    if (!has_uploads(f) || strlen(id) >= ID_SIZE)
        return no_upload(id, e);
    if (meta_upload_get(f->o.meta, id, &row, e))
        return e->code == ERR_NOT_FOUND ? no_upload(id, e) : -1;
    if (strcmp(row.workspace, ws->id) != 0) {
        upload_row_done(&row);
        return no_upload(id, e);
    }
    if (staged_open(f->o.uploads_fd, row.id, ret_fd, e)) {
        upload_row_done(&row);
        return e->code == ERR_NOT_FOUND ? no_upload(id, e) : -1;
    }
    *ret = row;
    return 0;
}

int upload_get(struct files *f, const struct workspace_row *ws, const char *id, struct upload *ret,
               struct err *e)
{
    scoped(fd_closep) int fd = -1;
    struct upload u = {0};
    if (open_upload(f, ws, id, &u.row, &fd, e))
        return -1;
    if (staged_received(fd, &u.received, e)) {
        upload_done(&u);
        return -1;
    }
    int64_t used_us = u.row.used_us > u.row.created_us ? u.row.used_us : u.row.created_us;
    u.expires_us = used_us + UPLOAD_DAYS * DAY_US;
    *ret = u;
    return 0;
}

/* ---- beginning and giving up ---- */

static uint64_t room_of(const struct files *f, const struct workspace_row *ws)
{
    uint64_t max = bytes_max_of(f, ws);
    return max == 0 ? UINT64_MAX : max > ws->kept_bytes ? max - ws->kept_bytes : 0;
}

static int no_room(struct err *e)
{
    return err_set(e, ERR_QUOTA,
                   "the workspace has no room for that, versions and trash included; "
                   "purge some");
}

static int check_wishes(struct files *f, const struct workspace_row *ws,
                        const struct upload_wishes *wishes, struct err *e)
{
    if (!has_uploads(f))
        return err_set(e, ERR_UNAVAILABLE, "this server takes no uploads in pieces");
    if (wishes->size != UPLOAD_SIZE_NONE) {
        if (f->o.file_max && wishes->size > f->o.file_max)
            return err_set(e, ERR_TOO_LARGE, "a file may have %llu bytes",
                           (unsigned long long)f->o.file_max);
        if (wishes->size > room_of(f, ws))
            return no_room(e);
    }
    struct upload_rows rows;
    const struct page page = {.limit = UPLOADS_MAX};
    if (files_check_space(f, e) || meta_upload_list(f->o.meta, ws->id, &page, &rows, e))
        return -1;
    size_t count = rows.count;
    upload_rows_done(&rows);
    if (count >= UPLOADS_MAX)
        return err_set(e, ERR_LIMIT, "%d uploads are under way here; end or delete one first",
                       UPLOADS_MAX);
    return 0;
}

int upload_create(struct files *f, const struct workspace_row *ws, const struct author *author,
                  const struct upload_wishes *wishes, struct upload *ret, struct err *e)
{
    char clean[PATH_BYTES_MAX + 1];
    struct upload_row row = {.path = clean,
                             .size = wishes->size,
                             .condition = wishes->condition,
                             .author = *author,
                             .created_us = clock_wall_us()};
    row.used_us = row.created_us;
    memcpy(row.workspace, ws->id, ID_SIZE);
    /* The file first: a row always has one, and a file without a row is swept. */
    if (path_clean(wishes->path, clean, e) || check_wishes(f, ws, wishes, e) ||
        id_make("upl_", row.id, e) || staged_create(f->o.uploads_fd, row.id, e))
        return -1;
    if (meta_upload_insert(f->o.meta, &row, e)) {
        (void)unlinkat(f->o.uploads_fd, row.id, 0); /* swept later otherwise */
        return -1;
    }
    return upload_get(f, ws, row.id, ret, e);
}

/* The row first: after a crash there is a file that is swept, not an upload that cannot be used. */
static int forget(struct files *f, const char *id, struct err *e)
{
    if (meta_upload_remove(f->o.meta, id, e) && e->code != ERR_NOT_FOUND)
        return -1;
    (void)unlinkat(f->o.uploads_fd, id, 0);
    return 0;
}

int upload_abort(struct files *f, const struct workspace_row *ws, const char *id, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    struct upload_row row;
    if (open_upload(f, ws, id, &row, &fd, e))
        return -1;
    int failed = staged_lock(fd, e) || forget(f, row.id, e);
    upload_row_done(&row);
    return failed ? -1 : 0;
}

/* ---- pieces ---- */

static uint64_t largest(const struct files *f, const struct upload_row *row)
{
    uint64_t most =
        f->o.file_max && f->o.file_max < CONTENT_SIZE_MAX ? f->o.file_max : CONTENT_SIZE_MAX;
    return row->size < most ? row->size : most;
}

static int begin_locked(struct files *f, const struct workspace_row *ws,
                        const struct upload_row *row, int *fd, uint64_t offset, struct append **ret,
                        uint64_t *ret_received, struct err *e)
{
    uint64_t received;
    if (staged_lock(*fd, e) || staged_received(*fd, &received, e))
        return -1;
    *ret_received = received;
    if (offset != received)
        return err_set(e, ERR_CONFLICT, "%llu bytes were received; go on with offset=%llu",
                       (unsigned long long)received, (unsigned long long)received);
    struct append *a = malloc(sizeof *a);
    if (!a)
        return err_set(e, ERR_NO_MEMORY, "go on with an upload");
    *a = (struct append){.files = f,
                         .fd = take_fd(fd),
                         .received = received,
                         .written = received,
                         .size_max = largest(f, row),
                         .room = room_of(f, ws)};
    memcpy(a->id, row->id, ID_SIZE);
    *ret = a;
    return 0;
}

int append_begin(struct files *f, const struct workspace_row *ws, const char *id, uint64_t offset,
                 struct append **ret, uint64_t *ret_received, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    struct upload_row row;
    if (files_check_space(f, e) || open_upload(f, ws, id, &row, &fd, e))
        return -1;
    int failed = begin_locked(f, ws, &row, &fd, offset, ret, ret_received, e);
    upload_row_done(&row);
    return failed;
}

static int append_sync(struct append *a, struct err *e)
{
    if (a->is_broken)
        return err_set(e, ERR_UNAVAILABLE, "the server's disk failed; begin a new upload");
    if (a->written == a->received)
        return 0;
    if (staged_sync(a->fd, a->written, e)) {
        a->is_broken = true; /* a second sync would say that all is well, and lie */
        return err_wrap(e, "begin a new upload");
    }
    a->received = a->written;
    return 0;
}

int append_write(struct append *a, const void *bytes, size_t len, struct err *e)
{
    if (a->written > a->size_max || len > a->size_max - a->written)
        return err_set(e, ERR_TOO_LARGE,
                       "more than the %llu bytes that were announced or that a "
                       "file may have",
                       (unsigned long long)a->size_max);
    if (a->written + len > a->room)
        return no_room(e);
    if (files_check_space(a->files, e) || staged_write(a->fd, a->written, bytes, len, e))
        return -1;
    a->written += len;
    return a->written - a->received >= APPEND_SYNC_LEN ? append_sync(a, e) : 0;
}

int append_end(struct append *a, uint64_t *ret_received, struct err *e)
{
    int failed = append_sync(a, e);
    struct err ignored = {0};
    if (a->is_broken) {
        /* Nobody knows what of it is on the disk, and nobody shall go on from there. */
        (void)forget(a->files, a->id, &ignored);
    } else {
        /* When it was used only decides when it expires. */
        (void)meta_upload_used(a->files->o.meta, a->id, clock_wall_us(), &ignored);
        *ret_received = a->received;
    }
    (void)close(a->fd);
    free(a);
    return failed;
}

void append_abandon(struct append *a)
{
    struct err ignored = {0};
    uint64_t received;
    if (a)
        (void)append_end(a, &received, &ignored);
}

/* ---- the end ---- */

static int check_whole(int fd, const struct upload_row *row, struct err *e)
{
    uint64_t received;
    if (staged_lock(fd, e) || staged_received(fd, &received, e))
        return -1;
    if (row->size != UPLOAD_SIZE_NONE && received != row->size)
        return err_set(e, ERR_CONFLICT, "%llu of %llu bytes were received; send the rest first",
                       (unsigned long long)received, (unsigned long long)row->size);
    return 0;
}

static int commit_staged(struct files *f, const struct workspace_row *ws,
                         const struct upload_row *row, int *fd, const struct author *author,
                         const struct how *how, const uint8_t *sha256, struct commit **ret,
                         struct err *e)
{
    scoped(commit_freep) struct commit *c = NULL;
    const struct file_source source = {.read = staged_read, .arg = fd};
    if (check_whole(*fd, row, e) || commit_new(f, ws, author, COMMIT_UPLOAD, &c, e) ||
        commit_put_source(c, row->path, how, row->size, &source, e))
        return -1;
    if (sha256 && memcmp(commit_change(c, 0)->content.sha256, sha256, HASH_LEN) != 0)
        return err_set(e, ERR_INVALID,
                       "sha256: what was received is something else; delete the "
                       "upload and send it again");
    if (commit_finish(c, e))
        return -1;
    *ret = take(c);
    return 0;
}

int upload_complete(struct files *f, const struct workspace_row *ws, const char *id,
                    const struct author *author, const struct how *how, const uint8_t *sha256,
                    struct commit **ret, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    scoped(upload_done) struct upload u = {0};
    if (open_upload(f, ws, id, &u.row, &fd, e) ||
        commit_staged(f, ws, &u.row, &fd, author, how, sha256, ret, e))
        return -1;
    struct err ignored = {0};
    (void)forget(f, u.row.id, &ignored); /* the file is safe; what is left expires */
    return 0;
}
