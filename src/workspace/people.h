/* people.h -- principals and keys: who somebody is and what a key of theirs may do.
 *
 * A key is a secret, "cik_" and 36 characters (180 random bits), shown once and kept as SHA-256.
 * All keys that work are in memory, found by that hash and compared in constant time, so asking who
 * somebody is touches no disk. A key belongs to one principal; sessions, files and budgets belong
 * to the principal, so replacing a key orphans nothing.
 *
 *     people_open(&options, &people, e)
 *     people_who(people, secret, now, &who, e)               ERR_UNAUTHORIZED
 *     people_behalf(people, &who, str_of("alice"), &who, e)  alice's own sessions and files
 *     who_may(&who, SCOPE_RUN, e)                            ERR_DENIED
 *
 * A key never gives more than its maker has: neither scopes, nor time, nor larger limits.
 *
 * Any number of threads. people_who, _local and _key_count do not block; the others block on disk.
 * The clock is the wall clock and comes from the caller.
 */
#ifndef WORKSPACE_PEOPLE_H
#define WORKSPACE_PEOPLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "store/rows.h"

struct err;
struct meta;
struct people;

enum scope { /* bits, as stored: never renumber */
             SCOPE_RUN = 1,
             SCOPE_FILES_READ = 2,
             SCOPE_FILES_WRITE = 4,
             SCOPE_SHARE = 8,
             SCOPE_AUDIT = 16,
             SCOPE_ADMIN = 32, /* keys, principals, and what belongs to others */
             SCOPE_ALL = 63,
};

/* "run", "files:read", ... in the order of the bits, NULL at the end: choices for json/fields.h. */
extern const char *const scope_names[];

/* Fails with ERR_INVALID and the names there are. `text` is separated by commas. */
int scopes_parse(const char *text, uint32_t *ret, struct err *e);
void scopes_print(uint32_t scopes, struct buf *out); /* "run,files:read" */

enum {
    PEOPLE_KEYS_MAX = 10000, /* that work, of all principals */
    PEOPLE_PRINCIPALS_MAX = 100000,
    PEOPLE_CHILDREN_MAX = 50000, /* sub-principals of one */
    PEOPLE_NAME_MAX = 256,       /* bytes of names and of on_behalf_of */
    SECRET_RANDOM_LEN = 36,
    SECRET_SIZE = 4 + SECRET_RANDOM_LEN + 1,
};

/* Who asks. A plain value: copy it. */
struct who {
    char principal[ID_SIZE];
    char workspace[ID_SIZE]; /* the default one of the principal */
    char key[ID_SIZE];       /* "": came over the unix socket */
    char parent[ID_SIZE];    /* on_behalf_of: whose key it is; otherwise "" */
    uint32_t scopes;
    struct key_limits limits; /* of the key */
    int64_t key_expires_us;   /* 0: never */
    bool is_admin;            /* has SCOPE_ADMIN, and is not acting for somebody else */
};

/* Fails with ERR_DENIED and which scope is missing. */
int who_may(const struct who *w, enum scope scope, struct err *e);

/* True when `principal` is that of `who`, or `who` is an admin. What this refuses does not exist as
 * far as they can tell: answer ERR_NOT_FOUND. */
bool who_owns(const struct who *w, const char *principal);

struct people_options {
    struct meta *meta;
    const char
        *admin_secret; /* fixes the admin's key (CICADA_API_KEY); NULL: made at first start */
    int64_t now_us;
};

/* Loads all keys. At first start it makes the admin principal. Without admin_secret, and when no
 * admin key works (at first start, or because all were revoked), one is made; people_new_secret
 * tells it. With it, that secret is an admin key as long as it is given here: those given at earlier
 * starts do not work. Fails with ERR_INVALID for a secret shorter than 16 or longer than 256 bytes,
 * ERR_CONFLICT for one that is another key's. */
int people_open(const struct people_options *options, struct people **ret, struct err *e);
void people_close(struct people *p);
static inline void people_closep(struct people **p)
{
    people_close(*p);
}

/* The admin key that people_open made, to be shown once and written to DATA/admin.key; NULL when it
 * made none. Lives until people_close. */
const char *people_new_secret(const struct people *p);

/* How many keys work: listening beyond loopback without one is refused. */
uint64_t people_key_count(struct people *p, int64_t now_us);

/* Whose secret this is. Fails with ERR_UNAUTHORIZED, the same for unknown, expired and revoked.
 * Notes that the key was used, at most once a minute. */
