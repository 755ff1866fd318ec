/* The check of the whole audit. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/audit_int.h"
#include "store/audit_seal.h"
#include "store/meta_int.h"
#include "json/write.h"

enum { PAGE_ROWS = 2000, CHECKPOINTS_MAX = 64 << 20 }; /* bytes of audit.checkpoints */

static const struct {
    const char *page, *checkpoints;
} sql = {
    .page = "SELECT seq, at, workspace, principal, event, result, is_read, record, hash FROM audit"
            " WHERE seq > ?1 ORDER BY seq LIMIT ?2",
    .checkpoints = "SELECT seq, at, hash, signature, key FROM checkpoints ORDER BY seq",
};

struct meeting { /* a checkpoint that is to be met on the way */
    struct audit_checkpoint k;
    const char *source;
};

struct walk {
    const struct audit_check *check;
    struct audit_verdict *verdict;
    struct meeting *marks; /* by seq */
    size_t mark_count, mark_cap, mark_next;
    uint64_t seq; /* of the last entry that is good */
    uint8_t hash[HASH_LEN];
    struct hash hasher;
    struct buf expected;
};

static void walk_done(struct walk *w)
{
    free(w->marks);
    hash_done(&w->hasher);
    buf_done(&w->expected);
}

/* Of all that is wrong the first entry counts. */
static void blame(struct walk *w, uint64_t seq, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void blame(struct walk *w, uint64_t seq, const char *format, ...)
{
    struct audit_verdict *v = w->verdict;
    if (!v->is_intact && v->bad_seq <= seq)
        return;
    v->is_intact = false;
    v->bad_seq = seq;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(v->what, sizeof v->what, format, args);
    va_end(args);
}

/* ---- checkpoints ---- */

static int add_mark(struct walk *w, const struct audit_checkpoint *k, const char *source,
                    struct err *e)
{
    if (w->mark_count == w->mark_cap) {
        size_t cap = w->mark_cap ? 2 * w->mark_cap : 64;
        struct meeting *marks = reallocarray(w->marks, cap, sizeof *marks);
        if (!marks)
            return err_set(e, ERR_NO_MEMORY, "check the audit");
        w->marks = marks;
        w->mark_cap = cap;
    }
    w->marks[w->mark_count++] = (struct meeting){*k, source};
    return 0;
}

static void check_signature(struct walk *w, const struct audit_checkpoint *k, const char *source)
{
    const uint8_t *key = w->check->key;
    if (key && memcmp(key, k->key, AUDIT_KEY_LEN) != 0)
        blame(w, k->seq, "the checkpoint of entry %" PRIu64 " in %s was signed with another key",
              k->seq, source);
    else if (!audit_checkpoint_is_signed(k))
        blame(w, k->seq, "the checkpoint of entry %" PRIu64 " in %s has a wrong signature", k->seq,
              source);
}

static int take_rows(struct walk *w, struct db_conn *c, struct err *e)
{
    static const char source[] = "the database";
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.checkpoints, SQL_NOTHING, &rows, e))
        return -1;
    int got;
    while ((got = sql_next(&rows, e)) == 1) {
        struct audit_checkpoint k;
        w->verdict->checkpoints++;
        if (audit_checkpoint_read(&rows, &k))
            blame(w, k.seq, "the checkpoint of entry %" PRIu64 " in %s is damaged", k.seq, source);
        else
            check_signature(w, &k, source);
        if (add_mark(w, &k, source, e))
            return -1;
    }
    return got;
}

static int take_lines(struct walk *w, const char *text, size_t len, struct err *e)
{
    static const char source[] = "audit.checkpoints";
    uint64_t number = 0;
    for (const char *at = text, *end; (end = memchr(at, '\n', len - (size_t)(at - text)));
         at = end + 1) {
        struct audit_checkpoint k;
        struct err why = {0};
        number++;
        w->verdict->checkpoints++;
        if (audit_checkpoint_parse(at, (size_t)(end - at), &k, &why)) {
            blame(w, UINT64_MAX, "line %" PRIu64 " of %s is no checkpoint", number, source);
            continue;
        }
        check_signature(w, &k, source);
        if (add_mark(w, &k, source, e))
            return -1;
    }
    return 0; /* half a line at the end was left by a crash */
}

