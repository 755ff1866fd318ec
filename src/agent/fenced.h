/* fenced.h -- a conversation for a model that knows no functions: calls as blocks in what it said, outputs as messages to it.
 *
 * Messages of the same side that follow each other are made one, because many models want the sides to alternate.
 */
#ifndef AGENT_FENCED_H
#define AGENT_FENCED_H

struct err;
struct json_t;

/* *ret is an array of messages, owned. `items` are not changed. */
int fenced_items(const struct json_t *items, struct json_t **ret, struct err *e);

#endif
