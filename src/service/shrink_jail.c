/* shrink_jail.c -- the jail in which an image is made small: shrink.py, and a directory with one file. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/tree.h"
#include "service/shrink_int.h"
#include "session/current.h"
#include "session/kernel.h"
#include "wire/jail.h"

extern const char service_shrink[]; /* shrink.py */

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
static const char file_name[] = "image";

struct shrink_jail {
    struct shrinker_options o;
    const atomic_bool *is_stopping;
    char name[32];              /* of its directory */
    int dir_fd, in_fd, data_fd; /* that, and in it: where we write, what the jail sees */
    struct kernel *kernel;
    unsigned images;
    bool is_spoiled;
};

static const struct limits limits = {
    .memory_bytes = SHRINK_MEMORY_MB * MIB,
    .disk_bytes = 2 * (uint64_t)SHRINK_BYTES_MAX + 16 * MIB,
    .file_bytes = SHRINK_BYTES_MAX + 16 * MIB,
    .tmp_bytes = 16 * MIB,
    .output_bytes = KIB,
    .drain_bytes = MIB,
    .cpu_milli = 1000,
    .pids = 64,
    .files = 64,
    .open_files = 128,
    .wall_ms = SHRINK_WALL_MS,
};

/* ---- its directory ---- */

/* What stays is swept at the next start of the server. */
static void remove_dir(int live_fd, const char *name)
{
    struct err ignored = {0};
    scoped(fd_closep) int fd = openat(live_fd, name, OPEN_DIR);
    if (fd < 0)
        return;
    (void)tree_remove(fd, &ignored);
    (void)unlinkat(live_fd, name, AT_REMOVEDIR);
}

static int make_one(int at, const char *name, mode_t mode, int *ret_fd, struct err *e)
{
    if (mkdirat(at, name, mode) && errno != EEXIST)
        return err_sys(e, errno, "make a directory for images");
    *ret_fd = openat(at, name, OPEN_DIR);
    return *ret_fd < 0 ? err_sys(e, errno, "open a directory for images") : 0;
}

static int make_dirs(struct shrink_jail *j, struct err *e)
{
    remove_dir(j->o.live_fd, j->name);
    return make_one(j->o.live_fd, j->name, 0711, &j->dir_fd, e) ||
                   make_one(j->dir_fd, "in", 0700, &j->in_fd, e) ||
                   make_one(j->dir_fd, "data", 0700, &j->data_fd, e)
               ? -1
               : 0;
}

/* ---- its life ---- */

static int run_code(struct shrink_jail *j, const char *code, struct run *ret, struct err *e)
{
    const struct run_spec spec = {.code = code,
                                  .code_len = strlen(code),
                                  .language = LANGUAGE_PYTHON,
                                  .name = "shrink.py",
                                  .cancel = j->is_stopping,
                                  .leaves_files = true};
    return kernel_run(j->kernel, &spec, /* sink= */ NULL, ret, e);
}

static int start_from_image(struct shrink_jail *j, struct err *e)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    if (!j->o.can_use_images || current_take(j->o.current, &image, e))
        return -1;
    const struct kernel_origin origin = {.image_fd = image.fd, .delta_fd = -1, .libraries_fd = -1};
    return kernel_start(j->o.spawner, &limits, &JAIL_DATA_PLAIN(j->data_fd), &origin, &j->kernel,
                        e);
}

static int start(struct shrink_jail *j, struct err *e)
{
    struct err ignored = {0};
    struct run run = {0};
    if (start_from_image(j, &ignored) &&
        kernel_start(j->o.spawner, &limits, &JAIL_DATA_PLAIN(j->data_fd), &ORIGIN_COLD, &j->kernel,
                     e))
        return -1;
    if (run_code(j, service_shrink, &run, e))
        return -1;
    enum run_end end = run.end;
    run_done(&run);
    return end == END_OK ? 0
                         : err_set(e, ERR_UNAVAILABLE, "what makes images small did not start: %s",
                                   run_end_name(end));
}

