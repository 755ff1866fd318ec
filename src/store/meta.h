/* meta.h -- the operations on what rows.h describes.
 *
 * One implementation, on SQLite (store/db.h). Another would have to pass meta_contract.h.
 * Nothing here decides anything: who may do what is workspace/'s business.
 *
 * Any number of threads. Everything blocks on disk. Writes are durable when they return, except
 * those that take a `when`: META_SOON returns at once and is durable within 50 ms, in order; call
 * meta_settle before reading what was written so.
 *
 * Fails with ERR_NOT_FOUND when there is no such row, ERR_CONFLICT when a name or id is taken or a
 * row that is referred to is missing, ERR_NO_SPACE when the disk is full, ERR_UNAVAILABLE when the
 * store has stopped, ERR_INVALID for a bad cursor.
 */
#ifndef STORE_META_H
#define STORE_META_H

#include "store/rows.h"

struct db_stats;
struct err;
struct meta;

enum meta_when { META_NOW, META_SOON };

int meta_settle(struct meta *m, struct err *e);
void meta_stats(struct meta *m, struct db_stats *ret);

/* What a server has to remember about itself: ids under names of ours. */
int meta_setting_get(struct meta *m, const char *name, char ret[ID_SIZE], struct err *e);
int meta_setting_set(struct meta *m, const char *name, const char *id, struct err *e);

/* ---- principals and workspaces ---- */

/* A principal and its default workspace (row->workspace names it), or neither. ERR_LIMIT when there
 * are `max` with the same parent already (without one: of all). */
int meta_principal_insert(struct meta *m, const struct principal_row *row,
                          const struct workspace_row *workspace, uint64_t max, struct err *e);
int meta_principal_get(struct meta *m, const char *id, struct principal_row *ret, struct err *e);
int meta_principal_find_external(struct meta *m, const char *parent, const char *external,
                                 struct principal_row *ret, struct err *e);
/* `parent` NULL: of all. */
int meta_principal_count(struct meta *m, const char *parent, uint64_t *ret, struct err *e);

struct principal_filter {
    const char *parent; /* NULL: all; "": those without one */
};
int meta_principal_list(struct meta *m, const struct principal_filter *filter,
                        const struct page *page, struct principal_rows *ret, struct err *e);

/* What all workspaces it owns may keep together; 0: any amount. */
int meta_principal_quota(struct meta *m, const char *id, uint64_t bytes_max, struct err *e);

/* Since when it is not let in; 0: it is. One that is disabled already stays so since then. */
int meta_principal_disable(struct meta *m, const char *id, int64_t disabled_us, struct err *e);
/* Calls put(arg, id) for each that is not let in. */
int meta_principals_disabled(struct meta *m, int (*put)(void *arg, const char *id, struct err *e),
                             void *arg, struct err *e);

/* Of those that are there, an owner has one of a name: ERR_CONFLICT. Going in, only what does not
 * count anything counts: id, owner, vault, name, created_us and the quotas. */
int meta_workspace_insert(struct meta *m, const struct workspace_row *row, struct err *e);
int meta_workspace_get(struct meta *m, const char *id, struct workspace_row *ret, struct err *e);
int meta_workspace_find(struct meta *m, const char *owner, const char *name,
                        struct workspace_row *ret, struct err *e);
/* `owner` NULL: all. */
int meta_workspace_list(struct meta *m, const char *owner, enum workspace_kind kind,
                        const struct page *page, struct workspace_rows *ret, struct err *e);
/* Those that a principal owns or is a member of. */
int meta_workspace_list_for(struct meta *m, const char *principal, enum workspace_kind kind,
                            const struct page *page, struct workspace_rows *ret, struct err *e);

int meta_workspace_count(struct meta *m, const char *owner, enum workspace_kind kind, uint64_t *ret,
                         struct err *e);

/* ---- keys ---- */

int meta_key_insert(struct meta *m, const struct key_row *row, struct err *e);
int meta_key_get(struct meta *m, const char *id, struct key_row *ret, struct err *e);

/* `principal` NULL: of all. Revoked and expired ones too. */
int meta_key_list(struct meta *m, const char *principal, const struct page *page,
                  struct key_rows *ret, struct err *e);
int meta_key_count(struct meta *m, const char *principal, uint64_t *ret, struct err *e);

/* Once: a key that is revoked stays revoked since the first time. */
int meta_key_revoke(struct meta *m, const char *id, int64_t now_us, struct err *e);
int meta_key_used(struct meta *m, const char *id, int64_t now_us, struct err *e); /* META_SOON */

/* Adds to what the key, and the workspace, used on that day ("": none). META_SOON. */
int meta_usage_add(struct meta *m, const struct usage_row *more, struct err *e);
/* What the key used from one day up to another, that one not included. */
int meta_usage_sum(struct meta *m, const char *key, int64_t from_day, int64_t until_day,
                   struct usage_row *ret, struct err *e);

/* The same of everything that a principal has (NULL: of all), what used most first; at most PAGE_MAX. */
enum usage_of { USAGE_KEYS, USAGE_WORKSPACES };
struct usage_line {
    char id[ID_SIZE];
    const char *name;
    uint64_t runs, cpu_us;
    uint64_t files, bytes, kept_bytes; /* of a workspace, as it is now */
    void *owned;
};
struct usage_lines {
    struct usage_line *items;
    size_t count;
};
void usage_lines_done(struct usage_lines *l);
int meta_usage_report(struct meta *m, enum usage_of of, const char *principal, int64_t from_day,
                      int64_t until_day, struct usage_lines *ret, struct err *e);
