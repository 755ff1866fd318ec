/* What jail.h promises: every message survives the journey, and nothing else is taken for one. */
#include "wire/jail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"
#include "base/err.h"

static const struct jail_event an_end = {
    .kind = JAIL_ENDED,
    .cause = JAIL_OVER_MEMORY,
    .status = -9,
    .cpu_us = 1,
    .memory_peak = UINT64_MAX,
    .memory_now = 3,
    .disk_bytes = 4,
    .disk_files = 5,
    .brought_put = UINT32_MAX,
    .brought_removed = 6,
    .brought_failed = 7,
    .brought_errno = -8,
    .step = "mount /proc",
};

static void a_greeting_survives_the_journey(void **state)
{
    (void)state;
    struct jail_hello hello = {.tier = TIER_CONTAINER_USER, .landlock_abi = 6, .cgroup = 2};
    for (int i = 0; i < MECH_COUNT; i++)
        hello.failure[i] = i - 3;
    uint8_t bytes[JAIL_HELLO_SIZE];
    struct jail_hello back = {0};
    struct err e = {0};
    jail_hello_put(&hello, bytes);
    assert_int_equal(jail_hello_get(bytes, sizeof bytes, &back, &e), 0);
    assert_int_equal(back.tier, TIER_CONTAINER_USER);
    assert_int_equal(back.landlock_abi, 6);
    assert_int_equal(back.cgroup, 2);
    assert_memory_equal(back.failure, hello.failure, sizeof hello.failure);
}

/* Every field of it different from what an empty one has. */
static const struct jail_spec a_waking = {.start = JAIL_IMAGE,
                                          .has_data = true,
                                          .has_delta = true,
                                          .has_libraries = true,
                                          .limits = LIMITS_DEFAULT};

static void a_spec_survives_the_journey(void **state)
{
    (void)state;
    struct jail_spec spec = a_waking, back = {0};
    uint8_t bytes[JAIL_SPEC_SIZE];
    struct err e = {0};
    jail_spec_put(&spec, bytes);
    assert_int_equal(jail_spec_get(bytes, sizeof bytes, &back, &e), 0);
    assert_int_equal(back.start, JAIL_IMAGE);
    assert_true(back.has_data);
    assert_true(back.has_delta);
    assert_true(back.has_libraries);
    assert_int_equal(back.limits.memory_bytes, spec.limits.memory_bytes);
    assert_int_equal(back.limits.disk_bytes, spec.limits.disk_bytes);
    assert_int_equal(back.limits.file_bytes, spec.limits.file_bytes);
    assert_int_equal(back.limits.tmp_bytes, spec.limits.tmp_bytes);
    assert_int_equal(back.limits.output_bytes, spec.limits.output_bytes);
    assert_int_equal(back.limits.drain_bytes, spec.limits.drain_bytes);
    assert_int_equal(back.limits.cpu_milli, spec.limits.cpu_milli);
    assert_int_equal(back.limits.pids, spec.limits.pids);
    assert_int_equal(back.limits.files, spec.limits.files);
    assert_int_equal(back.limits.open_files, spec.limits.open_files);
    assert_int_equal(back.limits.wall_ms, spec.limits.wall_ms);
}

/* Which ways to start there are, with which descriptors; every other combination is none. */
static const struct start_row {
    uint8_t start, has_data, has_delta, has_libraries;
    uint8_t count;
    int which[JAIL_FDS];
} start_rows[] = {
    {JAIL_COLD, 1, 0, 0, 5, {0, 1, 2, 3, JAIL_FD_DATA}},
    {JAIL_COLD, 0, 0, 0, 4, {0, 1, 2, 3}},
    {JAIL_IMAGE, 1, 0, 0, 6, {0, 1, 2, 3, JAIL_FD_DATA, JAIL_FD_IMAGE}},
    {JAIL_IMAGE, 0, 0, 0, 5, {0, 1, 2, 3, JAIL_FD_IMAGE}},
    {JAIL_IMAGE, 1, 1, 0, 7, {0, 1, 2, 3, JAIL_FD_DATA, JAIL_FD_IMAGE, JAIL_FD_DELTA}},
    {JAIL_IMAGE,
     1,
     1,
     1,
     8,
     {0, 1, 2, 3, JAIL_FD_DATA, JAIL_FD_IMAGE, JAIL_FD_DELTA, JAIL_FD_LIBRARIES}},
    {JAIL_BAKE, 1, 0, 0, 6, {0, 1, 2, 3, JAIL_FD_DATA, JAIL_FD_IMAGE}},
};
enum { START_ROWS = sizeof start_rows / sizeof *start_rows };

