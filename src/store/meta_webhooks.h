/* meta_webhooks.h -- where the events of a workspace are sent, and how far that has come.
 *
 * `seq` is that of the last event which was delivered, or did not have to be: it only ever grows, and
 * only after the delivery. The secret is kept as it is: it signs what is sent.
 */
#ifndef STORE_META_WEBHOOKS_H
#define STORE_META_WEBHOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/rows.h"

struct err;
struct meta;

struct webhook_row {
    char id[ID_SIZE]; /* whk_... */
    char workspace[ID_SIZE], made_by[ID_SIZE];
    bool is_by_server; /* its maker's right was that of a server's admin */
    const char *url, *secret;
    const char *events; /* separated by commas; "": all */
    int64_t created_us;
    uint64_t seq;
    uint32_t failures;                               /* in a row */
    int64_t failing_us, next_us, last_us, paused_us; /* since; not before; last try; since */
    int last_status;                                 /* of HTTP; 0: none came */
    const char *last_error;                          /* NULL: none */
    void *owned;
};
struct webhook_rows {
    struct webhook_row *items;
    size_t count;
};
void webhook_row_done(struct webhook_row *r);
void webhook_rows_done(struct webhook_rows *l);

/* Begins after the newest event that there is. ERR_LIMIT when the workspace has `max` already. */
int meta_webhook_insert(struct meta *m, const struct webhook_row *row, uint32_t max, struct err *e);
int meta_webhook_get(struct meta *m, const char *workspace, const char *id, struct webhook_row *ret,
                     struct err *e);
/* By when they were made, the oldest first; `workspace` NULL: of all that are there. */
int meta_webhook_list(struct meta *m, const char *workspace, struct webhook_rows *ret,
                      struct err *e);
/* Writes url, secret, events, made_by, is_by_server and what tells how it goes, but `seq`. */
int meta_webhook_update(struct meta *m, const struct webhook_row *row, struct err *e);
int meta_webhook_remove(struct meta *m, const char *workspace, const char *id, struct err *e);

/* How a delivery went: seq, failures and all that follows it. Soon; no rider goes with it. One that was
 * removed meanwhile stays removed. */
int meta_webhook_went(struct meta *m, const struct webhook_row *row, struct err *e);

#endif
