/* opened.h -- a data directory opened as the server opens it, for programs that test or measure the
 * store without one; and bytes to put into it.
 */
#ifndef CRASH_OPENED_H
#define CRASH_OPENED_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "store/contents.h"
#include "store/packs.h"
#include "store/rows.h"
#include "store/store.h"
#include "workspace/files.h"
#include "workspace/people.h"

struct err;

struct opened {
    struct store *store;
    struct contents *contents; /* both the store's */
    struct packs *packs;
    struct people *people;
    struct files *files;
    struct who who;          /* the admin */
    struct workspace_row ws; /* their default one, as it was when it was opened */
    atomic_int stops;        /* how often it was said that nothing can be written any more */
};

int opened_begin(struct opened *o, const char *dir, struct err *e);
void opened_end(struct opened *o); /* half-opened is fine */

struct meta *opened_meta(const struct opened *o);
/* The workspace as it is now; the caller ends it with workspace_row_done. */
int opened_look(const struct opened *o, struct workspace_row *ret, struct err *e);
struct author opened_author(const struct opened *o);

/* Reads a content to its end; fails when that is not what its hash says. */
int opened_verify(const struct opened *o, const char *vault, const struct content *content,
                  struct err *e);

/* ---- numbers and bytes that are the same for the same seed ---- */

struct dice {
    uint64_t state;
};
uint64_t dice_next(struct dice *d);
uint64_t dice_below(struct dice *d, uint64_t limit);
/* Bytes that compress to about a half, or, when `is_noise`, not at all. */
void dice_fill(struct dice *d, int is_noise, void *to, size_t len);

/* Tells what is in *e and ends the program. */
_Noreturn void die(const char *what, const struct err *e);

#endif
