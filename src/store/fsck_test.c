/* Damage of every kind, and who notices. */
#include <fcntl.h>

#include <sqlite3.h>

#include "store/gc_fixture.h"

enum { SMALL = 40000, LARGE = 900000 };

static void damage(const char *path, off_t offset)
{
    scoped(fd_closep) int fd = openat(at.scratch.fd, path, O_RDWR | O_CLOEXEC);
    char byte;
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, offset), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
}

static void change_rows(const char *sql)
{
    char path[200];
    sqlite3 *db = NULL;
    store_close(take(at.store));
    (void)snprintf(path, sizeof path, "%s/meta.db", at.scratch.path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    (void)sqlite3_close(db);
    store_again();
}

static void two_files(void)
{
    put_file("first", 1, SMALL);
    put_file("second", 2, LARGE);
    put_file("third", 3, SMALL);
}

static void finds(enum fsck_way way, const char *what)
{
    struct fsck_result r = fsck_as(way);
    if (r.problems == 0 || !strstr(told, what))
        fail_msg("fsck %d found %llu: %s", (int)way, (unsigned long long)r.problems, told);
}

/* Exactly these versions are named. */
static void loses(enum fsck_way way, const char *what)
{
    (void)fsck_as(way);
    assert_string_equal(lost, what);
}

static void a_sound_store_is_counted_and_nothing_is_said(void **state)
{
    (void)state;
    two_files();
    put_file("empty", 0, 0);
    nothing_is_wrong();
    struct fsck_result r = fsck_as(WITH_DATABASE);
    assert_int_equal(r.contents, 4);
    assert_int_equal(r.content_bytes, 2 * SMALL + LARGE);
    assert_int_equal(r.packs, 1);
    assert_int_equal(r.bytes, disk_bytes());
    assert_int_equal(r.garbage_bytes, 0);
    r = fsck_as(PACKS_ALONE);
    assert_int_equal(r.contents, 1); /* with a recipe */
    assert_int_equal(r.content_bytes, LARGE);
}

static void a_flipped_bit_in_a_payload(void **state)
{
    (void)state;
    two_files();
    damage("packs/prn_a/1.pk", 1000);
    finds(WITH_DATABASE, "pack 1 at 0");
    loses(WITH_DATABASE, "first 1; ");
    finds(PACKS_ALONE, "pack 1: 1 records from 0 on");
    assert_int_equal(fsck_as(QUICK).problems, 0); /* does not read payloads */
}

static void a_flipped_bit_in_a_header(void **state)
{
    (void)state;
    two_files();
    damage("packs/prn_a/1.pk", 20);
    finds(WITH_DATABASE, "has no such record at 0");
    finds(QUICK, "has no such record at 0");
    loses(WITH_DATABASE, "first 1; ");
    loses(QUICK, "first 1; ");
}

static void a_pack_that_was_cut_off(void **state)
{
    (void)state;
    two_files();
    scoped(fd_closep) int fd = openat(at.scratch.fd, "packs/prn_a/1.pk", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, (off_t)disk_bytes() - 1), 0);
    finds(WITH_DATABASE, "has no such record");
    finds(QUICK, "has no such record");
    loses(QUICK, "third 1; ");
}

/* In order of their hashes. */
static void loses_all(enum fsck_way way)
{
    (void)fsck_as(way);
    for (size_t i = 0; i < 3; i++)
        assert_non_null(strstr(lost, (const char *[]){"first 1; ", "second 1; ", "third 1; "}[i]));
}

static void a_pack_that_is_missing(void **state)
{
    (void)state;
    two_files();
    assert_int_equal(unlinkat(at.scratch.fd, "packs/prn_a/1.pk", 0), 0);
    finds(WITH_DATABASE, "pack 1 is missing");
    finds(QUICK, "pack 1 is missing");
    loses_all(WITH_DATABASE);
    loses_all(QUICK);
    assert_int_equal(unlinkat(at.scratch.fd, "packs/prn_a", AT_REMOVEDIR), 0);
    finds(QUICK, "pack 1 is missing");
}

static void a_row_that_points_nowhere(void **state)
{
    (void)state;
    two_files();
    change_rows("UPDATE chunks SET offset = offset + 1 WHERE offset = 0");
    finds(WITH_DATABASE, "has no such record at 1");
    finds(QUICK, "has no such record at 1");
}

static void a_row_that_is_missing(void **state)
{
    (void)state;
    two_files();
    change_rows("DELETE FROM chunks WHERE kind = 1 AND raw_len < 300000 AND raw_len <> 40000");
    finds(WITH_DATABASE, "missing");
    finds(QUICK, "missing");
}

