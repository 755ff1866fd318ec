/* context.h -- a conversation made to fit into what a model can take.
 *
 *     context_fit(items, room, &fitting, e)
 *
 * Tokens are estimated, rather too many than too few: nobody but the model's own tokeniser knows. While it is too much, in this order:
 *     1. outputs of code and functions but the last two are shortened, the oldest first
 *     2. images but those of the last message are left out
 *     3. exchanges (a message of the user and all up to the next) but the last are left out, the oldest first
 *     4. the last two outputs are shortened, and the images of the last message left out
 *     5. calls of the last exchange but the last one are left out, the oldest first
 * each replaced by words that say so. What is still too large then is left as it is, for the model to refuse. Messages of the system stay. An
 * output is never left without its call, nor a call without its output. Reasoning is always left out.
 *
 * The given items are not changed.
 */
#ifndef AGENT_CONTEXT_H
#define AGENT_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct json_t;

enum { CONTEXT_OUTPUT_MAX = 600, CONTEXT_IMAGE_TOKENS = 1000 };

uint64_t context_text_tokens(size_t len);
uint64_t context_tokens(const struct json_t *items);

/* *ret is an array, owned; items in it are shared with `items` where they are the same. */
int context_fit(const struct json_t *items, uint64_t room, struct json_t **ret, struct err *e);

#endif
