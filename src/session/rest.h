/* rest.h -- an idle kernel written down, and read again.
 *
 * Two forms. A **delta** is the whole process as it differs from the image it was started from:
 * waking is kernel_start with it. It can only be taken of a baked kernel (kernel_is_baked) in which
 * nothing moves. **Variables** are what pickles of the namespace: taken of any kernel that answers,
 * put into any other with kernel_restore, at the cost of whatever does not pickle.
 *
 * Both are bytes of a stranger: they go into a file unread, and are looked at inside a jail only.
 */
#ifndef SESSION_REST_H
#define SESSION_REST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "session/names.h"

struct err;
struct kernel;

enum {
    SLEEP_TIMEOUT_MS = 30000, /* to write a delta */
    SAVE_TIMEOUT_MS = 90000,  /* to save or restore variables, which runs code of the session */
};

/* What came of it. */
struct rest_report {
    bool is_refused;      /* nothing was written; the kernel lives on as if not asked */
    struct names reasons; /* why it refused: "thread 'worker' is alive", ... */
    struct names saved;   /* variables: those that were saved or restored, and */
    struct names lost;    /* those that were not, each as "name: why" */
    uint64_t len;         /* bytes written, and */
    uint8_t sha256[HASH_LEN];
};

void rest_report_done(struct rest_report *r);

enum sleep_way {
    SLEEP_EXITS, /* the kernel is gone when it has written itself */
    SLEEP_STAYS, /* it goes on */
};

/* Has the kernel write its delta to `out_fd` at its present position. Returns 0 when it did, or
 * when it refused (*ret says which; it is the caller's to rest_report_done). Fails with
 * ERR_CONFLICT (not idle), with what the file failed with or ERR_LIMIT (more than its memory can
 * be) -- then the kernel lives on if it was to stay --, or with ERR_UNAVAILABLE or ERR_PROTOCOL
 * when it did not answer as it should: then it is dead. Blocks, at most SLEEP_TIMEOUT_MS. */
int kernel_sleep(struct kernel *k, enum sleep_way way, int out_fd, struct rest_report *ret,
                 struct err *e);

/* The same for its variables; the kernel stays, and cannot refuse. Runs code of the session.
 * Blocks, at most SAVE_TIMEOUT_MS. */
int kernel_save(struct kernel *k, int out_fd, struct rest_report *ret, struct err *e);

/* Puts the variables that `in_fd` holds from its present position to its end into the kernel. The
 * kernel gets the descriptor itself: it must not be writable. Fails like kernel_save. */
int kernel_restore(struct kernel *k, int in_fd, struct rest_report *ret, struct err *e);

#endif
