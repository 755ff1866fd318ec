/* What session.h promises of snapshots: they survive sleep, the kernel's end and this process, and they are
 * bounded. */
#include <signal.h>
#include <stdalign.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "session/session.h"
#include "session/session_fixture.h"

static void settle(struct session *s)
{
    struct err e = {0};
    assert_int_equal(session_settle(s, &e), 0);
}

/* Runs `set FIRST` to `set LAST`, as run numbers of a new session. */
static void set(struct world *w, struct session *s, int first, int last)
{
    for (int i = first; i <= last; i++) {
        char code[16];
        (void)snprintf(code, sizeof code, "set %d", i);
        expect(w, s, code, "", i == 1 ? STATE_FRESH : STATE_KEPT);
        settle(s);
    }
}

static struct session_info look(struct session *s)
{
    struct session_info info;
    session_look(s, &info);
    return info;
}

static void roll_back(struct session *s, uint64_t run)
{
    struct err e = {0};
    if (session_rollback(s, run, &e))
        fail_msg("%s", e.text);
}

/* What it says. */
static struct err refuse(struct session *s, uint64_t run)
{
    struct err e = {0};
    assert_int_equal(session_rollback(s, run, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    return e;
}

static bool has_snapshot(const struct world *w, const struct session *s, uint64_t run)
{
    char name[ID_SIZE + 32];
    (void)snprintf(name, sizeof name, "%s.%llu.snap", session_id(s), (unsigned long long)run);
    return faccessat(w->sleepers, name, F_OK, 0) == 0;
}

/* Files in the directory of the sleepers. */
static size_t count_files(const struct world *w)
{
    struct dir d;
    size_t count = 0;
    dir_init(&d, below_open_dir(w->sleepers, "."));
    while (dir_next(&d))
        count++;
    dir_done(&d);
    return count;
}

static int open_snapshot(const struct world *w, const struct session *s, uint64_t run)
{
    char name[ID_SIZE + 32];
    (void)snprintf(name, sizeof name, "%s.%llu.snap", session_id(s), (unsigned long long)run);
    int fd = openat(w->sleepers, name, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static void reopen(struct world *w)
{
    sessions_close(w->all);
    open_sessions(w);
}

/* The session of that id as a server finds it that starts again. */
static struct session *place(struct world *w, const char *id, uint32_t snapshots)
{
    const struct session_options options = {.limits = LIMITS_DEFAULT, .snapshots = snapshots};
    struct session *s = NULL;
    struct err e = {0};
    if (session_place(w->all, id, &options, /* is_lost= */ true, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static void asleep_it_goes_back_to_any_of_the_last_runs(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    set(w, s, 1, 4);
    put_to_sleep(s);
    assert_int_equal(look(s).oldest, 2);
    roll_back(s, 4);
    assert_int_equal(life_of(s), LIFE_ASLEEP);
    assert_int_equal(look(s).runs, 3);
    roll_back(s, 3);
    assert_true(look(s).sleep_bytes > 0);
    expect(w, s, "get", "2\n", STATE_WOKEN);
    assert_int_equal(look(s).runs, 3);
}

static void awake_again_it_goes_back_to_before_it_slept(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    set(w, s, 1, 2);
    put_to_sleep(s);
    expect(w, s, "set 3", "", STATE_WOKEN);
    settle(s);
    roll_back(s, 3); /* what it slept in */
    expect(w, s, "get", "2\n", STATE_KEPT);
    roll_back(s, 2);
    assert_int_equal(life_of(s), LIFE_ASLEEP);
    expect(w, s, "get", "1\n", STATE_WOKEN);
}

static void waking_makes_the_file_it_slept_in_a_snapshot(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct err e = {0};
    set(w, s, 1, 1);
    put_to_sleep(s);
    assert_false(has_snapshot(w, s, 2));
    assert_int_equal(session_wake(s, &JAIL_DATA_PLAIN(w->data), &e), 0);
    assert_false(has_file(w, session_id(s), "sleep"));
    assert_true(has_snapshot(w, s, 2));
    put_to_sleep(s);
    assert_false(has_snapshot(w, s, 2));
    assert_int_equal(count_files(w), 2); /* and the one of before run 1 */
}

static void they_survive_the_engine_asleep(void **state)
{
    struct world *w = *state;
    struct session *s = start(w, 2);
    struct session_info peeked;
    char id[ID_SIZE];
    memcpy(id, session_id(s), sizeof id);
    set(w, s, 1, 3);
    put_to_sleep(s);
    session_unref(s);
    reopen(w);
    assert_true(sessions_peek(w->all, id, &peeked));
    assert_int_equal(peeked.oldest, 2);
    s = find(w, id);
    assert_int_equal(look(s).oldest, 2);
    assert_true(peeked.snapshot_bytes > 0);
    assert_int_equal(look(s).snapshot_bytes, peeked.snapshot_bytes);
    roll_back(s, 2);
    expect(w, s, "get", "1\n", STATE_WOKEN);
    session_unref(s);
}

static void awake_when_the_engine_ends_it_is_what_its_last_run_left(void **state)
{
    struct world *w = *state;
    struct session *s = start(w, 2);
    char id[ID_SIZE];
    memcpy(id, session_id(s), sizeof id);
    set(w, s, 1, 3);
    session_unref(s);
    reopen(w);
    s = place(w, id, 2);
    assert_int_equal(life_of(s), LIFE_ASLEEP);
    assert_int_equal(look(s).runs, 3);
    expect(w, s, "get", "3\n", STATE_WOKEN);
    roll_back(s, 3);
    expect(w, s, "get", "2\n", STATE_WOKEN);
    session_unref(s);
}

/* A run that has begun and not ended. */
static void ended_in_a_run_with_the_engine_it_is_lost_until_it_goes_back(void **state)
{
    struct world *w = *state;
    struct session *s = start(w, 2);
    struct run run;
    char id[ID_SIZE];
    memcpy(id, session_id(s), sizeof id);
    set(w, s, 1, 3);
    sleeper_mark_snapshot(w->sleepers, id, 4, /* has_begun= */ true);
    session_unref(s);
    reopen(w);
    s = place(w, id, 2);
    assert_int_equal(life_of(s), LIFE_EMPTY);
    assert_int_equal(look(s).runs, 4);
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_LOST);
    assert_non_null(strstr(run.hint, "back by 2 runs"));
    run_done(&run);
    roll_back(s, 4);
    expect(w, s, "get", "3\n", STATE_WOKEN);
    session_unref(s);
}

/* As a power cut leaves it. */
static void behind_what_is_known_of_it_says_so(void **state)
{
    struct world *w = *state;
    struct session *s = start(w, 3);
    struct run run;
    char id[ID_SIZE];
    memcpy(id, session_id(s), sizeof id);
    set(w, s, 1, 3);
    session_unref(s);
    reopen(w);
    sleeper_remove_snapshot(w->sleepers, id, 4);
    sleeper_mark_snapshot(w->sleepers, id, 3, /* has_begun= */ false);
    s = place(w, id, 3);
    session_has_run(s, 3);
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_WOKEN);
    assert_non_null(strstr(run.hint, "as run 3 left them. They are what they were before run 3;"));
    run_done(&run);
    put_to_sleep(s);
    session_has_run(s, 3); /* which is another one by now */
    run_code(w, s, "get", &run);
    assert_string_equal(run.hint, "");
    run_done(&run);
    session_unref(s);
}

static void a_run_that_ends_the_kernel_is_undone(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct run run;
    set(w, s, 1, 1);
    run_code(w, s, "die", &run);
    assert_int_equal(run.state, STATE_LOST);
    if (!strstr(run.hint, "back by 1 run "))
        fail_msg("%s", run.hint);
    run_done(&run);
    assert_int_equal(life_of(s), LIFE_EMPTY);
    assert_int_equal(look(s).oldest, 1);
    roll_back(s, 2);
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_WOKEN);
    assert_string_equal(run.hint, "");
    run_done(&run);
    expect(w, s, "get", "1\n", STATE_KEPT);
}

static void one_that_dies_while_nobody_looks_goes_on_as_it_was(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct run run;
    struct err e = {0};
    set(w, s, 1, 1);
    put_to_sleep(s); /* and no copy in the jail is taken for its kernel */
    assert_int_equal(session_wake(s, &JAIL_DATA_PLAIN(w->data), &e), 0);
    assert_int_equal(kill(only_kernel(w), SIGKILL), 0);
    while (kernel_is_alive(s->kernel))
        (void)usleep(1000); /* until the spawner has told */
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_WOKEN);
    assert_non_null(strstr(run.hint, "goes on as it was"));
    scoped(freep) char *text = fake_output(&run);
    assert_string_equal(text, "1\n");
    run_done(&run);
}

static void one_that_dies_while_it_is_copied_goes_on_as_it_was(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct run run;
    set(w, s, 1, 1);
    expect(w, s, "frail", "", STATE_KEPT);
    settle(s); /* the file is written, then it dies */
    assert_int_equal(life_of(s), LIFE_ASLEEP);
    assert_int_equal(look(s).runs, 2);
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_WOKEN);
    assert_non_null(strstr(run.hint, "goes on as it was"));
    scoped(freep) char *text = fake_output(&run);
    assert_string_equal(text, "1\n");
    run_done(&run);
}

static void the_oldest_give_way(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    set(w, s, 1, 5);
    assert_false(has_snapshot(w, s, 3));
    assert_true(has_snapshot(w, s, 4) && has_snapshot(w, s, 5) && has_snapshot(w, s, 6));
    put_to_sleep(s);
    assert_int_equal(count_files(w), 3);
    struct err e = refuse(s, 3);
    assert_non_null(strstr(e.text, "at most 2"));
}

static void what_is_too_large_is_no_file(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    set(w, s, 1, 2);
    expect(w, s, "fat 270000000", "", STATE_KEPT);
    settle(s);
    assert_false(has_snapshot(w, s, 4));
    assert_false(has_file(w, session_id(s), "tmp"));
    assert_true(has_snapshot(w, s, 3));
    expect(w, s, "fat 0", "", STATE_KEPT);
    roll_back(s, 4); /* awake there is a copy of it */
    expect(w, s, "get", "2\n", STATE_KEPT);
    roll_back(s, 3);
    expect(w, s, "fat 0", "", STATE_KEPT);
    put_to_sleep(s);
}

static void together_they_have_a_bound(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 4);
    set(w, s, 1, 1);
    expect(w, s, "fat 100000000", "", STATE_KEPT);
    settle(s);
    expect(w, s, "get", "1\n", STATE_KEPT);
    settle(s);
    assert_true(has_snapshot(w, s, 1) && has_snapshot(w, s, 3) && has_snapshot(w, s, 4));
    expect(w, s, "get", "1\n", STATE_KEPT);
    settle(s);
    assert_false(has_snapshot(w, s, 1) || has_snapshot(w, s, 2) || has_snapshot(w, s, 3));
    assert_true(has_snapshot(w, s, 4) && has_snapshot(w, s, 5));
    assert_int_equal(look(s).oldest, 1); /* awake, its copies are all there */
    put_to_sleep(s);
    assert_int_equal(look(s).oldest, 4);
}

/* Calls the snapshots of before those runs ID.N.snap, or, kept aside, N. */
static void move_snapshots(const struct world *w, const struct session *s, int first, int last,
                           bool is_aside)
{
    for (int run = first; run <= last; run++) {
        char name[ID_SIZE + 32], aside[16];
        (void)snprintf(name, sizeof name, "%s.%d.snap", session_id(s), run);
        (void)snprintf(aside, sizeof aside, "%d", run);
        int failed = is_aside ? linkat(w->sleepers, name, w->dir.fd, aside, 0)
                              : renameat(w->dir.fd, aside, w->sleepers, name);
        assert_int_equal(failed, 0);
    }
}

/* As a kill leaves it, or a power cut: it sleeps in the snapshot, and those of the undone runs are there. */
static void roll_back_cut_short(struct world *w, struct session *s, uint64_t run, int last)
{
    move_snapshots(w, s, (int)run + 1, last, /* is_aside= */ true);
    roll_back(s, run);
    move_snapshots(w, s, (int)run + 1, last, /* is_aside= */ false);
    assert_int_equal(life_of(s), LIFE_ASLEEP);
}

static void what_was_undone_does_not_come_back(void **state)
{
    struct world *w = *state;
    struct session *s = start(w, 3);
    struct run run;
    struct err e = {0};
    char id[ID_SIZE];
    memcpy(id, session_id(s), sizeof id);
    set(w, s, 1, 3);
    put_to_sleep(s);
    assert_int_equal(session_wake(s, &JAIL_DATA_PLAIN(w->data), &e), 0);
    run_code(w, s, "die", &run); /* so that there is a file of before run 4, and no copy */
    run_done(&run);
    roll_back_cut_short(w, s, 2, 4);
    session_unref(s);
    reopen(w);
    s = place(w, id, 3);
    assert_int_equal(life_of(s), LIFE_ASLEEP);
    assert_false(has_snapshot(w, s, 3) || has_snapshot(w, s, 4));
    expect(w, s, "set 5", "", STATE_WOKEN);
    session_unref(s);
    reopen(w); /* before it has a snapshot of what it is now */
    s = place(w, id, 3);
    assert_int_equal(look(s).runs, 2);
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_LOST);
    run_done(&run);
    session_unref(s);
}

