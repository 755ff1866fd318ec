/* The audit: records, the chain, rides, lists. */
#include "store/audit.h"

#include "store/audit_int.h"
#include "store/meta_files_fixture.h"
#include "store/meta_sqlite.h"

static void record_is(const struct audit_entry *entry, const char *wanted)
{
    scoped(buf_done) struct buf b = BUF_INIT(AUDIT_RECORD_MAX);
    audit_record(entry, &b);
    OK(buf_check(&b, e));
    assert_string_equal(b.bytes, wanted);
}

/* 2026-01-02T03:04:05.000006Z */
#define AT 1767323045000006

static void a_record_has_a_fixed_order_and_only_what_is_there(void **state)
{
    (void)state;
    struct audit_entry a = {.at_us = AT, .event = "getFile", .is_read = true};
    record_is(&a, "{\"time\":\"2026-01-02T03:04:05.000006Z\",\"event\":\"getFile\","
                  "\"result\":\"ok\",\"is_read\":true}");
    a = (struct audit_entry){.at_us = AT,
                             .event = "putFile",
                             .principal = "prn_a",
                             .key = "key_a",
                             .behalf = "prn_b",
                             .via = "rest",
                             .peer = "127.0.0.1",
                             .agent = "x",
                             .request = "req_1",
                             .workspace = "ws_a",
                             .session = "ses_1",
                             .run = "run_1",
                             .object = "file_1",
                             .path = "a/b",
                             .version = 3,
                             .rev = 9,
                             .detail = "{\"n\":1}",
                             .result = AUDIT_DENIED,
                             .reason = "denied"};
    record_is(&a, "{\"time\":\"2026-01-02T03:04:05.000006Z\",\"event\":\"putFile\","
                  "\"result\":\"denied\",\"reason\":\"denied\",\"principal\":\"prn_a\","
                  "\"behalf\":\"prn_b\",\"key\":\"key_a\",\"via\":\"rest\",\"peer\":\"127.0.0.1\","
                  "\"agent\":\"x\",\"request\":\"req_1\",\"workspace\":\"ws_a\","
                  "\"session\":\"ses_1\",\"run\":\"run_1\",\"object\":\"file_1\",\"path\":\"a/b\","
                  "\"version\":3,\"rev\":9,\"detail\":{\"n\":1}}");
}

static void texts_are_escaped_and_cut_between_characters(void **state)
{
    (void)state;
    char agent[AUDIT_TEXT_MAX + 10];
    memset(agent, 'a', sizeof agent);
    agent[0] = '"';
    memcpy(agent + AUDIT_TEXT_MAX - 1, "\xc3\xa4", 3); /* its second byte is one too many */
    struct audit_entry a = {.at_us = AT, .event = "x", .agent = agent};
    scoped(buf_done) struct buf b = BUF_INIT(AUDIT_RECORD_MAX);
    audit_record(&a, &b);
    OK(buf_check(&b, e));
    const char *at = strstr(b.bytes, "\"agent\":\"\\\"aaa");
    assert_non_null(at);
    assert_string_equal(strrchr(at, 'a'), "a\"}");
    assert_int_equal(strlen(at), strlen("\"agent\":\"\\") + AUDIT_TEXT_MAX - 1 + strlen("\"}"));
}

static void a_detail_at_the_limit_stays_and_one_past_it_is_left_out(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        char *detail = malloc(AUDIT_DETAIL_MAX + 2);
        assert_non_null(detail);
        memset(detail, 'd', AUDIT_DETAIL_MAX + 1);
        detail[0] = '"';
        detail[AUDIT_DETAIL_MAX + more - 1] = '"';
        detail[AUDIT_DETAIL_MAX + more] = '\0';
        struct audit_entry a = {.at_us = AT, .event = "x", .detail = detail};
        scoped(buf_done) struct buf b = BUF_INIT(AUDIT_RECORD_MAX);
        audit_record(&a, &b);
        OK(buf_check(&b, e));
        assert_int_equal(strstr(b.bytes, "is_left_out") != NULL, more);
        free(detail);
    }
}

