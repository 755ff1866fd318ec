/* keeper.h -- what a server does to its store beside its users: gc, scrubbing, backups, fsck.
 *
 * What is not as it should be is told, and ends the program.
 */
#ifndef MODEL_KEEPER_H
#define MODEL_KEEPER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "opened.h"

struct keeper {
    struct opened *o;
    const char *dir;                 /* of the store */
    char backup[512], restored[512]; /* beside it */
    atomic_bool is_over;             /* ends keeper_beside */
    uint64_t restarts, gcs, swept, removed, copied, backups;
};

void keeper_begin(struct keeper *u, struct opened *o, const char *dir);

/* gc without any grace and scrubbing, until is_over; for a thread. */
void *keeper_beside(void *arg);

void keeper_fsck(const struct opened *o); /* finds nothing */

/* Brings u->backup up to date and makes u->restored a copy of it. */
void keeper_backup(struct keeper *u);

#endif
