/* How fast cicada itself is. Everything goes through session.h, as the server's requests will. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/memory.h"
#include "base/scope.h"
#include "cli/baked.h"
#include "cli/bench.h"
#include "cli/note.h"
#include "cli/programs.h"
#include "session/current.h"
#include "session/images.h"
#include "session/pool.h"
#include "session/session.h"
#include "session/spawner.h"
#include "session/workdir.h"

enum {
    WARM_ROUNDS = 300,
    WAKES = 50, /* of those that sleep in a crowd */
    POOL_COUNT = 4,
    POOL_WAIT_MS = 10000,
};

static const char pandas_cell[] = "import pandas as pd; pd.DataFrame({'a': [1]}).a.sum()";
static const char small_cell[] =
    "import pandas as pd; df = pd.DataFrame({'a': range(100), 'b': range(100)}); df.describe()";
static const char rich_cell[] =
    "import numpy as np, pandas as pd, matplotlib.pyplot as plt\n"
    "from sklearn.ensemble import RandomForestClassifier\n"
    "df = pd.DataFrame(np.random.rand(1000, 4), columns=list('abcd')); df.describe()\n"
    "figure, axes = plt.subplots(); _ = axes.plot(df.a[:50])\n"
    "model = RandomForestClassifier(10).fit(df, df.a > 0.5)\n"
    "generator = (i * i for i in range(10)); _ = next(generator)\n"
    "class Point:\n    def __init__(self, x): self.x = x\n"
    "point = Point(3)\n";
static const char rich_check[] = "(len(df), next(generator) >= 1, point.x, model.n_estimators)";

struct bench {
    struct spawner *spawner;
    struct images *images;
    struct current *current;
    struct pool *pool; /* NULL unless it is what is measured */
    struct workdir *dir;
    struct sessions *all;
    char sleepers[64];
    int sleepers_fd;
};

static int run(struct bench *b, struct session *s, const char *code, struct err *e)
{
    const struct run_spec spec = {.code = code, .code_len = strlen(code)};
    struct run run;
    if (session_run(s, &JAIL_DATA_PLAIN(workdir_fd(b->dir)), &spec, NULL, &run, e))
        return -1;
    int failed = run.end == END_OK ? 0
                                   : err_set(e, ERR_INTERNAL, "a cell ended with %s: %.200s",
                                             run_end_name(run.end),
                                             run.error.message ? run.error.message : run.hint);
    run_done(&run);
    return failed;
}

static int new_session(struct bench *b, uint32_t snapshots, struct session **ret, struct err *e)
{
    const struct session_options options = {.limits = LIMITS_DEFAULT, .snapshots = snapshots};
    return session_new(b->all, &options, &JAIL_DATA_PLAIN(workdir_fd(b->dir)), ret, e);
}

static int end_session(struct session **s, struct err *e)
{
    int failed = session_delete(*s, e);
    session_unref(*s);
    *s = NULL;
    return failed;
}

/* A new session to its first answer. */
static int start_once(struct bench *b, struct series *times, struct err *e)
{
    struct session *s = NULL;
    int64_t begun_us = clock_us();
    if (new_session(b, 0, &s, e))
        return -1;
    int failed = run(b, s, pandas_cell, e);
    series_add(times, clock_us() - begun_us);
    return end_session(&s, e) || failed ? -1 : 0;
}

static int measure_warm(struct bench *b, struct series *times, struct err *e)
{
    struct session *s = NULL;
    if (new_session(b, 0, &s, e))
        return -1;
    int failed = run(b, s, "1+1", e);
    for (size_t i = 0; i < WARM_ROUNDS && !failed; i++) {
        int64_t begun_us = clock_us();
        failed = run(b, s, "1+1", e);
        series_add(times, clock_us() - begun_us);
    }
    return end_session(&s, e) || failed ? -1 : 0;
}

static int sleep_once(struct session *s, struct series *times, uint64_t *ret_bytes, struct err *e)
{
    struct session_rest rest = {0};
    int64_t begun_us = clock_us();
    if (session_sleep(s, REST_POLITE, &rest, e))
        return -1;
    if (times)
        series_add(times, clock_us() - begun_us);
    int failed = 0;
    if (rest.is_refused)
        failed = err_set(e, ERR_INTERNAL, "a session refused to sleep: %s",
                         rest.reasons.count ? rest.reasons.list[0] : "");
    if (ret_bytes)
        *ret_bytes = rest.size;
    session_rest_done(&rest);
    return failed;
}

struct nap {
    const char *fill, *check;
    struct series *sleep, *wake;
    uint64_t *bytes;
};

