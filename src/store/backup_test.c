/* Backups: made beside writers, again and again, interrupted, and used. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "store/backup.h"
#include "store/gc_fixture.h"

enum { SMALL = 40000, LARGE = 900000 };

static struct scratch place;

static int setup(void **state)
{
    place = scratch_new_fast();
    return store_setup(state);
}

static int teardown(void **state)
{
    scratch_done(&place);
    return store_teardown(state);
}

static int back_up_to(struct backup_result *ret, struct err *e)
{
    scoped(fd_closep) int from = openat(at.scratch.fd, "packs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return backup_run(at.meta, at.packs, from, place.fd, ret, e);
}

static struct backup_result back_up(void)
{
    struct backup_result r;
    OK(back_up_to(&r, e));
    return r;
}

/* Packs get older than the moment for which they are copied again in any case. */
static void age_packs(void)
{
    scoped(freep) struct pack_info *list = NULL;
    size_t count = 0;
    OK(packs_list(at.packs, vault, &list, &count, e));
    for (size_t i = 0; i < count; i++) {
        char path[64];
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000}};
        (void)snprintf(path, sizeof path, "packs/prn_a/%u.pk", (unsigned)list[i].number);
        assert_int_equal(utimensat(at.scratch.fd, path, times, 0), 0);
    }
}

/* Uses a copy of the backup as a store, checks it, and `look`s. */
static void restored(void (*look)(void))
{
    struct scratch copy = scratch_new_fast(), kept = at.scratch;
    struct store *store = at.store;
    char command[300];
    (void)snprintf(command, sizeof command, "cp -a %s/. %s/", place.path, copy.path);
    pid_t child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    at.store = NULL;
    at.scratch = copy;
    store_again();
    nothing_is_wrong();
    look();
    store_close(at.store);
    scratch_done(&copy);
    at.scratch = kept;
    at.store = store;
    at.meta = store_meta(store);
    at.contents = store_contents(store);
    at.packs = store_packs(store);
}

static void has_both(void)
{
    holds_seed("first", 1, SMALL);
    holds_seed("second", 2, LARGE);
    put_file("third", 3, LARGE); /* it is a store like any other */
    holds_seed("third", 3, LARGE);
}

static void a_copy_of_the_backup_is_a_store_with_every_version(void **state)
{
    (void)state;
    put_file("first", 9, SMALL); /* an older version: fsck reads it */
    put_file("first", 1, SMALL);
    put_file("second", 2, LARGE);
    struct backup_result r = back_up();
    assert_int_equal(r.packs, 1);
    assert_int_equal(r.bytes_copied, disk_bytes());
    assert_true(r.database_bytes > 4096);
    restored(has_both);
}

static void has_first(void)
{
    struct file_row f;
    holds_seed("first", 1, SMALL);
    FAILS(ERR_NOT_FOUND, meta_file_get(at.meta, "ws_a", "second", &f, e));
}

static void the_next_one_copies_what_is_new(void **state)
{
    (void)state;
    put_file("first", 1, SMALL);
    age_packs();
    assert_int_equal(back_up().packs_copied, 1);
    assert_int_equal(back_up().packs_copied, 0);
    restored(has_first);
    put_file("second", 2, LARGE);
    assert_int_equal(back_up().packs_copied, 1);
    restored(has_both);
}

/* Bytes that were taken back and others in their place: as long as before, and not the same. */
static void a_pack_of_the_same_length_that_was_written_to_is_copied(void **state)
{
    (void)state;
    put_file("first", 1, SMALL);
    age_packs();
    assert_int_equal(back_up().packs_copied, 1);
    scoped(fd_closep) int fd = openat(at.scratch.fd, "packs/prn_a/1.pk", O_RDWR | O_CLOEXEC);
    char byte;
    assert_int_equal(pread(fd, &byte, 1, 0), 1);
    assert_int_equal(pwrite(fd, &byte, 1, 0), 1);
    assert_int_equal(back_up().packs_copied, 1);
    assert_int_equal(back_up().packs_copied, 1); /* written to just now: nobody can be sure */
}