static void deleted_not_even_what_was_undone_is_left(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    struct err e = {0};
    set(w, s, 1, 4);
    put_to_sleep(s);
    roll_back_cut_short(w, s, 2, 4);
    assert_int_equal(session_delete(s, &e), 0);
    assert_int_equal(count_files(w), 0);
}

/* The files that go from a directory, in order. */
static void expect_gone(int watch, const char *id, int run)
{
    struct inotify_event *event;
    char name[ID_SIZE + 32];
    static alignas(struct inotify_event) char bytes[4096];
    static ssize_t len, at;
    if (at == len) {
        len = read(watch, bytes, sizeof bytes);
        at = 0;
        assert_true(len > 0);
    }
    event = (struct inotify_event *)(bytes + at);
    at += (ssize_t)sizeof *event + event->len;
    (void)snprintf(name, sizeof name, "%s.%d.snap", id, run);
    assert_string_equal(event->name, name);
}

/* While it is there it says what the session is, to a server that starts again. */
static void the_newest_of_what_is_undone_goes_last(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    char path[64];
    set(w, s, 1, 3);
    scoped(fd_closep) int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", w->sleepers);
    assert_true(inotify_add_watch(watch, path, IN_DELETE) >= 0);
    roll_back(s, 2);
    assert_int_equal(life_of(s), LIFE_IDLE);
    expect_gone(watch, session_id(s), 3);
    expect_gone(watch, session_id(s), 4);
}

