/* container_life.h -- what a container may be made with, and when it has expired. Pure: no clock, no cards.
 *
 * A container is used by every operation on it. Elsewhere it is gone for good when nobody used it for `minutes`; here its files are
 * in a workspace and its session falls asleep by itself, so nothing has to be gone. With `is_strict` it behaves as elsewhere:
 * once expired it stays expired.
 */
#ifndef OPENAI_CONTAINER_LIFE_H
#define OPENAI_CONTAINER_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_t;

enum { CONTAINER_MINUTES = 20, CONTAINER_MINUTES_MAX = 60 * 24 * 366 };

/* What was wished for, checked. */
struct container_plan {
    const char *memory_limit; /* "1g"; static */
    int64_t memory_mb;        /* what that is, and no more than `memory_max_mb` */
    int64_t minutes;
};

/* Checks what a client sent; each may be NULL or null. `memory_max_mb` 0: any. On failure *ret_param is what was wrong:
 * "memory_limit", "expires_after.minutes", ... */
int container_plan(const struct json_t *memory_limit, const struct json_t *expires_after,
                   const struct json_t *network_policy, int64_t memory_max_mb,
                   struct container_plan *ret, const char **ret_param, struct err *e);

bool container_has_expired(int64_t used_us, int64_t minutes, bool is_strict, int64_t now_us);

#endif
