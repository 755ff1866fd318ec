/* gc alone: what goes, what stays, and when. gc_threads_test.c has it at work beside others. */
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "store/ballast.h"
#include "store/gc_fixture.h"

enum { SMALL = 40000, LARGE = 900000 }; /* one chunk; several and a recipe */

static uint64_t rows_of_chunks(void)
{
    scoped(freep) struct pack_use *uses = NULL;
    size_t count = 0;
    uint64_t records = 0;
    OK(meta_pack_use(at.meta, vault, &uses, &count, e));
    for (size_t i = 0; i < count; i++)
        records += uses[i].records;
    return records;
}

static void what_is_kept_stays(void **state)
{
    (void)state;
    put_file("small", 1, SMALL);
    put_file("large", 2, LARGE);
    put_file("small", 3, SMALL); /* and the version before it */
    delete_file("large");        /* is in the trash */
    uint64_t rows = rows_of_chunks(), bytes = disk_bytes();
    for (int i = 0; i < 3; i++) {
        struct gc_result r = gc_now();
        assert_int_equal(r.chunks, rows);
        assert_int_equal(r.dead + r.swept + r.packs_removed, 0);
    }
    assert_int_equal(rows_of_chunks(), rows);
    assert_int_equal(disk_bytes(), bytes);
    holds_seed("small", 3, SMALL);
    nothing_is_wrong();
}

static void what_was_purged_goes_after_two_rounds_and_the_disk_has_room(void **state)
{
    (void)state;
    put_file("small", 1, SMALL);
    put_file("large", 2, LARGE);
    uint64_t before = disk_bytes();
    purge_file("large");
    struct gc_result first = gc_now();
    assert_true(first.dead > 2);
    assert_int_equal(first.swept, 0); /* marked now: only the next round may take it */
    struct gc_result second = gc_now();
    assert_int_equal(second.swept, first.dead);
    assert_int_equal(second.packs_removed, 1);
    assert_int_equal(second.packs_copied, 1);
    assert_int_equal(second.bytes_freed, before - disk_bytes());
    assert_true(disk_bytes() < SMALL + 1000);
    holds_seed("small", 1, SMALL);
    nothing_is_wrong();
    store_again();
    holds_seed("small", 1, SMALL);
}

static void thinned_versions_go(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        put_file("f", i, SMALL);
    const struct thinning rule = {.keep_last = 2};
    uint64_t count = 0, before = disk_bytes();
    OK(meta_thin(at.meta, &rule, 100, &count, e));
    assert_int_equal(count, 8);
    (void)gc_now();
    assert_int_equal(gc_now().swept, 8);
    assert_true(disk_bytes() < before / 4);
    holds_seed("f", 9, SMALL);
    nothing_is_wrong();
}

static void a_deleted_workspace_goes(void **state)
{
    (void)state;
    struct workspace_row ws = {.name = "other", .created_us = 5};
    set_id(ws.id, "ws_o");
    set_id(ws.owner, "prn_a");
    OK(meta_workspace_insert(at.meta, &ws, e));
    struct file_change change = {.op = OP_PUT, .path = "f"};
    struct commit_row k = upload_commit();
    uint64_t rev;
    scoped(batch_freep) struct batch *b = NULL;
    set_id(k.workspace, "ws_o");
    OK(batch_new(at.contents, vault, &b, e));
    OK(store_bytes(at.contents, b, 1, SMALL, &change.content, e));
    OK(batch_sync(b, e));
    OK(meta_commit(at.meta, &k, &change, 1, b, &rev, e));
    batch_free(take(b));
    OK(meta_workspace_delete(at.meta, "ws_o", 7, e));
    (void)gc_now();
    assert_int_equal(gc_now().swept, 1);
    assert_int_equal(disk_bytes(), 0);
    uint64_t cleared;
    do
        OK(meta_workspace_clear(at.meta, 100, &cleared, e));
    while (cleared > 0);
    nothing_is_wrong();
}