static void restarted_or_deleted_nothing_of_them_is_left(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct err e = {0};
    set(w, s, 1, 2);
    assert_int_equal(session_restart(s, &e), 0);
    assert_int_equal(count_files(w), 0);
    assert_non_null(strstr(refuse(s, 2).text, "no snapshots"));
    expect(w, s, "set 3", "", STATE_FRESH);
    put_to_sleep(s);
    assert_int_equal(session_delete(s, &e), 0);
    assert_int_equal(count_files(w), 0);
}

static void a_branch_has_none(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct session *branch = NULL;
    struct err e = {0};
    set(w, s, 1, 2);
    put_to_sleep(s);
    assert_int_equal(session_fork(s, &JAIL_DATA_PLAIN(w->data), &branch, &e), 0);
    assert_int_equal(look(branch).oldest, 0);
    (void)refuse(branch, 2);
    assert_int_equal(session_delete(branch, &e), 0);
    session_unref(branch);
    roll_back(s, 2);
    expect(w, s, "get", "1\n", STATE_WOKEN);
}

static void a_damaged_one_is_set_aside_and_changes_nothing(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    set(w, s, 1, 3);
    put_to_sleep(s);
    scoped(fd_closep) int fd = open_snapshot(w, s, 3);
    assert_int_equal(pwrite(fd, "!", 1, 530), 1);
    struct err e = refuse(s, 3);
    assert_non_null(strstr(e.text, "damaged"));
    assert_true(has_file(w, session_id(s), "bad"));
    assert_false(has_snapshot(w, s, 3));
    expect(w, s, "get", "3\n", STATE_WOKEN);
    roll_back(s, 2);
    expect(w, s, "get", "1\n", STATE_WOKEN);
}