static void what_gc_removed_goes_from_the_backup(void **state)
{
    (void)state;
    put_file("first", 1, SMALL);
    put_file("second", 2, LARGE);
    put_file("gone", 4, LARGE);
    (void)back_up();
    purge_file("gone");
    (void)gc_now();
    assert_int_equal(gc_now().packs_removed, 1);
    (void)back_up();
    assert_int_equal(faccessat(place.fd, "packs/prn_a/1.pk", F_OK, 0), -1);
    restored(has_both);
}

static void a_directory_with_something_else_is_refused(void **state)
{
    (void)state;
    struct backup_result r;
    scratch_write(&place, "thesis.txt", "ten years of work");
    FAILS(ERR_CONFLICT, back_up_to(&r, e));
    assert_int_equal(unlinkat(place.fd, "thesis.txt", 0), 0);
    scratch_mkdir(&place, "lost+found");
    (void)back_up();
}

/* ---- beside writers ---- */

static atomic_bool is_over;

static void *write_for_ever(void *arg)
{
    (void)arg;
    for (uint64_t i = 1; !atomic_load(&is_over); i++) {
        char path[32];
        (void)snprintf(path, sizeof path, "w%u", (unsigned)(i % 50));
        put_file(path, i, i % 3 ? 3000 : 500000);
    }
    return NULL;
}

static void look_at_nothing(void)
{
}

static void a_backup_beside_a_writer_is_whole(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        pthread_t writer;
        atomic_store(&is_over, false);
        assert_int_equal(pthread_create(&writer, NULL, write_for_ever, NULL), 0);
        for (int k = 0; k < 3; k++)
            (void)back_up();
        atomic_store(&is_over, true);
        (void)pthread_join(writer, NULL);
        restored(look_at_nothing);
    }
}

/* ---- interrupted ---- */

static uint64_t numbers_seen;

static void look_at_number(void)
{
    struct file_row f;
    OK(meta_file_get(at.meta, "ws_a", "number", &f, e));
    numbers_seen = f.content.size;
    file_row_done(&f);
}

static void wait_us(int64_t us)
{
    const struct timespec t = {.tv_nsec = us * 1000};
    (void)nanosleep(&t, NULL);
}

static void an_interrupted_one_leaves_the_old_or_the_new(void **state)
{
    (void)state;
    enum { ROUNDS = 12 };
    put_file("number", 5, 100000);
    (void)back_up();
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        put_file("number", 5 + round, 100000 + round);
        put_file("more", 1000 + round, 3 << 20);
        if (round % 4 == 0) { /* packs come and go */
            purge_file("more");
            (void)gc_now();
            (void)gc_now();
        }
        store_close(take(at.store));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct backup_result r;
            struct err e = {0};
            store_again();
            _exit(back_up_to(&r, &e) ? 1 : 0);
        }
        wait_us((int64_t)round * 4000);
        (void)kill(child, SIGKILL);
        assert_int_equal(waitpid(child, NULL, 0), child);
        store_again();
        uint64_t before = numbers_seen;
        restored(look_at_number);
        assert_true(numbers_seen >= before && numbers_seen <= 100000 + round);
    }
    (void)back_up();
    restored(look_at_number);
    assert_int_equal(numbers_seen, 100000 + ROUNDS);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_copy_of_the_backup_is_a_store_with_every_version),
        TEST(the_next_one_copies_what_is_new),
        TEST(a_pack_of_the_same_length_that_was_written_to_is_copied),
        TEST(what_gc_removed_goes_from_the_backup),
        TEST(a_directory_with_something_else_is_refused),
        TEST(a_backup_beside_a_writer_is_whole),
        TEST(an_interrupted_one_leaves_the_old_or_the_new),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
