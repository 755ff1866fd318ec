/* locks.h -- locks as people and programs ask for them: paths, tokens, waiting. What a lock forbids, and
 * what it means that it has ended, is store/meta_locks.h.
 *
 *     struct lock_wishes wishes = {.path = "data.csv", .ttl_s = 60, .deadline_us = clock_us() + ...};
 *     lock_take(files, &who, &ws, &wishes, &lock, e)     lock.token is shown once
 *     ... commits whose author.pass has the token ...
 *     lock_renew(files, &ws, lock.row.id, &pass, 0, &lock, e)
 *     lock_release(files, &ws, lock.row.id, &pass, e)
 *
 * Whoever waits stands in a line: of those who want the same path the first gets it, and only the first
 * asks the store, when a lock was ended or its time is over. The line is short (ERR_OVERLOADED): everybody
 * in it holds a worker of the server's, and some have to be left for those who end the locks.
 *
 * Any number of threads. All block on disk; lock_take until its deadline.
 */
#ifndef WORKSPACE_LOCKS_H
#define WORKSPACE_LOCKS_H

#include "base/str.h"
#include "store/meta_locks.h"

struct err;
struct files;
struct who;
struct workspace_row;

enum {
    LOCK_TTL_S = 300, /* if nothing is said */
    LOCK_WAIT_MAX_S = 60,
    LOCK_WAITERS_MAX = 100, /* at the same time, of everybody; fewer where there are few workers */
};

/* Somebody may give up waiting for them, from another thread. Zeroes. */
struct lock_patience {
    struct files *files;
    bool is_over; /* under the lock of the line */
};
void lock_give_up(void *patience); /* does not block; a struct lock_patience * */

struct lock_wishes {
    const char *path; /* "" or "/": the whole workspace, as a tree */
    bool is_tree, is_shared;
    uint32_t ttl_s;                 /* LOCK_TTL_MIN_S to LOCK_TTL_MAX_S; 0: LOCK_TTL_S */
    const char *holder;             /* as others see it; NULL: the principal's name */
    const char *session;            /* id of an open one of theirs, in this workspace; NULL: none */
    int64_t deadline_us;            /* monotonic; until then it waits. 0: not at all */
    struct lock_patience *patience; /* NULL: until the deadline in any case */
};

struct lock {
    struct lock_row row;
    char token[ID_SIZE]; /* only of one that was just taken */
};
void lock_done(struct lock *l);

/* Fails with ERR_INVALID, ERR_LOCKED (*ret_block is who is in the way), ERR_CONFLICT, ERR_LIMIT,
 * ERR_NOT_FOUND (the session), ERR_OVERLOADED, ERR_GONE (it was given up). */
int lock_take(struct files *f, const struct who *who, const struct workspace_row *ws,
              const struct lock_wishes *wishes, struct lock *ret, struct lock_block *ret_block,
              struct err *e);
/* ttl_s 0: as long as before. ERR_DENIED without the token, ERR_NOT_FOUND when it has ended. */
int lock_renew(struct files *f, const struct workspace_row *ws, const char *id,
               const struct lock_pass *pass, uint32_t ttl_s, struct lock *ret, struct err *e);
int lock_release(struct files *f, const struct workspace_row *ws, const char *id,
                 const struct lock_pass *pass, struct err *e);
/* Without the token; for those who have the right to (RIGHT_ADMIN). */
int lock_break(struct files *f, const struct workspace_row *ws, const char *id, struct err *e);

int lock_get(struct files *f, const struct workspace_row *ws, const char *id, struct lock *ret,
             struct err *e);
/* `path` NULL: all; otherwise those that matter to it. */
int lock_list(struct files *f, const struct workspace_row *ws, const char *path,
              const struct page *page, struct lock_rows *ret, struct err *e);

/* Adds tokens as they are presented: "TOKEN, <opaquelocktoken:TOKEN>". ERR_INVALID for more than
 * LOCK_TOKENS_MAX; what is no token is found out by the commit. */
int lock_present(struct lock_pass *pass, struct str text, struct err *e);
/* Whether a put would be refused now: ERR_LOCKED, ERR_PRECONDITION. `path` is clean. */
int lock_check(struct files *f, const struct workspace_row *ws, const char *path,
               const struct author *author, struct err *e);

/* Locks were ended in another way: a session was closed. */
void locks_wake(struct files *f);
/* Nobody waits any more: the server is stopping. */
void locks_stop(struct files *f);

#endif