static void the_worst_record_fits(void **state)
{
    (void)state;
    char *worst = malloc(AUDIT_DETAIL_MAX + 1), *detail = malloc(AUDIT_DETAIL_MAX + 1);
    assert_true(worst && detail);
    memset(worst, '\x01', AUDIT_DETAIL_MAX);
    memset(detail, '1', AUDIT_DETAIL_MAX);
    worst[AUDIT_DETAIL_MAX] = detail[AUDIT_DETAIL_MAX] = '\0';
    struct audit_entry a = {.at_us = AT,
                            .event = worst,
                            .principal = worst,
                            .key = worst,
                            .behalf = worst,
                            .via = worst,
                            .peer = worst,
                            .agent = worst,
                            .request = worst,
                            .workspace = worst,
                            .session = worst,
                            .run = worst,
                            .object = worst,
                            .path = worst,
                            .detail = detail,
                            .reason = worst};
    scoped(buf_done) struct buf b = BUF_INIT(AUDIT_RECORD_MAX);
    audit_record(&a, &b);
    OK(buf_check(&b, e));
    free(worst);
    free(detail);
}

/* ---- the chain ---- */

static void post(struct meta *m, const char *event, const char *workspace, const char *path)
{
    struct audit_entry a = {.at_us = AT,
                            .event = event,
                            .workspace = workspace,
                            .path = path,
                            .principal = "prn_a",
                            .is_read = true};
    OK(audit_post(m, &a, e));
}

static struct audit_rows list(struct meta *m, struct audit_filter f)
{
    struct audit_rows l;
    f.limit = f.limit ? f.limit : 100;
    OK(audit_list(m, &f, &l, e));
    return l;
}

static void every_row_is_linked_to_the_one_before(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    assert_int_equal(audit_head(m, &(struct err){0}), 0);
    for (int i = 0; i < 5; i++)
        post(m, "getFile", "ws_a", "a");
    m = contract_reopen(m);
    post(m, "getFile", "ws_a", "a");
    struct audit_rows l = list(m, (struct audit_filter){.is_forward = true});
    assert_int_equal(l.count, 6);
    uint8_t hash[HASH_LEN] = {0};
    for (size_t i = 0; i < l.count; i++) {
        assert_int_equal(l.items[i].seq, i + 1);
        OK(audit_link(hash, l.items[i].record, strlen(l.items[i].record), hash, e));
        assert_memory_equal(l.items[i].hash, hash, HASH_LEN);
    }
    assert_int_equal(audit_head(m, &(struct err){0}), 6);
    audit_rows_done(&l);
    contract_close(m);
}

/* ---- lists ---- */

/* The events of a list, separated by blanks. */
static void assert_events(struct meta *m, struct audit_filter f, const char *wanted)
{
    struct audit_rows l = list(m, f);
    char got[1024] = "";
    for (size_t i = 0; i < l.count; i++) {
        size_t len = strlen(got);
        (void)snprintf(got + len, sizeof got - len, "%s%s", len ? " " : "", l.items[i].event);
    }
    audit_rows_done(&l);
    assert_string_equal(got, wanted);
}

static void lists_are_filtered(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    post(m, "e1", "ws_a", "a/b");
    post(m, "e2", "ws_b", "a/b");
    post(m, "e3", "ws_a", "a/bc");
    struct audit_entry a = {.at_us = AT + 10,
                            .event = "e4",
                            .principal = "prn_b",
                            .workspace = "ws_a",
                            .path = "a\"",
                            .detail = "{\"changes\":[{\"path\":\"z/y\"}]}"};
    OK(audit_post(m, &a, e));
    a = (struct audit_entry){.at_us = AT + 20, .event = "e5", .result = AUDIT_DENIED};
    OK(audit_post(m, &a, e));
    assert_events(m, (struct audit_filter){0}, "e5 e4 e3 e2 e1");
    assert_events(m, (struct audit_filter){.is_forward = true}, "e1 e2 e3 e4 e5");
    assert_events(m, (struct audit_filter){.workspace = "ws_a"}, "e4 e3 e1");
    assert_events(m, (struct audit_filter){.workspace = "ws_a", .is_events = true}, "e4");
    assert_events(m, (struct audit_filter){.is_events = true}, "e4");
    assert_events(m, (struct audit_filter){.principal = "prn_a"}, "e3 e2 e1");
    assert_events(m, (struct audit_filter){.principal = "prn_a", .workspace = "ws_a"}, "e3 e1");
    assert_events(m, (struct audit_filter){.event = "e2"}, "e2");
    assert_events(m, (struct audit_filter){.path = "a/b"}, "e2 e1");
    assert_events(m, (struct audit_filter){.path = "a"}, "e3 e2 e1");
    assert_events(m, (struct audit_filter){.path = "a\""}, "e4");
    assert_events(m, (struct audit_filter){.path = "z"}, "e4");
    assert_events(m, (struct audit_filter){.path = ""}, "e5 e4 e3 e2 e1");
    assert_events(m, (struct audit_filter){.from_us = AT + 10}, "e5 e4");
    assert_events(m, (struct audit_filter){.until_us = AT + 20}, "e4 e3 e2 e1");
    assert_events(m, (struct audit_filter){.has_result = true, .result = AUDIT_DENIED}, "e5");
    assert_events(m, (struct audit_filter){.after = 3}, "e2 e1");
    assert_events(m, (struct audit_filter){.after = 3, .is_forward = true}, "e4 e5");
    contract_close(m);
}

