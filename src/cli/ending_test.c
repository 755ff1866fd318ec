#include "cli/ending.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"
#include "session/run.h"

static const struct run sample = {.limits = LIMITS_DEFAULT, .duration_us = 2040000};

static void check(struct run run, int code, const char *expected)
{
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    run.limits = sample.limits;
    run.duration_us = sample.duration_us;
    ending_text(&run, &out);
    assert_string_equal(out.bytes ? out.bytes : "", expected);
    assert_int_equal(ending_exit_code(&run), code);
}

static void every_end_has_its_exit_code_and_its_words(void **state)
{
    (void)state;
    check((struct run){.end = END_OK}, 0, "");
    check((struct run){.end = END_ERROR}, 1, "");
    check((struct run){.end = END_ERROR, .error.name = "MemoryError"}, 1,
          "not enough memory left in the session (limit 1 GiB)");
    check((struct run){.end = END_TIMEOUT}, 124, "ended by timeout after 2.0 s (limit 60 s)");
    check((struct run){.end = END_MEMORY, .memory_peak = GIB}, 137,
          "ended by memory: peak 1 GiB (limit 1 GiB)");
    check((struct run){.end = END_DISK, .disk_bytes = 300 * MIB, .disk_files = 2}, 138,
          "ended by disk: /mnt/data grew by 300 MiB and 2 files (limit 256 MiB and 20000 files)");
    check((struct run){.end = END_DISK, .is_disk_full = true}, 138,
          "ended by disk: the server's disk is nearly full");
    check((struct run){.end = END_OUTPUT_LIMIT, .out.total = 65 * MIB}, 139,
          "ended by output_limit: printed 65 MiB (limit 64 MiB)");
    check((struct run){.end = END_CANCELLED}, 130, "cancelled after 2.0 s");
    check((struct run){.end = END_KILLED}, 140, "the session was killed");
}

static void a_crash_names_what_it_was(void **state)
{
    (void)state;
    check((struct run){.end = END_CRASHED, .crash_signal = SIGSEGV}, 134,
          "the interpreter crashed: SIGSEGV (Segmentation fault)");
    check((struct run){.end = END_CRASHED, .crash_signal = 40}, 134,
          "the interpreter crashed: signal 40");
    check((struct run){.end = END_CRASHED, .crash_code = 3}, 134,
          "the interpreter crashed: it exited with code 3");
}

static void every_bad_end_has_advice_and_otherwise_the_hint_counts(void **state)
{
    (void)state;
    struct run run = {.end = END_OK};
    assert_null(ending_advice(&run));
    (void)snprintf(run.hint, sizeof run.hint, "the engine's");
    assert_string_equal(ending_advice(&run), "the engine's");
    run.end = END_TIMEOUT;
    assert_non_null(strstr(ending_advice(&run), "--timeout"));
    run.end = END_MEMORY;
    assert_non_null(strstr(ending_advice(&run), "--memory"));
    run.end = END_ERROR;
    assert_string_equal(ending_advice(&run), "the engine's");
    run.error.name = "numpy.core._exceptions._ArrayMemoryError";
    assert_non_null(strstr(ending_advice(&run), "--memory"));
    run.end = END_DISK;
    assert_non_null(strstr(ending_advice(&run), "--disk"));
    run.is_disk_full = true;
    assert_string_equal(ending_advice(&run), "the engine's");
    run.end = END_KILLED;
    assert_string_equal(ending_advice(&run), "the engine's");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_end_has_its_exit_code_and_its_words),
        cmocka_unit_test(a_crash_names_what_it_was),
        cmocka_unit_test(every_bad_end_has_advice_and_otherwise_the_hint_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
