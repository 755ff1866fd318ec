/* That nothing changes unnoticed: on the file system that /tmp is on, which has to be a real one. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/vfs.h>

#include <linux/fs.h>

#include "session/working_fixture.h"

enum { TMPFS = 0x01021994, ROUNDS = 60, SIZE = 64 << 10 };

/* No waiting: whatever happens in one tick of the clock. */
static struct record look_at_once(struct working *w)
{
    struct record r = {0};
    const struct working_sink sink = record_sink(&r);
    OK(working_look(w, &sink, &r.found, e));
    return r;
}

/* A copy with one file, and a clock as this machine has it, or as older ones do. */
struct bench {
    struct scratch s;
    struct working *w;
};

static struct bench bench_new(bool is_clock_coarse)
{
    struct bench b = {.s = scratch_new()};
    b.w = open_copy(&b.s, NULL, 0);
    scratch_write(&b.s, "data/a", "....");
    if (is_clock_coarse)
        b.w->is_clock_fine = false;
    return b;
}

static void bench_done(struct bench *b)
{
    working_close(b->w);
    scratch_done(&b->s);
}

static int open_a(const struct bench *b)
{
    int fd = openat(b->s.fd, "data/a", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* Does it many times, at all distances to the clock's ticks, and expects to be told what is there. */
static void expect_noticed(void (*change)(const struct bench *b, int round), bool is_clock_coarse)
{
    scoped(bench_done) struct bench b = bench_new(is_clock_coarse);
    for (int round = 0; round < ROUNDS; round++) {
        change(&b, round);
        scoped(record_done) struct record r = look_at_once(b.w);
        char text[5] = {0};
        scoped(fd_closep) int fd = open_a(&b);
        assert_int_equal(read(fd, text, 4), 4);
        expect_changed(&r, "a", text);
        if (round % 8 == 0)
            let_a_tick_pass();
    }
}

static void letters(int round, char ret[5])
{
    snprintf(ret, 5, "%04d", round);
}

static void rewrite_in_place(const struct bench *b, int round)
{
    char text[5];
    letters(round, text);
    scoped(fd_closep) int fd = open_a(b);
    assert_int_equal(pwrite(fd, text, 4, 0), 4);
}

static void rewrite_and_forge_times(const struct bench *b, int round)
{
    struct stat st;
    assert_int_equal(fstatat(b->s.fd, "data/a", &st, 0), 0);
    rewrite_in_place(b, round);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(b->s.fd, "data/a", times, 0), 0);
}

static void rename_over(const struct bench *b, int round)
{
    char text[5];
    letters(round, text);
    scratch_write(&b->s, "other", text);
    struct stat st;
    assert_int_equal(fstatat(b->s.fd, "data/a", &st, 0), 0);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(utimensat(b->s.fd, "other", times, 0), 0);
    assert_int_equal(renameat(b->s.fd, "other", b->s.fd, "data/a"), 0);
}

/* The new file mostly gets the inode of the old one. */
static void delete_and_make_again(const struct bench *b, int round)
{
    char text[5];
    letters(round, text);
    assert_int_equal(unlinkat(b->s.fd, "data/a", 0), 0);
    scratch_write(&b->s, "data/a", text);
}

static void change_mode(const struct bench *b, int round)
{
    assert_int_equal(fchmodat(b->s.fd, "data/a", round % 2 ? 0644 : 0755, 0), 0);
}

static void every_change_is_noticed_however_close_to_the_look(void **state)
{
    (void)state;
    static void (*const changes[])(const struct bench *b, int round) = {
        rewrite_in_place, rewrite_and_forge_times, rename_over, delete_and_make_again, change_mode};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        expect_noticed(changes[i], /* is_clock_coarse= */ false);
        expect_noticed(changes[i], /* is_clock_coarse= */ true);
    }
}

/* A file that was stamped in the tick it changed in, and has the same stamp now: it may be another
 * one with the same inode number, or may have changed again where the clock is coarse. */