static bool is_listed(const uint8_t bytes[4])
{
    for (size_t i = 0; i < START_ROWS; i++)
        if (start_rows[i].start == bytes[0] && start_rows[i].has_data == bytes[1] &&
            start_rows[i].has_delta == bytes[2] && start_rows[i].has_libraries == bytes[3])
            return true;
    return false;
}

static void only_starts_that_make_sense_are_taken(void **state)
{
    (void)state;
    uint8_t bytes[JAIL_SPEC_SIZE];
    jail_spec_put(&a_waking, bytes);
    for (unsigned i = 0; i < 8 * 4 * 4 * 4; i++) {
        struct jail_spec back = {0};
        struct err e = {0};
        bytes[4] = (uint8_t)(i / 64);
        bytes[5] = i / 16 % 4;
        bytes[6] = i / 4 % 4;
        bytes[7] = i % 4;
        bool is_fine = is_listed(bytes + 4);
        assert_int_equal(jail_spec_get(bytes, sizeof bytes, &back, &e), is_fine ? 0 : -1);
        assert_int_equal(e.code, is_fine ? ERR_NONE : ERR_PROTOCOL);
        assert_int_equal(back.start, is_fine ? bytes[4] : 0);
    }
}

/* So many layers, with which starts. */
static void only_a_data_directory_has_layers_and_not_too_many(void **state)
{
    (void)state;
    static const struct {
        struct jail_spec spec;
        uint32_t lowers;
        int verdict;
    } rows[] = {
        {{.start = JAIL_COLD, .has_data = true}, 1, 0},
        {{.start = JAIL_IMAGE, .has_data = true}, JAIL_LOWERS_MAX, 0},
        {{.start = JAIL_IMAGE, .has_data = true, .has_delta = true}, 2, 0},
        {{.start = JAIL_IMAGE, .has_data = true}, JAIL_LOWERS_MAX + 1, -1},
        {{.start = JAIL_IMAGE, .has_data = true}, UINT32_MAX, -1},
        {{.start = JAIL_IMAGE}, 1, -1},
        {{.start = JAIL_BAKE, .has_data = true}, 1, -1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint8_t bytes[JAIL_SPEC_SIZE];
        struct jail_spec spec = rows[i].spec, back = {0};
        struct err e = {0};
        spec.lower_count = rows[i].lowers;
        spec.limits = a_waking.limits;
        jail_spec_put(&spec, bytes);
        assert_int_equal(jail_spec_get(bytes, sizeof bytes, &back, &e), rows[i].verdict);
        assert_int_equal(e.code, rows[i].verdict ? ERR_PROTOCOL : ERR_NONE);
        assert_int_equal(back.lower_count, rows[i].verdict ? 0 : rows[i].lowers);
    }
}

static void layers_are_described_by_their_descriptors(void **state)
{
    (void)state;
    const struct jail_data overlay = {
        .dir_fd = 5, .work_fd = 6, .lower_fds = {7, 8, 9}, .lower_count = 3};
    const struct jail_spec spec = {.start = JAIL_COLD, .has_data = true, .lower_count = 3};
    const int order[] = {0,
                         1,
                         2,
                         3,
                         JAIL_FD_DATA,
                         JAIL_FD_WORK,
                         JAIL_FD_LOWER,
                         JAIL_FD_LOWER + 1,
                         JAIL_FD_LOWER + 2};
    int fds[JAIL_DATA_FDS], which[JAIL_FDS];
    assert_int_equal(jail_spec_fds(&spec, which), 9);
    assert_memory_equal(which, order, sizeof order);
    assert_int_equal(jail_data_fds(&overlay, fds), 5);
    const struct jail_data back = jail_data_from(fds, 3);
    assert_int_equal(back.dir_fd, 5);
    assert_int_equal(back.work_fd, 6);
    assert_memory_equal(back.lower_fds, overlay.lower_fds, 3 * sizeof(int));
    assert_int_equal(back.lower_count, 3);

    assert_int_equal(jail_data_fds(&JAIL_DATA_PLAIN(4), fds), 1);
    const struct jail_data plain = jail_data_from(fds, 0);
    assert_int_equal(plain.dir_fd, 4);
    assert_int_equal(plain.work_fd, -1);
    assert_int_equal(plain.lower_count, 0);
}

static void only_attach_has_layers(void **state)
{
    (void)state;
    for (uint32_t kind = JAIL_INTERRUPT; kind <= JAIL_MARK; kind++) {
        bool has_pid = kind == JAIL_COPY || kind == JAIL_SWITCH;
        for (uint32_t lowers = 0; lowers < 2 * JAIL_LOWERS_MAX; lowers++) {
            const struct jail_request request = {
                .kind = kind, .pid = has_pid ? 1 : 0, .lower_count = lowers};
            struct jail_request back = {0};
            struct err e = {0};
            uint8_t bytes[JAIL_REQUEST_SIZE];
            bool is_fine = lowers == 0 || (kind == JAIL_ATTACH && lowers <= JAIL_LOWERS_MAX);
            jail_request_put(&request, bytes);
            assert_int_equal(jail_request_get(bytes, sizeof bytes, &back, &e), is_fine ? 0 : -1);
            assert_int_equal(back.lower_count, is_fine ? lowers : 0);
        }
    }
}

static void the_descriptors_of_a_spec_come_in_order_and_without_gaps(void **state)
{
    (void)state;
    for (size_t i = 0; i < START_ROWS; i++) {
        const struct start_row *row = &start_rows[i];
        const struct jail_spec spec = {.start = row->start,
                                       .has_data = row->has_data,
                                       .has_delta = row->has_delta,
                                       .has_libraries = row->has_libraries};
        int which[JAIL_FDS];
        assert_int_equal(jail_spec_fds(&spec, which), row->count);
        assert_memory_equal(which, row->which, row->count * sizeof *which);
    }
}

static void every_kind_of_request_survives_and_no_other_does(void **state)
{
    (void)state;
    uint8_t bytes[JAIL_REQUEST_SIZE];
    for (uint32_t kind = 0; kind < 10; kind++) {
        bool is_known = kind >= JAIL_INTERRUPT && kind <= JAIL_MARK;
        bool has_pid = kind == JAIL_COPY || kind == JAIL_SWITCH;
        struct jail_request request = {.kind = JAIL_KILL, .pid = has_pid ? INT32_MAX : 0};
        struct jail_request back = {0};
        struct err e = {0};
        jail_request_put(&request, bytes);
        put_u32(bytes + 4, kind);
        assert_int_equal(jail_request_get(bytes, sizeof bytes, &back, &e), is_known ? 0 : -1);
        assert_int_equal(back.kind, is_known ? kind : 0);
        assert_int_equal(back.pid, request.pid);
    }
}

/* Neither a group (kill(-1) would be everybody) nor nobody. */
static void a_request_names_one_process_exactly_when_it_needs_one(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind, pid;
        int verdict;
    } rows[] = {
        {JAIL_COPY, 1, 0},    {JAIL_COPY, INT32_MAX, 0},         {JAIL_COPY, 0, -1},
        {JAIL_SWITCH, 0, -1}, {JAIL_SWITCH, UINT32_MAX, -1},     {JAIL_ATTACH, 1, -1},
        {JAIL_KILL, 1, -1},   {JAIL_COPY, INT32_MAX + 1u, -1},   {JAIL_INTERRUPT, 0, 0},
        {JAIL_USAGE, 0, 0},   {JAIL_USAGE, UINT32_MAX - 1u, -1},
    };
    uint8_t bytes[JAIL_REQUEST_SIZE];
    jail_request_put(&(struct jail_request){.kind = JAIL_KILL}, bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jail_request back = {.pid = 42};
        struct err e = {0};
        put_u32(bytes + 4, rows[i].kind);
        put_u32(bytes + 8, rows[i].pid);
        assert_int_equal(jail_request_get(bytes, sizeof bytes, &back, &e), rows[i].verdict);
        assert_int_equal(e.code, rows[i].verdict ? ERR_PROTOCOL : ERR_NONE);
        assert_int_equal(back.pid, rows[i].verdict ? 42 : (int32_t)rows[i].pid);
    }
}

