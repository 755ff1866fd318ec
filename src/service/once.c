#include "service/once.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "service/service_int.h"
#include "store/meta.h"

/* The idem and the texts it refers to. */
struct kept {
    struct idem idem;
    char principal[ID_SIZE], key[ONCE_KEY_MAX + 1];
};

static int check_key(struct str key, struct err *e)
{
    bool is_fine = key.len > 0 && key.len <= ONCE_KEY_MAX;
    for (size_t i = 0; i < key.len && is_fine; i++)
        is_fine = key.ptr[i] > ' ' && key.ptr[i] < 127;
    return is_fine ? 0
                   : err_set(e, ERR_INVALID, "Idempotency-Key: 1 to %d visible ASCII characters",
                             ONCE_KEY_MAX);
}

/* What an earlier request with this key came to. */
static int again(struct once *o, struct err *e)
{
    const struct idem *i = o->idem;
    if (i->state == IDEM_MISMATCH)
        return err_set(e, ERR_MISMATCH, "this Idempotency-Key was used for another request");
    if (!*i->subject)
        return err_set(e, ERR_BUSY, "a request with this Idempotency-Key is being worked on");
    memcpy(o->subject, i->subject, sizeof o->subject);
    o->state = ONCE_AGAIN;
    return 0;
}

int once_begin(struct service *s, const struct who *who, struct str key, const char *operation,
               struct str body, struct once *ret, struct err *e)
{
    *ret = (struct once){.service = s};
    if (check_key(key, e))
        return -1;
    struct kept *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "remember a request");
    memcpy(k->principal, who->principal, sizeof k->principal);
    memcpy(k->key, key.ptr, key.len);
    k->idem = (struct idem){.principal = k->principal, .key = k->key, .operation = operation};
    scoped(hash_done) struct hash h = {0};
    int failed = hash_init(&h, e) || hash_add(&h, body.ptr ? body.ptr : "", body.len, e) ||
                 hash_end(&h, k->idem.sha256, e) ||
                 meta_idem_begin(s->o.meta, &k->idem, clock_wall_us(), e);
    if (failed) {
        free(k);
        return -1;
    }
    ret->idem = &k->idem;
    ret->state = ONCE_NEW;
    if (k->idem.state != IDEM_NEW && again(ret, e)) {
        once_end(ret);
        return -1;
    }
    return 0;
}

void once_made(struct once *o, const char *id)
{
    struct err ignored = {0}; /* then a second try makes a second one */
    if (o->state != ONCE_NEW)
        return;
    o->is_made = true;
    (void)meta_idem_subject(o->service->o.meta, o->idem, id, &ignored);
}

void once_end(struct once *o)
{
    struct err ignored = {0};
    if (!o->idem)
        return;
    if (o->state == ONCE_NEW && o->idem->state == IDEM_NEW && !o->is_made)
        (void)meta_idem_drop(o->service->o.meta, o->idem, &ignored);
    idem_done(o->idem);
    free(o->idem);
    *o = (struct once){0};
}
