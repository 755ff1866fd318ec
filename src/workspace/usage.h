/* usage.h -- what was used, month by month: for bills, and for who wonders where it all went. */
#ifndef WORKSPACE_USAGE_H
#define WORKSPACE_USAGE_H

#include <stdint.h>

#include "store/meta.h"

struct err;
struct files;
struct who;

struct usage_report {
    char month[16]; /* "2026-01" */
    struct usage_lines keys, workspaces;
};
void usage_report_done(struct usage_report *r);

/* `month` NULL: that of `now_us`; ERR_INVALID. `principal` NULL: one's own, for an admin all; of others it
 * is ERR_NOT_FOUND to who is no admin. Blocks on disk. */
int usage_report(struct files *f, const struct who *who, const char *principal, const char *month,
                 int64_t now_us, struct usage_report *ret, struct err *e);

/* How much all that a principal owns may keep; 0: any amount. ERR_NOT_FOUND. */
int usage_set_quota(struct files *f, const char *principal, uint64_t bytes_max, struct err *e);

#endif
