/* think.h -- what some models think aloud, <think>...</think> at the beginning of what they say, told from the rest while it comes.
 *
 *     struct think t;
 *     think_init(&t, put, arg);
 *     think_feed(&t, piece);        put(arg, is_thought, piece) for what is known
 *     think_end(&t);
 *
 * Only at the very beginning: a model may speak of such marks later. Nothing but the marks themselves is lost. Marks that are not closed
 * hold to the end.
 */
#ifndef AGENT_THINK_H
#define AGENT_THINK_H

#include <stdbool.h>

#include "base/str.h"

enum think_state { THINK_BEGIN, THINK_INSIDE, THINK_OVER };

struct think {
    void (*put)(void *arg, bool is_thought, struct str piece);
    void *arg;
    enum think_state state;
    char held[16]; /* what may become a mark */
    size_t held_len;
};

void think_init(struct think *t, void (*put)(void *arg, bool is_thought, struct str piece),
                void *arg);
void think_feed(struct think *t, struct str piece);
void think_end(struct think *t);

#endif
