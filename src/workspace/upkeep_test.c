/* What a server does with gc and backups; how they work is tested in store/. */
#include "workspace/upkeep.h"

#include "base/log.h"
#include "workspace/files_fixture.h"

static struct upkeep *open_upkeep(const char *backup_dir)
{
    static struct log log;
    struct upkeep *u = NULL;
    log_init(&log, STDERR_FILENO, LOG_TEXT, LOG_ERROR);
    const struct upkeep_options o = {.contents = store_contents(fx.store),
                                     .packs = store_packs(fx.store),
                                     .meta = store_meta(fx.store),
                                     .log = &log,
                                     .data_fd = fx.scratch.fd,
                                     .backup_dir = backup_dir,
                                     .scrub_bytes_s = 1 << 20};
    OK(upkeep_open(&o, &u, e));
    return u;
}

static void purge(const char *path)
{
    scoped(commit_freep) struct commit *c = begin(COMMIT_EDIT);
    uint64_t count;
    OK(commit_delete(c, path, NULL, e));
    OK(commit_finish(c, e));
    OK(meta_purge_trash(files_meta(fx.files), fx.ws.id, INT64_MAX, 10, &count, e));
}

static void figures_are_those_of_all_workspaces(void **state)
{
    (void)state;
    struct upkeep *u = open_upkeep(NULL);
    struct upkeep_stats s;
    put("a", "one");
    put("a", "three");
    put("b", "two");
    OK(upkeep_look(u, &s, e));
    assert_int_equal(s.workspaces, 1);
    assert_int_equal(s.files, 2);
    assert_int_equal(s.bytes, 8);
    assert_int_equal(s.kept_bytes, 11);
    assert_int_equal(s.packs, 1);
    assert_true(s.pack_bytes > 11 && s.disk_free > 0 && !s.is_stopped);
    upkeep_close(u);
}

static void now_means_now(void **state)
{
    (void)state;
    struct upkeep *u = open_upkeep(NULL);
    struct upkeep_stats s;
    struct gc_result r;
    put("a", "one");
    put("b", "two");
    purge("a");
    OK(upkeep_gc(u, /* is_now= */ false, &r, e));
    assert_int_equal(r.dead, 1);
    assert_int_equal(r.swept, 0);
    put("c", "four");
    purge("c");
    OK(upkeep_gc(u, /* is_now= */ true, &r, e));
    assert_int_equal(r.swept, 2);
    assert_int_equal(r.dead, 0);
    holds("b", "two");
    OK(upkeep_look(u, &s, e));
    assert_int_equal(s.swept, 2);
    assert_int_equal(s.last_gc.swept, 2);
    assert_true(s.gc_at_us > 0);
    upkeep_close(u);
}

static void after_stop_nothing_is_collected(void **state)
{
    (void)state;
    struct upkeep *u = open_upkeep(NULL);
    struct gc_result r;
    put("a", "one");
    purge("a");
    upkeep_stop(u);
    OK(upkeep_gc(u, /* is_now= */ true, &r, e));
    assert_int_equal(r.chunks + r.swept, 0);
    upkeep_close(u);
}

static void backups_go_where_they_are_configured(void **state)
{
    (void)state;
    struct scratch place = scratch_new_fast();
    struct backup_result r;
    struct upkeep_stats s;
    struct upkeep *u = open_upkeep(NULL);
    FAILS(ERR_CONFLICT, upkeep_backup(u, &r, e));
    upkeep_close(u);
    u = open_upkeep("/nowhere/at/all");
    FAILS(ERR_CONFLICT, upkeep_backup(u, &r, e));
    upkeep_close(u);
    u = open_upkeep(place.path);
    put("a", "one");
    OK(upkeep_backup(u, &r, e));
    assert_int_equal(r.packs_copied, 1);
    assert_int_equal(faccessat(place.fd, "meta.db", F_OK, 0), 0);
    OK(upkeep_look(u, &s, e));
    assert_true(s.backup_at_us > 0);
    upkeep_close(u);
    scratch_done(&place);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(figures_are_those_of_all_workspaces),
        TEST(now_means_now),
        TEST(after_stop_nothing_is_collected),
        TEST(backups_go_where_they_are_configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