static void jail_close(struct shrink_jail *j)
{
    if (!j)
        return;
    kernel_free(j->kernel);
    fd_closep(&j->data_fd);
    fd_closep(&j->in_fd);
    fd_closep(&j->dir_fd);
    remove_dir(j->o.live_fd, j->name);
    free(j);
}

static int jail_open(const struct shrinker_options *o, const char *dir,
                     const atomic_bool *is_stopping, struct shrink_jail **ret, struct err *e)
{
    struct shrink_jail *j = calloc(1, sizeof *j);
    if (!j)
        return err_set(e, ERR_NO_MEMORY, "make an image small");
    j->o = *o;
    j->is_stopping = is_stopping;
    j->dir_fd = j->in_fd = j->data_fd = -1;
    (void)snprintf(j->name, sizeof j->name, "%s", dir);
    if (make_dirs(j, e) || start(j, e)) {
        jail_close(j);
        return -1;
    }
    *ret = j;
    return 0;
}

static void jail_cancel(struct shrink_jail *j)
{
    kernel_cancel(j->kernel);
}

static bool jail_is_spent(struct shrink_jail *j)
{
    return j->is_spoiled || j->images >= SHRINK_IMAGES_MAX || !kernel_is_alive(j->kernel);
}

/* ---- one image ---- */

/* The jail may have put anything where the image goes: a rename replaces what is there and follows nothing. */
static int bring(struct shrink_jail *j, struct str image, struct err *e)
{
    scoped(fd_closep) int fd =
        openat(j->in_fd, file_name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(e, errno, "write an image");
    if (fd_write_all(fd, image.ptr, image.len, e))
        return err_wrap(e, "write an image");
    if (renameat(j->in_fd, file_name, j->data_fd, file_name))
        return err_sys(e, errno, "hand an image over");
    return 0;
}

/* How it ended, as far as the engine saw it or the jail says so. */
static int judge(const struct run *run, struct err *e)
{
    switch (run->end) {
    case END_OK: return 0;
    case END_TIMEOUT: return err_set(e, ERR_LIMIT, "making the image small takes too long");
    case END_CANCELLED: return err_set(e, ERR_UNAVAILABLE, "the server is stopping");
    case END_MEMORY:
        return err_set(e, ERR_TOO_LARGE, "making the image small needs too much memory");
    case END_ERROR:
        if (run->error.name && strcmp(run->error.name, "MemoryError") == 0)
            return err_set(e, ERR_TOO_LARGE, "making the image small needs too much memory");
        return err_set(e, ERR_INVALID, "the image is damaged: it cannot be read");
    default:
        return err_set(e, ERR_INVALID, "the image cannot be read: its reader was ended (%s)",
                       run_end_name(run->end));
    }
}

static int take_display(const struct run *run, struct buf *to, struct err *e)
{
    const struct display *d = run->displays;
    if (run->display_count != 1 || d->count != 1 || d->entries->form != FORM_BINARY)
        return err_set(e, ERR_INVALID, "the image cannot be read: nothing came of it");
    buf_add(to, d->entries->bytes, d->entries->len);
    return to->failed ? err_set(e, ERR_INVALID, "the image did not get small enough") : 0;
}

static int jail_make(struct shrink_jail *j, const struct shrink_task *t, struct err *e)
{
    char code[128];
    struct run run = {0};
    /* Where it starts is its directory, also where that is not mounted as /mnt/data. */
    (void)snprintf(code, sizeof code, "shrink('%s', %u, %zu)", file_name, t->wish->edge,
                   t->wish->bytes);
    int failed = bring(j, t->image, e) || run_code(j, code, &run, e);
    (void)unlinkat(j->data_fd, file_name, 0); /* if it is a directory by now, rename fails next */
    j->images++;
    if (!failed)
        failed = judge(&run, e) || take_display(&run, t->to, e);
    run_done(&run);
    if (failed)
        j->is_spoiled = true;
    return failed ? -1 : 0;
}

const struct shrink_jails shrink_jails_real = {.open = jail_open,
                                               .close = jail_close,
                                               .make = jail_make,
                                               .cancel = jail_cancel,
                                               .is_spent = jail_is_spent};
