/* What kernel.h, rest.h and twin.h promise about starting, sleeping, waking and copies, with
 * processes that only play a kernel. */
#include "session/rest.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/scope.h"
#include "image/format.h"
#include "session/fake.h"
#include "session/kernel_int.h"
#include "session/twin.h"

struct world {
    struct scratch dir;
    struct spawner *spawner;
    int image; /* as much of one as the fake looks at */
    int delta;
    struct limits limits;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    uint64_t magic = IMAGE_MAGIC;
    w->dir = scratch_new();
    w->spawner = fake_spawner("/none");
    w->image = memfd_create("image", MFD_CLOEXEC);
    w->delta = memfd_create("delta", MFD_CLOEXEC);
    w->limits = LIMITS_DEFAULT;
    assert_int_equal(write(w->image, &magic, sizeof magic), sizeof magic);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    spawner_close(w->spawner);
    (void)close(w->image);
    (void)close(w->delta);
    scratch_done(&w->dir);
    free(w);
    return 0;
}

static struct kernel *start(struct world *w, int data_fd, int image_fd, int delta_fd)
{
    struct kernel *k = NULL;
    struct err e = {0};
    const struct kernel_origin origin = {image_fd, delta_fd, -1};
    if (kernel_start(w->spawner, &w->limits, data_fd < 0 ? NULL : &JAIL_DATA_PLAIN(data_fd),
                     &origin, &k, &e))
        fail_msg("%s", e.text);
    return k;
}

static struct kernel *start_baked(struct world *w)
{
    return start(w, w->dir.fd, w->image, -1);
}

static void run_code(struct kernel *k, const char *code, struct run *ret)
{
    struct run_spec spec = {.code = code, .code_len = strlen(code)};
    struct err e = {0};
    if (kernel_run(k, &spec, NULL, ret, &e))
        fail_msg("%s", e.text);
}

static void expect(struct kernel *k, const char *code, const char *output)
{
    struct run run;
    run_code(k, code, &run);
    scoped(freep) char *text = fake_output(&run);
    run_done(&run);
    assert_non_null(text);
    assert_string_equal(text, output);
}

static char *output(struct kernel *k, const char *code)
{
    struct run run;
    run_code(k, code, &run);
    char *text = fake_output(&run);
    run_done(&run);
    assert_non_null(text);
    return text;
}

static void sleep_well(struct world *w, struct kernel *k, enum sleep_way way)
{
    struct rest_report report;
    struct err e = {0};
    if (kernel_sleep(k, way, w->delta, &report, &e))
        fail_msg("%s", e.text);
    assert_false(report.is_refused);
    assert_int_equal(report.len, lseek(w->delta, 0, SEEK_CUR));
    rest_report_done(&report);
    assert_int_equal(lseek(w->delta, 0, SEEK_SET), 0);
}

static void one_from_an_image_hears_of_its_cpu_limit(void **state)
{
    struct world *w = *state;
    w->limits.cpu_milli = 2500;
    struct kernel *k = start_baked(w);
    assert_true(kernel_is_baked(k));
    expect(k, "env",
           "OMP_NUM_THREADS=3 OPENBLAS_NUM_THREADS=3 NUMEXPR_NUM_THREADS=3 MKL_NUM_THREADS=3\n");
    kernel_free(k);
}

static void a_cold_one_hears_nothing_and_is_not_baked(void **state)
{
    struct world *w = *state;
    struct kernel *k = start(w, w->dir.fd, -1, -1);
    assert_false(kernel_is_baked(k));
    expect(k, "env", "\n");
    kernel_free(k);
}

