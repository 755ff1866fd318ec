/* gc beside commits that reuse, store again and forget the same contents, and gc that is killed. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include "store/gc_fixture.h"

enum { WRITERS = 4, PATHS = 6, SEEDS = 12, OPERATIONS = 400 };

/* Few contents, so that threads and gc meet on the same ones; half of them have recipes. */
static size_t len_of(uint64_t seed)
{
    return seed % 2 ? 300000 + (size_t)seed * 7000 : 2000 + (size_t)seed * 100;
}

struct writer {
    unsigned number;
    unsigned busy; /* how often gc was in the way */
    uint64_t random;
    uint64_t held[PATHS]; /* seed of what is there; 0: nothing */
};

static uint64_t next_random(uint64_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 7;
    *x ^= *x << 17;
    return *x;
}

static void path_of(const struct writer *w, unsigned path, char ret[32])
{
    (void)snprintf(ret, 32, "w%u/f%u", w->number, path);
}

/* As whoever can send the bytes again does. */
static void put_until_done(struct writer *w, const char *path, uint64_t seed)
{
    struct err e = {0};
    while (put_seed(path, seed, len_of(seed), &e)) {
        if (e.code != ERR_BUSY)
            fail_msg("put: %s", e.text);
        w->busy++;
        e = (struct err){0};
    }
}

static void step(struct writer *w)
{
    unsigned path = (unsigned)(next_random(&w->random) % PATHS);
    uint64_t seed = 1 + next_random(&w->random) % SEEDS;
    char name[32];
    path_of(w, path, name);
    if (w->held[path] && next_random(&w->random) % 3 == 0) {
        purge_file(name);
        w->held[path] = 0;
    } else {
        put_until_done(w, name, seed);
        w->held[path] = seed;
    }
    if (w->held[path])
        holds_seed(name, w->held[path], len_of(w->held[path]));
}

static void *write_much(void *arg)
{
    struct writer *w = arg;
    for (int i = 0; i < OPERATIONS; i++)
        step(w);
    return NULL;
}

static atomic_bool is_over;

static void *collect_for_ever(void *arg)
{
    struct gc_result *sum = arg;
    while (!atomic_load(&is_over)) {
        struct gc_result r = gc_now();
        sum->swept += r.swept;
        sum->packs_removed += r.packs_removed;
        sum->packs_copied += r.packs_copied;
    }
    return NULL;
}

/* Every version that is kept is read and hashed by fsck. */
static void commits_and_gc_at_the_same_time_lose_nothing(void **state)
{
    (void)state;
    struct writer writers[WRITERS] = {0};
    pthread_t threads[WRITERS], collector;
    struct gc_result sum = {0};
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&collector, NULL, collect_for_ever, &sum), 0);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.number = i, .random = 1234567 + i};
        assert_int_equal(pthread_create(&threads[i], NULL, write_much, &writers[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++)
        (void)pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    (void)pthread_join(collector, NULL);
    for (unsigned i = 0; i < WRITERS; i++)
        for (unsigned path = 0; path < PATHS; path++)
            if (writers[i].held[path]) {
                char name[32];
                path_of(&writers[i], path, name);
                holds_seed(name, writers[i].held[path], len_of(writers[i].held[path]));
            }
    nothing_is_wrong();
    assert_true(sum.swept > 0 && sum.packs_removed > 0 && sum.packs_copied > 0);
    (void)gc_now();
    (void)gc_now();
    nothing_is_wrong();
    assert_int_equal(fsck_as(QUICK).garbage_bytes < GC_REPACK_MIN + disk_bytes() / 3, 1);
}

/* ---- killed ---- */

/* Puts, forgets and collects for ever, telling what was acknowledged: path and seed. */
static void live_until_killed(int ack_fd, uint64_t random)
{
    struct writer w = {.number = 0, .random = random};
    pthread_t collector;
    static struct gc_result sum;
    if (pthread_create(&collector, NULL, collect_for_ever, &sum))
        _exit(1);
    for (;;) {
        uint64_t ack[2] = {next_random(&w.random) % PATHS, 1 + next_random(&w.random) % SEEDS};
        char name[32];
        struct err e = {0};
        path_of(&w, (unsigned)ack[0], name);
        if (put_seed(name, ack[1], len_of(ack[1]), &e) == 0 &&
            write(ack_fd, ack, sizeof ack) != (ssize_t)sizeof ack)
            _exit(2);
        struct thinning rule = {.keep_last = 1};
        uint64_t count;
        if (meta_thin(at.meta, &rule, 100, &count, &e))
            _exit(3);
    }
}

static void a_kill_at_any_moment_leaves_everything_whole(void **state)
{
    (void)state;
    enum { ROUNDS = 12 };
    uint64_t held[PATHS] = {0};
    char name[32];
    for (uint64_t round = 0; round < ROUNDS; round++) {
        int fds[2];
        uint64_t ack[2];
        assert_int_equal(pipe(fds), 0);
        store_close(take(at.store));
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            (void)close(fds[0]);
            store_again();
            atomic_store(&is_over, false);
            live_until_killed(fds[1], 99 + round);
        }
        (void)close(fds[1]);
        for (uint64_t i = 0; i < 3 + round * 5; i++) {
            assert_int_equal(read(fds[0], ack, sizeof ack), sizeof ack);
            held[ack[0]] = ack[1];
        }
        (void)kill(child, SIGKILL);
        while (read(fds[0], ack, sizeof ack) == (ssize_t)sizeof ack)
            held[ack[0]] = ack[1];
        (void)close(fds[0]);
        assert_int_equal(waitpid(child, NULL, 0), child);
        store_again();
        nothing_is_wrong();
    }
    (void)gc_now();
    (void)gc_now();
    nothing_is_wrong();
    /* The very last put of each round may or may not have been made; the others were. */
    struct writer w = {0};
    for (unsigned i = 0; i < PATHS; i++) {
        struct file_row f;
        path_of(&w, i, name);
        if (held[i]) {
            OK(meta_file_get(at.meta, "ws_a", name, &f, e));
            file_row_done(&f);
        }
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, store_setup, store_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(commits_and_gc_at_the_same_time_lose_nothing),
        TEST(a_kill_at_any_moment_leaves_everything_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