static void an_event_survives_the_journey(void **state)
{
    (void)state;
    uint8_t bytes[JAIL_EVENT_SIZE];
    struct jail_event back = {0};
    struct err e = {0};
    jail_event_put(&an_end, bytes);
    assert_int_equal(jail_event_get(bytes, sizeof bytes, &back, &e), 0);
    assert_int_equal(back.kind, an_end.kind);
    assert_int_equal(back.cause, an_end.cause);
    assert_int_equal(back.status, -9);
    assert_int_equal(back.cpu_us, 1);
    assert_true(back.memory_peak == UINT64_MAX);
    assert_int_equal(back.memory_now, 3);
    assert_int_equal(back.disk_bytes, 4);
    assert_int_equal(back.disk_files, 5);
    assert_true(back.brought_put == UINT32_MAX);
    assert_int_equal(back.brought_removed, 6);
    assert_int_equal(back.brought_failed, 7);
    assert_int_equal(back.brought_errno, -8);
    assert_string_equal(back.step, "mount /proc");
}

static void a_step_without_an_end_is_ended(void **state)
{
    (void)state;
    uint8_t bytes[JAIL_EVENT_SIZE];
    struct jail_event back = {0};
    struct err e = {0};
    jail_event_put(&an_end, bytes);
    memset(bytes + JAIL_EVENT_SIZE - sizeof back.step, 'x', sizeof back.step);
    assert_int_equal(jail_event_get(bytes, sizeof bytes, &back, &e), 0);
    assert_int_equal(strlen(back.step), sizeof back.step - 1);
}

