/* Checkpoints and the check of the audit: whatever is changed is found. */
#include "store/audit_seal.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/audit_int.h"
#include "store/meta_sqlite.h"

#define AT 1767323045000006

/* ---- keys and text ---- */

static struct audit_checkpoint a_checkpoint(void)
{
    struct audit_checkpoint k = {.seq = 12, .at_us = AT};
    memset(k.hash, 0xab, sizeof k.hash);
    return k;
}

static void a_key_is_made_once_and_is_private(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct audit_key *first, *again;
    FAILS(ERR_NOT_FOUND, audit_key_load(s.fd, /* makes= */ false, &first, e));
    OK(audit_key_load(s.fd, /* makes= */ true, &first, e));
    OK(audit_key_load(s.fd, /* makes= */ true, &again, e));
    assert_memory_equal(audit_key_public(first), audit_key_public(again), AUDIT_KEY_LEN);
    struct stat st;
    assert_int_equal(fstatat(s.fd, "audit.key", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(st.st_size, AUDIT_KEY_LEN);
    audit_key_free(first);
    audit_key_free(again);
}

static void a_checkpoint_survives_as_text_with_its_signature(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new_fast();
    struct audit_key *key;
    OK(audit_key_load(s.fd, /* makes= */ true, &key, e));
    struct audit_checkpoint k = a_checkpoint(), back;
    OK(audit_checkpoint_sign(key, &k, e));
    assert_true(audit_checkpoint_is_signed(&k));
    scoped(buf_done) struct buf text = BUF_INIT(AUDIT_CHECKPOINT_MAX);
    audit_checkpoint_print(&k, &text);
    OK(buf_check(&text, e));
    OK(audit_checkpoint_parse(text.bytes, text.len, &back, e));
    assert_memory_equal(&k, &back, sizeof k);
    back.seq++;
    assert_false(audit_checkpoint_is_signed(&back));
    back = k;
    back.hash[31] ^= 1;
    assert_false(audit_checkpoint_is_signed(&back));
    back = k;
    back.at_us++;
    assert_false(audit_checkpoint_is_signed(&back));
    audit_key_free(key);
}

static void what_is_no_checkpoint_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "12", "{}", "{\"seq\":0}", "{\"seq\":1,\"hash\":\"ab\"}"};
    struct audit_checkpoint k;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(ERR_INVALID, audit_checkpoint_parse(bad[i], strlen(bad[i]), &k, e));
}

/* ---- an audit with entries and checkpoints ---- */

enum { ENTRIES = 30 };

struct fixture {
    struct meta *m;
    struct audit_key *key;
    struct audit_checkpoint taken; /* elsewhere */
};

static void add(struct meta *m, int i)
{
    char path[32];
    (void)snprintf(path, sizeof path, "f%d", i);
    struct audit_entry a = {.at_us = AT + i,
                            .event = i % 2 ? "putFile" : "getFile",
                            .is_read = i % 2 == 0,
                            .principal = "prn_a",
                            .workspace = i % 3 ? "ws_a" : NULL,
                            .path = path,
                            .detail = "{\"workspace\":\"other\"}"};
    OK(audit_post(m, &a, e));
}

static struct fixture an_audit(void)
{
    struct fixture f = {.m = contract_open()};
    OK(audit_key_load(scratch.fd, /* makes= */ true, &f.key, e));
    OK(audit_seal_begin(f.m, scratch.fd, e));
    FAILS(ERR_NOT_FOUND, audit_seal(f.m, f.key, scratch.fd, AT, &f.taken, e));
    for (int i = 0; i < ENTRIES; i++) {
        add(f.m, i);
        if (i % 10 == 9)
            OK(audit_seal(f.m, f.key, scratch.fd, AT + i, &f.taken, e));
    }
    return f;
}

static void end(struct fixture *f)
{
    audit_key_free(f->key);
    contract_close(f->m);
}

static struct audit_verdict verify_with(struct fixture *f, const struct audit_checkpoint *given)
{
    const struct audit_check check = {
        .data_fd = scratch.fd, .key = audit_key_public(f->key), .given = given};
    struct audit_verdict v;
    OK(audit_verify(f->m, &check, &v, e));
    return v;
}

static int change(struct db_conn *c, void *arg, struct err *e)
{
    return conn_exec(c, arg, e);
}

static void tamper(struct fixture *f, const char *text)
{
    char copy[1024];
    (void)snprintf(copy, sizeof copy, "%s", text);
    OK(db_write(f->m->db, change, copy, e));
}

