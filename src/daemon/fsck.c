#include "daemon/fsck.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "daemon/data.h"
#include "daemon/drop.h"
#include "store/audit_seal.h"
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

/* The chain of the audit and its checkpoints. */
static int check_audit(const struct check_options *o, struct store *store, const char *path,
                       struct check_result *r, struct err *e)
{
    scoped(audit_key_freep) struct audit_key *key = NULL;
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct audit_verdict v;
    struct err none = {0}; /* without a key, a backup: signatures have to fit the keys they name */
    if (fd < 0)
        return err_sys(e, errno, "open the data directory");
    if (audit_key_load(fd, /* makes= */ false, &key, &none) && none.code != ERR_NOT_FOUND) {
        *e = none;
        return -1;
    }
    const struct audit_check check = {.data_fd = fd, .key = key ? audit_key_public(key) : NULL};
    if (audit_verify(store_meta(store), &check, &v, e))
        return -1;
    r->audit_entries = v.entries;
    if (v.is_intact)
        return 0;
    char what[256];
    (void)snprintf(what, sizeof what, "audit: %s", v.what);
    r->problems++;
    o->tell(o->arg, what);
    return 0;
}

static void tell(void *arg, const char *what)
{
    const struct check_options *o = arg;
    o->tell(o->arg, what);
}

static void tell_lost(void *arg, const struct fsck_lost *l)
{
    const struct check_options *o = arg;
    o->lost(o->arg, &(struct check_lost){.workspace = l->workspace,
                                         .workspace_name = l->workspace_name,
                                         .path = l->path,
                                         .version = l->version,
                                         .is_newest = l->is_newest,
                                         .is_in_trash = l->is_in_trash,
                                         .sha256 = l->sha256,
                                         .why = l->why});
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
                                    .tell = tell,
                                    .lost = tell_lost,
                                    .arg = (void *)options};
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
    return options->is_packs_alone ? 0 : check_audit(options, store, path, ret, e);
}
