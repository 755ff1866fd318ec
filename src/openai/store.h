/* store.h -- responses as they are kept: on a card each, the object with everything, the items of its input, and how many events it had.
 *
 *     {"response":{...},"input":[...],"events":42}
 *
 * A response with store false is never here. One in the background is here from its beginning, all others from their end on. One that
 * is on its card as going on while nothing goes on is one that the server did not live to finish: it is told as failed.
 *
 * One that has more than OA_KEPT_MAX bytes is kept without the images of its outputs and the files of its input (slim.h).
 */
#ifndef OPENAI_STORE_H
#define OPENAI_STORE_H

#include "openai/openai_int.h"

struct flight;
struct json_t;

enum { RESPONSES_MAX = 1000000 }; /* of one principal, about: not all are counted */

int oa_stored_insert(struct openai *oa, const char *principal, const char *id,
                     const struct json_t *object, const struct json_t *input, uint64_t events,
                     struct err *e);
/* Overwrites. ERR_NOT_FOUND: it was deleted meanwhile. */
int oa_stored_save(struct openai *oa, const char *principal, const char *id,
                   const struct json_t *object, const struct json_t *input, uint64_t events,
                   struct err *e);

/* A response as it is now, also while it goes on. */
struct oa_stored {
    struct json_t *object, *input; /* owned */
    struct flight *flight;         /* held; NULL: none is known */
    uint64_t events;
};
/* Fails with ERR_NOT_FOUND. */
int oa_stored_get(struct openai *oa, const char *principal, const char *id, struct oa_stored *ret,
                  struct err *e);
void oa_stored_done(struct oa_stored *s);

#endif