static void an_event_of_an_unknown_kind_or_cause_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t kind, cause;
        int verdict;
    } rows[] = {
        {JAIL_STARTED, 0, 0},
        {JAIL_FAILED, 0, 0},
        {JAIL_USED, 0, 0},
        {JAIL_ENDED, JAIL_EXITED, 0},
        {JAIL_ENDED, JAIL_KILLED, 0},
        {JAIL_ATTACHED, 0, 0},
        {JAIL_SWITCHED, 0, 0},
        {JAIL_BROUGHT, 0, 0},
        {JAIL_FULL, 0, 0},
        {JAIL_ENDED, JAIL_OVER_RESERVE, 0},
        {JAIL_ENDED, 0, -1},
        {JAIL_ENDED, JAIL_KILLED + 1, -1},
        {0, 0, -1},
        {JAIL_FULL + 1, 0, -1},
        {UINT32_MAX, 0, -1},
        {JAIL_ENDED, UINT32_MAX, -1},
    };
    uint8_t bytes[JAIL_EVENT_SIZE];
    jail_event_put(&an_end, bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct jail_event back = {.status = 42};
        struct err e = {0};
        put_u32(bytes + 4, rows[i].kind);
        put_u32(bytes + 8, rows[i].cause);
        assert_int_equal(jail_event_get(bytes, sizeof bytes, &back, &e), rows[i].verdict);
        assert_int_equal(e.code, rows[i].verdict ? ERR_PROTOCOL : ERR_NONE);
        assert_int_equal(back.status, rows[i].verdict ? 42 : -9);
    }
}

