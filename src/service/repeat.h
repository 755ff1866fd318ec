/* repeat.h -- runs made once more, in a place of their own, to see whether the same comes out.
 *
 * As reproduce.h does it for one version of a file: in fresh sessions, after the runs whose variables they had, in a workspace of their
 * own that is removed afterwards. It has what the workspace had before the first of them (up to REPEAT_COPY_MAX files, of another owner's
 * up to REPEAT_COPY_BYTES), and in any case what they read, in the versions they read. Nobody's files are changed.
 */
#ifndef SERVICE_REPEAT_H
#define SERVICE_REPEAT_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct job;
struct json_t;
struct service;
struct who;

enum {
    REPEAT_FILES_MAX = 100,        /* that are compared */
    REPEAT_COPY_MAX = 5000,        /* that are copied besides what was read */
    REPEAT_COPY_BYTES = 256 << 20, /* of them, where they have to be written a second time */
};

struct repetition {
    const char *workspace;   /* in which they ran */
    const char *const *runs; /* in the order in which they ran; at least one */
    size_t count;
    const char *request; /* id of the request */
    /* Told of each run when it begins, for who may have to end it (job_cancel), and with NULL when it is over. -1: all
     * of it is called off. NULL: nobody. */
    int (*watch)(void *arg, struct job *job);
    void *arg;
};

/* *ret, owned: {"complete", "runs": [{"run_id", "repeated_as", "run": the new run object}], "files": [{"path", "version", "is_same", "how",
 * "detail"}]}: the runs that were asked for (those before them are not listed), up to the first that did not end as it had, and the files they made, if all ended as they had. complete false: they may have read what was not
 * there this time.
 * `who` may read the workspace. Fails with ERR_CONFLICT when a run was forgotten, ERR_GONE when `watch` said so, and as
 * reproduce does. Blocks until it is over. */
int repeat_runs(struct service *s, const struct who *who, const struct repetition *wishes,
                struct json_t **ret, struct err *e);

#endif