static void what_was_stamped_in_its_own_tick_is_believed_only_with_proof(void **state)
{
    (void)state;
    scoped(bench_done) struct bench b = bench_new(false);
    scoped(record_done) struct record first = look(b.w);
    assert_int_equal(first.count, 1);
    scoped(fd_closep) int fd = open_a(&b);
    uint32_t generation = 0;
    if (ioctl(fd, FS_IOC_GETVERSION, &generation) || generation == 0)
        skip();
    static const struct {
        bool is_clock_fine, is_same_inode, is_told;
    } cases[] = {{true, true, false}, {true, false, true}, {false, true, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct file_stamp *a = &b.w->known.files[0];
        a->is_fresh = true;
        a->generation = cases[i].is_same_inode ? generation : generation + 1;
        b.w->is_clock_fine = cases[i].is_clock_fine;
        scoped(record_done) struct record r = look(b.w);
        assert_int_equal(r.count, cases[i].is_told);
        expect_nothing(b.w);
    }
}

static bool is_on_tmpfs(const struct bench *b)
{
    struct statfs fs;
    return fstatfs(b->s.fd, &fs) == 0 && fs.f_type == TMPFS;
}

/* The page is dirty already when the look comes by: another store does not touch the file's times,
 * unless the look has cleaned the page. */
static void stores_to_a_mapped_page(bool is_clock_coarse)
{
    scoped(bench_done) struct bench b = bench_new(is_clock_coarse);
    if (is_on_tmpfs(&b))
        skip();
    scoped(fd_closep) int fd = open_a(&b);
    char *mapped = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(mapped != MAP_FAILED);
    for (int round = 0; round < ROUNDS; round++) {
        mapped[round % 4]++;
        char text[5] = {0};
        memcpy(text, mapped, 4);
        scoped(record_done) struct record r = look_at_once(b.w);
        expect_changed(&r, "a", text);
        if (round % 8 == 0)
            let_a_tick_pass();
    }
    assert_int_equal(munmap(mapped, 4), 0);
    scoped(record_done) struct record last = look(b.w);
    (void)last;
    expect_nothing(b.w);
}

static void a_store_to_a_page_that_was_dirty_at_the_look_before_is_noticed(void **state)
{
    (void)state;
    stores_to_a_mapped_page(/* is_clock_coarse= */ false);
    stores_to_a_mapped_page(/* is_clock_coarse= */ true);
}

static void a_change_through_one_name_is_told_for_all_links(void **state)
{
    (void)state;
    scoped(bench_done) struct bench b = bench_new(false);
    assert_int_equal(linkat(b.s.fd, "data/a", b.s.fd, "data/b", 0), 0);
    scoped(record_done) struct record first = look(b.w);
    assert_int_equal(first.count, 2);
    expect_nothing(b.w);
    rewrite_in_place(&b, 7);
    scoped(record_done) struct record r = look(b.w);
    assert_int_equal(r.count, 2);
    expect_changed(&r, "a", "0007");
    expect_changed(&r, "b", "0007");
}

/* ---- while it is read ---- */

struct meddler {
    const struct bench *b;
    int times; /* so often */
    int done;
    bool is_removed; /* in the end */
};

static void meddle(void *arg)
{
    struct meddler *m = arg;
    if (m->done == m->times)
        return;
    rewrite_in_place(m->b, ++m->done);
    if (m->done == m->times && m->is_removed)
        assert_int_equal(unlinkat(m->b->s.fd, "data/a", 0), 0);
}

static struct record look_meddled(struct bench *b, struct meddler *m)
{
    struct record r = {.meanwhile = meddle, .arg = m};
    const struct working_sink sink = record_sink(&r);
    let_a_tick_pass();
    OK(working_look(b->w, &sink, &r.found, e));
    return r;
}

static void a_file_that_does_not_hold_still_is_torn_and_delivered(void **state)
{
    (void)state;
    scoped(bench_done) struct bench b = bench_new(false);
    if (!b.w->is_clock_fine)
        skip(); /* three changes in one tick look like one */
    struct meddler for_ever = {.b = &b, .times = 100};
    scoped(record_done) struct record torn = look_meddled(&b, &for_ever);
    assert_int_equal(torn.count, 1);
    assert_int_equal(torn.items[0].tries, WORKING_TRIES);
    assert_true(torn.items[0].is_torn);
    expect_changed(&torn, "a", "0002");
    scoped(record_done) struct record again = look(b.w);
    assert_int_equal(again.count, 1);
    assert_false(again.items[0].is_torn);
    expect_changed(&again, "a", "0003");
    expect_nothing(b.w);
}

static void a_file_that_changed_once_is_given_again(void **state)
{
    (void)state;
    scoped(bench_done) struct bench b = bench_new(false);
    struct meddler once = {.b = &b, .times = 1};
    scoped(record_done) struct record r = look_meddled(&b, &once);
    assert_int_equal(r.count, 1);
    assert_int_equal(r.items[0].tries, 2);
    assert_false(r.items[0].is_torn);
    expect_changed(&r, "a", "0001");
    expect_nothing(b.w);
}

static void a_file_that_vanishes_while_it_is_read_stays_as_it_was_read(void **state)
{
    (void)state;
    scoped(bench_done) struct bench b = bench_new(false);
    struct meddler removing = {.b = &b, .times = 1, .is_removed = true};
    scoped(record_done) struct record r = look_meddled(&b, &removing);
    assert_int_equal(r.count, 1);
    assert_true(r.items[0].is_torn);
    scoped(record_done) struct record later = look(b.w);
    assert_int_equal(later.count, 1);
    expect_deleted(&later, "a");
    expect_nothing(b.w);
}

/* ---- races ---- */

static void nothing_outside_is_ever_read(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch outside = scratch_new(), s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    struct scratch data = {.fd = w->data.dir_fd};
    lay_bait(&data, &outside);
    pid_t swapper = in_background(swap_file_and_link, data.fd);
    size_t files = 0, links = 0;
    struct race race = race_begin();
    while (race_goes_on(&race, files, links)) {
        scoped(record_done) struct record r = look_at_once(w);
        for (size_t i = 0; i < r.count; i++) {
            if (!r.items[i].is_deleted)
                assert_string_equal(r.items[i].text, bait_safe);
            files += !r.items[i].is_deleted;
        }
        links += r.found.missed_count;
    }
    stop(swapper);
    assert_true(files >= RACE_ENOUGH && links >= RACE_ENOUGH);
}

enum { FILES = 4 };

struct mirror { /* what the looks have told */
    char *texts[FILES];
    bool is_there[FILES];
    size_t told;
};

static int mirror_changed(void *arg, const char *path, int fd, uint64_t size, bool is_executable,
                          struct err *e)
{
    struct mirror *m = arg;
    size_t index = (size_t)(path[0] - 'a');
    (void)size;
    (void)is_executable;
    (void)e;
    memset(m->texts[index], 0, SIZE);
    for (size_t done = 0; done < SIZE;) {
        ssize_t n = read(fd, m->texts[index] + done, SIZE - done);
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    m->is_there[index] = true;
    m->told++;
    return 0;
}

static int mirror_settled(void *arg, const char *path, bool is_torn, struct err *e)
{
    (void)arg, (void)path, (void)is_torn, (void)e;
    return 0;
}

static int mirror_deleted(void *arg, const char *path, struct err *e)
{
    struct mirror *m = arg;
    (void)e;
    m->is_there[path[0] - 'a'] = false;
    return 0;
}

struct hammer {
    int dir_fd;
    unsigned seed;
    atomic_bool *is_over;
};

/* Writes, stores, cuts, replaces and removes, at random. */
static void strike(const struct hammer *h, unsigned random, char *block)
{
    char name[2] = {(char)('a' + random % FILES), '\0'};
    off_t at = (off_t)(random / 16 % SIZE);
    size_t len = SIZE - (size_t)at;
    int fd = openat(h->dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    memset(block, (int)(random >> 8), SIZE);
    switch (random / 4 % 16) {
    case 0: (void)unlinkat(h->dir_fd, name, 0); break;
    case 1: (void)!ftruncate(fd, at); break;
    case 2:
        (void)!write(fd, block, len);
        (void)renameat(h->dir_fd, name, h->dir_fd, "a");
        break;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7: (void)!pwrite(fd, block, len, at); break;
    default: {
        (void)!ftruncate(fd, SIZE);
        char *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        assert_true(mapped != MAP_FAILED);
        for (int i = 0; i < 200; i++) {
            /* Through a pipe's end, so that a file cut by another thread is no SIGBUS. */
            int pipes[2];
            if (pipe2(pipes, O_CLOEXEC))
                break;
            (void)!write(pipes[1], block, 16);
            (void)!read(pipes[0], mapped + (random + (unsigned)i * 97) % (SIZE - 16), 16);
            (void)close(pipes[0]);
            (void)close(pipes[1]);
            block[0]++;
        }
        (void)munmap(mapped, SIZE);
    }
    }
    (void)close(fd);
}

static void *hammer(void *arg)
{
    const struct hammer *h = arg;
    unsigned seed = h->seed;
    char *block = malloc(SIZE);
    while (!atomic_load(h->is_over))
        strike(h, (unsigned)rand_r(&seed), block);
    free(block);
    return NULL;
}

static void expect_mirrored(const struct mirror *m, const struct scratch *s)
{
    scoped(freep) char *text = malloc(SIZE);
    for (size_t i = 0; i < FILES; i++) {
        char name[] = {'d', 'a', 't', 'a', '/', (char)('a' + i), '\0'};
        scoped(fd_closep) int fd = openat(s->fd, name, O_RDONLY | O_CLOEXEC);
        assert_int_equal(fd >= 0, m->is_there[i]);
        if (fd < 0)
            continue;
        memset(text, 0, SIZE);
        assert_true(read(fd, text, SIZE) >= 0);
        assert_memory_equal(text, m->texts[i], SIZE);
    }
}

/* Whatever two threads did to the files, and however often they were looked at meanwhile: after one
 * more look, what was told last is what is there. */
static void what_was_told_last_is_what_is_there(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(working_closep) struct working *w = open_copy(&s, NULL, 0);
    struct mirror m = {0};
    for (size_t i = 0; i < FILES; i++)
        m.texts[i] = calloc(1, SIZE);
    const struct working_sink sink = {
        .changed = mirror_changed, .settled = mirror_settled, .deleted = mirror_deleted, .arg = &m};
    for (unsigned round = 0; round < 12; round++) {
        atomic_bool is_over = false;
        pthread_t threads[2];
        struct hammer hammers[2];
        for (unsigned i = 0; i < 2; i++) {
            hammers[i] = (struct hammer){w->data.dir_fd, round * 2 + i + 1, &is_over};
            assert_int_equal(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
        }
        for (int64_t end_us = clock_us() + 150000;
             clock_us() < end_us || m.told < 10 * (round + 1);) { /* however slow the machine is */
            scoped(capture_done) struct capture found = {0};
            OK(working_look(w, &sink, &found, e));
        }
        atomic_store(&is_over, true);
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(pthread_join(threads[i], NULL), 0);
        scoped(capture_done) struct capture found = {0};
        OK(working_look(w, &sink, &found, e));
        expect_mirrored(&m, &s);
        w->is_clock_fine = w->is_clock_fine && round < 5; /* then as on older machines */
    }
    for (size_t i = 0; i < FILES; i++)
        free(m.texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_change_is_noticed_however_close_to_the_look),
        cmocka_unit_test(what_was_stamped_in_its_own_tick_is_believed_only_with_proof),
        cmocka_unit_test(a_store_to_a_page_that_was_dirty_at_the_look_before_is_noticed),
        cmocka_unit_test(a_change_through_one_name_is_told_for_all_links),
        cmocka_unit_test(a_file_that_does_not_hold_still_is_torn_and_delivered),
        cmocka_unit_test(a_file_that_changed_once_is_given_again),
        cmocka_unit_test(a_file_that_vanishes_while_it_is_read_stays_as_it_was_read),
        cmocka_unit_test(nothing_outside_is_ever_read),
        cmocka_unit_test(what_was_told_last_is_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
