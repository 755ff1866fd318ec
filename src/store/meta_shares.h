/* meta_shares.h -- rows of share links. What they mean is workspace/shares.h's; decided here is what has to
 * be decided inside a transaction: how many there may be, and whether a link is still good for one
 * more download.
 *
 * A version that a link is pinned to is not thinned, and its file not purged from the trash by rule, as long
 * as the link works (meta_purge.c).
 */
#ifndef STORE_META_SHARES_H
#define STORE_META_SHARES_H

#include "store/rows.h"

struct err;
struct meta;

struct share_row {
    char id[ID_SIZE]; /* shr_... */
    char workspace[ID_SIZE];
    uint8_t sha256[HASH_LEN]; /* of the token, which is kept nowhere */
    const char *path;         /* "": all of the workspace */
    bool is_folder;
    char file[ID_SIZE];          /* pinned: its id; "": what is at the path then */
    uint64_t version;            /* pinned; 0: the newest */
    uint32_t rights;             /* bits of workspace/shares.h */
    const char *password, *note; /* password: its hash; NULL: none */
    uint64_t max_downloads;      /* 0: any number */
    uint64_t views, downloads, uploads;
    char made_by[ID_SIZE];
    bool is_by_server; /* made by a server's admin who is nothing else in the workspace */
    int64_t created_us, expires_us, used_us, revoked_us;
    void *owned;
};
struct share_rows {
    ROWS(share_row);
};
void share_row_done(struct share_row *r);
void share_rows_done(struct share_rows *l);

/* ERR_LIMIT when the workspace has `max` that work already, ERR_NOT_FOUND when the version that it pins is
 * gone (or the workspace). */
int meta_share_insert(struct meta *m, const struct share_row *row, uint32_t max, struct err *e);
/* Those of deleted workspaces are ERR_NOT_FOUND; revoked and expired ones are found. */
int meta_share_get(struct meta *m, const char *workspace, const char *id, struct share_row *ret,
                   struct err *e);
int meta_share_find(struct meta *m, const uint8_t sha256[HASH_LEN], struct share_row *ret,
                    struct err *e);
int meta_share_list(struct meta *m, const char *workspace, const struct page *page,
                    struct share_rows *ret, struct err *e);

struct share_change { /* NULL, -1: stays */
    const char *note;
    const char *password; /* ""; none from now on */
    int64_t expires_us, max_downloads;
};
/* Of one that was not revoked. */
int meta_share_update(struct meta *m, const char *workspace, const char *id,
                      const struct share_change *change, struct err *e);
int meta_share_revoke(struct meta *m, const char *workspace, const char *id, int64_t now_us,
                      struct err *e); /* twice is no mistake */

/* One more download, if it is good for one: otherwise ERR_NOT_FOUND, and nothing was counted. */
int meta_share_download(struct meta *m, const char *id, int64_t now_us, struct err *e);
/* Counted soon: META_SOON. */
int meta_share_seen(struct meta *m, const char *id, int64_t now_us, struct err *e);
int meta_share_uploaded(struct meta *m, const char *id, uint64_t files, int64_t now_us,
                        struct err *e);

/* Forgets those that ended before that moment; at most `limit`. */
int meta_share_prune(struct meta *m, int64_t before_us, uint32_t limit, uint64_t *ret_count,
                     struct err *e);

#endif
