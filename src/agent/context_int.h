/* context_int.h -- what context.c and context_items.c share: single items. */
#ifndef AGENT_CONTEXT_INT_H
#define AGENT_CONTEXT_INT_H

#include <stdbool.h>

#include "agent/context.h"

bool fit_is(const struct json_t *item, const char *type); /* one without a type is a message */
bool fit_is_output(const struct json_t *item);            /* something that can be shortened */
bool fit_is_of(const struct json_t *item, const char *role);
uint64_t fit_tokens(const struct json_t *item);

/* Copies, owned; NULL: nothing to be had by it, or no memory. */
struct json_t *fit_shortened(const struct json_t *item);
struct json_t *fit_without_images(const struct json_t *item);

#endif
