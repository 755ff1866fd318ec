/* backup.h -- a second DATA that can be used instead of the first, while the server goes on.
 *
 *     TO/meta.db         the database as it was at one moment
 *     TO/packs/VAULT/…   packs with at least everything that it names
 *
 * What is named in a pack never changes or moves, and no other pack ever gets its number, so the next
 * backup to the same directory copies only packs that were written to since: those whose length or
 * moment of change are not those of the copy. Order: the database is copied under another name; packs
 * are copied and synced, each taking the place of its older copy; the database gets its name; then packs
 * that are in the store no more are removed. Whenever it is interrupted, TO is the backup before or the
 * new one, whole. gc must not run at the same time.
 *
 * Restoring is starting a server with a copy of TO as its DATA; `fsck` checks it. What sleeps, working
 * copies and secrets (admin.key, the keys that sign addresses and the audit) are not in it. The restored server needs
 * another directory for its backups: numbers of packs would mean something else there.
 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct meta;
struct packs;

struct backup_result {
    uint64_t database_bytes;
    uint64_t packs, packs_copied;
    uint64_t bytes, bytes_copied; /* of packs */
};

/* Opens the directory for backups, if one can be made there: a directory, writable, with nothing else in it, and
 * neither DATA nor in it nor above it. The caller closes *ret_fd. *ret_is_same_disk: it is lost when DATA's
 * disk is. Fails with ERR_CONFLICT and what is wrong; messages name it, for the operator, who did. */
int backup_open(const char *path, int data_fd, int *ret_fd, bool *ret_is_same_disk, struct err *e);

/* `to_fd` is an open directory, empty or with an earlier backup; `from_fd` is DATA/packs. Blocks for as
 * long as it takes. Fails with ERR_CONFLICT when something else is in it. */
int backup_run(struct meta *m, struct packs *packs, int from_fd, int to_fd,
               struct backup_result *ret, struct err *e);

#endif