static void grace_is_kept(void **state)
{
    (void)state;
    const int64_t day = INT64_C(86400) * 1000000;
    put_file("f", 1, SMALL);
    purge_file("f");
    struct gc_result r;
    struct gc_options o = {.contents = at.contents, .grace_us = day, .now_us = 10 * day};
    OK(gc_run(&o, &r, e));
    assert_int_equal(r.dead, 1);
    o.now_us = 11 * day;
    OK(gc_run(&o, &r, e));
    assert_int_equal(r.swept, 0);
    o.now_us = 11 * day + 1;
    OK(gc_run(&o, &r, e));
    assert_int_equal(r.swept, 1);
}

static void what_is_stored_again_within_the_grace_is_not_swept(void **state)
{
    (void)state;
    put_file("f", 1, SMALL);
    put_file("g", 2, LARGE);
    purge_file("f");
    purge_file("g");
    assert_true(gc_now().dead > 0);
    put_file("f", 1, SMALL);
    put_file("g", 2, LARGE);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gc_now().swept, 0);
    holds_seed("f", 1, SMALL);
    holds_seed("g", 2, LARGE);
    nothing_is_wrong();
}

/* A batch found a chunk, then gc gave it up, then the batch is committed. */
static void a_batch_that_relies_on_a_chunk_saves_it_or_learns_that_it_is_gone(void **state)
{
    (void)state;
    for (int rounds = 1; rounds <= 2; rounds++) {
        scoped(batch_freep) struct batch *b = NULL;
        struct file_change change = {.op = OP_PUT, .path = "g"};
        struct commit_row k = upload_commit();
        uint64_t rev;
        put_file("f", (uint64_t)rounds, LARGE);
        OK(batch_new(at.contents, vault, &b, e));
        OK(store_bytes(at.contents, b, (uint64_t)rounds, LARGE, &change.content, e));
        OK(batch_sync(b, e));
        assert_int_equal(batch_stored(b), 0);
        purge_file("f");
        for (int i = 0; i < rounds; i++)
            (void)gc_now();
        if (rounds == 2) {
            FAILS(ERR_BUSY, meta_commit(at.meta, &k, &change, 1, b, &rev, e));
            continue;
        }
        OK(meta_commit(at.meta, &k, &change, 1, b, &rev, e));
        (void)gc_now();
        (void)gc_now();
        holds_seed("g", (uint64_t)rounds, LARGE);
        purge_file("g");
    }
    nothing_is_wrong();
}

/* Of content that a version names and that gc has marked by mistake. */
static void a_marked_content_can_be_reused(void **state)
{
    (void)state;
    put_file("f", 1, LARGE);
    struct file_row f;
    OK(meta_file_get(at.meta, "ws_a", "f", &f, e));
    struct chunk_key key = {.kind = CHUNK_RECIPE};
    memcpy(key.sha256, f.content.sha256, HASH_LEN);
    OK(meta_chunk_mark(at.meta, vault, &key, 1, /* is_dead= */ true, 5, e));
    scoped(batch_freep) struct batch *b = NULL;
    OK(batch_new(at.contents, vault, &b, e));
    OK(batch_reuse(b, &f.content, e));
    file_row_done(&f);
    holds_seed("f", 1, LARGE);
    (void)gc_now();
    struct chunk_row row;
    struct err e = {0};
    assert_int_equal(meta_chunk_find(at.meta, vault, &key, &row, &e), 1);
}

static void an_unfinished_batch_keeps_its_packs(void **state)
{
    (void)state;
    scoped(batch_freep) struct batch *b = NULL;
    struct file_change change = {.op = OP_PUT, .path = "long"};
    struct commit_row k = upload_commit();
    uint64_t rev;
    const size_t len = (size_t)PACK_FULL + (20 << 20); /* one pack is full and given back */
    OK(batch_new(at.contents, vault, &b, e));
    OK(store_bytes(at.contents, b, 77, len, &change.content, e));
    OK(batch_sync(b, e));
    for (int i = 0; i < 3; i++)
        assert_int_equal(gc_now().packs_removed, 0);
    OK(meta_commit(at.meta, &k, &change, 1, b, &rev, e));
    batch_free(take(b));
    assert_int_equal(gc_now().packs_removed, 0);
    holds_seed("long", 77, len);
    /* And one that is given up leaves nothing. */
    uint64_t before = disk_bytes();
    OK(batch_new(at.contents, vault, &b, e));
    OK(store_bytes(at.contents, b, 78, (size_t)PACK_FULL, &change.content, e));
    OK(batch_sync(b, e));
    batch_free(take(b));
    assert_true(disk_bytes() > before + PACK_FULL / 2);
    assert_true(gc_now().packs_removed > 0);
    assert_true(disk_bytes() < before + (1 << 20));
    holds_seed("long", 77, len);
    nothing_is_wrong();
}