static void counters_that_do_not_add_up(void **state)
{
    (void)state;
    two_files();
    change_rows("UPDATE workspaces SET kept_bytes = kept_bytes + 1");
    finds(WITH_DATABASE, "ws_a: the counters of the workspace do not add up");
    finds(QUICK, "ws_a: the counters of the workspace do not add up");
}

static void a_database_with_broken_pages(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        char path[16];
        (void)snprintf(path, sizeof path, "f%03u", (unsigned)i);
        put_file(path, i, 20);
    }
    char path[200];
    sqlite3 *db = NULL;
    sqlite3_stmt *find = NULL;
    store_close(take(at.store));
    (void)snprintf(path, sizeof path, "%s/meta.db", at.scratch.path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_prepare_v2(db, "SELECT rootpage FROM sqlite_schema WHERE name = 'chunks_pack'",
                             -1, &find, NULL);
    assert_int_equal(sqlite3_step(find), SQLITE_ROW);
    off_t page = sqlite3_column_int(find, 0);
    (void)sqlite3_finalize(find);
    (void)sqlite3_close(db);
    damage("meta.db", page * 4096 - 1);
    store_again();
    finds(WITH_DATABASE, "database: ");
}

/* ---- scrub ---- */

static const int64_t hour_us = INT64_C(3600) * 1000000;

static struct scrub_state scrub_round(struct scrub *s, uint64_t budget, unsigned *ret_steps)
{
    struct scrub_state state, before;
    int64_t now_us = clock_wall_us() + 2 * hour_us;
    scrub_look(s, &before);
    told[0] = '\0';
    for (*ret_steps = 0; *ret_steps < 10000; ++*ret_steps) {
        OK(scrub_step(s, budget, now_us, hear, NULL, e));
        scrub_look(s, &state);
        if (state.rounds > before.rounds)
            return state;
        assert_true(state.bytes <= before.bytes + (*ret_steps + 1) * (budget + (2 << 20)));
    }
    fail_msg("a round never ends");
    return state;
}

static void scrub_reads_everything_a_little_at_a_time(void **state)
{
    (void)state;
    two_files();
    struct scrub *s;
    unsigned steps;
    OK(scrub_new(at.packs, &s, e));
    struct scrub_state done = scrub_round(s, 50000, &steps);
    assert_true(steps >= 5);
    assert_int_equal(done.damaged, 0);
    assert_int_equal(done.bytes, disk_bytes());
    assert_true(done.round_at_us > 0);
    scrub_free(s);
}

static void scrub_finds_damage(void **state)
{
    (void)state;
    two_files();
    struct scrub *s;
    unsigned steps;
    OK(scrub_new(at.packs, &s, e));
    damage("packs/prn_a/1.pk", 1000);
    assert_int_equal(scrub_round(s, 1 << 30, &steps).damaged, 1);
    assert_non_null(strstr(told, "pack 1: record at 0 is damaged"));
    damage("packs/prn_a/1.pk", 1000); /* as it was */
    assert_int_equal(scrub_round(s, 1 << 30, &steps).damaged, 1);
    damage("packs/prn_a/1.pk", SMALL + 52 + 3); /* the second header: rows name what is behind it */
    assert_int_equal(scrub_round(s, 1 << 30, &steps).damaged, 2);
    assert_non_null(strstr(told, "records are missing"));
    scrub_free(s);
}

static void scrub_leaves_what_is_being_written_alone(void **state)
{
    (void)state;
    two_files();
    struct scrub *s;
    struct scrub_state done;
    OK(scrub_new(at.packs, &s, e));
    damage("packs/prn_a/1.pk", 1000);
    OK(scrub_step(s, 1 << 30, clock_wall_us(), hear, NULL, e));
    scrub_look(s, &done);
    assert_int_equal(done.rounds, 1);
    assert_int_equal(done.bytes + done.damaged, 0);
    scrub_free(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, store_setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_sound_store_is_counted_and_nothing_is_said),
        TEST(a_flipped_bit_in_a_payload),
        TEST(a_flipped_bit_in_a_header),
        TEST(a_pack_that_was_cut_off),
        TEST(a_pack_that_is_missing),
        TEST(a_row_that_points_nowhere),
        TEST(a_row_that_is_missing),
        TEST(counters_that_do_not_add_up),
        TEST(a_database_with_broken_pages),
        TEST(scrub_reads_everything_a_little_at_a_time),
        TEST(scrub_finds_damage),
        TEST(scrub_leaves_what_is_being_written_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