static int nap_once(struct bench *b, const struct nap *nap, struct err *e)
{
    struct session *s = NULL;
    if (new_session(b, 0, &s, e))
        return -1;
    int failed = run(b, s, nap->fill, e) || sleep_once(s, nap->sleep, nap->bytes, e);
    if (!failed) {
        int64_t begun_us = clock_us();
        failed = run(b, s, nap->check, e);
        series_add(nap->wake, clock_us() - begun_us);
    }
    return end_session(&s, e) || failed ? -1 : 0;
}

/* The snapshot is made after a run, when nobody waits for it. */
static int roll_once(struct bench *b, struct bench_own *own, struct err *e)
{
    struct session *s = NULL;
    if (new_session(b, 2, &s, e))
        return -1;
    int failed = run(b, s, small_cell, e) || session_settle(s, e) || run(b, s, "x = 1", e);
    int64_t begun_us = clock_us();
    failed = failed || session_settle(s, e);
    series_add(&own->snapshot, clock_us() - begun_us);
    failed = failed || run(b, s, "x = 2", e);
    begun_us = clock_us();
    failed = failed || session_rollback(s, 3, e);
    series_add(&own->rollback, clock_us() - begun_us);
    failed = failed || run(b, s, "assert x == 1", e);
    return end_session(&s, e) || failed ? -1 : 0;
}

static int branch_once(struct bench *b, struct series *times, struct err *e)
{
    struct session *s = NULL, *branch = NULL;
    if (new_session(b, 0, &s, e))
        return -1;
    int failed = run(b, s, "x = 1", e);
    int64_t begun_us = clock_us();
    failed = failed || session_fork(s, &JAIL_DATA_PLAIN(workdir_fd(b->dir)), &branch, e);
    series_add(times, clock_us() - begun_us);
    failed = failed || run(b, branch, "assert x == 1", e);
    if (branch && end_session(&branch, e))
        failed = -1;
    return end_session(&s, e) || failed ? -1 : 0;
}

/* ---- in turns, so that whatever else the machine does falls on all alike ---- */

static int measure_rounds(struct bench *b, size_t rounds, struct bench_own *own, struct err *e)
{
    const struct nap small = {small_cell, "len(df)", &own->sleep_small, &own->wake_small,
                              &own->small_bytes};
    const struct nap rich = {rich_cell, rich_check, &own->sleep_rich, &own->wake_rich,
                             &own->rich_bytes};
    for (size_t i = 0; i < rounds; i++)
        if (start_once(b, &own->start, e) || nap_once(b, &small, e) || nap_once(b, &rich, e) ||
            roll_once(b, own, e) || branch_once(b, &own->branch, e))
            return -1;
    return measure_warm(b, &own->warm, e);
}

static int await_pool(struct pool *pool, struct err *e)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    int64_t deadline_us = clock_us() + POOL_WAIT_MS * 1000;
    for (struct pool_info info = {0}; info.ready < POOL_COUNT; pool_look(pool, &info)) {
        if (clock_us() > deadline_us)
            return err_set(e, ERR_UNAVAILABLE, "the pool did not fill");
        (void)nanosleep(&pause, NULL); /* what fills it is another thread, and busy */
    }
    return 0;
}

static int open_sessions(struct bench *b, struct err *e)
{
    const struct sessions_options options = {
        .spawner = b->spawner, .current = b->current, .pool = b->pool, .dir_fd = b->sleepers_fd};
    return sessions_open(&options, &b->all, e);
}

static int measure_pool(struct bench *b, size_t rounds, struct bench_own *own, struct err *e)
{
    const struct pool_options options = {.spawner = b->spawner,
                                         .current = b->current,
                                         .limits = LIMITS_DEFAULT,
                                         .count_min = POOL_COUNT,
                                         .count_max = POOL_COUNT};
    sessions_close(b->all);
    b->all = NULL;
    if (pool_open(&options, &b->pool, e) || open_sessions(b, e))
        return -1;
    for (size_t i = 0; i < rounds; i++)
        if (await_pool(b->pool, e) || start_once(b, &own->from_pool, e))
            return -1;
    sessions_close(b->all);
    b->all = NULL;
    pool_close(b->pool);
    b->pool = NULL;
    return open_sessions(b, e);
}

/* ---- crowds ---- */

static int measure_crowd(struct bench *b, size_t count, struct bench_own *own, struct err *e)
{
    scoped(freep) struct session **crowd = calloc(count + 1, sizeof(struct session *));
    if (!crowd)
        return err_set(e, ERR_NO_MEMORY, "hold %zu sessions", count);
    uint64_t before = memory_available();
    int failed = 0;
    size_t live = 0;
    for (; live < count && !failed; live++)
        failed = new_session(b, 0, &crowd[live], e) || run(b, crowd[live], "1+1", e);
    for (size_t i = 0; i < live && !failed; i++) /* once more: all of them still answer */
        failed = run(b, crowd[i], "1+1", e);
    uint64_t after = memory_available();
    if (!failed && live > 0 && before > after)
        own->memory_bytes = (before - after) / live;
    own->live = live;
    for (size_t i = 0; i < count; i++)
        if (crowd[i] && end_session(&crowd[i], e))
            failed = -1;
    return failed ? -1 : 0;
}

