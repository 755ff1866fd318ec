/* tickets.h -- links that work once: invitations to a workspace, claims to own it; and signing in.
 *
 *     tickets_create(files, &who, &ws, TICKET_INVITE, &wishes, &row, token, e)     the token is shown once
 *     invite_accept(files, &newcomer, ...)       somebody new: a principal who signs in by name and password
 *     invite_join(files, &who, token, &ws, e)    somebody who is here already
 *     claim_take(files, &who, token, &ws, e)     the workspace is theirs then; who gave it stays an admin
 *     sign_in(files, &attempt, ...)              name and password for a key that ends by itself
 *
 * A token is 180 random bits and is kept as SHA-256. What was used, revoked or has expired is
 * ERR_NOT_FOUND, all alike. Any number of threads; all block on disk, and where passwords are, for longer.
 */
#ifndef WORKSPACE_TICKETS_H
#define WORKSPACE_TICKETS_H

#include <stdint.h>

#include "base/str.h"
#include "store/meta_tickets.h"
#include "workspace/people.h"

struct err;
struct files;
struct passwords;
struct workspace_row;

enum {
    INVITES_OPEN_MAX = 100, /* of one workspace */
    CLAIMS_OPEN_MAX = 5,
    INVITE_EXPIRES_S = 7 * 86400, /* unless told otherwise */
    INVITE_EXPIRES_MAX_S = 30 * 86400,
    CLAIM_EXPIRES_S = 72 * 3600, /* always */
    SIGN_IN_EXPIRES_S = 12 * 3600,
    SIGN_IN_EXPIRES_MAX_S = 30 * 86400,
    SIGN_IN_KEYS_MAX = 20, /* that work, of one person; one more ends the oldest */
    LOGIN_NAME_MAX = 64,
    PASSWORD_BYTES_MIN = 10,
    TICKET_TOKEN_SIZE = SECRET_SIZE,
};

struct ticket_wishes {
    int role;          /* of an invitation; enum role, below owner */
    const char *name;  /* for whom; NULL: anybody */
    int64_t expires_s; /* of an invitation; 0: INVITE_EXPIRES_S */
};

/* The caller ends *ret with ticket_row_done. ERR_LIMIT, ERR_INVALID; of a claim ERR_CONFLICT for a default
 * workspace, which stays its owner's. */
int tickets_create(struct files *f, const struct who *who, const struct workspace_row *ws,
                   enum ticket_kind kind, const struct ticket_wishes *wishes,
                   struct ticket_row *ret, char ret_token[TICKET_TOKEN_SIZE], struct err *e);
int tickets_list(struct files *f, const struct workspace_row *ws, enum ticket_kind kind,
                 const struct page *page, struct ticket_rows *ret, struct err *e);
int tickets_revoke(struct files *f, const struct workspace_row *ws, enum ticket_kind kind,
                   const char *id, struct err *e);

/* What an invitation is to, for who looks at it before they use it. */
struct invitation {
    char *workspace, *inviter; /* names */
    const char *role;
    int64_t expires_us;
};
void invitation_done(struct invitation *i);
int invite_look(struct files *f, const char *token, struct invitation *ret, struct err *e);

/* What somebody gets who signs in or came by an invitation. */
struct signed_in {
    struct key_row key; /* key_row_done */
    char secret[SECRET_SIZE];
};
void signed_in_done(struct signed_in *s);

struct newcomer {
    struct passwords *passwords;
    const char *token, *login, *name; /* name NULL: the login */
    struct str password;
};
/* ERR_NOT_FOUND for the token, ERR_INVALID or ERR_CONFLICT for the login, and then the invitation is
 * still open. */
int invite_accept(struct files *f, const struct newcomer *n, struct signed_in *ret,
                  char ret_workspace[ID_SIZE], struct err *e);
int invite_join(struct files *f, const struct who *who, const char *token,
                struct workspace_row *ret, struct err *e);
int claim_take(struct files *f, const struct who *who, const char *token, struct workspace_row *ret,
               struct err *e);

struct sign_in {
    struct passwords *passwords;
    const char *login, *address; /* address: as in http_peer */
    struct str password;
    int64_t expires_s; /* 0: SIGN_IN_EXPIRES_S */
};
/* ERR_UNAUTHORIZED for a wrong name or password, alike; ERR_LIMIT with *ret_wait_ms. The key may do all but
 * SCOPE_ADMIN and SCOPE_AUDIT. */
int sign_in(struct files *f, const struct sign_in *attempt, struct signed_in *ret,
            int64_t *ret_wait_ms, struct err *e);
/* Needs the old one. Keys that were given before go on to work: revoke them. */
int change_password(struct files *f, const struct who *who, const struct sign_in *old,
                    struct str fresh, int64_t *ret_wait_ms, struct err *e);

#endif
