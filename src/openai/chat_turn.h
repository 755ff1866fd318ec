/* chat_turn.h -- a chat completion that may run code, while it is made.
 *
 * The agent does the work of a response (turn.h); chat_sink.c tells of it in chunks and puts the message together, chat_code.c
 * begins and ends it.
 */
#ifndef OPENAI_CHAT_TURN_H
#define OPENAI_CHAT_TURN_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"
#include "base/err.h"
#include "base/id.h"

struct flight;
struct json_t;
struct oa_turn;

struct chat_turn {
    struct oa_turn *t;
    struct agent_sink under; /* what keeps the items */
    struct flight *f;
    bool is_stream, wants_usage;
    char id[ID_SIZE];
    int64_t created_s;
    struct json_t *message; /* owned: the answer so far */
    struct buf text;        /* its content */
    size_t text_at;         /* where the present item's begins */
    size_t calls;           /* of the caller's functions, so far */
    struct json_t *runs;    /* owned: the calls of the interpreter, as clients see them */
    struct json_t
        *notes; /* owned: citations of files; `annotations` of a message can only cite the web */
    /* Once it is over: */
    int failed;
    struct err why;
    const char *finish;
    struct model_usage usage;
    char model[128];
};

/* What it hears of the agent. */
void chat_sink(struct chat_turn *c, struct agent_sink *ret);

/* To who follows it, one chunk; `json` is given away, NULL: no memory. */
void chat_emit(struct chat_turn *c, struct json_t *json);
/* A completion or chunk with these choices, which are given away; NULL: no memory. */
struct json_t *chat_object(const struct chat_turn *c, const char *kind, struct json_t *choices);
/* A chunk with this delta, which is given away; `finish` NULL: it is not the last. */
struct json_t *chat_chunk(const struct chat_turn *c, struct json_t *delta, const char *finish);

#endif
