/* lru.h -- a bounded table by name; when it is full, what was touched longest ago goes.
 *
 * Entries begin with a struct lru_entry; new ones are zeros behind it. Not for several threads: who
 * shares it has a lock.
 */
#ifndef WORKSPACE_LRU_H
#define WORKSPACE_LRU_H

#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct err;

struct lru_entry {
    struct lru_entry *next;          /* in its bucket */
    struct lru_entry *newer, *older; /* by when they were touched */
    char name[ID_SIZE];
};

struct lru {
    size_t entry_size, max;
    size_t count, bucket_count;
    struct lru_entry **buckets;
    struct lru_entry *newest, *oldest;
    uint64_t seed; /* names are chosen by strangers: nobody may know which share a bucket */
};

int lru_init(struct lru *l, size_t entry_size, size_t max, struct err *e);
void lru_done(struct lru *l);

/* The entry of that name, touched by this; NULL when there is none. */
struct lru_entry *lru_get(struct lru *l, const char *name);

/* The same, made when there is none. Borrowed until the next lru_make or lru_drop. */
int lru_make(struct lru *l, const char *name, struct lru_entry **ret, struct err *e);
void lru_drop(struct lru *l, const char *name);

#endif