static int take_file(struct walk *w, struct err *e)
{
    if (w->check->data_fd < 0)
        return 0;
    scoped(fd_closep) int fd =
        openat(w->check->data_fd, "audit.checkpoints", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(e, errno, "read audit.checkpoints");
    scoped(buf_done) struct buf text = BUF_INIT(CHECKPOINTS_MAX);
    char piece[16 << 10];
    ssize_t got;
    while ((got = read(fd, piece, sizeof piece)) > 0)
        buf_add(&text, piece, (size_t)got);
    if (got < 0)
        return err_sys(e, errno, "read audit.checkpoints");
    return buf_check(&text, e) || (text.len && take_lines(w, text.bytes, text.len, e)) ? -1 : 0;
}

static int by_seq(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;
    return x->k.seq < y->k.seq ? -1 : x->k.seq > y->k.seq;
}

/* Rows first: what is made meanwhile is then only in the file, and its entry comes on the way. */
static int take_marks(struct walk *w, struct db_conn *c, struct err *e)
{
    if (take_rows(w, c, e) || take_file(w, e) ||
        (w->check->given && add_mark(w, w->check->given, "what was given", e)))
        return -1;
    if (w->mark_count)
        qsort(w->marks, w->mark_count, sizeof *w->marks, by_seq);
    return 0;
}

/* Those up to the entry at which the walk is. False: one says something else. */
static bool meet_marks(struct walk *w)
{
    for (; w->mark_next < w->mark_count && w->marks[w->mark_next].k.seq <= w->seq; w->mark_next++) {
        const struct meeting *m = &w->marks[w->mark_next];
        if (m->k.seq == w->seq && memcmp(m->k.hash, w->hash, HASH_LEN) != 0) {
            blame(w, w->seq, "entry %" PRIu64 " is not what its checkpoint in %s says", w->seq,
                  m->source);
            return false;
        }
    }
    return true;
}

/* ---- entries ---- */

/* Empty again, with the memory it has: it is used for every entry. */
static void rewind_to_nothing(struct buf *b)
{
    b->len = 0;
    if (b->bytes)
        b->bytes[0] = '\0';
}

static bool begins(struct str text, const struct buf *with)
{
    return text.len >= with->len && memcmp(text.ptr, with->bytes, with->len) == 0;
}

/* The beginning of a record is known from the columns. */
static bool fits_beginning(struct walk *w, const struct sql_rows *rows, struct str record)
{
    int64_t result = sql_int(rows, 5);
    struct str event = sql_text(rows, 4);
    char time[AUDIT_TIME_SIZE];
    audit_time(sql_int(rows, 1), time);
    rewind_to_nothing(&w->expected);
    struct json_writer j = JSON_WRITER(&w->expected);
    jw_object(&j);
    jw_key(&j, "time");
    jw_text(&j, time);
    jw_key(&j, "event");
    jw_str(&j, event.ptr ? event.ptr : "", event.len);
    jw_key(&j, "result");
    jw_text(&j, result >= 0 && result <= AUDIT_ERROR ? audit_results[result] : "?");
    static const char is_read[] = ",\"is_read\":true";
    bool has_mark = record.len > w->expected.len &&
                    record.len - w->expected.len >= sizeof is_read - 1 &&
                    memcmp(record.ptr + w->expected.len, is_read, sizeof is_read - 1) == 0;
    return begins(record, &w->expected) && has_mark == (sql_int(rows, 6) != 0);
}

/* A member before the detail. Texts are escaped, so its key cannot stand inside of one. */
static bool fits_member(struct walk *w, struct str record, const char *key, struct str value)
{
    static const char detail[] = ",\"detail\":";
    const char *end = memmem(record.ptr, record.len, detail, sizeof detail - 1);
    size_t len = end ? (size_t)(end - record.ptr) : record.len;
    rewind_to_nothing(&w->expected);
    buf_fmt(&w->expected, ",\"%s\":", key);
    if (!value.ptr)
        return !memmem(record.ptr, len, w->expected.bytes, w->expected.len);
    struct json_writer j = JSON_WRITER(&w->expected);
    jw_str(&j, value.ptr, value.len);
    return memmem(record.ptr, len, w->expected.bytes, w->expected.len) != NULL;
}

static bool fits_columns(struct walk *w, const struct sql_rows *rows, struct str record)
{
    return fits_beginning(w, rows, record) &&
           fits_member(w, record, "workspace", sql_text(rows, 2)) &&
           fits_member(w, record, "principal", sql_text(rows, 3)) && !w->expected.failed;
}

/* 1: it is good; 0: it is not, and the walk ends; -1. */
static int check_entry(struct walk *w, const struct sql_rows *rows, struct err *e)
{
    uint64_t seq = (uint64_t)sql_int(rows, 0);
    struct str record = sql_text(rows, 7), hash = sql_text(rows, 8);
    uint8_t wanted[HASH_LEN];
    if (seq != w->seq + 1) {
        blame(w, w->seq + 1, "entry %" PRIu64 " is missing", w->seq + 1);
        return 0;
    }
    if (hash_init(&w->hasher, e) || hash_add(&w->hasher, w->hash, HASH_LEN, e) ||
        hash_add(&w->hasher, record.ptr, record.len, e) || hash_end(&w->hasher, wanted, e))
        return -1;
    if (hash.len != HASH_LEN || memcmp(hash.ptr, wanted, HASH_LEN) != 0) {
        blame(w, seq, "entry %" PRIu64 " was changed, or what stands before it", seq);
        return 0;
    }
    if (!fits_columns(w, rows, record)) {
        blame(w, seq, "the columns of entry %" PRIu64 " do not say what its record says", seq);
        return 0;
    }
    w->seq = seq;
    memcpy(w->hash, wanted, HASH_LEN);
    w->verdict->entries++;
    return meet_marks(w);
}

/* A page: 1: there may be more; 0: the end, or one that is not good; -1. */
static int check_page(struct walk *w, struct meta *m, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.page, SQL_WITH(SQL_INT((int64_t)w->seq), SQL_INT(PAGE_ROWS)), &rows, e))
        return -1;
    int got, count = 0;
    while ((got = sql_next(&rows, e)) == 1) {
        int good = check_entry(w, &rows, e);
        if (good != 1)
            return good;
        count++;
    }
    return got < 0 ? -1 : count == PAGE_ROWS;
}