static void a_file_of_another_run_is_not_believed(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 3);
    char from[ID_SIZE + 32], to[ID_SIZE + 32];
    set(w, s, 1, 3);
    put_to_sleep(s);
    (void)snprintf(from, sizeof from, "%s.2.snap", session_id(s));
    (void)snprintf(to, sizeof to, "%s.3.snap", session_id(s));
    assert_int_equal(renameat(w->sleepers, from, w->sleepers, to), 0);
    assert_non_null(strstr(refuse(s, 3).text, "another run"));
    expect(w, s, "get", "3\n", STATE_WOKEN);
}

static void who_cannot_be_written_down_says_why_there_is_none(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    expect(w, s, "busy", "", STATE_FRESH);
    settle(s);
    expect(w, s, "set 2", "", STATE_KEPT);
    assert_non_null(strstr(refuse(s, 2).text, "thread 'worker' is alive"));
}

static void a_cold_one_has_only_copies_and_says_why(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct session_rest rest;
    struct err e = {0};
    set(w, s, 1, 2);
    assert_int_equal(count_files(w), 0);
    roll_back(s, 2);
    expect(w, s, "get", "1\n", STATE_KEPT);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), 0);
    session_rest_done(&rest);
    assert_non_null(strstr(refuse(s, 2).text, "without an image"));
}

