#include "store/ballast.h"

#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"

enum { PIECE = 64 << 10, ALL = BALLAST_PIECES * PIECE };

static struct ballast *open_with(const struct scratch *s, uint64_t bytes, uint64_t leave)
{
    const struct ballast_options o = {.data_fd = s->fd, .bytes = bytes, .leave_bytes = leave};
    struct ballast *b = NULL;
    OK(ballast_open(&o, &b, e));
    return b;
}

/* What the files take on the disk. */
static uint64_t taken(const struct scratch *s, unsigned *ret_files)
{
    uint64_t bytes = 0;
    *ret_files = 0;
    for (unsigned i = 0; i < BALLAST_PIECES; i++) {
        char name[32];
        struct stat st;
        (void)snprintf(name, sizeof name, "ballast/%u", i);
        if (fstatat(s->fd, name, &st, 0))
            continue;
        bytes += (uint64_t)st.st_blocks * 512;
        ++*ret_files;
    }
    return bytes;
}

static void it_takes_real_room_and_gives_all_of_it_up(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    unsigned files;
    struct ballast *b = open_with(&s, ALL, /* leave= */ 0);
    assert_false(ballast_give(b)); /* nothing is taken before it is tended */
    ballast_tend(b);
    assert_int_equal(ballast_bytes(b), ALL);
    assert_true(taken(&s, &files) >= ALL);
    assert_int_equal(files, BALLAST_PIECES);
    assert_true(ballast_give(b));
    assert_int_equal(taken(&s, &files), 0);
    assert_int_equal(ballast_bytes(b), 0);
    assert_false(ballast_give(b)); /* only once */
    ballast_tend(b);
    assert_int_equal(ballast_bytes(b), ALL);
    ballast_close(b);
}

static void the_next_server_finds_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    unsigned files;
    struct ballast *b = open_with(&s, ALL, /* leave= */ 0);
    ballast_tend(b);
    ballast_close(b);
    b = open_with(&s, ALL, /* leave= */ UINT64_MAX);
    assert_int_equal(ballast_bytes(b), ALL);
    assert_true(ballast_give(b));
    ballast_tend(b);
    assert_int_equal(ballast_bytes(b), 0); /* that much there never is */
    assert_int_equal(taken(&s, &files), 0);
    ballast_close(b);
}

static void what_another_configuration_took_or_a_crash_left_half_goes(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    unsigned files;
    struct ballast *b = open_with(&s, ALL, /* leave= */ 0);
    ballast_tend(b);
    ballast_close(b);
    assert_int_equal(unlinkat(s.fd, "ballast/3", 0), 0);
    int fd = openat(s.fd, "ballast/4", O_WRONLY | O_TRUNC);
    assert_int_equal(ftruncate(fd, PIECE), 0); /* as long, and empty */
    close(fd);
    b = open_with(&s, ALL, /* leave= */ 0);
    assert_int_equal(ballast_bytes(b), ALL - 2 * PIECE);
    ballast_tend(b);
    assert_int_equal(ballast_bytes(b), ALL);
    ballast_close(b);
    b = open_with(&s, 2 * ALL, /* leave= */ UINT64_MAX);
    assert_int_equal(taken(&s, &files), 0);
    ballast_tend(b);
    ballast_close(b);
    b = open_with(&s, ALL, /* leave= */ 0);
    ballast_tend(b);
    ballast_close(b);
    b = open_with(&s, 0, /* leave= */ 0);
    ballast_tend(b);
    assert_int_equal(taken(&s, &files), 0);
    assert_false(ballast_give(b));
    ballast_close(b);
}

static void nobody_has_none(void **state)
{
    (void)state;
    assert_false(ballast_give(NULL));
    assert_int_equal(ballast_bytes(NULL), 0);
    ballast_tend(NULL);
    ballast_close(NULL);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(it_takes_real_room_and_gives_all_of_it_up),
        cmocka_unit_test(the_next_server_finds_it),
        cmocka_unit_test(what_another_configuration_took_or_a_crash_left_half_goes),
        cmocka_unit_test(nobody_has_none),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
