/* meta_tickets.h -- what can be used once: invitations to a workspace, and claims to own it; and the names
 * by which people sign in.
 *
 * A ticket is found by the hash of its token, which is kept nowhere. It is open until it is used, revoked or
 * expired. Using one is a single transaction with what it gives.
 */
#ifndef STORE_META_TICKETS_H
#define STORE_META_TICKETS_H

#include "store/rows.h"

struct err;
struct meta;

enum ticket_kind { TICKET_INVITE = 1, TICKET_CLAIM = 2 }; /* as stored: never renumber */

struct ticket_row {
    char id[ID_SIZE];
    char workspace[ID_SIZE], made_by[ID_SIZE], used_by[ID_SIZE];
    enum ticket_kind kind;
    uint8_t sha256[HASH_LEN];
    int role;         /* of an invitation */
    const char *name; /* for whom; "": anybody */
    int64_t created_us, expires_us, used_us, revoked_us;
    void *owned;
};
struct ticket_rows {
    struct ticket_row *items;
    size_t count;
    bool has_more;
    char next[CURSOR_SIZE];
};
void ticket_row_done(struct ticket_row *r);
void ticket_rows_done(struct ticket_rows *l);

/* ERR_LIMIT when the workspace has `max` open ones of the kind already. */
int meta_ticket_insert(struct meta *m, const struct ticket_row *row, uint32_t max, struct err *e);
/* Open or not. */
int meta_ticket_find(struct meta *m, enum ticket_kind kind, const uint8_t sha256[HASH_LEN],
                     struct ticket_row *ret, struct err *e);
/* Newest first, those that are over too. */
int meta_ticket_list(struct meta *m, const char *workspace, enum ticket_kind kind,
                     const struct page *page, struct ticket_rows *ret, struct err *e);
/* ERR_NOT_FOUND when the workspace has none of that id, or it was used. Twice is no mistake. */
int meta_ticket_revoke(struct meta *m, const char *workspace, enum ticket_kind kind, const char *id,
                       int64_t now_us, struct err *e);

/* ---- using them: ERR_NOT_FOUND when it is not open, whatever the reason ---- */

struct login_row {
    char principal[ID_SIZE];
    const char *name;     /* one of its kind */
    const char *password; /* hashed */
    void *owned;
};
void login_row_done(struct login_row *r);

/* The principal becomes a member, or gets the role if it is a higher one than theirs. ERR_LIMIT with
 * `members_max`. */
struct invite_use {
    const char *id;
    const char *principal; /* one that is there; NULL: the next, who is made with all they have */
    const struct principal_row *fresh;
    const struct workspace_row *workspace;
    const struct login_row *login; /* ERR_CONFLICT when the name is taken */
    uint64_t principals_max;
    uint32_t members_max;
    int64_t now_us;
};
int meta_invite_use(struct meta *m, const struct invite_use *use, struct err *e);

/* The workspace belongs to `principal` then, and who had it is one of its admins (`admin_role`). It keeps
 * its name (all its other claims are revoked), or gets a number to it when the new owner has one of that name. ERR_CONFLICT when it is theirs already, or
 * the default one of who has it; ERR_LIMIT with `workspaces_max`. */
struct claim_use {
    const char *id, *principal;
    int admin_role;
    uint32_t workspaces_max;
    int64_t now_us;
};
int meta_claim_use(struct meta *m, const struct claim_use *use, struct err *e);

/* ---- signing in ---- */

int meta_login_find(struct meta *m, const char *name, struct login_row *ret, struct err *e);
int meta_login_of(struct meta *m, const char *principal, struct login_row *ret, struct err *e);
int meta_login_set_password(struct meta *m, const char *principal, const char *password,
                            int64_t now_us, struct err *e);

#endif