static void what_is_whole_is_intact(void **state)
{
    (void)state;
    struct fixture f = an_audit();
    struct audit_verdict v = verify_with(&f, &f.taken);
    assert_string_equal(v.what, "");
    assert_true(v.is_intact);
    assert_int_equal(v.entries, ENTRIES);
    assert_int_equal(v.checkpoints, 6); /* rows and lines */
    assert_memory_equal(v.hash, f.taken.hash, HASH_LEN);
    uint64_t sealed;
    OK(audit_sealed(f.m, &sealed, e));
    assert_int_equal(sealed, ENTRIES);
    add(f.m, ENTRIES); /* beyond the last checkpoint */
    v = verify_with(&f, &f.taken);
    assert_true(v.is_intact);
    assert_int_equal(v.entries, ENTRIES + 1);
    end(&f);
}

static void an_empty_audit_is_intact(void **state)
{
    (void)state;
    struct fixture f = {.m = contract_open()};
    OK(audit_key_load(scratch.fd, /* makes= */ true, &f.key, e));
    struct audit_verdict v = verify_with(&f, NULL);
    assert_true(v.is_intact);
    assert_int_equal(v.entries, 0);
    end(&f);
}

/* Everything that somebody with the database in their hands may do to it. */
static const struct {
    const char *sql;
    uint64_t bad;
} harms[] = {
    {"UPDATE audit SET record = replace(record, 'f6', 'fx') WHERE seq = 7", 7},
    {"UPDATE audit SET hash = zeroblob(32) WHERE seq = 7", 7},
    {"UPDATE audit SET hash = x'00' WHERE seq = 7", 7},
    {"UPDATE audit SET at = at + 1 WHERE seq = 7", 7},
    {"UPDATE audit SET event = 'putFiles' WHERE seq = 8", 8},
    {"UPDATE audit SET event = 'put' WHERE seq = 8", 8},
    {"UPDATE audit SET result = 1 WHERE seq = 8", 8},
    {"UPDATE audit SET result = 77 WHERE seq = 8", 8},
    {"UPDATE audit SET is_read = 1 - is_read WHERE seq = 7", 7},
    {"UPDATE audit SET is_read = 1 - is_read WHERE seq = 8", 8},
    {"UPDATE audit SET principal = NULL WHERE seq = 8", 8},
    {"UPDATE audit SET principal = 'prn_' WHERE seq = 8", 8},
    {"UPDATE audit SET workspace = 'other' WHERE seq = 8", 8},
    {"UPDATE audit SET workspace = 'ws_a' WHERE seq = 7", 7}, /* it has none */
    {"DELETE FROM audit WHERE seq = 15", 15},
    {"DELETE FROM audit WHERE seq = 1", 1},
    {"DELETE FROM audit WHERE seq > 25", 26},
    {"DELETE FROM audit", 1},
    {"DELETE FROM audit WHERE seq = 15; UPDATE audit SET seq = seq - 1 WHERE seq > 15", 15},
    {"UPDATE audit SET seq = 1000 WHERE seq = 15; UPDATE audit SET seq = 15 WHERE seq = 16;"
     "UPDATE audit SET seq = 16 WHERE seq = 1000",
     15},
    {"INSERT INTO audit SELECT 31, at, workspace, principal, event, result, is_read, record, hash"
     " FROM audit WHERE seq = 30",
     31},
    {"UPDATE checkpoints SET hash = zeroblob(32) WHERE seq = 20", 20},
    {"UPDATE checkpoints SET at = at + 1 WHERE seq = 20", 20},
    {"UPDATE checkpoints SET signature = zeroblob(3) WHERE seq = 20", 20},
    {"UPDATE checkpoints SET key = zeroblob(32) WHERE seq = 20", 20},
    {"UPDATE checkpoints SET seq = 19 WHERE seq = 20", 19},
};

static void every_harm_is_found_and_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        struct fixture f = an_audit();
        tamper(&f, harms[i].sql);
        struct audit_verdict v = verify_with(&f, NULL);
        if (v.is_intact || v.bad_seq != harms[i].bad)
            fail_msg("%s: %d, entry %d: %s", harms[i].sql, v.is_intact, (int)v.bad_seq, v.what);
        assert_true(*v.what);
        end(&f);
    }
}

/* ---- a chain that was written anew, with right hashes ---- */

