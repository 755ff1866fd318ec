/* fixtures_clock.h -- the tasks of the fixtures, as fixtures_clock.c and fixtures_show.c share them. */
#ifndef MCP_FIXTURES_CLOCK_H
#define MCP_FIXTURES_CLOCK_H

#include <pthread.h>

#include "mcp/fixtures.h"

/* A task's life. Only the thread takes the arrows from WORKING, when its time has come:
 *
 *     WORKING -> ASKING         there are questions left
 *     WORKING -> WELL, BROKEN   there are none
 *     ASKING  -> WORKING        the last of them was answered
 *     WORKING, ASKING -> CANCELLED
 */
enum task_status { TASK_WORKING, TASK_ASKING, TASK_WELL, TASK_BROKEN, TASK_CANCELLED };

enum {
    FIXTURE_TASKS_MAX = 256, /* then the oldest is forgotten */
    FIXTURE_LEFT_MAX = 16,
    TASK_TTL_MS = 300000,
    TASK_POLL_MS = 200,
};

struct fixture_task {
    char id[ID_SIZE]; /* "": none */
    enum task_status status;
    struct fixture_job job; /* its text is the next */
    char text[FIXTURE_TEXT_MAX];
    unsigned open;                  /* a bit for each question that is not answered */
    int64_t created_us, updated_us; /* wall */
    int64_t due_us;                 /* monotonic: of the next arrow */
};

/* A stream to be answered later. */
struct fixture_left {
    struct mcp_stream *stream; /* held; NULL: none */
    const char *result;
    int64_t due_us;
};

struct mcp_fixtures {
    struct mcp_hub *hub;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* protects what follows; a leaf */
    pthread_cond_t changed;
    bool is_stopping;
    struct fixture_task tasks[FIXTURE_TASKS_MAX];
    uint64_t count; /* ever begun */
    struct fixture_left lefts[FIXTURE_LEFT_MAX];
};

/* The only way into another status. Under the lock. */
void fixture_become(struct mcp_fixtures *f, struct fixture_task *t, enum task_status status,
                    int64_t due_us);

/* What is the same about all of them; its id is borrowed. */
struct mcp_task fixture_card(const struct fixture_task *t);

/* Tells whoever listens; without the lock. */
void fixture_tell(struct mcp_fixtures *f, const struct fixture_task *t);

#endif
