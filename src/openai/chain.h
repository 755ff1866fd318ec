/* chain.h -- what was said before: the items of earlier responses and of conversations, as context of a new one.
 *
 * previous_response_id leads from a response to the one before it, and so on. Where one of them was deleted the chain ends: what was
 * deleted is not told to a model. At most CHAIN_MAX responses, and about CHAIN_ITEMS_MAX items and CHAIN_BYTES_MAX
 * bytes are gone through; what is older is left out.
 */
#ifndef OPENAI_CHAIN_H
#define OPENAI_CHAIN_H

#include "openai/openai_int.h"

struct json_t;

enum { CHAIN_MAX = 1000, CHAIN_ITEMS_MAX = 20000, CHAIN_BYTES_MAX = 128 << 20 };

/* Appends the input and output items of that response and all before it, oldest first. */
int oa_chain_previous(struct oa_call *o, const char *response_id, struct json_t *items,
                      struct err *e);

/* Puts in place of every item_reference among `input` the item it stands for: one of `context`, or of any response of theirs that
 * is kept (of the last few hundred, as far as those are not too large). Reads them all once, however many references there are. */
int oa_chain_references(struct oa_call *o, struct json_t *input, const struct json_t *context,
                        struct err *e);

#endif
