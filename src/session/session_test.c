/* What session.h promises of one that is awake: one id, runs that can be undone, restarts, zones. Sleep
 * is slumber_test.c's, snapshots that outlive the kernel are undo_test.c's. */
#include "session/session.h"

#include <errno.h>
#include <pthread.h>
#include <sys/stat.h>

#include "base/graft.h"
#include "session/session_fixture.h"

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

static void too_many_snapshots_are_refused_and_the_most_are_not(void **state)
{
    struct world *w = *state;
    const struct session_options options = {.limits = LIMITS_DEFAULT,
                                            .snapshots = SNAPSHOTS_MAX + 1};
    struct session *bad = NULL;
    struct err e = {0};
    assert_int_equal(session_new(w->all, &options, &JAIL_DATA_PLAIN(w->data), &bad, &e), -1);
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

static struct session_info look(struct session *s)
{
    struct session_info info;
    session_look(s, &info);
    return info;
}

static void restarted_it_is_the_same_session_that_remembers_nothing(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 2);
    struct err e = {0};
    expect(w, s, "set apples", "", STATE_FRESH);
    settle(s);
    assert_int_equal(session_restart(s, &e), 0);
    assert_int_equal(look(s).life, LIFE_EMPTY);
    assert_int_equal(look(s).runs, 1);
    assert_int_equal(look(s).oldest, 0);
    expect(w, s, "get", "\n", STATE_FRESH);
    expect(w, s, "get", "\n", STATE_KEPT);
}

static void restarted_asleep_its_file_is_gone(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct err e = {0};
    expect(w, s, "set apples", "", STATE_FRESH);
    put_to_sleep(s);
    assert_true(sleeper_exists(w->sleepers, session_id(s)));
    assert_int_equal(session_restart(s, &e), 0);
    assert_false(sleeper_exists(w->sleepers, session_id(s)));
    assert_int_equal(look(s).sleep_bytes, 0);
    assert_int_equal(session_restart(s, &e), 0); /* with nothing to end */
    expect(w, s, "get", "\n", STATE_FRESH);
}

static void restarted_after_a_death_nothing_is_lost_any_more(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct run run;
    struct err e = {0};
    expect(w, s, "set apples", "", STATE_FRESH);
    run_code(w, s, "die", &run);
    run_done(&run);
    assert_int_equal(session_restart(s, &e), 0);
    run_code(w, s, "get", &run);
    assert_int_equal(run.state, STATE_FRESH);
    assert_string_equal(run.hint, "");
    run_done(&run);
}

