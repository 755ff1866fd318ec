/* Uploads that nobody came back for. The directory is the list: every row has a file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "workspace/acts.h"
#include "workspace/files_int.h"
#include "workspace/uploads.h"
#include "workspace/uploads_int.h"

/* A file without a row: its upload is just being made, or its server died then. */
static bool is_abandoned(int dir_fd, const char *name, int64_t now_us)
{
    struct stat st;
    return fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           st.st_mtim.tv_sec * INT64_C(1000000) + DAY_US < now_us;
}

/* Somebody who is sending at this moment has it locked; it is looked at again another time. */
static bool is_in_use(int dir_fd, const char *name)
{
    scoped(fd_closep) int fd = -1;
    struct err ignored = {0};
    return staged_open(dir_fd, name, &fd, &ignored) == 0 && staged_lock(fd, &ignored) != 0;
}

static int tidy_one(struct files *f, const char *name, int64_t now_us, struct err *e)
{
    struct upload_row row;
    if (meta_upload_get(f->o.meta, name, &row, e)) {
        if (e->code != ERR_NOT_FOUND)
            return -1;
        if (is_abandoned(f->o.uploads_fd, name, now_us))
            (void)unlinkat(f->o.uploads_fd, name, 0);
        return 0;
    }
    int64_t used_us = row.used_us > row.created_us ? row.used_us : row.created_us;
    upload_row_done(&row);
    if (now_us - used_us < UPLOAD_DAYS * DAY_US || is_in_use(f->o.uploads_fd, name))
        return 0;
    struct act act;
    act_begin_server(&act, f->o.meta, "removeUpload", /* workspace= */ NULL);
    int failed = meta_upload_remove(f->o.meta, name, e) && e->code != ERR_NOT_FOUND;
    act_end_server(&act);
    if (failed)
        return -1;
    (void)unlinkat(f->o.uploads_fd, name, 0);
    return 0;
}

int uploads_tidy(struct files *f, int64_t now_us, struct err *e)
{
    int fd = below_open_dir(f->o.uploads_fd, ".");
    if (fd < 0)
        return err_sys(e, -fd, "look through the uploads");
    struct dir d;
    dir_init(&d, fd);
    int failed = 0;
    for (const struct dirent64 *entry; !failed && (entry = dir_next(&d));)
        if (strlen(entry->d_name) < ID_SIZE)
            failed = tidy_one(f, entry->d_name, now_us, e);
    dir_done(&d);
    return failed ? err_wrap(e, "look through the uploads") : 0;
}
