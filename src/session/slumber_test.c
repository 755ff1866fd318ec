/* What session.h promises of sleep: one id, awake or asleep, whatever happens to kernels, files and
 * images; and branches. */
#include <signal.h>

#include "base/disk.h"
#include "session/session.h"
#include "session/session_fixture.h"

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
    assert_int_equal(session_wake(s, &JAIL_DATA_PLAIN(w->data), &e), 0);
    put_to_sleep(s);
    run_code(w, s, "get", &run);
    assert_int_equal(run.lost.count, 1);
    run_done(&run);
}

/* As if the disk kept so much in reserve. */
static void reserve(struct world *w, uint64_t bytes)
{
    struct err e = {0};
    sessions_close(w->all);
    spawner_close(w->spawner);
    assert_int_equal(
        spawner_open_for(getenv("FAKE_SPAWN"), "/none", NULL, 0, bytes, &w->spawner, &e), 0);
    open_sessions(w);
}

static void on_a_disk_down_to_its_reserve_one_sleeps_only_when_it_must(void **state)
{
    struct world *w = *state;
    struct disk_room room;
    struct session_rest rest;
    struct err e = {0};
    assert_int_equal(disk_look(w->sleepers, 0, &room, &e), 0);
    reserve(w, room.free_bytes / 2 * 3);
    scoped(session_unrefp) struct session *s = start(w, 0);
    expect(w, s, "set dates", "", STATE_FRESH);
    assert_int_equal(session_sleep(s, REST_POLITE, &rest, &e), 0);
    assert_true(rest.is_refused);
    assert_string_equal(rest.reasons.list[0], "the server's disk is nearly full");
    session_rest_done(&rest);
    assert_int_equal(life_of(s), LIFE_IDLE);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), 0);
    assert_false(rest.is_refused);
    session_rest_done(&rest);
    expect(w, s, "get", "dates\n", STATE_WOKEN);
}

static void below_the_middle_of_the_reserve_no_one_falls_asleep(void **state)
{
    struct world *w = *state;
    struct session_rest rest;
    struct err e = {0};
    reserve(w, UINT64_MAX);
    scoped(session_unrefp) struct session *s = start(w, 0);
    expect(w, s, "set dates", "", STATE_FRESH);
    assert_int_equal(session_sleep(s, REST_MUST, &rest, &e), -1);
    assert_int_equal(e.code, ERR_NO_SPACE);
    assert_int_equal(life_of(s), LIFE_IDLE);
    assert_false(has_file(w, session_id(s), "sleep"));
    expect(w, s, "get", "dates\n", STATE_KEPT);
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
    assert_null(strstr(run.hint, "died when the run was over"));
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
    if (!strstr(w->not_woken, why) || !strstr(w->not_woken, session_id(s)))
        fail_msg("%s", w->not_woken);
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

static void one_that_does_not_fit_into_its_memory_any_more_is_lost(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct run run;
    run_code(w, s, "hoard", &run);
    run_done(&run);
    put_to_sleep(s);
    expect_lost(w, s, "memory limit");
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
    assert_int_equal(session_run(s, &JAIL_DATA_PLAIN(w->data), &spec, NULL, &run, &e), -1);
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
    assert_int_equal(session_fork(s, &JAIL_DATA_PLAIN(w->data), &branch, &e), 0);
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
    assert_int_equal(session_fork(s, &JAIL_DATA_PLAIN(w->data), &branch, &e), 0);
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
    assert_int_equal(session_fork(s, &JAIL_DATA_PLAIN(w->data), &branch, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_non_null(strstr(e.text, "thread 'worker' is alive"));
    expect(w, s, "get", "\n", STATE_KEPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_sleeps_wakes_at_its_next_run),
        TEST(one_that_sleeps_survives_the_engine),
        TEST(one_that_was_awake_does_not_survive_the_engine),
        TEST(who_holds_one_finds_the_same_one),
        TEST(who_cannot_sleep_politely_stays_awake),
        TEST(who_must_sleep_loses_what_cannot_be_saved_and_says_so),
        TEST(what_was_lost_is_not_forgotten_by_sleeping_again),
        TEST(on_a_disk_down_to_its_reserve_one_sleeps_only_when_it_must),
        TEST(below_the_middle_of_the_reserve_no_one_falls_asleep),
        TEST_COLD(a_cold_one_sleeps_only_when_it_must),
        TEST(one_that_died_in_a_run_begins_anew),
        TEST(one_that_dies_while_nobody_looks_is_lost_and_the_next_run_says_so),
        TEST(a_damaged_file_is_set_aside_and_the_session_goes_on),
        TEST(a_file_that_was_cut_off_is_set_aside),
        TEST(the_file_of_another_session_is_set_aside),
        TEST(one_that_does_not_fit_into_its_memory_any_more_is_lost),
        TEST(one_whose_image_is_gone_is_lost),
        TEST(an_older_image_is_kept_while_somebody_sleeps_under_it),
        TEST(one_that_sleeps_can_be_deleted),
        TEST(one_that_is_awake_can_be_deleted),
        TEST(a_branch_of_one_awake_goes_its_own_way),
        TEST(a_branch_of_one_asleep_sleeps_and_reseeds_when_it_wakes),
        TEST(what_cannot_be_written_down_cannot_be_branched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
