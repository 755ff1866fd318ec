#include "daemon/fsck.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "daemon/data.h"
#include "daemon/drop.h"
#include "store/fsck.h"
#include "store/store.h"

static int become_owner(const char *path, struct err *e)
{
    struct stat st;
    if (stat(path, &st))
        return errno == ENOENT
                   ? err_set(e, ERR_NOT_FOUND, "there is no data directory at %.200s", path)
                   : err_sys(e, errno, "look at %.200s", path);
    if (geteuid() != 0 || st.st_uid == 0)
        return 0;
    /* root's group is no part of what is given up */
    struct drop_user owner = {
        .uid = st.st_uid, .gid = st.st_gid ? st.st_gid : (gid_t)st.st_uid, .is_change = true};
    (void)snprintf(owner.name, sizeof owner.name, "uid %u", owner.uid);
    return drop_to(&owner, DROP_ALL, e);
}

int check_data(const struct check_options *options, struct check_result *ret, struct err *e)
{
    char path[PATH_MAX];
    scoped(store_closep) struct store *store = NULL;
    if (data_path(options->data, path, e) || become_owner(path, e))
        return -1;
    const struct store_options so = {
        .dir = path, .is_check = true, .is_packs_alone = options->is_packs_alone};
    if (store_open(&so, &store, e))
        return err_wrap(e, "%.200s", path);
    const struct fsck_options fo = {.contents = store_contents(store),
                                    .packs = store_packs(store),
                                    .is_quick = options->is_quick,
                                    .tell = options->tell,
                                    .arg = options->arg};
    struct fsck_result r;
    if (fsck_run(&fo, &r, e))
        return -1;
    *ret = (struct check_result){.problems = r.problems,
                                 .contents = r.contents,
                                 .content_bytes = r.content_bytes,
                                 .incomplete = r.incomplete,
                                 .packs = r.packs,
                                 .records = r.records,
                                 .bytes = r.bytes,
                                 .garbage_bytes = r.garbage_bytes};
    return 0;
}
