/* hands.h -- code run for a model, in a session of a workspace, through the operations of the native API.
 *
 * The session is made when the first code comes; it is found again later by its id, asleep or not, and when it is gone for good
 * a new one takes its place in the same workspace: the files are there, and the run says that variables are not (`state`
 * "lost").
 */
#ifndef ASK_HANDS_H
#define ASK_HANDS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

struct caller;
struct err;
struct halt;
struct json_t;
struct native;

struct hands {
    struct caller *caller; /* borrowed (api/inner.h) */
    char workspace[ID_SIZE];
    char session[ID_SIZE]; /* "": none yet; changes when a new one is made */
    bool is_new;           /* the session was made here */
    int64_t memory_mb;     /* 0: the server's */
    int64_t timeout_s;     /* of one run; 0: the session's */
    const char *via;       /* for the audit: "openai", "ask"; static */
    /* A session was made, and has not run anything yet; NULL: nobody wants to know. */
    void (*made)(void *arg, const char *session);
    void *arg;
};

/* The run object; also for code that failed. Halting ends the run. Fails when it could not be run at all. */
int hands_run(struct hands *h, struct str code, struct halt *halt, struct json_t **ret_run,
              struct err *e);

/* A request of the native API that runs code, performed so that halting ends the run. */
int hands_perform(struct native *n, struct caller *k, const char *via, struct halt *halt,
                  struct json_t **ret_run, struct err *e);

#endif
