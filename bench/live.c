/* live.c -- what a session costs the process that holds it: start, runs, end.
 *
 *     bench-live SPAWN KERNEL
 *
 * `start` makes a new kernel each time; the other commands are runs of one kernel that stays alive,
 * preceded by one that is not counted. A run that does not end as it should ends the bench: a fast
 * wrong answer is no result.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "sample.h"
#include "session/kernel.h"
#include "session/spawner.h"
#include "session/workdir.h"

struct bench {
    struct spawner *spawner;
    struct workdir *dir;
    struct kernel *kernel;
};

struct piece {
    const char *series, *code;
    const char *result; /* what text/plain has to begin with; NULL: no result */
    size_t displays;
};

static const struct piece first = {"start.first", "1+1", "2", 0};
static const struct piece add = {"live.add", "1+1", "2", 0};
static const struct piece assign = {"live.assign", "x=1", NULL, 0};
static const struct piece frame = {
    "live.frame",
    "import pandas as pd\n"
    "pd.DataFrame({'a': range(100), 'b': range(100, 200)}).describe()",
    "                a", 0};
static const struct piece plot = {"live.plot",
                                  "import matplotlib.pyplot as plt\n"
                                  "_ = plt.plot([1, 2, 3], [1, 4, 9])",
                                  NULL, 1};

static const char *plain_text(const struct display *d)
{
    for (size_t i = 0; i < d->count; i++)
        if (strcmp(d->entries[i].type, "text/plain") == 0)
            return d->entries[i].bytes;
    return NULL;
}

static int check(const struct piece *p, const struct run *run, struct err *e)
{
    const char *text = plain_text(&run->result);
    if (run->end != END_OK)
        return err_set(e, ERR_INTERNAL, "%s ended %s: %s", p->series, run_end_name(run->end),
                       run->error.message ? run->error.message : run->hint);
    if (p->result ? !text || strncmp(text, p->result, strlen(p->result)) != 0 : text != NULL)
        return err_set(e, ERR_INTERNAL, "%s gave %s", p->series, text ? text : "nothing");
    if (run->display_count != p->displays)
        return err_set(e, ERR_INTERNAL, "%s showed %zu things", p->series, run->display_count);
    return 0;
}

static int run_piece(struct kernel *k, const struct piece *p, bool is_counted, struct err *e)
{
    struct run_spec spec = {.code = p->code, .code_len = strlen(p->code)};
    struct run run = {0};
    double start = sample_now_us();
    if (kernel_run(k, &spec, NULL, &run, e))
        return -1;
    if (is_counted)
        sample_print(p->series, start);
    int failed = check(p, &run, e);
    run_done(&run);
    return failed;
}

static int start_kernel(struct bench *b, struct kernel **ret, struct err *e)
{
    struct limits limits = LIMITS_DEFAULT;
    return kernel_start(b->spawner, &limits, &JAIL_DATA_PLAIN(workdir_fd(b->dir)), &ORIGIN_COLD,
                        ret, e);
}

static int measure_start(void *arg, uint64_t count, struct err *e)
{
    for (uint64_t i = 0; i < count; i++) {
        struct kernel *k = NULL;
        double start = sample_now_us();
        if (start_kernel(arg, &k, e))
            return -1;
        sample_print("start.ready", start);
        int failed = run_piece(k, &first, /* is_counted= */ true, e);
        double end = sample_now_us();
        kernel_free(k);
        sample_print("start.free", end);
        if (failed)
            return -1;
    }
    return 0;
}

static int measure_piece(struct bench *b, const struct piece *p, uint64_t count, struct err *e)
{
    if (!b->kernel && start_kernel(b, &b->kernel, e))
        return -1;
    if (run_piece(b->kernel, p, /* is_counted= */ false, e))
        return -1;
    for (uint64_t i = 0; i < count; i++)
        if (run_piece(b->kernel, p, /* is_counted= */ true, e))
            return -1;
    return 0;
}

static int measure_add(void *arg, uint64_t count, struct err *e)
{
    return measure_piece(arg, &add, count, e);
}

static int measure_assign(void *arg, uint64_t count, struct err *e)
{
    return measure_piece(arg, &assign, count, e);
}

static int measure_frame(void *arg, uint64_t count, struct err *e)
{
    return measure_piece(arg, &frame, count, e);
}

static int measure_plot(void *arg, uint64_t count, struct err *e)
{
    return measure_piece(arg, &plot, count, e);
}

static const struct command commands[] = {
    {"start", measure_start}, {"add", measure_add},   {"assign", measure_assign},
    {"frame", measure_frame}, {"plot", measure_plot}, {0},
};

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bench-live SPAWN KERNEL\n");
        return 2;
    }
    struct err e = {0};
    struct bench b = {0};
    int status = 1;
    if (workdir_new("/var/tmp", &b.dir, &e) ||
        spawner_open(argv[1], argv[2], /* loader_path= */ NULL, &b.spawner, &e))
        fprintf(stderr, "bench-live: %s\n", e.text);
    else
        status = sample_serve(commands, &b);
    kernel_free(b.kernel);
    spawner_close(b.spawner);
    workdir_free(b.dir);
    return status;
}