static void a_greeting_with_an_unknown_tier_is_refused(void **state)
{
    (void)state;
    struct jail_hello hello = {.tier = TIER_FULL}, back = {.cgroup = 42};
    uint8_t bytes[JAIL_HELLO_SIZE];
    struct err e = {0};
    jail_hello_put(&hello, bytes);
    put_u32(bytes + 4, TIER_CONTAINER_USER + 1);
    assert_int_equal(jail_hello_get(bytes, sizeof bytes, &back, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(back.cgroup, 42);
}

/* One decoder's verdict on bytes that were copied to a place of exactly that size, so that the
 * sanitizer sees a read past the end. */
static int decode(int which, const uint8_t *bytes, size_t len, struct err *e)
{
    uint8_t *exact = malloc(len ? len : 1);
    assert_non_null(exact);
    memcpy(exact, bytes, len);
    struct jail_hello hello;
    struct jail_spec spec;
    struct jail_request request;
    struct jail_event event;
    int verdict = -1;
    switch (which) {
    case 0: verdict = jail_hello_get(exact, len, &hello, e); break;
    case 1: verdict = jail_spec_get(exact, len, &spec, e); break;
    case 2: verdict = jail_request_get(exact, len, &request, e); break;
    case 3: verdict = jail_event_get(exact, len, &event, e); break;
    default: fail();
    }
    free(exact);
    return verdict;
}

/* Writes a good message of each kind into `bytes` and returns its size. */
static size_t encode(int which, uint8_t bytes[256])
{
    switch (which) {
    case 0: jail_hello_put(&(struct jail_hello){.tier = TIER_FULL}, bytes); return JAIL_HELLO_SIZE;
    case 1: jail_spec_put(&a_waking, bytes); return JAIL_SPEC_SIZE;
    case 2:
        jail_request_put(&(struct jail_request){.kind = JAIL_KILL}, bytes);
        return JAIL_REQUEST_SIZE;
    default: jail_event_put(&an_end, bytes); return JAIL_EVENT_SIZE;
    }
}

static void a_message_of_any_other_length_is_refused(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        uint8_t bytes[256] = {0};
        size_t size = encode(which, bytes);
        for (size_t len = 0; len < sizeof bytes; len++) {
            struct err e = {0};
            assert_int_equal(decode(which, bytes, len, &e), len == size ? 0 : -1);
            assert_int_equal(e.code, len == size ? ERR_NONE : ERR_PROTOCOL);
        }
    }
}

static void no_message_is_taken_for_another(void **state)
{
    (void)state;
    for (int sent = 0; sent < 4; sent++)
        for (int taken = 0; taken < 4; taken++) {
            uint8_t bytes[256] = {0}, other[256];
            struct err e = {0};
            encode(sent, bytes);
            /* The length is right, so it is the magic that tells them apart. */
            size_t size = encode(taken, other);
            assert_int_equal(decode(taken, bytes, size, &e), sent == taken ? 0 : -1);
        }
}

static void a_spec_with_a_limit_out_of_range_is_refused(void **state)
{
    (void)state;
    struct jail_spec spec = a_waking, back = {.limits.pids = 42};
    spec.limits.pids = 0;
    uint8_t bytes[JAIL_SPEC_SIZE];
    struct err e = {0};
    jail_spec_put(&spec, bytes);
    assert_int_equal(jail_spec_get(bytes, sizeof bytes, &back, &e), -1);
    assert_int_equal(e.code, ERR_PROTOCOL);
    assert_int_equal(back.limits.pids, 42);
}

static void the_least_and_the_most_are_allowed_and_so_are_the_defaults(void **state)
{
    (void)state;
    struct err e = {0};
    assert_int_equal(limits_check(&LIMITS_MIN, &e), 0);
    assert_int_equal(limits_check(&LIMITS_MAX, &e), 0);
    assert_int_equal(limits_check(&LIMITS_DEFAULT, &e), 0);
}

/* Each field on its own, one below its least and one above its most. */
static void one_less_than_the_least_and_one_more_than_the_most_are_not(void **state)
{
    (void)state;
#define FIELD_BORDERS(field, name)                              \
    do {                                                        \
        struct limits low = LIMITS_MIN, high = LIMITS_MAX;      \
        struct err e = {0};                                     \
        low.field--;                                            \
        high.field++;                                           \
        assert_int_equal(limits_check(&low, &e), -1);           \
        assert_non_null(strstr(e.text, "the " name " limit ")); \
        assert_int_equal(limits_check(&high, &e), -1);          \
        assert_int_equal(e.code, ERR_INVALID);                  \
    } while (0)
    FIELD_BORDERS(memory_bytes, "memory");
    FIELD_BORDERS(disk_bytes, "disk");
    FIELD_BORDERS(file_bytes, "file size");
    FIELD_BORDERS(tmp_bytes, "tmp");
    FIELD_BORDERS(output_bytes, "output");
    FIELD_BORDERS(drain_bytes, "drain");
    FIELD_BORDERS(cpu_milli, "cpu");
    FIELD_BORDERS(pids, "pids");
    FIELD_BORDERS(files, "files");
    FIELD_BORDERS(open_files, "open files");
    FIELD_BORDERS(wall_ms, "wall time");
#undef FIELD_BORDERS
}

static void every_tier_has_a_name_of_its_own(void **state)
{
    (void)state;
    assert_string_equal(tier_name(TIER_FULL), "full");
    for (int a = TIER_NONE; a <= TIER_CONTAINER_USER; a++)
        for (int b = TIER_NONE; b < a; b++)
            assert_string_not_equal(tier_name((enum tier)a), tier_name((enum tier)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_greeting_survives_the_journey),
        cmocka_unit_test(a_spec_survives_the_journey),
        cmocka_unit_test(only_starts_that_make_sense_are_taken),
        cmocka_unit_test(the_descriptors_of_a_spec_come_in_order_and_without_gaps),
        cmocka_unit_test(only_a_data_directory_has_layers_and_not_too_many),
        cmocka_unit_test(layers_are_described_by_their_descriptors),
        cmocka_unit_test(only_attach_has_layers),
        cmocka_unit_test(every_kind_of_request_survives_and_no_other_does),
        cmocka_unit_test(a_request_names_one_process_exactly_when_it_needs_one),
        cmocka_unit_test(an_event_survives_the_journey),
        cmocka_unit_test(a_step_without_an_end_is_ended),
        cmocka_unit_test(an_event_of_an_unknown_kind_or_cause_is_refused),
        cmocka_unit_test(a_greeting_with_an_unknown_tier_is_refused),
        cmocka_unit_test(a_message_of_any_other_length_is_refused),
        cmocka_unit_test(no_message_is_taken_for_another),
        cmocka_unit_test(a_spec_with_a_limit_out_of_range_is_refused),
        cmocka_unit_test(the_least_and_the_most_are_allowed_and_so_are_the_defaults),
        cmocka_unit_test(one_less_than_the_least_and_one_more_than_the_most_are_not),
        cmocka_unit_test(every_tier_has_a_name_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