int people_who(struct people *p, struct str secret, int64_t now_us, struct who *ret, struct err *e);

/* For what goes on longer than a request: whether the key that somebody came with still works. It goes
 * through all of them; people_losses says whether there is a reason to, by growing with each key that is
 * revoked (one that expires says so in `who`). Neither blocks. */
bool people_still_knows(struct people *p, const struct who *who, int64_t now_us);
uint64_t people_losses(struct people *p);

/* The admin principal, for peers of the unix socket that are the server's own user. */
void people_local(struct people *p, struct who *ret);

/* The sub-principal that `who` calls `name` (1 to 256 bytes of UTF-8 without control characters),
 * made on first use with a default workspace of its own. Scopes and limits stay those of the key,
 * without SCOPE_ADMIN. Fails with ERR_LIMIT past PEOPLE_CHILDREN_MAX. */
int people_behalf(struct people *p, const struct who *who, struct str name, int64_t now_us,
                  struct who *ret, struct err *e);

/* ---- people whom somebody else vouches for ---- */

/* The principal that stands for an issuer of tokens, made on first use. Nobody comes as this one; whoever comes with
 * its tokens are its sub-principals, called by what their `sub` says. */
int people_issuer(struct people *p, const char *url, int64_t now_us, char ret[ID_SIZE],
                  struct err *e);

/* Who a token of that issuer is about: `subject` (1 to 256 bytes), who is called `name` when first seen (NULL, or
 * not to be used as a name: as the subject is). Sets principal, workspace and parent; the rest is what the
 * token gives. Fails with ERR_DENIED for one that was disabled, ERR_INVALID. */
int people_subject(struct people *p, const char *issuer, const char *subject, const char *name,
                   int64_t now_us, struct who *ret, struct err *e);

/* Whether they are not let in any more. Does not block. */
bool people_is_disabled(struct people *p, const struct who *who);

/* ---- what the API offers. Making keys and principals needs SCOPE_ADMIN: ERR_DENIED ---- */

struct key_wishes {
    const char *name;      /* NULL: "" */
    const char *principal; /* NULL: the maker's own */
    uint32_t scopes;       /* 0: those of the maker without SCOPE_ADMIN */
    int64_t expires_in_s;  /* 0: never, or when the maker's key does */
    struct key_limits limits;
};

/* Fails with ERR_DENIED when the wishes go beyond what the maker has, ERR_NOT_FOUND without such a
 * principal, ERR_LIMIT past PEOPLE_KEYS_MAX. The key works when this returns. */
int people_key_create(struct people *p, const struct who *who, const struct key_wishes *wishes,
                      int64_t now_us, struct key_row *ret, char ret_secret[SECRET_SIZE],
                      struct err *e);

/* Those of the principal itself; for an admin those of `principal`, or all (NULL). Revoked ones are
 * listed too. */
int people_key_list(struct people *p, const struct who *who, const char *principal,
                    const struct page *page, struct key_rows *ret, struct err *e);
int people_key_get(struct people *p, const struct who *who, const char *id, struct key_row *ret,
                   struct err *e);

/* From its return on the key does not work. Who is no admin can revoke their own. Twice is no
 * mistake. A key that the configuration fixed cannot be revoked while it is fixed:
 * ERR_CONFLICT. */
int people_key_revoke(struct people *p, const struct who *who, const char *id, int64_t now_us,
                      struct err *e);

int people_principal_create(struct people *p, const struct who *who, enum principal_kind kind,
                            const char *name, int64_t now_us, struct principal_row *ret,
                            struct err *e);
/* Oneself and one's sub-principals; others are ERR_NOT_FOUND to who is no admin. */
int people_principal_get(struct people *p, const struct who *who, const char *id,
                         struct principal_row *ret, struct err *e);
/* From its return on nobody is let in as this principal, nor on its keys as somebody else, until that is taken back:
 * its keys do not work, nor do tokens. What it has stays. Not the server's own admin: ERR_CONFLICT. */
int people_principal_disable(struct people *p, const struct who *who, const char *id,
                             bool is_disabled, int64_t now_us, struct principal_row *ret,
                             struct err *e);
/* All for an admin, otherwise one's sub-principals. */
int people_principal_list(struct people *p, const struct who *who, const struct page *page,
                          struct principal_rows *ret, struct err *e);

#endif