static void its_image_is_kept_for_a_snapshot(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    char(*ids)[HASH_HEX_SIZE] = NULL;
    char image[HASH_HEX_SIZE];
    size_t count = 0;
    struct run run;
    struct err e = {0};
    set(w, s, 1, 1);
    memcpy(image, s->image, sizeof image);
    run_code(w, s, "die", &run);
    run_done(&run);
    bake(w); /* nobody is awake under the one of before */
    assert_int_equal(sessions_images(w->all, &ids, &count, &e), 0);
    assert_int_equal(count, 1);
    assert_string_equal(ids[0], image);
    free(ids);
    roll_back(s, 2);
    expect(w, s, "get", "1\n", STATE_WOKEN);
}

static void without_its_image_nothing_changes(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct run run;
    uint64_t freed;
    struct err e = {0};
    set(w, s, 1, 1);
    run_code(w, s, "die", &run);
    run_done(&run);
    bake(w);
    assert_int_equal(images_gc(w->images, NULL, 0, &freed, &e), 0);
    assert_non_null(strstr(refuse(s, 2).text, "cannot be used"));
    assert_true(has_snapshot(w, s, 2));
    assert_int_equal(life_of(s), LIFE_EMPTY);
}

static void variables_that_slept_are_a_snapshot_too(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct session_rest rest;
    struct err e = {0};
    expect(w, s, "set figs", "", STATE_FRESH);
    expect(w, s, "busy", "", STATE_KEPT);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), 0);
    session_rest_done(&rest);
    expect(w, s, "set plums", "", STATE_WOKEN);
    put_to_sleep(s);
    roll_back(s, 3);
    expect(w, s, "get", "figs\n", STATE_WOKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(asleep_it_goes_back_to_any_of_the_last_runs),
        TEST(awake_again_it_goes_back_to_before_it_slept),
        TEST(waking_makes_the_file_it_slept_in_a_snapshot),
        TEST(they_survive_the_engine_asleep),
        TEST(awake_when_the_engine_ends_it_is_what_its_last_run_left),
        TEST(ended_in_a_run_with_the_engine_it_is_lost_until_it_goes_back),
        TEST(behind_what_is_known_of_it_says_so),
        TEST(a_run_that_ends_the_kernel_is_undone),
        TEST(one_that_dies_while_nobody_looks_goes_on_as_it_was),
        TEST(one_that_dies_while_it_is_copied_goes_on_as_it_was),
        TEST(the_oldest_give_way),
        TEST(what_is_too_large_is_no_file),
        TEST(together_they_have_a_bound),
        TEST(what_was_undone_does_not_come_back),
        TEST(deleted_not_even_what_was_undone_is_left),
        TEST(the_newest_of_what_is_undone_goes_last),
        TEST(restarted_or_deleted_nothing_of_them_is_left),
        TEST(a_branch_has_none),
        TEST(a_damaged_one_is_set_aside_and_changes_nothing),
        TEST(a_file_of_another_run_is_not_believed),
        TEST(who_cannot_be_written_down_says_why_there_is_none),
        TEST_COLD(a_cold_one_has_only_copies_and_says_why),
        TEST(its_image_is_kept_for_a_snapshot),
        TEST(without_its_image_nothing_changes),
        TEST(variables_that_slept_are_a_snapshot_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