static void a_list_goes_on_where_it_ended(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    for (int i = 0; i < 5; i++)
        post(m, "e", i % 2 ? "ws_a" : "ws_b", NULL);
    struct audit_filter f = {.workspace = "ws_b", .limit = 2};
    struct audit_rows l = list(m, f);
    assert_int_equal(l.count, 2);
    assert_true(l.has_more);
    f.after = l.next;
    audit_rows_done(&l);
    l = list(m, f);
    assert_int_equal(l.count, 1);
    assert_false(l.has_more);
    assert_int_equal(l.items[0].seq, 1);
    audit_rows_done(&l);
    f.limit = AUDIT_LIST_MAX;
    OK(audit_list(m, &f, &l, e));
    audit_rows_done(&l);
    f.limit = AUDIT_LIST_MAX + 1;
    FAILS(ERR_INVALID, audit_list(m, &f, &l, e));
    f.limit = 0;
    FAILS(ERR_INVALID, audit_list(m, &f, &l, e));
    contract_close(m);
}

static void read_lists(struct meta *m)
{
    for (int i = 0; i < 8; i++) {
        struct audit_filter f = {.is_forward = i % 2,
                                 .workspace = i / 2 == 1 || i / 2 == 3 ? "ws_a" : NULL,
                                 .is_events = i / 2 == 3,
                                 .principal = i / 2 == 2 ? "prn_a" : NULL};
        struct audit_rows l = list(m, f);
        audit_rows_done(&l);
    }
}

static void no_list_reads_everything_or_sorts(void **state)
{
    (void)state;
    struct meta *m = contract_open();
    scoped(buf_done) struct buf seen = BUF_INIT(1 << 20), plan = BUF_INIT(1 << 20);
    trace_readers(m, read_lists, &seen);
    struct db_conn *c;
    OK(db_read_begin(m->db, &c, e));
    size_t questions = 0;
    for (size_t at = 0; at < seen.len; at += strlen(seen.bytes + at) + 1)
        if (strncmp(seen.bytes + at, "SELECT", 6) == 0) {
            explain(c, seen.bytes + at, &plan);
            questions++;
        }
    db_read_end(c);
    assert_int_equal(questions, 8);
    assert_null(strstr(plan.bytes, "SCAN"));
    assert_null(strstr(plan.bytes, "TEMP B-TREE"));
    assert_non_null(strstr(plan.bytes, "audit_events"));
    contract_close(m);
}

/* ---- commits ---- */

static struct audit_rows commits_of(struct meta *m)
{
    return list(m, (struct audit_filter){.workspace = "ws_a", .is_forward = true});
}

static void a_commit_has_a_row_of_its_own_when_nothing_rides_along(void **state)
{
    (void)state;
    struct meta *m = with_people();
    put(m, "a.txt", 'A', 5);
    make(m, OUTCOME_SAME, a_put("a.txt", 'A', 5)); /* changes nothing, tells nothing */
    struct file_change two[] = {a_put("b.txt", 'B', 1), a_change(OP_MOVE, "a.txt", "d/a.txt")};
    commit_ok(m, two, 2);
    struct audit_rows l = commits_of(m);
    assert_int_equal(l.count, 2);
    assert_string_equal(l.items[0].event, "saveFiles");
    assert_non_null(strstr(l.items[0].record, "\"path\":\"a.txt\",\"version\":1,\"rev\":1,"));
    assert_non_null(
        strstr(l.items[0].record, "\"change\":\"created\",\"size\":5,\"sha256\":\"4141"));
    assert_non_null(
        strstr(l.items[1].record, "\"rev\":2,\"detail\":{\"changes\":[{\"path\":\"b.txt\""));
    assert_non_null(strstr(l.items[1].record, "\"from\":\"a.txt\"}]}"));
    audit_rows_done(&l);
    contract_close(m);
}