static int fall_asleep(struct bench *b, uint64_t *ret_bytes, struct session **ret, struct err *e)
{
    if (new_session(b, 0, ret, e))
        return -1;
    return run(b, *ret, small_cell, e) || sleep_once(*ret, NULL, ret_bytes, e) ? -1 : 0;
}

static int measure_dormitory(struct bench *b, size_t count, struct bench_own *own, struct err *e)
{
    scoped(freep) struct session **crowd = calloc(count + 1, sizeof(struct session *));
    if (!crowd)
        return err_set(e, ERR_NO_MEMORY, "hold %zu sessions", count);
    int failed = 0;
    for (size_t i = 0; i < count && !failed; i++) {
        uint64_t bytes = 0;
        failed = fall_asleep(b, &bytes, &crowd[i], e);
        own->asleep_bytes += bytes;
        own->asleep = i + 1;
    }
    for (size_t i = 0; i < WAKES && i < count && !failed; i++) {
        struct session *s = crowd[i * count / WAKES % count];
        int64_t begun_us = clock_us();
        failed = run(b, s, "len(df)", e);
        series_add(&own->wake_any, clock_us() - begun_us);
        failed = failed || sleep_once(s, NULL, NULL, e);
    }
    for (size_t i = 0; i < count; i++)
        if (crowd[i] && end_session(&crowd[i], e))
            failed = -1;
    return failed ? -1 : 0;
}

/* ---- all of it ---- */

static int open_all(struct bench *b, struct err *e)
{
    (void)snprintf(b->sleepers, sizeof b->sleepers, "/var/tmp/cicada-bench-XXXXXX");
    if (programs_spawner(&b->spawner, e) || baked_open(BAKED_LOOK, &b->images, e) ||
        current_new(b->images, /* kept= */ NULL, &b->current, e))
        return -1;
    if (current_refresh(b->current, e))
        return err_wrap(e, "there is no image to start from (`cicada bake` makes one)");
    if (!mkdtemp(b->sleepers))
        return err_sys(e, errno, "make a directory in /var/tmp");
    b->sleepers_fd = open(b->sleepers, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (b->sleepers_fd < 0)
        return err_sys(e, errno, "open a directory in /var/tmp");
    return workdir_new(work_base(), &b->dir, e) || open_sessions(b, e) ? -1 : 0;
}

static void close_all(struct bench *b)
{
    sessions_close(b->all);
    pool_close(b->pool);
    current_free(b->current);
    images_close(b->images);
    spawner_close(b->spawner);
    workdir_free(b->dir);
    fd_closep(&b->sleepers_fd);
    (void)rmdir(b->sleepers); /* every session has been deleted, so it is empty; or never made */
}

/* The same start without an image, for comparison. */
static int measure_cold(size_t rounds, struct bench *b, struct bench_own *own, struct err *e)
{
    struct current *with = b->current;
    struct current *none = NULL;
    sessions_close(b->all);
    b->all = NULL;
    if (current_new(NULL, /* kept= */ NULL, &none, e))
        return -1;
    b->current = none;
    int failed = open_sessions(b, e);
    for (size_t i = 0; i < rounds && !failed; i++)
        failed = start_once(b, &own->start_cold, e);
    sessions_close(b->all);
    b->all = NULL;
    b->current = with;
    current_free(none);
    return failed || open_sessions(b, e) ? -1 : 0;
}

static int measure(struct bench *b, const struct bench_size *size, struct notes *notes,
                   struct bench_own *own, struct err *e)
{
    size_t few = (size->rounds + 4) / 5;
    if (open_all(b, e))
        return -1;
    note(notes, "measuring sessions");
    if (measure_rounds(b, size->rounds, own, e) || measure_pool(b, size->rounds, own, e) ||
        measure_cold(few, b, own, e))
        return -1;
    if (size->live > 0)
        note(notes, "measuring %zu sessions at once", size->live);
    if (size->live > 0 && measure_crowd(b, size->live, own, e))
        return -1;
    if (size->asleep > 0)
        note(notes, "measuring %zu sleeping sessions", size->asleep);
    return size->asleep > 0 ? measure_dormitory(b, size->asleep, own, e) : 0;
}

int bench_own_measure(const struct bench_size *size, struct notes *notes, struct bench_own *ret,
                      struct err *e)
{
    struct bench b = {.sleepers_fd = -1};
    int failed = measure(&b, size, notes, ret, e);
    close_all(&b);
    return failed;
}
