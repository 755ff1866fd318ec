/* webhooks.h -- the events of a workspace, sent to where its admins want them.
 *
 *     webhooks_open(&options, &hooks, e)                          starts the courier
 *     webhook_create(hooks, &who, ws_id, &wishes, &row, e)        begins with what happens from now on
 *     webhook_test(hooks, &row, &result, e)                       one delivery, now
 *
 * Theory of operation. One thread, the courier, has every webhook in memory and libcurl's multi handle. The
 * store's commits wake it (workspace/bell.h); it reads in which workspaces something happened (tail.h), and
 * sends each of their webhooks the next event that it wants. One at a time and in order for each webhook, some
 * at once for each workspace, more for all, so that who answers slowly holds up nobody else.
 *
 * An event counts as delivered when the answer is 2xx, and only then is the row's `seq` moved, so after a
 * restart it goes on where it was, and an event may come twice but not never. Otherwise the same event is tried
 * again, after `retry_s`, doubled each time up to an hour, give or take a fifth. After a day without success,
 * or when the answer is 410, the webhook is paused; changing it sets it going again.
 *
 * A webhook sees what an admin of the workspace sees (event.h), so it works as long as whoever set it, or
 * changed it last, is one: otherwise it is paused, too.
 *
 * Secrets are shown when they are made and never again; where it connects to: transfer.h.
 *
 * Locks: webhooks.lock, a leaf.
 */
#ifndef SERVICE_WEBHOOKS_H
#define SERVICE_WEBHOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "service/outside.h"
#include "service/transfer.h"
#include "store/meta_webhooks.h"

struct bell;
struct err;
struct files;
struct json_writer;
struct log;
struct meta;
struct webhooks;
struct who;

enum {
    WEBHOOKS_MAX = 20,       /* of a workspace */
    WEBHOOK_SECRET_MIN = 16, /* bytes */
    WEBHOOK_SECRET_MAX = 128,
    WEBHOOKS_AT_ONCE = 32, /* deliveries under way */
    WEBHOOKS_OF_ONE = 4,   /* of these, of one workspace */
    WEBHOOK_TESTS_MAX = 8, /* tests under way: ERR_OVERLOADED */
    WEBHOOK_RETRY_MAX_S = 3600,
    WEBHOOK_PATIENCE_S = 86400, /* of failures, until it is paused */
};

struct webhooks_options {
    struct meta *meta; /* all borrowed */
    struct files *files;
    struct bell *bell;
    struct log *log;
    struct outside outside;
    uint32_t retry_s; /* before the first repetition */
    bool is_enabled;  /* false: none can be made, and nothing is sent */
};

int webhooks_open(const struct webhooks_options *options, struct webhooks **ret, struct err *e);
void webhooks_close(struct webhooks *h); /* what is under way is broken off, and sent again later */

struct webhook_wishes { /* NULL: as it is; when it is made: all events, a secret that is made up */
    const char *url, *events, *secret; /* events: separated by commas (event.h); "": all */
    bool has_paused, is_paused;
};

/* The caller has asked for the right to it. ERR_INVALID, ERR_LIMIT past WEBHOOKS_MAX, ERR_UNAVAILABLE when
 * they are switched off. All block on disk. */
int webhook_create(struct webhooks *h, const struct who *who, const char *workspace,
                   const struct webhook_wishes *wishes, struct webhook_row *ret, struct err *e);
int webhook_list(struct webhooks *h, const char *workspace, struct webhook_rows *ret,
                 struct err *e);
int webhook_get(struct webhooks *h, const char *workspace, const char *id, struct webhook_row *ret,
                struct err *e);
/* Also sets it going again, unless it is to be paused, and makes it that of who changes it. */
int webhook_change(struct webhooks *h, const struct who *who, const char *workspace, const char *id,
                   const struct webhook_wishes *wishes, struct webhook_row *ret, struct err *e);
int webhook_remove(struct webhooks *h, const char *workspace, const char *id, struct err *e);

/* Sends an event of the type "webhook.test", once. Blocks for up to TRANSFER_MS. */
int webhook_test(struct webhooks *h, const struct webhook_row *row, struct transfer_result *ret,
                 struct err *e);

void webhook_object(struct json_writer *w, const struct webhook_row *row, bool has_secret);

#endif
