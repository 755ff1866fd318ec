/* shares.h -- links that open a file, a folder or one version of a file to whoever has them.
 *
 * A link is a token of 160 random bits, shown once and kept as SHA-256. What it gives:
 *
 *     view        see names, sizes and previews
 *     download    have the bytes, also all of a folder as one archive; view comes with it
 *     upload      put files into a folder, never over others; alone it shows nothing of the folder
 *
 * It is of a path and shows what is there at the time; of a version it shows that one for ever. It
 * works until it expires, is revoked, or is used up (max_downloads, counted inside the transaction: never
 * one more); as long as its workspace is there and whoever made it may still write to it. A link that
 * does not work does not exist: one answer, whatever the reason.
 *
 *     shares_enter(files, token, now, &visit, e)          ERR_NOT_FOUND
 *     shares_unlock(passwords, &visit, token, ...)        one guess at its password
 *     shares_pass_make, _check                            what a browser keeps instead of the password
 *     shares_path(&visit.share, "a/b.csv", path, e)       below the folder, and never out of it
 *
 * Who may write to a workspace may make links and change their own; its admins may change all.
 * All block on disk, but shares_pass and shares_path.
 */
#ifndef WORKSPACE_SHARES_H
#define WORKSPACE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"
#include "store/meta_shares.h"
#include "workspace/files.h"
#include "workspace/sign.h"

struct err;
struct passwords;

enum share_right { SHARE_VIEW = 1, SHARE_DOWNLOAD = 2, SHARE_UPLOAD = 4 }; /* as stored */
extern const char *const share_right_names[]; /* in the order of the bits, NULL at the end */

enum {
    SHARES_MAX = 1000, /* that work, of one workspace */
    SHARE_RANDOM_LEN = 32,
    SHARE_TOKEN_SIZE = SHARE_RANDOM_LEN + 1,
    SHARE_NOTE_MAX = 1000,
    SHARE_EXPIRES_MAX_S = 3650 * 86400,
    SHARE_DOWNLOADS_MAX = 1000000000,
    SHARE_PASS_S = 3600,   /* for which a password has not to be given again */
    SHARE_PASS_SIZE = 128, /* of what a browser keeps */
    SHARE_KEPT_DAYS = 30,  /* for which one that has ended is still listed */
};

/* ---- making and managing; the pipeline has seen to RIGHT_WRITE ---- */

struct share_wishes {
    const char *path; /* "" or "/": all of the workspace */
    uint64_t version; /* 0: the newest, whatever it is then */
    uint32_t rights;
    int64_t expires_s;   /* 0: never */
    struct str password; /* empty: none */
    uint64_t max_downloads;
    const char *note;
};

/* Fails with ERR_NOT_FOUND when nothing is there, ERR_INVALID for wishes that do not fit each other,
 * ERR_LIMIT past SHARES_MAX. */
int shares_create(struct files *f, struct passwords *p, const struct who *who,
                  const struct workspace_row *ws, const struct share_wishes *wishes, int64_t now_us,
                  struct share_row *ret, char ret_token[ID_SIZE], struct err *e);

struct share_wish {    /* NULL, -1: stays */
    int64_t expires_s; /* from now on; 0: never */
    int64_t max_downloads;
    const char *note;
    struct str password; /* empty: none from now on */
    bool has_password;
};
/* Who made it, or an admin of the workspace; others ERR_DENIED. */
int shares_change(struct files *f, struct passwords *p, const struct who *who,
                  const struct workspace_row *ws, const char *id, const struct share_wish *wish,
                  int64_t now_us, struct err *e);
int shares_revoke(struct files *f, const struct who *who, const struct workspace_row *ws,
                  const char *id, int64_t now_us, struct err *e);

/* ---- coming in by one ---- */

struct share_visit {
    struct share_row share;
    struct workspace_row ws;
};
void share_visit_done(struct share_visit *v);

/* Fails with ERR_NOT_FOUND: no such link, or it does not work any more. */
int shares_enter(struct files *f, const char *token, int64_t now_us, struct share_visit *ret,
                 struct err *e);
int shares_gone(struct err *e); /* sets that very error; -1 */

/* One guess, as passwords_try; with a NULL visit, at a link that is not there. */
int shares_unlock(struct passwords *p, const struct share_visit *v, const char *token,
                  const char *address, struct str text, int64_t *ret_wait_ms, struct err *e);

/* "EXPIRES.MAC": ends with the link's password, and after SHARE_PASS_S. */
void shares_pass_make(const uint8_t key[SIGN_KEY_LEN], const struct share_row *share, int64_t now_s,
                      char ret[SHARE_PASS_SIZE]);
bool shares_pass_check(const uint8_t key[SIGN_KEY_LEN], const struct share_row *share,
                       int64_t now_s, struct str pass);

/* The path in the workspace of what `below` names: "" is what is shared itself. Of a file it is its
 * name, or "". Fails with ERR_NOT_FOUND, also for what is no path at all. */
int shares_path(const struct share_row *share, const char *below, char ret[PATH_BYTES_MAX + 1],
                struct err *e);
/* The file of a clean path that shares_path gave; of a pinned link, its version. */
int shares_stat(struct files *f, const struct share_visit *v, const char *path,
                struct version_row *ret, struct err *e);
/* The last name of what is shared; `ws` gives it when that is the whole workspace. */
const char *shares_name(const struct share_visit *v);

/* ---- what time brings ---- */
int shares_tidy(struct files *f, int64_t now_us, struct err *e);

#endif
