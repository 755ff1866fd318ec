/* auditor.h -- keeps the audit provable, and answers questions about it.
 *
 * One thread makes a checkpoint (store/audit_seal.h) when 1,000 entries are new, or a minute after the
 * first of them. It is woken by what is written (bell.h) and does nothing while nothing is.
 *
 * Entries that tell of strangers (no key, or one that is not known) are few: a guess costs nobody
 * anything, so at most AUDITOR_STRANGERS_MAX a minute are written; the next one says how many were not.
 */
#ifndef WORKSPACE_AUDITOR_H
#define WORKSPACE_AUDITOR_H

#include <stdbool.h>
#include <stdint.h>

#include "store/audit.h"
#include "store/audit_seal.h"

struct auditor;
struct bell;
struct err;
struct log;
struct meta;

enum { AUDITOR_STRANGERS_MAX = 60 };

struct auditor_options {
    struct meta *meta; /* all borrowed */
    struct bell *bell;
    struct log *log;
    int data_fd; /* DATA: audit.key, audit.checkpoints */
};

int auditor_open(const struct auditor_options *options, struct auditor **ret, struct err *e);
/* With a last checkpoint. NULL is fine. */
void auditor_close(struct auditor *a);

struct meta *auditor_meta(struct auditor *a); /* for acts.h */

/* Whether one more entry about a stranger may be written now; *ret_left_out were not since the last. */
bool auditor_tells_of_stranger(struct auditor *a, uint64_t *ret_left_out);

/* A checkpoint of the newest entry. ERR_NOT_FOUND: there is none. Blocks on disk. */
int auditor_head(struct auditor *a, struct audit_checkpoint *ret, struct err *e);
/* `given`: a checkpoint that was taken elsewhere; NULL: none. Blocks for as long as it takes;
 * ERR_BUSY while another goes on. */
int auditor_verify(struct auditor *a, const struct audit_checkpoint *given,
                   struct audit_verdict *ret, struct err *e);
int auditor_list(struct auditor *a, const struct audit_filter *filter, struct audit_rows *ret,
                 struct err *e);

#endif