static void one_that_was_deleted_is_not_restarted(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct err e = {0};
    assert_int_equal(session_delete(s, &e), 0);
    assert_int_equal(session_restart(s, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void its_memory_is_known_after_a_run_and_none_asleep(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    assert_int_equal(look(s).memory_bytes, 0);
    expect(w, s, "set x", "", STATE_FRESH);
    assert_int_equal(look(s).memory_bytes, 1 << 20);
    put_to_sleep(s);
    assert_int_equal(look(s).memory_bytes, 0);
}

static struct session *start_in(struct world *w, const char *tz)
{
    struct session_options options = {.limits = LIMITS_DEFAULT};
    struct session *s = NULL;
    struct err e = {0};
    (void)snprintf(options.tz, sizeof options.tz, "%s", tz);
    if (session_new(w->all, &options, &JAIL_DATA_PLAIN(w->data), &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static void assert_zone(struct world *w, struct session *s, const char *tz)
{
    scoped(freep) char *env = output(w, s, "env");
    char pair[ZONE_SIZE + 4];
    (void)snprintf(pair, sizeof pair, "TZ=%s", tz);
    assert_non_null(strstr(env, pair));
    assert_string_equal(look(s).tz, tz);
}

static void every_kernel_of_a_session_has_its_time_zone(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start_in(w, "CET-1CEST");
    struct session *branch = NULL;
    struct run run;
    struct err e = {0};
    assert_zone(w, s, "CET-1CEST");
    assert_int_equal(session_fork(s, &JAIL_DATA_PLAIN(w->data), &branch, &e), 0);
    assert_zone(w, branch, "CET-1CEST");
    session_unref(branch);
    run_code(w, s, "die", &run);
    run_done(&run);
    assert_zone(w, s, "CET-1CEST");
    assert_int_equal(session_restart(s, &e), 0);
    assert_zone(w, s, "CET-1CEST");
}

static void a_zone_survives_the_engine_in_the_file_of_the_sleeper(void **state)
{
    struct world *w = *state;
    struct session *s = start_in(w, "CET-1CEST");
    char id[ID_SIZE];
    struct err e = {0};
    memcpy(id, session_id(s), sizeof id);
    put_to_sleep(s);
    session_unref(s);
    sessions_close(w->all);
    open_sessions(w);
    scoped(session_unrefp) struct session *again = find(w, id);
    assert_string_equal(look(again).tz, "CET-1CEST");
    assert_int_equal(session_restart(again, &e), 0);
    assert_zone(w, again, "CET-1CEST");
}

static void an_unknown_zone_is_refused(void **state)
{
    struct world *w = *state;
    const struct session_options options = {.limits = LIMITS_DEFAULT, .tz = "Mars/Base"};
    struct session *s = NULL;
    struct err e = {0};
    assert_int_equal(session_new(w->all, &options, &JAIL_DATA_PLAIN(w->data), &s, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.text, "Europe/Berlin"));
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
        if (session_run(s, &JAIL_DATA_PLAIN(w->data), &spec, NULL, &run, &e))
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
    assert_int_equal(session_ask(s, &JAIL_DATA_PLAIN(w->data), "complete", "imp", 3, &reply, &e),
                     0);
    assert_string_equal(reply, "{}");
    expect(w, s, "get", "\n", STATE_WOKEN);
}

static void a_reply_without_text_ends_nothing(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct err e = {0};
    expect(w, s, "set apples", "", STATE_FRESH);
    scoped(freep) char *reply = NULL;
    assert_int_equal(
        session_ask(s, &JAIL_DATA_PLAIN(w->data), "complete", "wordless", 8, &reply, &e), 0);
    assert_string_equal(reply, "{\"error\": \"the question failed\"}");
    expect(w, s, "get", "apples\n", STATE_KEPT);
}

/* Two descriptors of one directory are enough for a spawner that looks at none. */
static struct jail_data layers_of(const struct world *w)
{
    return (struct jail_data){
        .dir_fd = w->data, .work_fd = w->data, .lower_fds = {w->data}, .lower_count = 1};
}

static void changes_are_brought_only_to_a_session_that_is_awake(void **state)
{
    struct world *w = *state;
    struct graft_result result;
    struct err e = {0};

    const struct session_options options = {.limits = LIMITS_DEFAULT};
    const struct jail_data layers = layers_of(w);
    struct session *s = NULL;
    scratch_mkdir(&w->dir, "changes");
    scoped(fd_closep) int changes =
        openat(w->dir.fd, "changes", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(session_new(w->all, &options, &layers, &s, &e), 0);
    assert_int_equal(mkdirat(changes, "one", 0700), 0);
    assert_int_equal(mkdirat(changes, "two", 0700), 0);
    assert_int_equal(session_bring(s, changes, &result, &e), 0);
    assert_int_equal(result.put, 2);
    assert_int_equal(result.removed, 1);
    assert_int_equal(result.failed, 1);
    assert_int_equal(result.first_errno, EACCES);
    assert_string_equal(result.first_failed, "a/b");

    assert_int_equal(mkdirat(changes, "busy", 0700), 0);
    assert_int_equal(session_bring(s, changes, &result, &e), -1);
    assert_int_equal(e.code, ERR_BUSY);

    put_to_sleep(s);
    assert_int_equal(session_bring(s, changes, &result, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    session_unref(s);
}

static void a_session_with_layers_runs_sleeps_and_wakes_with_them(void **state)
{
    struct world *w = *state;
    const struct session_options options = {.limits = LIMITS_DEFAULT};
    const struct jail_data layers = layers_of(w);
    struct run_spec spec = {.code = "set two", .code_len = 7};
    struct session *s = NULL;
    struct run run;
    struct err e = {0};
    assert_int_equal(session_new(w->all, &options, &layers, &s, &e), 0);
    assert_int_equal(session_run(s, &layers, &spec, NULL, &run, &e), 0);
    assert_int_equal(run.files.count, 0);
    run_done(&run);
    put_to_sleep(s);
    assert_int_equal(session_wake(s, &layers, &e), 0);
    struct session *branch = NULL;
    assert_int_equal(session_fork(s, &layers, &branch, &e), 0);
    session_unref(branch);
    session_unref(s);
}

static void files_that_a_run_leaves_are_not_looked_for(void **state)
{
    struct world *w = *state;
    scoped(session_unrefp) struct session *s = start(w, 0);
    struct run_spec spec = {.code = "set one", .code_len = 7, .leaves_files = true};
    struct run run;
    struct err e = {0};
    scoped(fd_closep) int fd = openat(w->data, "made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(session_run(s, &JAIL_DATA_PLAIN(w->data), &spec, NULL, &run, &e), 0);
    assert_int_equal(run.files.count, 0);
    run_done(&run);
    spec.leaves_files = false;
    assert_int_equal(session_run(s, &JAIL_DATA_PLAIN(w->data), &spec, NULL, &run, &e), 0);
    assert_int_equal(run.files.count, 1);
    run_done(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_last_runs_can_be_undone),
        TEST(snapshots_are_made_even_if_nobody_settles),
        TEST(the_same_point_can_be_gone_back_to_twice),
        TEST(too_many_snapshots_are_refused_and_the_most_are_not),
        TEST(all_are_listed_awake_or_asleep),
        TEST(restarted_it_is_the_same_session_that_remembers_nothing),
        TEST(restarted_asleep_its_file_is_gone),
        TEST(restarted_after_a_death_nothing_is_lost_any_more),
        TEST(one_that_was_deleted_is_not_restarted),
        TEST(its_memory_is_known_after_a_run_and_none_asleep),
        TEST(every_kernel_of_a_session_has_its_time_zone),
        TEST(a_zone_survives_the_engine_in_the_file_of_the_sleeper),
        TEST(an_unknown_zone_is_refused),
        TEST(threads_take_turns),
        TEST(a_question_wakes_it_too),
        TEST(a_reply_without_text_ends_nothing),
        TEST(changes_are_brought_only_to_a_session_that_is_awake),
        TEST(a_session_with_layers_runs_sleeps_and_wakes_with_them),
        TEST(files_that_a_run_leaves_are_not_looked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
