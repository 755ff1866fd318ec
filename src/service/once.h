/* once.h -- doing what a client asked for once, however often it asks: Idempotency-Key.
 *
 *     once_begin(service, &who, key, operation, body, &once, e)
 *     ONCE_NEW      it is ours: do it, tell what was made (once_made), then once_end
 *     ONCE_AGAIN    it was done, or is being done: once.subject is what it made
 *
 * A key belongs to a principal and lasts a day. The same key with another request is ERR_MISMATCH; a
 * request whose first try has made nothing yet is ERR_BUSY. A try that failed is forgotten, so that
 * the next one may succeed.
 */
#ifndef SERVICE_ONCE_H
#define SERVICE_ONCE_H

#include "base/id.h"
#include "base/str.h"

struct err;
struct service;
struct who;

enum { ONCE_KEY_MAX = 255 };
enum once_state { ONCE_NONE, ONCE_NEW, ONCE_AGAIN };

struct once {
    enum once_state state;
    char subject[ID_SIZE]; /* ONCE_AGAIN: a session or a run */
    struct idem *idem;     /* owned */
    struct service *service;
    bool is_made;
};

int once_begin(struct service *s, const struct who *who, struct str key, const char *operation,
               struct str body, struct once *ret, struct err *e);

/* What was made. Nothing when there was no key. */
void once_made(struct once *o, const char *id);

/* The end, in any case; what has made nothing is forgotten. */
void once_end(struct once *o);

#endif