static void a_pack_that_was_written_to_just_now_is_left_alone(void **state)
{
    (void)state;
    put_file("f", 1, SMALL);
    purge_file("f");
    const int64_t hour = INT64_C(3600) * 1000000;
    (void)gc_with(0, hour);
    struct gc_result r = gc_with(0, hour);
    assert_int_equal(r.swept, 1);
    assert_int_equal(r.packs_removed, 0);
    assert_int_equal(gc_with(0, 0).packs_removed, 1);
}

static void the_number_of_a_removed_pack_is_never_used_again(void **state)
{
    (void)state;
    for (uint64_t i = 1; i <= 4; i++) {
        scoped(freep) struct pack_info *list = NULL;
        size_t count = 0;
        put_file("f", i, SMALL);
        OK(packs_list(at.packs, vault, &list, &count, e));
        assert_int_equal(count, 1);
        assert_int_equal(list[0].number, i);
        purge_file("f");
        (void)gc_now();
        assert_int_equal(gc_now().packs_removed, 1);
        assert_int_equal(gc_now().packs_removed, 0); /* the empty one that holds the number stays */
        store_again();
    }
}

/* Small records: the footer of their pack is as long as they are, and no garbage. */
static void a_sealed_pack_of_small_records_is_not_copied_for_ever(void **state)
{
    (void)state;
    scoped(batch_freep) struct batch *b = NULL;
    enum { FILES = PACK_RECORDS_MAX };
    struct file_change *changes = calloc(FILES, sizeof *changes);
    char(*paths)[16] = calloc(FILES, sizeof *paths);
    struct commit_row k = upload_commit();
    uint64_t rev;
    OK(batch_new(at.contents, vault, &b, e));
    for (uint64_t i = 0; i < FILES; i++) {
        (void)snprintf(paths[i], sizeof *paths, "f%05u", (unsigned)i);
        changes[i] = (struct file_change){.op = OP_PUT, .path = paths[i]};
        OK(store_bytes(at.contents, b, i, 16, &changes[i].content, e));
    }
    OK(batch_sync(b, e));
    OK(meta_commit(at.meta, &k, changes, FILES, b, &rev, e));
    for (size_t i = 0; i < FILES; i++)
        free(changes[i].ret_path);
    free(changes);
    free(paths);
    batch_free(take(b));
    for (int i = 0; i < 2; i++) {
        struct gc_result r = gc_now();
        assert_int_equal(r.chunks, FILES);
        assert_int_equal(r.packs_removed, 0);
    }
}

static void stopping_sweeps_nothing(void **state)
{
    (void)state;
    atomic_bool stops = true;
    struct gc_result r;
    const struct gc_options o = {.contents = at.contents, .now_us = INT64_MAX, .stops = &stops};
    put_file("f", 1, SMALL);
    purge_file("f");
    (void)gc_now();
    OK(gc_run(&o, &r, e));
    assert_int_equal(r.swept + r.chunks, 0);
}

/* What it names would look like garbage. */
static void a_recipe_that_cannot_be_read_stops_its_vault(void **state)
{
    (void)state;
    put_file("f", 1, LARGE);
    uint64_t before = rows_of_chunks();
    struct gc_result r;
    const struct gc_options o = {.contents = at.contents, .now_us = INT64_MAX};
    OK(packs_remove(at.packs, vault, 1, e));
    FAILS(ERR_DAMAGED, gc_run(&o, &r, e));
    FAILS(ERR_DAMAGED, gc_run(&o, &r, e));
    assert_int_equal(rows_of_chunks(), before);
}

