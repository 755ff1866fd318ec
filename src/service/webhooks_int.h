/* webhooks_int.h -- the inside of webhooks.h. */
#ifndef SERVICE_WEBHOOKS_INT_H
#define SERVICE_WEBHOOKS_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "service/webhooks.h"
#include "workspace/bell.h"

struct buf;

/* One webhook, as the courier knows it. All of this is the courier's alone. */
struct hook {
    struct hook *next;
    struct webhook_row row;
    char error[TRANSFER_ERROR_SIZE]; /* what row.last_error points to once something went wrong */
    bool is_due;                     /* there may be something for it */
    bool is_gone;                    /* removed while a delivery is under way */
    bool is_seen;                    /* while the list is read anew */
    struct transfer *transfer;       /* under way; NULL: none */
    uint64_t seq;                    /* of what is under way */
    char *body;                      /* of it; owned */
};

struct webhooks {
    struct webhooks_options o;
    struct bell_hook bell_hook;
    pthread_t courier;
    bool has_courier;
    void *multi; /* libcurl's */
    atomic_uint tests;

    /* the courier's */
    uint64_t at; /* of the audit, up to which it has looked */
    struct hook *hooks;
    size_t under_way;
    unsigned chance; /* of the jitter */

    pthread_mutex_t lock; /* protects the rest */
    bool is_closing, is_rung, is_changed;
};

/* {"id", "type", "webhook_id", "event"}: what is sent. */
void webhook_body(const char *hook, const char *delivery, const char *type, const char *event,
                  size_t len, struct buf *out);

/* How long to wait after `failures` in a row; `chance` is any number. */
int64_t webhook_delay_us(uint32_t retry_s, uint32_t failures, unsigned chance);

/* ---- courier_hooks.c; all of it is the courier's ---- */

void hook_free(struct hook *k);
/* Reads them anew; all are due then. */
int hooks_reload(struct webhooks *h, struct err *e);
void hooks_mark(void *webhooks, const char *workspace); /* those of it are due */
void hooks_drop_gone(struct webhooks *h);

/* ---- courier.c ---- */

void *courier_main(void *webhooks);
void courier_wake(struct webhooks *h, bool is_changed);

#endif
