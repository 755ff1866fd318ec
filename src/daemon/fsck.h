/* fsck.h -- checks a DATA that no server uses: store/fsck.h, from outside. */
#ifndef DAEMON_FSCK_H
#define DAEMON_FSCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct err;

/* A kept version whose bytes are not there any more, or not what they were; good until the call returns. */
struct check_lost {
    const char *workspace; /* its id */
    struct str workspace_name, path;
    uint64_t version;
    bool is_newest, is_in_trash; /* newest of those with content */
    const char *sha256, *why;    /* in hex */
};

struct check_options {
    const char *data;    /* "auto", or an absolute path */
    bool is_quick;       /* contents are looked up, not read */
    bool is_packs_alone; /* the database is not looked at, and need not be there */
    void (*tell)(void *arg, const char *problem);
    void (*lost)(void *arg, const struct check_lost *lost);
    void *arg;
};

struct check_result {
    uint64_t problems, contents, content_bytes, incomplete, packs, records, bytes, garbage_bytes;
    uint64_t audit_entries;
};

/* Fails with ERR_CONFLICT while a server uses it or when an older one wrote it, ERR_NOT_FOUND when there
 * is none, ERR_DAMAGED when its database cannot even be opened. As root it becomes the user whom DATA
 * belongs to, for good, so that nothing in it ends up root's. Changes nothing but what opening a
 * database after a crash changes. Blocks for as long as it takes. */
int check_data(const struct check_options *options, struct check_result *ret, struct err *e);

#endif