static void a_parked_one_runs_nothing_before_it_is_attached(void **state)
{
    struct world *w = *state;
    struct kernel *k = start(w, -1, w->image, -1);
    struct run_spec spec = {.code = "get", .code_len = 3};
    struct run run;
    struct err e = {0};
    assert_int_equal(kernel_run(k, &spec, NULL, &run, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    assert_int_equal(kernel_warm(k, &e), 0);
    assert_int_equal(kernel_attach(k, &JAIL_DATA_PLAIN(w->dir.fd), &e), 0);
    scoped(freep) char *env = output(k, "env");
    assert_non_null(strstr(env, "WARM=1 OMP_NUM_THREADS=1 "));
    assert_int_equal(kernel_attach(k, &JAIL_DATA_PLAIN(w->dir.fd), &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    kernel_free(k);
}

static void one_that_slept_wakes_with_its_memory(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    expect(k, "set apples", "");
    scoped(freep) char *seed = output(k, "seed");
    sleep_well(w, k, SLEEP_EXITS);
    assert_false(kernel_is_alive(k));
    kernel_free(k);

    k = start(w, w->dir.fd, w->image, w->delta);
    struct run run;
    run_code(k, "get", &run);
    assert_int_equal(run.state, STATE_WOKEN);
    scoped(freep) char *text = fake_output(&run);
    assert_string_equal(text, "apples\n");
    run_done(&run);
    expect(k, "seed", seed); /* a plain wake keeps it */
    run_code(k, "get", &run);
    assert_int_equal(run.state, STATE_KEPT);
    run_done(&run);
    kernel_free(k);
}

static void one_that_stays_goes_on(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    expect(k, "set pears", "");
    sleep_well(w, k, SLEEP_STAYS);
    expect(k, "get", "pears\n");
    kernel_free(k);
}

static void a_branch_is_reseeded_when_told(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    scoped(freep) char *seed = output(k, "seed");
    sleep_well(w, k, SLEEP_STAYS);
    struct kernel *branch = start(w, w->dir.fd, w->image, w->delta);
    struct err e = {0};
    assert_int_equal(kernel_reseed(branch, &e), 0);
    scoped(freep) char *other = output(branch, "seed");
    assert_string_not_equal(seed, other);
    expect(k, "seed", seed);
    kernel_free(branch);
    kernel_free(k);
}

static void who_cannot_sleep_says_why_and_lives_on(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct rest_report report;
    struct err e = {0};
    expect(k, "busy", "");
    assert_int_equal(kernel_sleep(k, SLEEP_EXITS, w->delta, &report, &e), 0);
    assert_true(report.is_refused);
    assert_int_equal(report.reasons.count, 1);
    assert_string_equal(report.reasons.list[0], "thread 'worker' is alive");
    rest_report_done(&report);
    expect(k, "calm", "");
    sleep_well(w, k, SLEEP_STAYS);
    kernel_free(k);
}

static void who_leaves_instead_of_sleeping_is_dead(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct rest_report report;
    struct err e = {0};
    expect(k, "leave", "");
    assert_int_equal(kernel_sleep(k, SLEEP_STAYS, w->delta, &report, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_false(kernel_is_alive(k));
    kernel_free(k);
}

static void a_full_disk_does_not_end_the_kernel(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct rest_report report;
    struct err e = {0};
    scoped(fd_closep) int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    expect(k, "fat 3000000", ""); /* more than a pipe holds */
    assert_int_equal(kernel_sleep(k, SLEEP_STAYS, full, &report, &e), -1);
    assert_int_equal(e.code, ERR_NO_SPACE);
    expect(k, "get", "\n");
    sleep_well(w, k, SLEEP_STAYS);
    kernel_free(k);
}

static void one_that_writes_more_than_its_memory_is_not_kept(void **state)
{
    struct world *w = *state;
    w->limits.memory_bytes = 32 * MIB;
    struct kernel *k = start_baked(w);
    struct rest_report report;
    struct err e = {0};
    expect(k, "fat 60000000", "");
    assert_int_equal(kernel_sleep(k, SLEEP_STAYS, w->delta, &report, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    assert_true(lseek(w->delta, 0, SEEK_END) < 50 << 20);
    expect(k, "get", "\n");
    kernel_free(k);
}

static void a_delta_that_is_none_starts_nothing(void **state)
{
    struct world *w = *state;
    const struct kernel_origin origin = {w->image, w->delta, -1};
    struct kernel *k = NULL;
    struct err e = {0};
    assert_int_equal(write(w->delta, "rubbish\n", 8), 8);
    assert_int_equal(lseek(w->delta, 0, SEEK_SET), 0);
    assert_int_equal(
        kernel_start(w->spawner, &w->limits, &JAIL_DATA_PLAIN(w->dir.fd), &origin, &k, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
}

static void variables_are_saved_and_restored_and_what_is_lost_is_named(void **state)
{
    struct world *w = *state;
    struct kernel *k = start(w, w->dir.fd, -1, -1);
    struct rest_report report;
    struct err e = {0};
    expect(k, "set plums", "");
    expect(k, "odd generator", "");
    assert_int_equal(kernel_save(k, w->delta, &report, &e), 0);
    assert_int_equal(report.len, 5);
    assert_string_equal(report.saved.list[0], "memory");
    assert_int_equal(report.lost.count, 1);
    assert_string_equal(report.lost.list[0], "generator");
    rest_report_done(&report);
    kernel_free(k);

    k = start_baked(w);
    assert_int_equal(lseek(w->delta, 0, SEEK_SET), 0);
    assert_int_equal(kernel_restore(k, w->delta, &report, &e), 0);
    assert_int_equal(report.saved.count, 1);
    rest_report_done(&report);
    expect(k, "get", "plums\n");
    kernel_free(k);
}

static void what_was_lost_is_told_by_the_next_run_once(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct names lost = {0};
    struct err e = {0};
    struct run run;
    assert_int_equal(names_add(&lost, "gen", 3, &e), 0);
    kernel_foretell(k, STATE_LOST, &lost);
    assert_int_equal(lost.count, 0);
    run_code(k, "get", &run);
    assert_int_equal(run.state, STATE_LOST);
    assert_int_equal(run.lost.count, 1);
    run_done(&run);
    run_code(k, "get", &run);
    assert_int_equal(run.state, STATE_KEPT);
    assert_int_equal(run.lost.count, 0);
    run_done(&run);
    kernel_free(k);
}

static struct twin copy_of(struct kernel *k)
{
    struct twin twin = TWIN_NONE;
    struct rest_report report;
    struct err e = {0};
    if (kernel_copy(k, &twin, &report, &e))
        fail_msg("%s", e.text);
    assert_false(report.is_refused);
    rest_report_done(&report);
    assert_true(twin.pid > 0);
    return twin;
}

static void going_back_to_a_copy_brings_back_its_memory(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct err e = {0};
    expect(k, "set one", "");
    struct twin first = copy_of(k);
    expect(k, "set two", "");
    struct twin second = copy_of(k);
    expect(k, "set three", "");
    assert_int_equal(kernel_switch(k, &second, &e), 0);
    assert_int_equal(second.control, -1);
    expect(k, "get", "two\n");
    assert_int_equal(kernel_switch(k, &first, &e), 0);
    expect(k, "get", "one\n");
    expect(k, "set four", "");
    expect(k, "get", "four\n");
    kernel_free(k);
}

static void a_copy_that_was_let_go_cannot_be_gone_back_to(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct err e = {0};
    expect(k, "set one", "");
    struct twin twin = copy_of(k);
    struct twin gone = {.control = -1, .pid = twin.pid};
    scoped(fd_closep) int life = (int)syscall(SYS_pidfd_open, twin.pid, 0);
    struct pollfd ended = {.fd = life, .events = POLLIN};
    twin_done(&twin);
    assert_int_equal(poll(&ended, 1, 10000), 1);
    assert_int_equal(kernel_switch(k, &gone, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    expect(k, "get", "one\n");
    kernel_free(k);
}

static void who_cannot_be_copied_says_why(void **state)
{
    struct world *w = *state;
    struct kernel *k = start_baked(w);
    struct twin twin = TWIN_NONE;
    struct rest_report report;
    struct err e = {0};
    expect(k, "busy", "");
    assert_int_equal(kernel_copy(k, &twin, &report, &e), 0);
    assert_true(report.is_refused);
    assert_int_equal(report.reasons.count, 1);
    assert_int_equal(twin.control, -1);
    rest_report_done(&report);
    expect(k, "get", "\n");
    kernel_free(k);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(one_from_an_image_hears_of_its_cpu_limit),
        TEST(a_cold_one_hears_nothing_and_is_not_baked),
        TEST(a_parked_one_runs_nothing_before_it_is_attached),
        TEST(one_that_slept_wakes_with_its_memory),
        TEST(one_that_stays_goes_on),
        TEST(a_branch_is_reseeded_when_told),
        TEST(who_cannot_sleep_says_why_and_lives_on),
        TEST(who_leaves_instead_of_sleeping_is_dead),
        TEST(a_full_disk_does_not_end_the_kernel),
        TEST(one_that_writes_more_than_its_memory_is_not_kept),
        TEST(a_delta_that_is_none_starts_nothing),
        TEST(variables_are_saved_and_restored_and_what_is_lost_is_named),
        TEST(what_was_lost_is_told_by_the_next_run_once),
        TEST(going_back_to_a_copy_brings_back_its_memory),
        TEST(a_copy_that_was_let_go_cannot_be_gone_back_to),
        TEST(who_cannot_be_copied_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
