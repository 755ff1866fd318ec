/* What session.h promises: one id, awake or asleep, whatever happens to kernels, files and
 * images. */
#include "session/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/scope.h"
#include "session/current.h"
#include "session/fake.h"
#include "session/pool.h"
#include "session/session_int.h"

struct world {
    struct scratch dir;
    int data, sleepers;
    struct spawner *spawner;
    struct images *images;
    struct current *current;
    struct pool *pool;
    struct sessions *all;
};

static void open_sessions(struct world *w)
{
    struct err e = {0};
    const struct sessions_options options = {w->spawner, w->current, w->pool, w->sleepers};
    assert_int_equal(sessions_open(&options, &w->all, &e), 0);
}

static struct world *make_world(void)
{
    struct world *w = calloc(1, sizeof *w);
    struct err e = {0};
    w->dir = scratch_new();
    scratch_mkdir(&w->dir, "data");
    scratch_mkdir(&w->dir, "sleepers");
    w->data = openat(w->dir.fd, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->sleepers = openat(w->dir.fd, "sleepers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->spawner = fake_spawner("/none");
    w->images = fake_images(&w->dir, "images");
    assert_int_equal(current_new(w->images, &w->current, &e), 0);
    return w;
}

static void bake(struct world *w)
{
    struct image image = IMAGE_NONE;
    struct err e = {0};
    if (images_bake(w->images, w->spawner, BAKE_ANEW, NULL, &image, &e))
        fail_msg("%s", e.text);
    image_done(&image);
    assert_int_equal(current_refresh(w->current, &e), 0);
}

static int set_up(void **state)
{
    struct world *w = make_world();
    bake(w);
    open_sessions(w);
    *state = w;
    return 0;
}

/* As on a host that has no image: kernels start cold. */
static int set_up_cold(void **state)
{
    struct world *w = make_world();
    open_sessions(w);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    sessions_close(w->all);
    pool_close(w->pool);
    current_free(w->current);
    images_close(w->images);
    spawner_close(w->spawner);
    (void)close(w->data);
    (void)close(w->sleepers);
    scratch_done(&w->dir);
    free(w);
    return 0;
}

static struct session *start(struct world *w, uint32_t snapshots)
{
    const struct session_options options = {LIMITS_DEFAULT, snapshots};
    struct session *s = NULL;
    struct err e = {0};
    if (session_new(w->all, &options, w->data, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static struct session *find(struct world *w, const char *id)
{
    struct session *s = NULL;
    struct err e = {0};
    if (session_find(w->all, id, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static void run_code(struct world *w, struct session *s, const char *code, struct run *ret)
{
    const struct run_spec spec = {.code = code, .code_len = strlen(code)};
    struct err e = {0};
    if (session_run(s, w->data, &spec, NULL, ret, &e))
        fail_msg("%s", e.text);
}

/* Runs code; checks what it printed and what it says about its variables. */
static void expect(struct world *w, struct session *s, const char *code, const char *output,
                   enum run_state state)
{
    struct run run;
    run_code(w, s, code, &run);
    scoped(freep) char *text = fake_output(&run);
    assert_non_null(text);
    assert_string_equal(text, output);
    assert_string_equal(run_state_name(run.state), run_state_name(state));
    run_done(&run);
}

static char *output(struct world *w, struct session *s, const char *code)
{
    struct run run;
    run_code(w, s, code, &run);
    char *text = fake_output(&run);
    assert_non_null(text);
    run_done(&run);
    return text;
}

static void put_to_sleep(struct session *s)
{
    struct session_rest rest;
    struct session_info info;
    struct err e = {0};
    if (session_sleep(s, REST_POLITE, &rest, &e))
        fail_msg("%s", e.text);
    assert_false(rest.is_refused);
    assert_true(rest.size > 0);
    session_look(s, &info);
    assert_int_equal(info.life, LIFE_ASLEEP);
    assert_int_equal(info.sleep_bytes, rest.size);
    session_rest_done(&rest);
}

static enum life life_of(struct session *s)
{
    struct session_info info;
    session_look(s, &info);
    return info.life;
}

static bool has_file(const struct world *w, const char *id, const char *ending)
{
    char name[ID_SIZE + 8];
    (void)snprintf(name, sizeof name, "%s.%s", id, ending);
    return faccessat(w->sleepers, name, F_OK, 0) == 0;
}

static int open_file(const struct world *w, const char *id)
{
    char name[ID_SIZE + 8];
    (void)snprintf(name, sizeof name, "%s.sleep", id);
    int fd = openat(w->sleepers, name, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void one_that_sleeps_wakes_at_its_next_run(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    expect(w, s, "set apples", "", STATE_FRESH);
    expect(w, s, "get", "apples\n", STATE_KEPT);
    put_to_sleep(s);
    assert_true(has_file(w, session_id(s), "sleep"));
    expect(w, s, "get", "apples\n", STATE_WOKEN);
    assert_false(has_file(w, session_id(s), "sleep"));
    expect(w, s, "get", "apples\n", STATE_KEPT);
    put_to_sleep(s); /* a second generation */
    expect(w, s, "get", "apples\n", STATE_WOKEN);
}

static void one_that_sleeps_survives_the_engine(void **state)
{
    struct world *w = *state;
    char id[ID_SIZE];
    struct session *s = start(w, 0);
    struct session_info info;
    struct err e = {0};
    memcpy(id, session_id(s), sizeof id);
    expect(w, s, "set plums", "", STATE_FRESH);
    put_to_sleep(s);
    session_unref(s);
    sessions_close(w->all);
    open_sessions(w);
    s = find(w, id);
    session_look(s, &info);
    assert_int_equal(info.runs, 1);
    expect(w, s, "get", "plums\n", STATE_WOKEN);
    session_unref(s);
    assert_int_equal(session_find(w->all, "ses_none", &s, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void one_that_was_awake_does_not_survive_the_engine(void **state)
{
    struct world *w = *state;
    struct session *s = start(w, 0), *again = NULL;
    struct err e = {0};
    char id[ID_SIZE];
    memcpy(id, session_id(s), sizeof id);
    put_to_sleep(s);
    expect(w, s, "set new", "", STATE_WOKEN); /* what its file said is not true any more */
    session_unref(s);
    sessions_close(w->all);
    open_sessions(w);
    assert_int_equal(session_find(w->all, id, &again, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void who_holds_one_finds_the_same_one(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    scoped(session_unrefp) struct session *same = find(w, session_id(s));
    assert_ptr_equal(s, same);
    put_to_sleep(s);
    scoped(session_unrefp) struct session *asleep = find(w, session_id(s));
    assert_ptr_equal(s, asleep);
}

static void who_cannot_sleep_politely_stays_awake(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct session_rest rest;
    struct err e = {0};
    expect(w, s, "busy", "", STATE_FRESH);
    assert_int_equal(session_sleep(s, REST_POLITE, &rest, &e), 0);
    assert_true(rest.is_refused);
    assert_string_equal(rest.reasons.list[0], "thread 'worker' is alive");
    session_rest_done(&rest);
    assert_int_equal(life_of(s), LIFE_IDLE);
    assert_false(has_file(w, session_id(s), "sleep"));
    assert_false(has_file(w, session_id(s), "tmp"));
    expect(w, s, "get", "\n", STATE_KEPT);
}

static void who_must_sleep_loses_what_cannot_be_saved_and_says_so(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct session_rest rest;
    struct run run;
    struct err e = {0};
    expect(w, s, "set pears", "", STATE_FRESH);
    expect(w, s, "odd worker", "", STATE_KEPT);
    expect(w, s, "busy", "", STATE_KEPT);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), 0);
    assert_false(rest.is_refused);
    assert_int_equal(rest.reasons.count, 1);
    assert_int_equal(rest.lost.count, 1);
    assert_true(rest.size > 0);
    session_rest_done(&rest);
    assert_int_equal(life_of(s), LIFE_ASLEEP);

    run_code(w, s, "get", &run);
    scoped(freep) char *text = fake_output(&run);
    assert_string_equal(text, "pears\n");
    assert_int_equal(run.state, STATE_WOKEN);
    assert_int_equal(run.lost.count, 1);
    assert_string_equal(run.lost.list[0], "worker");
    assert_non_null(strstr(run.hint, "worker"));
    run_done(&run);
    expect(w, s, "get", "pears\n", STATE_KEPT);
}

static void what_was_lost_is_not_forgotten_by_sleeping_again(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct session_rest rest;
    struct run run;
    struct err e = {0};
    expect(w, s, "odd worker", "", STATE_FRESH);
    expect(w, s, "busy", "", STATE_KEPT);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), 0);
    session_rest_done(&rest);
    assert_int_equal(session_wake(s, w->data, &e), 0);
    put_to_sleep(s);
    run_code(w, s, "get", &run);
    assert_int_equal(run.lost.count, 1);
    run_done(&run);
}

static void a_cold_one_sleeps_only_when_it_must(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct session_rest rest;
    struct err e = {0};
    expect(w, s, "set figs", "", STATE_FRESH);
    assert_int_equal(session_sleep(s, REST_POLITE, &rest, &e), 0);
    assert_true(rest.is_refused);
    session_rest_done(&rest);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), 0);
    assert_false(rest.is_refused);
    session_rest_done(&rest);
    expect(w, s, "get", "figs\n", STATE_WOKEN);
}

static void one_that_died_in_a_run_begins_anew(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct run run;
    expect(w, s, "set x", "", STATE_FRESH);
    run_code(w, s, "die", &run);
    assert_int_equal(run.end, END_CRASHED);
    assert_int_equal(run.state, STATE_LOST);
    run_done(&run);
    assert_int_equal(life_of(s), LIFE_EMPTY);
    expect(w, s, "get", "\n", STATE_FRESH);
}

static int only_kernel(const struct world *w)
{
    char path[64]; /* all children of the fake spawner are kernels */
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", spawner_pid(w->spawner),
                   spawner_pid(w->spawner));
    FILE *children = fopen(path, "r");
    int pid = 0;
    assert_non_null(children);
    assert_int_equal(fscanf(children, "%d", &pid), 1);
    (void)fclose(children);
    return pid;
}

static void one_that_dies_while_nobody_looks_is_lost_and_the_next_run_says_so(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct run run;
    expect(w, s, "set x", "", STATE_FRESH);
    assert_int_equal(kill(only_kernel(w), SIGKILL), 0);
    while (kernel_is_alive(s->kernel))
        (void)usleep(1000); /* until the spawner has told */
    run_code(w, s, "get", &run);
    assert_int_equal(run.end, END_OK);
    assert_int_equal(run.state, STATE_LOST);
    assert_non_null(strstr(run.hint, "ended while nobody used it"));
    run_done(&run);
    expect(w, s, "get", "\n", STATE_KEPT);
}

/* Damages the file in some way; then the next run has to go on without it. */
static void expect_lost(struct world *w, struct session *s, const char *why)
{
    struct run run;
    run_code(w, s, "get", &run);
    assert_int_equal(run.end, END_OK);
    assert_int_equal(run.state, STATE_LOST);
    if (!strstr(run.hint, why) || !strstr(run.hint, "Variables are lost"))
        fail_msg("%s", run.hint);
    run_done(&run);
    assert_true(has_file(w, session_id(s), "bad"));
    assert_false(has_file(w, session_id(s), "sleep"));
    expect(w, s, "set again", "", STATE_KEPT);
    put_to_sleep(s);
    expect(w, s, "get", "again\n", STATE_WOKEN);
}

static void a_damaged_file_is_set_aside_and_the_session_goes_on(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    put_to_sleep(s);
    scoped(fd_closep) int fd = open_file(w, session_id(s));
    assert_int_equal(pwrite(fd, "!", 1, 530), 1);
    expect_lost(w, s, "hash");
}

static void a_file_that_was_cut_off_is_set_aside(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    put_to_sleep(s);
    scoped(fd_closep) int fd = open_file(w, session_id(s));
    assert_int_equal(ftruncate(fd, 100), 0);
    expect_lost(w, s, "no such file");
}

static void the_file_of_another_session_is_set_aside(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0), *other = start(w, 0);
    char from[ID_SIZE + 8], to[ID_SIZE + 8];
    put_to_sleep(s);
    put_to_sleep(other);
    (void)snprintf(from, sizeof from, "%s.sleep", session_id(other));
    (void)snprintf(to, sizeof to, "%s.sleep", session_id(s));
    assert_int_equal(renameat(w->sleepers, from, w->sleepers, to), 0);
    expect_lost(w, s, "another session");
}

static void one_whose_image_is_gone_is_lost(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    uint64_t freed;
    struct err e = {0};
    put_to_sleep(s);
    bake(w);
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    expect_lost(w, s, "image");
}

static void an_older_image_is_kept_while_somebody_sleeps_under_it(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0), *awake = start(w, 0);
    char(*ids)[HASH_HEX_SIZE] = NULL;
    size_t count = 0;
    uint64_t freed = 0;
    struct err e = {0};
    expect(w, s, "set dates", "", STATE_FRESH);
    put_to_sleep(s);
    bake(w);
    bake(w);
    assert_int_equal(sessions_images(w->all, &ids, &count, &e), 0);
    assert_int_equal(count, 1); /* the same for both */
    assert_int_equal(images_gc(w->images, (const char(*)[HASH_HEX_SIZE])ids, count, &freed, &e), 0);
    assert_true(freed > 0); /* the one in between */
    free(ids);
    expect(w, s, "get", "dates\n", STATE_WOKEN);
    put_to_sleep(awake);
}

static void one_that_sleeps_can_be_deleted(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    const struct run_spec spec = {.code = "get", .code_len = 3};
    struct session *again = NULL;
    struct session_rest rest;
    struct run run;
    struct err e = {0};
    put_to_sleep(s);
    assert_int_equal(session_delete(s, &e), 0);
    assert_false(has_file(w, session_id(s), "sleep"));
    assert_int_equal(session_run(s, w->data, &spec, NULL, &run, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), -1);
    assert_int_equal(session_delete(s, &e), -1);
    assert_int_equal(session_find(w->all, session_id(s), &again, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void one_that_is_awake_can_be_deleted(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 1);
    struct err e = {0};
    expect(w, s, "set x", "", STATE_FRESH);
    assert_int_equal(session_delete(s, &e), 0);
    assert_int_equal(life_of(s), LIFE_GONE);
}

static void a_branch_of_one_awake_goes_its_own_way(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0), *branch = NULL;
    struct err e = {0};
    expect(w, s, "set one", "", STATE_FRESH);
    scoped(freep) char *seed = output(w, s, "seed");
    assert_int_equal(session_fork(s, w->data, &branch, &e), 0);
    assert_string_not_equal(session_id(s), session_id(branch));
    expect(w, branch, "get", "one\n", STATE_WOKEN);
    scoped(freep) char *other = output(w, branch, "seed");
    assert_string_not_equal(seed, other);
    expect(w, branch, "set two", "", STATE_KEPT);
    expect(w, s, "get", "one\n", STATE_KEPT);
    expect(w, s, "seed", seed, STATE_KEPT);
    put_to_sleep(branch);
    expect(w, branch, "get", "two\n", STATE_WOKEN);
}

static void a_branch_of_one_asleep_sleeps_and_reseeds_when_it_wakes(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0), *branch = NULL;
    struct err e = {0};
    expect(w, s, "set one", "", STATE_FRESH);
    scoped(freep) char *seed = output(w, s, "seed");
    put_to_sleep(s);
    assert_int_equal(session_fork(s, w->data, &branch, &e), 0);
    assert_int_equal(life_of(branch), LIFE_ASLEEP);
    assert_int_equal(life_of(s), LIFE_ASLEEP);
    expect(w, branch, "get", "one\n", STATE_WOKEN);
    scoped(freep) char *other = output(w, branch, "seed");
    assert_string_not_equal(seed, other);
    expect(w, s, "seed", seed, STATE_WOKEN); /* a plain wake keeps it */
}

static void what_cannot_be_written_down_cannot_be_branched(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0), *branch = NULL;
    struct err e = {0};
    expect(w, s, "busy", "", STATE_FRESH);
    assert_int_equal(session_fork(s, w->data, &branch, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_non_null(strstr(e.text, "thread 'worker' is alive"));
    expect(w, s, "get", "\n", STATE_KEPT);
}

static void settle(struct session *s)
{
    struct err e = {0};
    assert_int_equal(session_settle(s, &e), 0);
}

static void the_last_runs_can_be_undone(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct session_info info;
    struct err e = {0};
    const char *const codes[] = {"set 1", "set 2", "set 3", "set 4"};
    for (size_t i = 0; i < 4; i++) {
        expect(w, s, codes[i], "", i == 0 ? STATE_FRESH : STATE_KEPT);
        settle(s);
    }
    session_look(s, &info);
    assert_int_equal(info.runs, 4);
    assert_int_equal(info.oldest, 3);
    assert_int_equal(session_rollback(s, 2, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_int_equal(session_rollback(s, 4, &e), 0); /* undoes run 4 */
    expect(w, s, "get", "3\n", STATE_KEPT);
    assert_int_equal(session_rollback(s, 3, &e), 0); /* that one, too, and run 3 */
    expect(w, s, "get", "2\n", STATE_KEPT);
    session_look(s, &info);
    assert_int_equal(info.runs, 3);
}

static void snapshots_are_made_even_if_nobody_settles(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    struct err e = {0};
    expect(w, s, "set 1", "", STATE_FRESH);
    expect(w, s, "set 2", "", STATE_KEPT);
    assert_int_equal(session_rollback(s, 2, &e), 0);
    expect(w, s, "get", "1\n", STATE_KEPT);
    assert_int_equal(session_rollback(s, 1, &e), 0);
    expect(w, s, "get", "\n", STATE_FRESH);
}

static void the_same_point_can_be_gone_back_to_twice(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    struct err e = {0};
    expect(w, s, "set 1", "", STATE_FRESH);
    for (int i = 0; i < 3; i++) {
        expect(w, s, "set 2", "", STATE_KEPT);
        assert_int_equal(session_rollback(s, 2, &e), 0);
        expect(w, s, "get", "1\n", STATE_KEPT);
        assert_int_equal(session_rollback(s, 2, &e), 0);
    }
}

static void sleeping_ends_snapshots(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    struct err e = {0};
    expect(w, s, "set 1", "", STATE_FRESH);
    settle(s);
    put_to_sleep(s);
    assert_int_equal(session_rollback(s, 1, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    expect(w, s, "set 2", "", STATE_WOKEN);
    assert_int_equal(session_rollback(s, 2, &e), 0);
    expect(w, s, "get", "1\n", STATE_KEPT);
}

static void too_many_snapshots_are_refused_and_the_most_are_not(void **state)
{
    struct world *w = *state;
    const struct session_options options = {LIMITS_DEFAULT, SNAPSHOTS_MAX + 1};
    struct session *bad = NULL;
    struct err e = {0};
    assert_int_equal(session_new(w->all, &options, w->data, &bad, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    scoped(session_unrefp) struct session *s = start(w, SNAPSHOTS_MAX);
    for (int i = 0; i < SNAPSHOTS_MAX + 3; i++) {
        expect(w, s, "set x", "", i == 0 ? STATE_FRESH : STATE_KEPT);
        settle(s);
    }
    assert_int_equal(session_rollback(s, 4, &e), 0);
}

static void all_are_listed_awake_or_asleep(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *awake = start(w, 0);
    struct session *asleep = start(w, 0);
    char(*ids)[ID_SIZE] = NULL;
    size_t count = 0;
    struct err e = {0};
    put_to_sleep(asleep);
    session_unref(asleep);
    assert_int_equal(sessions_list(w->all, &ids, &count, &e), 0);
    assert_int_equal(count, 2);
    assert_string_equal(ids[1], session_id(awake)); /* those with a file come first */
    free(ids);
}

static void *run_and_sleep(void *arg)
{
    struct world *w = ((void **)arg)[0];
    struct session *s = ((void **)arg)[1];
    for (int i = 0; i < 5; i++) {
        const struct run_spec spec = {.code = "get", .code_len = 3};
        struct session_rest rest;
        struct run run;
        struct err e = {0};
        if (session_run(s, w->data, &spec, NULL, &run, &e))
            return "run";
        bool is_right = run.end == END_OK && run.out.total == 7;
        run_done(&run);
        if (!is_right || session_sleep(s, REST_POLITE, &rest, &e))
            return "sleep";
        session_rest_done(&rest);
    }
    return NULL;
}

static void threads_take_turns(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 1);
    void *args[] = {w, s};
    pthread_t threads[3];
    expect(w, s, "set apples", "", STATE_FRESH);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_and_sleep, args), 0);
    for (int i = 0; i < 3; i++) {
        void *problem = NULL;
        assert_int_equal(pthread_join(threads[i], &problem), 0);
        assert_null(problem);
    }
}

static void a_question_wakes_it_too(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct err e = {0};
    put_to_sleep(s);
    scoped(freep) char *reply = NULL;
    assert_int_equal(session_ask(s, w->data, "complete", "imp", 3, &reply, &e), 0);
    assert_string_equal(reply, "{}");
    expect(w, s, "get", "\n", STATE_WOKEN);
}

static void open_pool(struct world *w, size_t min, size_t max)
{
    const struct pool_options options = {w->spawner, w->current, LIMITS_DEFAULT, min, max};
    struct err e = {0};
    sessions_close(w->all);
    assert_int_equal(pool_open(&options, &w->pool, &e), 0);
    open_sessions(w);
}

/* Until so many wait, or it takes too long. */
static struct pool_info await_ready(struct world *w, size_t ready)
{
    struct pool_info info;
    int64_t deadline_us = clock_us() + 10000000;
    do {
        (void)usleep(2000); /* there is nothing to wait on: it works beside us */
        pool_look(w->pool, &info);
    } while (info.ready != ready && clock_us() < deadline_us);
    assert_int_equal(info.ready, ready);
    return info;
}

static void sessions_come_from_the_pool_warm_and_ready(void **state)
{
    struct world *w = *state;
    open_pool(w, 2, 2);
    (void)await_ready(w, 2);
    scoped(session_unrefp) struct session *s = start(w, 0);
    scoped(freep) char *env = output(w, s, "env");
    assert_non_null(strstr(env, "WARM=1 OMP_NUM_THREADS=1"));
    expect(w, s, "set x", "", STATE_KEPT);
    put_to_sleep(s);
    expect(w, s, "get", "x\n", STATE_WOKEN);
    struct pool_info info = await_ready(w, 2);
    assert_int_equal(info.taken, 1);
    assert_int_equal(info.made, 3);
}

static void other_limits_do_not_come_from_the_pool_unless_a_jail_does_not_care(void **state)
{
    struct world *w = *state;
    struct session_options options = {.limits = LIMITS_DEFAULT};
    struct session *small = NULL, *quick = NULL;
    struct pool_info info;
    struct session_info about;
    struct err e = {0};
    open_pool(w, 1, 1);
    (void)await_ready(w, 1);
    options.limits.memory_bytes /= 2;
    assert_int_equal(session_new(w->all, &options, w->data, &small, &e), 0);
    pool_look(w->pool, &info);
    assert_int_equal(info.taken, 0);
    options.limits = LIMITS_DEFAULT;
    options.limits.wall_ms = 5000;
    assert_int_equal(session_new(w->all, &options, w->data, &quick, &e), 0);
    pool_look(w->pool, &info);
    assert_int_equal(info.taken, 1);
    session_look(quick, &about);
    assert_int_equal(about.limits.wall_ms, 5000);
    struct run run;
    run_code(w, quick, "get", &run);
    assert_int_equal(run.limits.wall_ms, 5000);
    run_done(&run);
    session_unref(small);
    session_unref(quick);
}

static void a_new_image_empties_the_pool_of_the_old(void **state)
{
    struct world *w = *state;
    char image[HASH_HEX_SIZE];
    const struct limits limits = LIMITS_DEFAULT;
    open_pool(w, 1, 1);
    (void)await_ready(w, 1);
    bake(w);
    struct kernel *k = pool_take(w->pool, &limits, image); /* wakes the thread as well */
    kernel_free(k);
    struct pool_info info;
    int64_t deadline_us = clock_us() + 10000000;
    do {
        (void)usleep(2000);
        pool_look(w->pool, &info);
    } while (info.made < 2 && clock_us() < deadline_us);
    (void)await_ready(w, 1);
    k = pool_take(w->pool, &limits, image);
    assert_non_null(k);
    assert_true(current_is(w->current, image));
    kernel_free(k);
}

static void more_takes_want_more_and_memory_bounds_them(void **state)
{
    (void)state;
    const uint64_t plenty = 64 * GIB;
    assert_int_equal(pool_size(2, 16, 0, plenty), 2);
    assert_int_equal(pool_size(2, 16, 1, plenty), 3);
    assert_int_equal(pool_size(2, 16, 3000, plenty), 5);
    assert_int_equal(pool_size(2, 16, 3001, plenty), 6);
    assert_int_equal(pool_size(2, 16, 1000000, plenty), 16);
    assert_int_equal(pool_size(2, 16, UINT64_MAX / 2000, plenty), 16);
    assert_int_equal(pool_size(8, 16, 0, 512 * MIB), 3);
    assert_int_equal(pool_size(8, 16, 0, 0), 0);
}

static void one_that_dies_in_the_pool_is_replaced(void **state)
{
    struct world *w = *state;
    struct pool_info info;
    open_pool(w, 1, 1);
    (void)await_ready(w, 1);
    assert_int_equal(kill(only_kernel(w), SIGKILL), 0);
    int64_t deadline_us = clock_us() + 10000000;
    do {
        (void)usleep(2000);
        pool_look(w->pool, &info);
    } while (info.made < 2 && clock_us() < deadline_us);
    info = await_ready(w, 1);
    assert_int_equal(info.died, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_COLD(name) cmocka_unit_test_setup_teardown(name, set_up_cold, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_that_sleeps_wakes_at_its_next_run),
        TEST(one_that_sleeps_survives_the_engine),
        TEST(one_that_was_awake_does_not_survive_the_engine),
        TEST(who_holds_one_finds_the_same_one),
        TEST(who_cannot_sleep_politely_stays_awake),
        TEST(who_must_sleep_loses_what_cannot_be_saved_and_says_so),
        TEST(what_was_lost_is_not_forgotten_by_sleeping_again),
        TEST_COLD(a_cold_one_sleeps_only_when_it_must),
        TEST(one_that_died_in_a_run_begins_anew),
        TEST(one_that_dies_while_nobody_looks_is_lost_and_the_next_run_says_so),
        TEST(a_damaged_file_is_set_aside_and_the_session_goes_on),
        TEST(a_file_that_was_cut_off_is_set_aside),
        TEST(the_file_of_another_session_is_set_aside),
        TEST(one_whose_image_is_gone_is_lost),
        TEST(an_older_image_is_kept_while_somebody_sleeps_under_it),
        TEST(one_that_sleeps_can_be_deleted),
        TEST(one_that_is_awake_can_be_deleted),
        TEST(a_branch_of_one_awake_goes_its_own_way),
        TEST(a_branch_of_one_asleep_sleeps_and_reseeds_when_it_wakes),
        TEST(what_cannot_be_written_down_cannot_be_branched),
        TEST(the_last_runs_can_be_undone),
        TEST(snapshots_are_made_even_if_nobody_settles),
        TEST(the_same_point_can_be_gone_back_to_twice),
        TEST(sleeping_ends_snapshots),
        TEST(too_many_snapshots_are_refused_and_the_most_are_not),
        TEST(all_are_listed_awake_or_asleep),
        TEST(threads_take_turns),
        TEST(a_question_wakes_it_too),
        TEST(sessions_come_from_the_pool_warm_and_ready),
        TEST(other_limits_do_not_come_from_the_pool_unless_a_jail_does_not_care),
        TEST(a_new_image_empties_the_pool_of_the_old),
        cmocka_unit_test(more_takes_want_more_and_memory_bounds_them),
        TEST(one_that_dies_in_the_pool_is_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