static int walk_all(struct walk *w, struct meta *m, struct err *e)
{
    int more = 1;
    while (more == 1)
        more = check_page(w, m, e);
    if (more < 0)
        return -1;
    bool is_whole = w->verdict->is_intact || w->verdict->bad_seq > w->seq + 1;
    if (is_whole && w->mark_next < w->mark_count)
        blame(w, w->seq + 1,
              "the end is missing: there are %" PRIu64
              " entries, and %s has a checkpoint of %" PRIu64,
              w->seq, w->marks[w->mark_count - 1].source, w->marks[w->mark_count - 1].k.seq);
    return 0;
}

int audit_verify(struct meta *m, const struct audit_check *check, struct audit_verdict *ret,
                 struct err *e)
{
    *ret = (struct audit_verdict){.is_intact = true};
    scoped(walk_done) struct walk w = {
        .check = check, .verdict = ret, .expected = BUF_INIT(16 * AUDIT_TEXT_MAX)};
    if (db_settle(m->db, e))
        return -1;
    {
        scoped(db_read_endp) struct db_conn *c = NULL;
        if (db_read_begin(m->db, &c, e) || take_marks(&w, c, e))
            return -1;
    }
    if (walk_all(&w, m, e))
        return -1;
    memcpy(ret->hash, w.hash, HASH_LEN);
    if (!ret->is_intact && ret->bad_seq == UINT64_MAX)
        ret->bad_seq = 0; /* no entry of its own */
    return 0;
}