/* Zeros when it used nothing. */
int meta_usage_get(struct meta *m, const char *key, int64_t day, struct usage_row *ret,
                   struct err *e);

/* ---- sessions ---- */

/* Fails with ERR_LIMIT when there are too many open ones (row->principal_max, key_max). One with a parent begins
 * with the state that the parent has now. */
int meta_session_insert(struct meta *m, const struct session_row *row, enum meta_when when,
                        struct err *e);
int meta_session_get(struct meta *m, const char *id, struct session_row *ret, struct err *e);

/* Writes name, options, idle_s, snapshots and tz; ERR_CONFLICT when it is closed. */
int meta_session_update(struct meta *m, const struct session_row *row, struct err *e);
/* Only its options; goes with no rider: it is no act of its own. */
int meta_session_set_options(struct meta *m, const char *id, const char *options, struct err *e);
int meta_session_used(struct meta *m, const char *id, int64_t now_us, struct err *e); /* SOON */
/* Once. ERR_CONFLICT when it is closed already. */
int meta_session_close(struct meta *m, const char *id, int64_t now_us, const char *why,
                       enum meta_when when, struct err *e);

enum { OPEN_ONLY = 1, CLOSED_ONLY = 2 };

struct session_filter { /* NULL and 0: any */
    const char *principal, *workspace, *key, *name;
    int open; /* OPEN_ONLY, CLOSED_ONLY */
    int64_t used_before_us;
};
int meta_session_list(struct meta *m, const struct session_filter *filter, const struct page *page,
                      struct session_rows *ret, struct err *e);
int meta_session_count(struct meta *m, const struct session_filter *filter, uint64_t *ret,
                       struct err *e);

/* Open ones in workspaces of a kind, those first that nobody used for longest. */
int meta_session_list_unused(struct meta *m, const char *principal, enum workspace_kind kind,
                             uint32_t limit, struct session_rows *ret, struct err *e);

/* ---- runs ---- */

enum { RUN_OBJECT_MAX = 192 << 20 }; /* bytes of JSON: displays are base64 there */

/* With META_SOON the row is copied. Objects are compressed on the caller's thread. */
int meta_run_insert(struct meta *m, const struct run_row *row, enum meta_when when, struct err *e);

/* Writes everything that changes in a run's life: status, end, state, hint, started, duration, cpu,
 * peak and object; of one that has a number, also what state it began with, and that its session has the one
 * it left. One that is done stays as it is: ERR_CONFLICT (nobody is told with SOON). */
int meta_run_update(struct meta *m, const struct run_row *row, enum meta_when when, struct err *e);
int meta_run_get(struct meta *m, const char *id, struct run_row *ret, struct err *e);

struct run_filter { /* NULL: any */
    const char *principal, *session, *workspace, *end;
    bool has_status;
    enum run_status status;
    bool is_brief; /* leaves out code and object */
};
int meta_run_list(struct meta *m, const struct run_filter *filter, const struct page *page,
                  struct run_rows *ret, struct err *e);

/* At the start of a server: every run that is not done becomes done, `end`, with `hint`. *ret is
 * those (brief, all of them, no paging), for whoever wants to tell. */
int meta_runs_interrupt(struct meta *m, const char *end, const char *hint, struct run_rows *ret,
                        struct err *e);

/* ---- idempotency ---- */

enum idem_state {
    IDEM_NEW,      /* never seen: it is yours now. Do it, then meta_idem_end or meta_idem_drop */
    IDEM_DONE,     /* seen: answer with status and body again */
    IDEM_PENDING,  /* somebody is doing it, or the server died of it; `subject` says what it made */
    IDEM_MISMATCH, /* the key was used for another request */
};

struct idem {
    const char *principal, *key, *operation; /* in; key at most 255 bytes, as given by the client */
    uint8_t sha256[HASH_LEN];                /* in; of the request */
    enum idem_state state;                   /* out, and all below */
    char subject[ID_SIZE];                   /* id of the run or session; "": not known yet */
    int status;
    const char *body;
    size_t body_len;
    int64_t created_us;
    void *owned;
};

/* Looks, and takes the key if it is new, in one step. The caller ends it with idem_done. */
int meta_idem_begin(struct meta *m, struct idem *i, int64_t now_us, struct err *e);
void idem_done(struct idem *i);

/* What is being made, so that a restarted server can say how it ended. META_SOON. */
int meta_idem_subject(struct meta *m, const struct idem *i, const char *id, struct err *e);
int meta_idem_end(struct meta *m, const struct idem *i, int status, const char *body, size_t len,
                  enum meta_when when, struct err *e);
int meta_idem_drop(struct meta *m, const struct idem *i, struct err *e); /* it failed: try again */

/* At the start of a server: forgets pending ones without a subject. */
int meta_idem_restart(struct meta *m, struct err *e);

/* ---- forgetting ---- */

struct prune {                /* 0: keep */
    int64_t closed_before_us; /* sessions closed before, with their runs */
    int64_t runs_before_us;   /* runs done and created before */
    int64_t idem_before_us;   /* keys of idempotency taken before: a day ago */
    int64_t usage_before_day;
};

struct pruned {
    uint64_t sessions, runs, idems, usages;
    bool has_more; /* it stopped after a bounded amount of work: call again */
};

/* Removes at most PRUNE_STEP of each in one transaction, so that nobody waits long. */
enum { PRUNE_STEP = 500 };
int meta_prune(struct meta *m, const struct prune *p, struct pruned *ret, struct err *e);

#endif
