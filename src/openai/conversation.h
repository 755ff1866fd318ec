/* conversation.h -- conversations as cards: {"metadata":{...},"items":[...]}, and what responses need of them.
 *
 * A card is read, changed and written as a whole, and a lock is held meanwhile, over a read and a write of the store, so that of two
 * responses that end in the same conversation at once none is forgotten. There are OA_CONVERSATION_LOCKS of them, and which one it is
 * depends on the id, so that hardly anybody waits for a conversation of somebody else. Who only reads takes none.
 */
#ifndef OPENAI_CONVERSATION_H
#define OPENAI_CONVERSATION_H

#include "openai/openai_int.h"

struct json_t;

enum {
    CONVERSATIONS_MAX = 100000,
    CONVERSATION_ITEMS_MAX = 20000,
    CONVERSATION_BYTES_MAX = 64 << 20, /* about; half of what a card holds */
};

/* Appends its items, oldest first. ERR_NOT_FOUND. */
int oa_conversation_items(struct openai *oa, const char *principal, const char *id,
                          struct json_t *items, struct err *e);
/* Adds both, in this order; what is there already by its id is not added again. Past CONVERSATION_BYTES_MAX what was there before
 * is kept without the bytes of images and files (slim.h). ERR_QUOTA past CONVERSATION_ITEMS_MAX. */
int oa_conversation_append(struct openai *oa, const char *principal, const char *id,
                           const struct json_t *input, const struct json_t *output, struct err *e);
/* Reads it, changes its body and writes it, unless change is NULL. *ret is it afterwards, the caller's. */
int oa_conversation_change(struct openai *oa, const char *principal, const char *id,
                           int (*change)(void *arg, struct json_t *body, struct err *e), void *arg,
                           struct oa_card *ret, struct err *e);

#endif
