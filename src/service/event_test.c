#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/event.h"

static const struct event_reader admin = {.principal = "prn_a", .is_admin = true};
static const struct event_reader viewer = {.principal = "prn_v"};

#define COMMIT                                                                              \
    "{\"time\":\"t\",\"event\":\"putFile\",\"result\":\"ok\",\"principal\":\"prn_a\","      \
    "\"key\":\"key_1\",\"via\":\"rest\",\"peer\":\"192.0.2.9\",\"agent\":\"curl/8\","       \
    "\"request\":\"req_1\",\"workspace\":\"ws_1\",\"session\":\"ses_1\",\"run\":\"run_1\"," \
    "\"object\":\"file_1\",\"path\":\"a/b.csv\",\"version\":3,\"rev\":7,"                   \
    "\"detail\":{\"changes\":[{\"path\":\"a/b.csv\"}]}}"
#define SHARE                                                                               \
    "{\"event\":\"createShare\",\"principal\":\"prn_a\",\"workspace\":\"ws_1\",\"object\":" \
    "\"shr_1\",\"detail\":{\"rev\":1,\"note\":\"x\"}}"
#define LOCK                                                                   \
    "{\"event\":\"breakLock\",\"principal\":\"prn_a\",\"workspace\":\"ws_1\"," \
    "\"detail\":{\"holder\":\"h\"}}"

static struct audit_row row_of(const char *event, const char *record)
{
    return (struct audit_row){.seq = 12,
                              .at_us = 1767225600123456,
                              .workspace = "ws_1",
                              .principal = "prn_a",
                              .event = event,
                              .record = record};
}

static void expect(const struct audit_row *row, const struct event_reader *reader, const char *text)
{
    struct err e;
    scoped(buf_done) struct buf out = BUF_INIT(EVENT_BYTES_MAX);
    assert_int_equal(event_write(row, reader, &out, &e), 0);
    assert_string_equal(out.bytes, text);
}

static void an_event_has_what_is_listed_and_nothing_else_of_the_audit(void **state)
{
    (void)state;
    const struct audit_row row = row_of("putFile", COMMIT);
    static const char text[] =
        "{\"seq\":12,\"type\":\"putFile\",\"at\":\"2026-01-01T00:00:00.123Z\",\"principal\":"
        "\"prn_a\",\"via\":\"rest\",\"workspace_id\":\"ws_1\",\"object_id\":\"file_1\",\"file_id\":"
        "\"file_1\",\"path\":\"a/b.csv\",\"version\":3,\"rev\":7,\"session_id\":\"ses_1\","
        "\"run_id\":\"run_1\",\"detail\":{\"changes\":[{\"path\":\"a/b.csv\"}]}}";
    expect(&row, &viewer, text);
    expect(&row, &admin, text);
}

static void details_that_are_not_of_files_are_for_admins_and_who_did_it(void **state)
{
    (void)state;
    const struct audit_row row = row_of("breakLock", LOCK);
    static const struct event_reader doer = {.principal = "prn_a"};
    struct err e;
    scoped(buf_done) struct buf out = BUF_INIT(EVENT_BYTES_MAX);
    assert_int_equal(event_write(&row, &viewer, &out, &e), 0);
    assert_non_null(strstr(out.bytes, "\"detail\":null"));
    const struct event_reader *both[] = {&admin, &doer};
    for (size_t i = 0; i < 2; i++) {
        buf_done(&out);
        assert_int_equal(event_write(&row, both[i], &out, &e), 0);
        assert_non_null(strstr(out.bytes, "\"detail\":{\"holder\":\"h\"}"));
    }
}

static void readers_see_files_locks_and_their_own_and_admins_all(void **state)
{
    (void)state;
    static const struct event_reader doer = {.principal = "prn_a"};
    struct audit_row put = row_of("saveFiles", COMMIT), share = row_of("createShare", SHARE),
                     lock = row_of("breakLock", LOCK), run = row_of("runInSession", SHARE);
    assert_true(event_is_shown(&put, &viewer));
    assert_true(event_is_shown(&lock, &viewer));
    assert_false(event_is_shown(&share, &viewer)); /* a "rev" in its detail makes it no commit */
    assert_false(event_is_shown(&run, &viewer));
    assert_true(event_is_shown(&share, &doer));
    assert_true(event_is_shown(&share, &admin));
    assert_true(event_is_shown(&run, &admin));
    put.is_read = true;
    assert_false(event_is_shown(&put, &admin));
    put.is_read = false;
    put.result = AUDIT_DENIED;
    assert_false(event_is_shown(&put, &admin));
    share.principal = NULL;
    assert_false(event_is_shown(&share, &doer));
}

static void what_is_no_record_is_told(void **state)
{
    (void)state;
    struct err e = {0};
    const struct audit_row row = row_of("putFile", "{\"rev\":");
    scoped(buf_done) struct buf out = BUF_INIT(EVENT_BYTES_MAX);
    assert_int_equal(event_write(&row, &admin, &out, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
}

static void types_are_names_and_patterns(void **state)
{
    (void)state;
    struct err e;
    static const char *const right[] = {
        "", "putFile", "putFile,moveFile", "*", "*File*,run?", "webhook.test", "a-b_c.d"};
    static const char *const wrong[] = {",", "a,", ",a", "a,,b", "a b", "a/b", "[a]", "a\n"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_int_equal(event_types_check(right[i], &e), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(event_types_check(wrong[i], &e), -1);
    assert_true(event_types_fit("", "putFile"));
    assert_true(event_types_fit("moveFile,putFile", "putFile"));
    assert_true(event_types_fit("*File", "putFile"));
    assert_false(event_types_fit("*File", "saveFiles"));
    assert_false(event_types_fit("putFil", "putFile"));
    assert_false(event_types_fit("putfile", "putFile"));
}

static void exactly_the_limits_of_types_fit_and_one_more_does_not(void **state)
{
    (void)state;
    struct err e;
    char text[2 * EVENT_TYPES_SIZE] = "";
    memset(text, 'a', EVENT_TYPE_LEN_MAX);
    assert_int_equal(event_types_check(text, &e), 0);
    text[EVENT_TYPE_LEN_MAX] = 'a';
    assert_int_equal(event_types_check(text, &e), -1);
    size_t len = 0;
    for (int i = 0; i < EVENT_TYPES_MAX; i++, len += 2)
        memcpy(text + len, "b,", 3);
    text[len - 1] = '\0';
    assert_int_equal(event_types_check(text, &e), 0);
    memcpy(text + len - 1, ",b", 3);
    assert_int_equal(event_types_check(text, &e), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_has_what_is_listed_and_nothing_else_of_the_audit),
        cmocka_unit_test(details_that_are_not_of_files_are_for_admins_and_who_did_it),
        cmocka_unit_test(readers_see_files_locks_and_their_own_and_admins_all),
        cmocka_unit_test(what_is_no_record_is_told),
        cmocka_unit_test(types_are_names_and_patterns),
        cmocka_unit_test(exactly_the_limits_of_types_fit_and_one_more_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
