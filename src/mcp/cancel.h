/* cancel.h -- how a request that goes on is called off: by its client's leaving, or by
 * notifications/cancelled in the era with sessions. */
#ifndef MCP_CANCEL_H
#define MCP_CANCEL_H

#include <pthread.h>
#include <stdbool.h>

struct json_t;
struct mcp_call;
struct mcp_session;

struct mcp_flight {
    pthread_mutex_t lock; /* protects what follows, and is held while fn runs */
    bool is_cancelled;
    void (*fn)(void *arg);
    void *arg;
    struct mcp_call *of;
    struct mcp_flight *next; /* of the session: protected by its lock */
};

void flight_begin(struct mcp_call *m, struct mcp_flight *f);
void flight_end(struct mcp_call *m);

/* notifications/cancelled with that id. */
void flights_cancel(struct mcp_session *s, const struct json_t *id);

#endif
