/* upkeep.h -- what a store needs now and then: garbage collection, scrubbing, backups, figures.
 *
 * One thread takes the ballast again when there is room. It scrubs a little every second, until all packs were
 * read, and again a day later; it collects garbage every six hours, and measures what lies beside the store every
 * five minutes. Anybody may ask for garbage collection or a backup at once: these exclude
 * each other, and stop nobody from reading or writing.
 */
#ifndef WORKSPACE_UPKEEP_H
#define WORKSPACE_UPKEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "store/backup.h"
#include "store/fsck.h"
#include "store/gc.h"
#include "workspace/places.h"

struct ballast;
struct contents;
struct err;
struct log;
struct meta;
struct packs;
struct upkeep;

struct upkeep_options {
    struct contents *contents; /* all borrowed */
    struct packs *packs;
    struct meta *meta;
    struct log *log;
    struct ballast *ballast; /* NULL: none */
    int data_fd;             /* DATA */
    uint64_t reserve_bytes;  /* with less free (base/disk.h) the disk is full */
    const char *images_path; /* where images lie; NULL: there are none */
    const char *backup_dir;  /* absolute; NULL: there are no backups */
    uint64_t scrub_bytes_s;  /* how much is read again per second; 0: nothing */
};

/* With its thread. */
int upkeep_open(const struct upkeep_options *options, struct upkeep **ret, struct err *e);
void upkeep_close(struct upkeep *u); /* NULL is fine */
/* A gc that goes on ends soon, and no other begins: for when the server is about to end. Any thread. */
void upkeep_stop(struct upkeep *u);

/* `is_now`: without the usual day of grace, for what was purged just now. Then, and on a full disk,
 * it frees what it can, however little of a pack that is. Fails with ERR_BUSY while another gc or a
 * backup goes on. */
int upkeep_gc(struct upkeep *u, bool is_now, struct gc_result *ret, struct err *e);

/* Brings the backup in backup_dir up to date. Fails with ERR_CONFLICT when none is configured,
 * ERR_BUSY. */
int upkeep_backup(struct upkeep *u, struct backup_result *ret, struct err *e);

/* Looks how much of the disk everything else takes (places.h), unless that was done within the last
 * `age_us`. The thread does so every few minutes. Blocks on disk, for as long as it takes to look at every
 * file. */
int upkeep_measure(struct upkeep *u, int64_t age_us, struct err *e);

struct upkeep_stats {
    uint64_t vaults, packs, pack_bytes;
    uint64_t workspaces, files;
    uint64_t bytes;                  /* of files as they are */
    uint64_t kept_bytes;             /* of all versions that are kept */
    uint64_t disk_free, inodes_free; /* inodes UINT64_MAX: not counted */
    uint64_t ballast_bytes;          /* held in reserve for what removes something */
    bool is_full;                    /* less is free than the reserve */
    uint64_t places[PLACE_COUNT];    /* bytes, when last measured */
    int64_t measured_at_us;          /* wall clock; 0: not yet */
    struct scrub_state scrub;
    struct gc_result last_gc;
    uint64_t swept, bytes_freed;    /* by gc, since the start */
    int64_t gc_at_us, backup_at_us; /* wall clock; 0: not since the start */
    bool is_stopped;                /* the disk has failed: read-only until a restart */
};
int upkeep_look(struct upkeep *u, struct upkeep_stats *ret, struct err *e);

#endif