static int write_anew(struct db_conn *c, void *arg, struct err *e)
{
    uint8_t hash[HASH_LEN] = {0};
    for (int seq = 1; seq <= ENTRIES; seq++) {
        scoped(sql_rows_done) struct sql_rows rows = {0};
        char record[512];
        if (sql_query(c, "SELECT record FROM audit WHERE seq = ?1", SQL_WITH(SQL_INT(seq)), &rows,
                      e) ||
            sql_next(&rows, e) != 1)
            return -1;
        struct str text = sql_text(&rows, 0);
        (void)snprintf(record, sizeof record, "%.*s", (int)text.len, text.ptr);
        sql_rows_done(&rows);
        if (seq == 5)
            memcpy(strstr(record, "\"f4\""), "\"fx\"", 4);
        if (audit_link(hash, record, strlen(record), hash, e) ||
            sql_run(c, "UPDATE audit SET record = ?2, hash = ?3 WHERE seq = ?1",
                    SQL_WITH(SQL_INT(seq), SQL_TEXT(record), SQL_BYTES(hash, HASH_LEN)), e))
            return -1;
    }
    return sql_run(c, "DELETE FROM checkpoints WHERE ?1", SQL_WITH(SQL_INT(*(bool *)arg)), e);
}

static void a_chain_that_was_written_anew_is_caught_by_its_checkpoints(void **state)
{
    (void)state;
    for (int is_clever = 0; is_clever < 2; is_clever++) {
        struct fixture f = an_audit();
        bool forgets = is_clever;
        OK(db_write(f.m->db, write_anew, &forgets, e));
        struct audit_verdict v = verify_with(&f, NULL); /* by the rows, or by the file */
        assert_false(v.is_intact);
        assert_int_equal(v.bad_seq, 10);
        if (is_clever) {
            assert_int_equal(unlinkat(scratch.fd, "audit.checkpoints", 0), 0);
            v = verify_with(&f, NULL);
            assert_true(v.is_intact); /* nothing is left that knows better, here */
            v = verify_with(&f, &f.taken);
            assert_false(v.is_intact);
            assert_int_equal(v.bad_seq, ENTRIES);
        }
        end(&f);
    }
}

static void checkpoints_of_another_key_are_caught(void **state)
{
    (void)state;
    struct fixture f = an_audit();
    audit_key_free(f.key);
    assert_int_equal(unlinkat(scratch.fd, "audit.key", 0), 0);
    OK(audit_key_load(scratch.fd, /* makes= */ true, &f.key, e));
    struct audit_verdict v = verify_with(&f, NULL);
    assert_false(v.is_intact);
    assert_int_equal(v.bad_seq, 10);
    assert_non_null(strstr(v.what, "another key"));
    end(&f);
}

static void a_file_cut_by_a_crash_is_put_in_order(void **state)
{
    (void)state;
    struct fixture f = an_audit();
    struct stat st;
    assert_int_equal(fstatat(scratch.fd, "audit.checkpoints", &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    scoped(fd_closep) int fd = openat(scratch.fd, "audit.checkpoints", O_RDWR | O_CLOEXEC);
    assert_int_equal(ftruncate(fd, st.st_size - 5), 0); /* in the third line */
    assert_true(verify_with(&f, NULL).is_intact);
    OK(audit_seal_begin(f.m, scratch.fd, e));
    struct stat after;
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(after.st_size, st.st_size);
    OK(audit_seal_begin(f.m, scratch.fd, e)); /* and again changes nothing */
    assert_int_equal(fstat(fd, &after), 0);
    assert_int_equal(after.st_size, st.st_size);
    struct audit_verdict v = verify_with(&f, &f.taken);
    assert_true(v.is_intact);
    assert_int_equal(v.checkpoints, 6);
    assert_int_equal(pwrite(fd, "x", 1, 3), 1);
    v = verify_with(&f, NULL);
    assert_false(v.is_intact);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_is_made_once_and_is_private),
        cmocka_unit_test(a_checkpoint_survives_as_text_with_its_signature),
        cmocka_unit_test(what_is_no_checkpoint_is_refused),
        cmocka_unit_test(what_is_whole_is_intact),
        cmocka_unit_test(an_empty_audit_is_intact),
        cmocka_unit_test(every_harm_is_found_and_named),
        cmocka_unit_test(a_chain_that_was_written_anew_is_caught_by_its_checkpoints),
        cmocka_unit_test(checkpoints_of_another_key_are_caught),
        cmocka_unit_test(a_file_cut_by_a_crash_is_put_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
