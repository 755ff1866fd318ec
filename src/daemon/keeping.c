/* keeping.c -- what keeps files: the rules of workspaces, the store's upkeep, and the key that addresses
 * are signed with. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "daemon/serve_int.h"
#include "store/store.h"
#include "workspace/auditor.h"
#include "workspace/files.h"
#include "workspace/locks.h"
#include "workspace/upkeep.h"

#define GIB ((uint64_t)1 << 30)
#define MIB_BYTES ((uint64_t)1 << 20)

/* ---- the key of signed addresses ---- */

static int make_key(int dir_fd, uint8_t ret[SIGN_KEY_LEN], struct err *e)
{
    scoped(fd_closep) int fd =
        openat(dir_fd, "sign.key", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_sys(e, errno, "write sign.key");
    if (getrandom(ret, SIGN_KEY_LEN, 0) != SIGN_KEY_LEN)
        return err_sys(e, errno, "make sign.key");
    if (fd_write_all(fd, ret, SIGN_KEY_LEN, e))
        return err_wrap(e, "write sign.key");
    return fsync(fd) || fsync(dir_fd) ? err_sys(e, errno, "write sign.key") : 0;
}

/* One that was cut off by a crash has signed nothing yet: it is made anew. */
static int load_key(int dir_fd, uint8_t ret[SIGN_KEY_LEN], struct err *e)
{
    size_t len = 0;
    scoped(fd_closep) int fd = openat(dir_fd, "sign.key", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT)
        return err_sys(e, errno, "read sign.key");
    if (fd >= 0 && fd_read_all(fd, ret, SIGN_KEY_LEN, &len, e))
        return err_wrap(e, "read sign.key");
    return len == SIGN_KEY_LEN ? 0 : make_key(dir_fd, ret, e);
}

/* ---- all of it ---- */

static int open_directories(struct server *s, struct err *e)
{
    return data_dir(&s->data, "packs", &s->user, &s->packs_fd, e) ||
                   data_dir(&s->data, "uploads", &s->user, &s->uploads_fd, e) ||
                   data_dir(&s->data, "checkouts", &s->user, &s->checkouts_fd, e)
               ? -1
               : 0;
}

static int open_auditor(struct server *s, struct err *e)
{
    const struct auditor_options options = {
        .meta = store_meta(s->store), .bell = &s->bell, .log = &s->log, .data_fd = s->data.fd};
    return auditor_open(&options, &s->auditor, e);
}

static int open_upkeep(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    const char *backup_dir = c->store.backup_dir;
    const struct upkeep_options options = {
        .contents = store_contents(s->store),
        .packs = store_packs(s->store),
        .meta = store_meta(s->store),
        .log = &s->log,
        .ballast = store_ballast(s->store),
        .data_fd = s->data.fd,
        .images_path = *s->image_path ? s->image_path : NULL,
        .reserve_bytes = c->store.reserve_mb * MIB_BYTES,
        .backup_dir = backup_dir && *backup_dir ? backup_dir : NULL,
        .scrub_bytes_s = c->store.scrub_mb_s * MIB_BYTES,
    };
    return upkeep_open(&options, &s->upkeep, e);
}

int keeping_open(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    if (open_directories(s, e) || load_key(s->data.fd, s->sign_key, e))
        return -1;
    const struct files_options options = {
        .meta = store_meta(s->store),
        .contents = store_contents(s->store),
        .people = s->people,
        .space_fd = s->packs_fd,
        .reserve_bytes = c->store.reserve_mb * MIB_BYTES,
        .bytes_max = c->workspaces.quota_gb * GIB,
        .files_max = c->workspaces.files_max,
        .file_max = c->workspaces.file_max_gb * GIB,
        .trash_days = c->workspaces.trash_days,
        .thinning = {c->workspaces.keep_versions, c->workspaces.keep_days},
        .sign_key = s->sign_key,
        .uploads_fd = s->uploads_fd,
        .on_change = finding_changed,
        .on_change_arg = s,
        /* Each holds a worker, and those who end locks need some. */
        .lock_waiters_max = c->server.workers / 4 < LOCK_WAITERS_MAX ? (c->server.workers + 3) / 4
                                                                     : LOCK_WAITERS_MAX};
    return files_open(&options, &s->files, e) || open_upkeep(s, e) || open_auditor(s, e) ? -1 : 0;
}

void keeping_close(struct server *s)
{
    auditor_close(s->auditor);
    upkeep_close(s->upkeep);
    files_close(s->files);
    fd_closep(&s->checkouts_fd);
    fd_closep(&s->uploads_fd);
    fd_closep(&s->packs_fd);
    explicit_bzero(s->sign_key, sizeof s->sign_key);
}
