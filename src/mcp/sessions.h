/* sessions.h -- what the era with sessions keeps of a client between its requests: the version it
 * speaks, what it can, what it was asked, the streams it may come back to.
 *
 * In memory only. After a restart of the server a client is told that its session is not known, and
 * begins a new one; its code interpreter sessions, files and runs are not of this kind and stay.
 */
#ifndef MCP_SESSIONS_H
#define MCP_SESSIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

struct err;
struct json_t;
struct mcp;
struct mcp_session;
struct mcp_sessions;
struct mcp_stream;

enum {
    SESSIONS_MAX = 2000, /* of all; then those go that were not used for longest */
    SESSIONS_EACH = 200, /* of one principal */
    SESSION_IDLE_S = 24 * 3600,
    SESSION_STREAMS_MAX = 8, /* ended streams to come back to */
};

struct mcp_flight; /* cancel.h */
struct mcp_wait;   /* an answer of the client that is waited for */

struct mcp_session {
    char id[ID_SIZE];
    char principal[ID_SIZE];
    char version[16];
    struct json_t *client; /* its capabilities, as far as we know them; never changed */

    pthread_mutex_t lock; /* protects what follows */
    pthread_cond_t told;  /* an answer came, or it ended */
    unsigned refs;
    bool is_ended;
    int64_t used_us;
    int log_level;              /* index in mcp_levels; the least that is told */
    char seat[ID_SIZE];         /* the interpreter's session of run_code; "": none yet */
    struct mcp_flight *flights; /* requests that go on */
    struct mcp_wait *waits;
    struct mcp_stream *streams; /* newest first; held */
    uint64_t stream_count, ask_count;
    struct mcp_session *next; /* of the table: protected by its lock */
};

int mcp_sessions_open(struct mcp_sessions **ret, struct err *e);
void mcp_sessions_stop(struct mcp *mcp, struct mcp_sessions *all); /* ends every one */
void mcp_sessions_close(struct mcp_sessions *all);

/* Keeps of `client` what there is to know. *ret is held. */
int mcp_session_new(struct mcp *mcp, const char *principal, const char *version,
                    struct json_t *client, struct mcp_session **ret, struct err *e);
/* NULL: not known, ended, or somebody else's. Held. */
struct mcp_session *mcp_session_find(struct mcp_sessions *all, const char *principal,
                                     struct str id);
void mcp_session_unref(struct mcp_session *s); /* NULL is fine */
void mcp_session_end(struct mcp *mcp, struct mcp_session *s);

#endif
