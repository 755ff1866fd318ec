/* job.h -- a run, from when it is asked for until nobody looks at it any more.
 *
 *     job_new(seat, &who, &wishes, request_id, &job, e)     it has a place in the seat's line
 *     job_execute(job)                                      blocks until it has ended
 *     job_object(job, &out)                                 the run object
 *     job_settle(job)                                       after the answer: what can wait
 *     job_unref(job)
 *
 * or job_launch instead of the two in the middle, and it goes on by itself. It ends in any case,
 * whether anybody is still interested or not, and it is written down: the code when it is asked for,
 * the outcome when it has ended, both within 50 ms.
 *
 * Watchers follow the journal: job_read gives what came after the note they have seen, and a watch
 * is called whenever there is more.
 */
#ifndef SERVICE_JOB_H
#define SERVICE_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "service/journal.h"

struct buf;
struct err;
struct json_pair;
struct job;
struct json_writer;
struct page;
struct seat;
struct service;
struct who;

struct job_wishes {
    struct str code;
    int language;          /* enum run_language */
    const char *name;      /* what tracebacks call the code; NULL: "<cell N>" */
    struct str stdin_text; /* ptr NULL: input() is an error */
    const struct json_pair *env;
    size_t env_count;
    uint32_t wall_ms;  /* 0: the session's */
    bool is_impatient; /* ERR_BUSY instead of waiting for another run */
    bool closes_seat;  /* a one-shot's: the seat is closed when it has ended and been settled */
};

/* Copies what it needs. Fails with ERR_BUSY, ERR_INVALID, ERR_OVERLOADED when the server stops. */
int job_new(struct seat *seat, const struct who *who, const struct job_wishes *wishes,
            const char *request_id, struct job **ret, struct err *e);

struct job *job_ref(struct job *j);
void job_unref(struct job *j);
static inline void job_unrefp(struct job **j)
{
    job_unref(*j);
}

const char *job_id(const struct job *j);
int64_t job_created_us(const struct job *j); /* wall clock: when it was asked for */

/* Blocks until that there is this run is on disk: from then on any later server knows of it, too. Fails
 * with ERR_UNAVAILABLE when the store has stopped. */
int job_record(struct job *j, struct err *e);

/* Waits its turn, runs the code, writes down the outcome. Fails when the code could not be run at
 * all (ERR_OVERLOADED, ERR_UNAVAILABLE ...); the run is over then, too. */
int job_execute(struct job *j, struct err *e);

/* What is due when the answer is out: the snapshot; a one-shot's end. */
void job_settle(struct job *j);

/* Both on a thread of its own. Fails with ERR_OVERLOADED past threads_max; then the job is over. */
int job_launch(struct job *j, struct err *e);

void job_cancel(struct job *j); /* ends it soon; does not wait */

/* Ends every run of the seat, those that wait included; does not wait. `why` is static, a whole sentence that
 * becomes their hint: what they stood on is gone. */
void jobs_call_off(struct seat *seat, const char *why);

/* Blocks until it is over or the deadline has come; true when it is over. */
bool job_wait(struct job *j, int64_t deadline_us);

/* The run object as it is now. */
void job_object(struct job *j, struct buf *out);

/* Calls put with every note after number `seen` until it returns false. True when the run is over
 * and everything was given. The notes are borrowed during the call; put must not block. */
bool job_read(struct job *j, uint64_t seen, bool (*put)(void *arg, const struct note *n),
              void *arg);

struct job_watch {
    struct job_watch *next;
    void (*more)(void *arg); /* must not block, nor call anything here */
    bool is_for_end;         /* only when the run is over, not for every note */
    void *arg;
};
void job_watch(struct job *j, struct job_watch *w);
void job_unwatch(struct job *j, struct job_watch *w); /* afterwards it is not called any more */

/* ---- runs by id, also those that ended long ago ---- */

/* One that is in memory. Fails with ERR_NOT_FOUND, also for those of others (may.h). */
int job_find(struct service *s, const struct who *who, const char *id, struct job **ret,
             struct err *e);

/* The run object of any run that the caller may see. */
int job_show(struct service *s, const struct who *who, const char *id, struct buf *out,
             struct err *e);

/* Their own; with `workspace` or `session` all of it to the workspace's admins, and to whose session it is. */
struct job_filter {
    const char *session, *workspace, *status, *end; /* NULL: any */
};
int job_list(struct service *s, const struct who *who, const struct job_filter *filter,
             const struct page *page, struct buf *out, struct err *e);

#endif