static void a_damaged_chunk_is_not_copied(void **state)
{
    (void)state;
    put_file("f", 1, SMALL);
    put_file("g", 2, LARGE);
    purge_file("g");
    (void)gc_now();
    char path[] = "packs/prn_a/1.pk";
    scoped(fd_closep) int fd = openat(at.scratch.fd, path, O_RDWR | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "?", 1, 1000), 1);
    struct gc_result r;
    const struct gc_options o = {.contents = at.contents, .now_us = INT64_MAX};
    FAILS(ERR_DAMAGED, gc_run(&o, &r, e));
    assert_int_equal(r.packs_removed, 0);
    scoped(freep) uint8_t *was = bytes_of(1, SMALL);
    assert_int_equal(pwrite(fd, was + 1000 - 52, 1, 1000), 1);
    assert_int_equal(gc_now().packs_removed, 1);
    holds_seed("f", 1, SMALL);
}

/* Later than any gc_now. */
static struct gc_result gc_thorough(struct ballast *ballast)
{
    static int64_t ahead_us = INT64_C(3600) * 1000000;
    struct gc_result result;
    const struct gc_options o = {.contents = at.contents,
                                 .now_us = clock_wall_us() + (ahead_us += 1000000),
                                 .is_thorough = true,
                                 .ballast = ballast};
    OK(gc_run(&o, &result, e));
    return result;
}

static void where_room_is_thorough_little_garbage_is_worth_a_copy(void **state)
{
    (void)state;
    put_file("large", 1, 10 * LARGE);
    put_file("gone", 2, LARGE); /* less than GC_REPACK_PERCENT of the pack */
    uint64_t before = disk_bytes();
    purge_file("gone");
    (void)gc_now();
    assert_int_equal(gc_now().packs_removed, 0);
    struct gc_result r = gc_thorough(NULL);
    assert_int_equal(r.packs_copied, 1);
    assert_true(r.bytes_freed >= LARGE);
    assert_true(disk_bytes() <= before - LARGE);
    holds_seed("large", 1, 10 * LARGE);
    nothing_is_wrong();
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void what_finds_no_room_to_be_copied_is_left_and_the_rest_is_done(void **state)
{
    (void)state;
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    put_file("large", 1, 2 * LARGE);
    put_file("gone", 2, 3 * LARGE);
    purge_file("gone");
    (void)gc_now(); /* marks */
    store_again();  /* the log is short */
    struct ballast *ballast = NULL;
    const struct ballast_options o = {.data_fd = at.scratch.fd, .bytes = 1 << 20};
    OK(ballast_open(&o, &ballast, e));
    ballast_tend(ballast);
    assert_int_equal(sigaction(SIGXFSZ, &ignore, NULL), 0);
    limit_files(LARGE);
    struct gc_result r = gc_thorough(ballast);
    limit_files(RLIM_INFINITY);
    assert_true(r.swept > 0);
    assert_int_equal(r.packs_left, 1);
    assert_int_equal(r.packs_removed, 0);
    assert_int_equal(ballast_bytes(ballast), 0); /* it was tried */
    holds_seed("large", 1, 2 * LARGE);
    r = gc_thorough(ballast);
    assert_int_equal(r.packs_left, 0);
    assert_int_equal(r.packs_copied, 1);
    holds_seed("large", 1, 2 * LARGE);
    nothing_is_wrong();
    ballast_close(ballast);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, store_setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_kept_stays),
        TEST(what_was_purged_goes_after_two_rounds_and_the_disk_has_room),
        TEST(thinned_versions_go),
        TEST(a_deleted_workspace_goes),
        TEST(grace_is_kept),
        TEST(what_is_stored_again_within_the_grace_is_not_swept),
        TEST(a_batch_that_relies_on_a_chunk_saves_it_or_learns_that_it_is_gone),
        TEST(a_marked_content_can_be_reused),
        TEST(an_unfinished_batch_keeps_its_packs),
        TEST(a_pack_that_was_written_to_just_now_is_left_alone),
        TEST(the_number_of_a_removed_pack_is_never_used_again),
        TEST(a_sealed_pack_of_small_records_is_not_copied_for_ever),
        TEST(stopping_sweeps_nothing),
        TEST(a_recipe_that_cannot_be_read_stops_its_vault),
        TEST(a_damaged_chunk_is_not_copied),
        TEST(where_room_is_thorough_little_garbage_is_worth_a_copy),
        TEST(what_finds_no_room_to_be_copied_is_left_and_the_rest_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
