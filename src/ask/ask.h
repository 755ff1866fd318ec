/* ask.h -- questions in plain words at /api/v1/ask, and the answers to them.
 *
 * A question is answered by a model that may run code in a session and search a workspace (agent/agent.h); what came of it, the
 * transcript, is kept as an *answer* and can be read, exported, verified, and gone on from.
 *
 *     ask_open(&options, &ask, e)
 *     api_options.ask = ask_handle, .ask_arg = ask
 */
#ifndef ASK_ASK_H
#define ASK_ASK_H

#include "agent/agent.h"

struct ask;
struct call;
struct cards;
struct err;
struct flights;
struct log;
struct model;
struct service;

struct ask_options {
    struct cards *cards; /* borrowed, as all of these */
    struct flights *flights;
    struct service *service;
    struct model *model; /* NULL: none is configured, and every question is told so */
    struct log *log;
    struct agent_limits limits;
    enum agent_code code;
};

int ask_open(const struct ask_options *options, struct ask **ret, struct err *e);
/* api_options.ask; op is one of enum ask_op (api/native_ask.h). */
int ask_handle(void *ask, int op, struct call *c, struct err *e);
void ask_close(struct ask *a); /* NULL is fine; nothing is in flight any more */

#endif
