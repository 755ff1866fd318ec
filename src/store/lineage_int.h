/* lineage_int.h -- what other jobs do with the rows of meta_lineage.h, in their transactions. */
#ifndef STORE_LINEAGE_INT_H
#define STORE_LINEAGE_INT_H

#include "store/rows.h"

struct db_conn;
struct err;

/* What the run read, once each. Versions of files that are not there are left out. */
int lineage_add(struct db_conn *c, const char *run, const struct run_input *inputs, size_t count,
                struct err *e);

/* A run that has ended, with its number, after what its session's state was; and that state is its own. */
int lineage_follow(struct db_conn *c, const struct run_row *run, struct err *e);

/* By how many runs the version (0: any) of the file was read. */
int lineage_is_input(struct db_conn *c, const char *file, uint64_t version, int64_t *ret,
                     struct err *e);

#endif