static void a_ride_is_filled_in_by_its_commit(void **state)
{
    (void)state;
    struct meta *m = with_people();
    struct audit_ride ride = {.entry = {.at_us = AT, .event = "postBlob", .principal = "prn_a"}};
    struct db_rider rider = {.run = audit_ride, .arg = &ride};
    (void)db_rider_set(&rider);
    commit_fails(m, ERR_NOT_FOUND, a_change(OP_DELETE, "nothing", NULL));
    assert_false(rider.is_taken);
    struct file_change c = put(m, "a.txt", 'A', 5);
    (void)db_rider_set(NULL);
    assert_true(rider.is_taken);
    struct audit_rows l = commits_of(m);
    assert_int_equal(l.count, 1);
    assert_string_equal(l.items[0].event, "postBlob");
    assert_string_equal(l.items[0].workspace, "ws_a"); /* known by the commit alone */
    assert_non_null(strstr(l.items[0].record, c.ret_file));
    assert_non_null(strstr(l.items[0].record, "\"rev\":1,"));
    assert_false(l.items[0].is_read);
    audit_rows_done(&l);
    audit_ride_done(&ride);

    rider.is_taken = false; /* the same again changes nothing, and the row says so */
    (void)db_rider_set(&rider);
    make(m, OUTCOME_SAME, a_put("a.txt", 'A', 5));
    (void)db_rider_set(NULL);
    l = commits_of(m);
    assert_int_equal(l.count, 2);
    assert_true(l.items[1].is_read);
    assert_null(strstr(l.items[1].record, "\"rev\""));
    audit_rows_done(&l);
    audit_ride_done(&ride);
    contract_close(m);
}

static void what_a_run_made_is_told_apart_from_the_request_that_waits_for_it(void **state)
{
    (void)state;
    struct meta *m = with_session();
    struct audit_ride ride = {.entry = {.at_us = AT, .event = "createRun"}};
    struct db_rider rider = {.run = audit_ride, .arg = &ride};
    struct commit_row k = a_commit(100);
    k.kind = COMMIT_RUN;
    set_id(k.author.session, "ses_1");
    set_id(k.author.run, "run_1");
    struct file_change c = a_put("a.txt", 'A', 5);
    uint64_t rev;
    (void)db_rider_set(&rider);
    OK(meta_commit_set(m, &k, &c, 1, NULL, &rev, e));
    assert_ptr_equal(db_rider_set(NULL), &rider);
    assert_false(rider.is_taken);
    struct audit_rows l = commits_of(m);
    assert_int_equal(l.count, 1);
    assert_non_null(strstr(l.items[0].record, "\"via\":\"sandbox\""));
    assert_non_null(strstr(l.items[0].record, "\"session\":\"ses_1\",\"run\":\"run_1\""));
    audit_rows_done(&l);
    contract_close(m);
}

static void a_large_commit_tells_as_much_as_fits_and_counts_the_rest(void **state)
{
    (void)state;
    struct meta *m = with_people();
    enum { COUNT = 1000 };
    static char paths[COUNT][16];
    static struct file_change changes[COUNT];
    for (int i = 0; i < COUNT; i++) {
        (void)snprintf(paths[i], sizeof paths[i], "f%04d", i);
        changes[i] = a_put(paths[i], 'A', 1);
    }
    commit_ok(m, changes, COUNT);
    struct audit_rows l = commits_of(m);
    assert_int_equal(l.count, 1);
    assert_null(strstr(l.items[0].record, "is_left_out"));
    size_t told = 0;
    for (const char *at = l.items[0].record; (at = strstr(at, "\"path\":")); at++)
        told++;
    char more[64];
    (void)snprintf(more, sizeof more, "],\"more\":%zu}", COUNT - told);
    assert_non_null(strstr(l.items[0].record, more));
    audit_rows_done(&l);
    contract_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_has_a_fixed_order_and_only_what_is_there),
        cmocka_unit_test(texts_are_escaped_and_cut_between_characters),
        cmocka_unit_test(a_detail_at_the_limit_stays_and_one_past_it_is_left_out),
        cmocka_unit_test(the_worst_record_fits),
        cmocka_unit_test(every_row_is_linked_to_the_one_before),
        cmocka_unit_test(lists_are_filtered),
        cmocka_unit_test(a_list_goes_on_where_it_ended),
        cmocka_unit_test(no_list_reads_everything_or_sorts),
        cmocka_unit_test(a_commit_has_a_row_of_its_own_when_nothing_rides_along),
        cmocka_unit_test(a_ride_is_filled_in_by_its_commit),
        cmocka_unit_test(what_a_run_made_is_told_apart_from_the_request_that_waits_for_it),
        cmocka_unit_test(a_large_commit_tells_as_much_as_fits_and_counts_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
