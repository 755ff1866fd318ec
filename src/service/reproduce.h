/* reproduce.h -- makes a version once more and says whether it comes out the same.
 *
 * The run that made it is repeated in a fresh session, after the runs whose variables it had (lineage_chain: of
 * the session it was forked from too, and without those that had been undone), in a workspace of its own that holds nothing but what those runs read and is removed afterwards:
 * nobody's files are changed. What a run reads is put there as it was then:
 *
 *     recorded   every file in the version that was read; runs of other sessions are not repeated
 *     latest     files that no run made are as they are today, and the runs that made the others are
 *                repeated too: what would come out now?
 *
 * The outcome is `same` (bytes; or pixels or values within a tolerance, compared inside a sandbox),
 * `different` with what differs, or `failed` with the traceback when a run did not end as it had. Runs that
 * were cut short then (by time, memory, ...) are left out, and said to be.
 *
 * Each run that is repeated counts like any other. A run's standard input and variables of its environment are not kept, so runs that had any are
 * repeated without.
 */
#ifndef SERVICE_REPRODUCE_H
#define SERVICE_REPRODUCE_H

#include <stdbool.h>

struct buf;
struct err;
struct service;
struct version_row;
struct who;
struct workspace_row;

enum {
    REPRODUCE_RUNS_MAX = 100,
    REPRODUCE_WALL_MS = 15 * 60 * 1000, /* no run is begun after that */
};

struct reproduction {
    const struct workspace_row *ws;
    const struct version_row *of;
    bool is_latest;
    const char *request; /* id of the request */
};

/* `who` may read the workspace. Fails with ERR_CONFLICT when no run made it, or its run was forgotten,
 * ERR_LIMIT past REPRODUCE_RUNS_MAX, and as seat_create and job_execute do. Blocks until it is over. */
int reproduce(struct service *s, const struct who *who, const struct reproduction *wishes,
              struct buf *out, struct err *e);

#endif
