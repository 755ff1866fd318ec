/* store.h -- DATA, the directory of one server, and what is in it.
 *
 *     DATA/lock      flock-ed by the server that uses it; holds its process id
 *     DATA/meta.db   SQLite: principals, keys, sessions, runs, files (store/meta.h); -wal, -shm beside it
 *     DATA/search.db which words are where (store/text_index.h); opened by itself, made again when it is gone
 *     DATA/ballast   room that is given up when there is none left (store/ballast.h)
 *     DATA/packs     what files hold (store/contents.h, store/packs.h)
 *     DATA/audit.key, DATA/audit.checkpoints   what proves the audit (store/audit_seal.h)
 *
 * One server at a time: the second gets ERR_CONFLICT. Nobody else opens what is in it.
 */
#ifndef STORE_STORE_H
#define STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

struct ballast;
struct contents;
struct err;
struct meta;
struct packs;
struct store;

struct store_options {
    const char *dir; /* DATA; made (0700) when it is missing, its parent has to exist */
    /* To look at it, not to use it: nothing is made, and what an older server wrote is not brought up
     * to date; ERR_NOT_FOUND and ERR_CONFLICT instead. */
    bool is_check;
    /* What is given up when the disk is full, so that what only removes something always works, and
     * how much room stays to others when it is taken. 0: none, and none for the log of the
     * database. */
    uint64_t ballast_bytes, ballast_leave_bytes;
    /* Called once the lock is held, before anything is written: to make room. */
    void (*on_locked)(void *arg);
    bool is_packs_alone; /* without the database: only store_packs gives something */
    /* Called on any thread; may be NULL; must not wait. Once, when it has stopped after a disk error
     * and nothing can be written any more (store/db.h, store/packs.h): */
    void (*on_stop)(void *arg, const char *why);
    /* For every write that failed when nobody was waiting for it any more: */
    void (*on_lost)(void *arg, const char *why);
    /* After every commit to the database, on its writer's thread: */
    void (*on_commit)(void *arg);
    void *arg;
};

/* Fails with ERR_CONFLICT when another server has it or a newer one wrote it, ERR_DAMAGED, or what
 * the disk fails with. Blocks on disk. */
int store_open(const struct store_options *options, struct store **ret, struct err *e);

/* Writes what is queued, lets go. Nobody uses it any more. NULL is fine. */
void store_close(struct store *s);
static inline void store_closep(struct store **s)
{
    store_close(*s);
}

/* All four live as long as the store; NULL when it was opened without. Nobody else opens packs in DATA: a pack is leased within one
 * `struct packs`. */
struct meta *store_meta(struct store *s);
struct contents *store_contents(struct store *s);
struct packs *store_packs(struct store *s);
struct ballast *store_ballast(struct store *s); /* to be tended now and then */

#endif
