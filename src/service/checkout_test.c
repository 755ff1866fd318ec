/* What checkout.h promises of what stays and what goes. */
#include "service/checkout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "service/checkout_int.h"
#include "workspace/files_fixture.h"

static struct checkouts *all;
static int dir_fd;

static void open_all(void)
{
    OK(checkouts_open(dir_fd, fx.files, &all, e));
}

static int set_up(void **state)
{
    (void)fixture_setup(state);
    scratch_mkdir(&fx.scratch, "checkouts");
    dir_fd = openat(fx.scratch.fd, "checkouts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    open_all();
    put("a.txt", "text");
    look_again();
    return 0;
}

static int tear_down(void **state)
{
    checkouts_close(all);
    (void)close(dir_fd);
    return fixture_teardown(state);
}

static bool is_on_disk(const char *workspace)
{
    return faccessat(dir_fd, workspace, F_OK, 0) == 0;
}

static void make_workspace(const char *name, struct workspace_row *ret)
{
    OK(files_workspace_create(fx.files, &fx.who, name, ret, e));
}

static void what_is_used_stays(void **state)
{
    (void)state;
    struct checkout one, other;
    OK(checkout_take(all, &fx.ws, &one, e));
    checkout_share(&one, &other);
    checkout_release(all, &one);
    checkouts_tidy(all, /* unused_us= */ 0);
    assert_int_equal(checkouts_count(all), 1);
    assert_true(is_on_disk(fx.ws.id));
    assert_int_equal(faccessat(other.fds[0], "a.txt", F_OK, 0), 0);
    checkout_release(all, &other);
    checkouts_tidy(all, (int64_t)3600 * 1000000);
    assert_int_equal(checkouts_count(all), 1);
    assert_true(is_on_disk(fx.ws.id));
}

static void what_nobody_uses_is_forgotten(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        struct workspace_row ws;
        struct checkout one;
        char name[32];
        (void)snprintf(name, sizeof name, "w%d", i);
        make_workspace(name, &ws);
        OK(checkout_take(all, &ws, &one, e));
        checkout_release(all, &one);
        assert_true(is_on_disk(ws.id));
        checkouts_tidy(all, /* unused_us= */ 0);
        assert_false(is_on_disk(ws.id));
        workspace_row_done(&ws);
    }
    assert_int_equal(checkouts_count(all), 0);
}

static void a_layer_below_that_somebody_has_stays(void **state)
{
    (void)state;
    struct checkout old, newer, next;
    OK(checkout_take(all, &fx.ws, &old, e));
    put("b.txt", "more");
    look_again();
    OK(checkout_take(all, &fx.ws, &newer, e));
    assert_true(newer.count > old.count);
    checkout_release(all, &newer);
    checkouts_tidy(all, /* unused_us= */ 0);
    OK(checkout_take(all, &fx.ws, &next, e));
    checkout_release(all, &old);
    assert_int_equal(faccessat(next.fds[next.count - 1], "a.txt", F_OK, 0), 0);
    checkout_release(all, &next);
}

static void it_is_made_again_when_it_is_wanted(void **state)
{
    (void)state;
    struct checkout one;
    for (int i = 0; i < 3; i++) {
        OK(checkout_take(all, &fx.ws, &one, e));
        assert_int_equal(faccessat(one.fds[0], "a.txt", F_OK, 0), 0);
        checkout_release(all, &one);
        checkouts_tidy(all, /* unused_us= */ 0);
    }
}

static void what_an_earlier_server_left_and_nobody_wants_goes(void **state)
{
    (void)state;
    struct checkout one;
    OK(checkout_take(all, &fx.ws, &one, e));
    checkout_release(all, &one);
    checkouts_close(all);
    open_all();
    checkouts_tidy(all, (int64_t)3600 * 1000000);
    assert_true(is_on_disk(fx.ws.id)); /* it may still be wanted */
    checkouts_tidy(all, /* unused_us= */ 0);
    assert_false(is_on_disk(fx.ws.id));
}

static void that_of_a_deleted_workspace_goes_at_once(void **state)
{
    (void)state;
    struct workspace_row ws;
    struct checkout one;
    make_workspace("gone", &ws);
    OK(checkout_take(all, &ws, &one, e));
    checkout_release(all, &one);
    OK(meta_workspace_delete(files_meta(fx.files), ws.id, clock_wall_us(), e));
    checkouts_tidy(all, (int64_t)3600 * 1000000);
    assert_false(is_on_disk(ws.id));
    assert_int_equal(checkouts_count(all), 0);
    workspace_row_done(&ws);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_used_stays),
        TEST(what_nobody_uses_is_forgotten),
        TEST(a_layer_below_that_somebody_has_stays),
        TEST(it_is_made_again_when_it_is_wanted),
        TEST(what_an_earlier_server_left_and_nobody_wants_goes),
        TEST(that_of_a_deleted_workspace_goes_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
