/* locks_int.h -- what commits and meta_locks.c share. */
#ifndef STORE_LOCKS_INT_H
#define STORE_LOCKS_INT_H

#include "store/commit_int.h"
#include "store/meta_locks.h"

enum { LOCK_UNTIL_SIZE = 32 };
void lock_until(int64_t at_us, char ret[LOCK_UNTIL_SIZE]);

void lock_blocked(const struct held *by, struct lock_block *ret);
/* ERR_LOCKED: `path` may not be changed, because of `by`. */
int lock_refuse(const struct held *by, const char *path, struct err *e);

#endif
