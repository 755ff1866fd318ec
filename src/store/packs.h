/* packs.h -- records in files that only grow: DATA/packs/VAULT/NUMBER.pk.
 *
 * Whoever wants to write leases a pack of a vault. Nobody else appends to it meanwhile, so that a sync
 * waits for the lessee's own bytes only; who comes at the same time gets another pack. A pack that has
 * reached PACK_FULL is sealed when it is given back: a footer (record.h) is written behind its
 * records, and from then on it never changes.
 *
 *     struct lease *l;
 *     packs_lease(p, vault, &l, e);
 *     lease_append(l, &record, payload, &offset, e) ...
 *     lease_sync(l, e);               what was appended is on the disk, and so is the pack's name
 *     lease_release(l);               what was appended since the last sync is taken back
 *
 * **What is in a pack after a crash.** Everything that was synced, then possibly a torn tail: the
 * first bytes that begin no whole record end the pack. When such a pack is leased again, it is cut
 * there, and before that, behind the last record that the database names (packs_owner.named): records
 * behind it were never acknowledged, and may have a header but not its payload. If the database names
 * records beyond the end, somebody has damaged the pack, and it is neither cut nor written to.
 *
 * **Failure.** A write that the disk refuses, other than for want of room, and any failed sync, stop
 * all writing for good: packs_is_stopped. Want of room (ERR_NO_SPACE) fails the lease it happens to,
 * which can only be released then. Reading goes on in any case.
 *
 * This is an interface with one implementation, on a file system. Another one (S3) would have to pass
 * packs_contract.h. Any number of threads; a lease belongs to one at a time. All block on disk.
 */
#ifndef STORE_PACKS_H
#define STORE_PACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/id.h"
#include "store/record.h"

struct err;
struct lease;
struct pack_io;
struct packs;

enum {
    PACK_FULL = 64 << 20,       /* bytes from which a pack is sealed */
    PACK_RECORDS_MAX = 1 << 15, /* and records */
    PACK_WRITE = 1 << 20,       /* bytes that are written at once, where there are so many */
};

struct packs_options {
    int dir_fd;               /* of DATA/packs; stays the caller's, open */
    const struct pack_io *io; /* NULL: the real one */
};

int packs_open(const struct packs_options *options, struct packs **ret, struct err *e);
void packs_close(struct packs *p); /* nothing is leased any more; NULL is fine */

/* Who knows what is in the packs. To be set before the first lease; without one, nothing is named and
 * nobody is told. */
struct packs_owner {
    /* *ret: whether a record of the pack at `offset` or beyond is named. */
    int (*named)(void *arg, const char *vault, uint64_t pack, uint64_t offset, bool *ret,
                 struct err *e);
    void (*on_stop)(void *arg, const char *why); /* once; any thread */
    void *arg;
};
void packs_set_owner(struct packs *p, const struct packs_owner *owner);

bool packs_is_stopped(struct packs *p);

/* Whether a record at `offset` or beyond is named, as far as the owner knows; true when nobody can tell.
 * What is not was never acknowledged: a crash may have left its header without its payload. */
bool packs_is_named_from(struct packs *p, const char *vault, uint64_t pack, uint64_t offset);

/* ---- writing ---- */

/* Fails with ERR_UNAVAILABLE (stopped), ERR_NO_SPACE, ERR_INVALID (no name of a vault). */
int packs_lease(struct packs *p, const char *vault, struct lease **ret, struct err *e);
void lease_release(struct lease *l); /* NULL is fine */

uint64_t lease_pack(const struct lease *l);
bool lease_is_full(const struct lease *l); /* sync it, release it and lease another */

/* Appends a record; *ret_offset is where its header begins. It may stay in memory until lease_sync. */
int lease_append(struct lease *l, const struct record *r, const uint8_t *payload,
                 uint64_t *ret_offset, struct err *e);
int lease_sync(struct lease *l, struct err *e);

/* ---- reading ---- */

/* `len` bytes at `offset`. Fails with ERR_NOT_FOUND when there is no such pack (any more), ERR_DAMAGED
 * when it is shorter. */
int packs_read(struct packs *p, const char *vault, uint64_t pack, uint64_t offset, void *to,
               size_t len, struct err *e);

/* A record as a row names it, unpacked into `to` (row->raw_len bytes) and checked; *ctx as
 * record_unpack. Fails with ERR_NOT_FOUND (no such pack), ERR_DAMAGED. */
int packs_read_record(struct packs *p, const char *vault, const struct chunk_row *row,
                      struct ZSTD_DCtx_s **ctx, uint8_t *to, struct err *e);

struct pack_info {
    uint64_t number, len; /* of the file: torn tail and footer included */
    int64_t changed_us;   /* wall clock, as the file system tells it: when it was last written to */
};

/* All packs of a vault by number, and all vaults by name; the caller frees *ret. */
int packs_list(struct packs *p, const char *vault, struct pack_info **ret, size_t *ret_count,
               struct err *e);
int packs_vaults(struct packs *p, char (**ret)[ID_SIZE], size_t *ret_count, struct err *e);
/* One of them; ERR_NOT_FOUND. */
int packs_look(struct packs *p, const char *vault, uint64_t pack, struct pack_info *ret,
               struct err *e);

/* Records of a pack in order of their offset. Payloads are not looked at, except that `row` has the
 * hash under which the record is found: of a recipe, that of its content. */
typedef int pack_visit(void *arg, const struct chunk_row *row, struct err *e);

struct pack_walked {
    uint64_t end; /* of the last record */
    uint64_t records;
    uint64_t damaged; /* places where no record began although the footer knows of more beyond */
    bool is_sealed;
};
int packs_walk(struct packs *p, const char *vault, uint64_t pack, pack_visit *visit, void *arg,
               struct pack_walked *ret, struct err *e);

/* From here on nobody gets a lease of it, until a restart or packs_return. Fails with ERR_BUSY while it
 * is leased. */
int packs_retire(struct packs *p, const char *vault, uint64_t pack, struct err *e);
void packs_return(struct packs *p, const char *vault, uint64_t pack);

/* Its number is never given to another one, not after a restart either: a backup that was interrupted
 * must not hold one pack under the name of another. Fails with ERR_BUSY while it is leased,
 * ERR_NOT_FOUND. */
int packs_remove(struct packs *p, const char *vault, uint64_t pack, struct err *e);

#endif
