/* eval_int.h -- inside `cicada eval`: tasks given to a model, several at a time, each in a workspace of its own.
 *
 * Every worker is a thread with a connection of its own. They take one task after the other; what came of each is in its
 * place in `results`. A refusal of the server ends all of it: the next task would be refused, too.
 */
#ifndef CLI_EVAL_INT_H
#define CLI_EVAL_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/id.h"
#include "cli/address.h"
#include "cli/eval_tasks.h"
#include "cli/note.h"

struct stop;

enum { EVAL_JOBS_MAX = 16, EVAL_HINT_SIZE = 512 };

struct result {
    bool is_done, is_solved;
    char why[300]; /* it is not solved; "" if it is */
    char answer_id[ID_SIZE];
    char *answer; /* owned; NULL: none */
    uint64_t runs, tokens;
    double cost, seconds;
};

struct eval {
    const char *dir; /* where the files of the tasks are; borrowed */
    const char *model;
    uint64_t timeout_s, max_runs;
    bool keeps, is_quiet;
    struct tasks tasks;
    struct result *results; /* owned; as many as tasks */
    struct address address;
    struct notes *notes;
    struct stop *stop;
    pthread_mutex_t lock; /* protects next, has_failed, failure and hint */
    size_t next;
    bool has_failed;
    struct err failure;
    char hint[EVAL_HINT_SIZE];
};

/* Works until no task is left, somebody failed, or it is asked to stop. Blocks. */
void eval_work(struct eval *v);

/* The table, or with --json the objects, and the sum. Returns the exit code. */
int eval_report(const struct eval *v, bool is_json);

#endif
