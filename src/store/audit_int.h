/* audit_int.h -- the inside of store/audit.h: records and the chain. */
#ifndef STORE_AUDIT_INT_H
#define STORE_AUDIT_INT_H

#include "store/audit.h"
#include "store/sql.h"

struct audit_checkpoint;
struct buf;
struct file_change;
struct work;

/* The record of an entry, one line of canonical JSON: keys in a fixed order, no blanks, only what is
 * there. Ask buf_check afterwards. */
void audit_record(const struct audit_entry *entry, struct buf *out);

enum { AUDIT_TIME_SIZE = 48 };
void audit_time(int64_t wall_us, char ret[AUDIT_TIME_SIZE]); /* 2026-01-31T23:59:59.123456Z */

extern const char *const audit_results[]; /* by enum audit_result */

/* hash[n] of the one before and the record. */
int audit_link(const uint8_t before[HASH_LEN], const char *record, size_t len,
               uint8_t ret[HASH_LEN], struct err *e);

/* A row of checkpoints: seq, at, hash, signature, key. -1: it is damaged; seq is there. */
int audit_checkpoint_read(const struct sql_rows *rows, struct audit_checkpoint *ret);

/* Tells of a commit, at its end: fills in what rides along or, when nothing does, adds a row of its
 * own. So there is no commit without its row. */
int audit_commit(struct work *w, const struct file_change *changes, size_t count, struct err *e);

#endif
