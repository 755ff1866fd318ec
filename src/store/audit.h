/* audit.h -- the audit: who did what, when, to what, through which door, and whether they might.
 *
 * A chain: hash[n] = SHA-256(hash[n-1] | record[n]), hash[0] 32 zeroes; record is one line of canonical
 * JSON that names everything (the columns beside it only repeat what is looked for). A row is written in
 * the transaction of the act it tells of, as a rider (db.h); reads and refusals, which change nothing,
 * within 50 ms. Rows are never changed and never removed.
 *
 * A chain shows what was changed inside of it. That somebody wrote all of it anew, or cut its end, shows
 * against a checkpoint: (seq, hash), signed with a key of the server's, kept beside and to be kept
 * elsewhere too.
 */
#ifndef STORE_AUDIT_H
#define STORE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/rows.h"

struct db_conn;
struct err;
struct meta;

enum audit_result { AUDIT_OK, AUDIT_DENIED, AUDIT_ERROR }; /* as stored: never renumber */

/* What is to be told. All texts may be NULL or "": not so. */
struct audit_entry {
    int64_t at_us;
    const char *event;                    /* "putFile": the operation's name, or "run.files", ... */
    const char *principal, *key, *behalf; /* behalf: whose key it was, of a sub-principal */
    const char *via;                      /* "rest", "cli", "sandbox", "share", "server", ... */
    const char *peer, *agent, *request;   /* address, User-Agent, id of the request */
    const char *workspace, *session, *run;
    const char *object, *path; /* id of what it was done to; a path */
    uint64_t version, rev;
    const char *detail; /* more, as JSON; NULL: nothing */
    enum audit_result result;
    const char *reason; /* code of the error */
    bool is_read;       /* nothing was changed */
};

enum { /* bytes; longer texts are cut, a longer detail is left out and its place says so */
       AUDIT_TEXT_MAX = 256,
       AUDIT_PATH_MAX = 1024,
       AUDIT_DETAIL_MAX = 16 << 10,
       AUDIT_RECORD_MAX = 128 << 10, /* of what is written; every byte may need six */
       AUDIT_LIST_MAX = 1000,        /* rows of a list */
       AUDIT_LOOK_MAX = 100000,      /* that one list looks at */
};

struct audit_row {
    uint64_t seq;
    int64_t at_us;
    const char *workspace, *principal, *event, *record; /* record: JSON */
    enum audit_result result;
    bool is_read;
    uint8_t hash[HASH_LEN];
    void *owned;
};
struct audit_rows {
    struct audit_row *items;
    size_t count;
    bool has_more;
    uint64_t next; /* has_more: what to go on after */
};
void audit_rows_done(struct audit_rows *l);

/* Adds a row, on the writer's thread: inside a job, or as a rider. */
int audit_add(struct db_conn *c, const struct audit_entry *entry, struct err *e);
/* In a job that may be nobody's request: the row is added unless something rides along, which tells of it
 * already; `via` is "server" where it says none, and the time is now. */
int audit_own(struct db_conn *c, const struct audit_entry *entry, struct err *e);
/* For what changes nothing: is there within 50 ms. The entry is copied. */
int audit_post(struct meta *m, const struct audit_entry *entry, struct err *e);

/* An act that rides along with what it changes: the arg of a struct db_rider whose run is audit_ride.
 * Whatever rides along with a job of meta's is one of these. */
struct audit_ride {
    struct audit_entry entry; /* its texts have to live as long */
    /* What the job adds to it, over what the entry says. Anew each time the job is run; of no meaning
     * when the ride was not taken. */
    struct {
        bool is_unchanged; /* nothing had to be done */
        uint64_t version, rev;
        char principal[ID_SIZE], workspace[ID_SIZE], session[ID_SIZE], run[ID_SIZE];
        char object[ID_SIZE];
        char *path, *detail; /* owned */
    } made;
};
int audit_ride(struct db_conn *c, void *ride, struct err *e); /* a db_job */
void audit_ride_done(struct audit_ride *r);                   /* frees what was made */
/* In a job, once it has done its work: what it was done to, for what rides along. NULL, "": stays. A
 * principal that is not the entry's is one on whose behalf it was done. */
struct audit_subject {
    const char *object, *principal, *workspace, *session, *run;
    const char *signed_in; /* the principal, if the entry has none yet */
};
void audit_tell(struct db_conn *c, const struct audit_subject *s);
/* What rides along, to be filled in; NULL: nothing does. */
struct audit_ride *audit_riding(struct db_conn *c);

struct audit_filter {                                 /* NULL, 0: any */
    const char *workspace, *principal, *event, *path; /* path: it, and what is below */
    int64_t from_us, until_us;
    uint64_t
        after; /* seq; is_forward: those after it, the oldest first; otherwise those before it */
    bool is_forward, has_result, is_events; /* is_events: changes that were made, nothing else */
    enum audit_result result;
    uint32_t limit;
};
/* The newest first, or is_forward; what was posted before is there. At most AUDIT_LIST_MAX rows, and
 * after AUDIT_LOOK_MAX that do not match it ends: has_more is true then, with fewer than `limit`. */
int audit_list(struct meta *m, const struct audit_filter *filter, struct audit_rows *ret,
               struct err *e);
uint64_t audit_head(struct meta *m, struct err *e); /* seq of the newest; 0: none, or it failed */

#endif
