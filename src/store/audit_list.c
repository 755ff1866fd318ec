/* Lists of the audit. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/audit_int.h"
#include "store/meta_int.h"
#include "json/write.h"

enum by { BY_NOTHING, BY_WORKSPACE, BY_PRINCIPAL, BY_EVENTS, BY_COUNT };

/* One index each; what else is asked for is looked at row by row. */
#define COLUMNS \
    "SELECT seq, at, workspace, principal, event, result, is_read, record, hash FROM audit WHERE "
#define FORWARD "seq > ?2 AND ?1 = ?1 ORDER BY seq"
#define BACKWARD "seq < ?2 AND ?1 = ?1 ORDER BY seq DESC"
static const struct {
    const char *forward, *backward;
} sql[BY_COUNT] = {
    [BY_NOTHING] = {COLUMNS FORWARD, COLUMNS BACKWARD},
    [BY_WORKSPACE] = {COLUMNS "workspace = ?1 AND " FORWARD,
                      COLUMNS "workspace = ?1 AND " BACKWARD},
    [BY_PRINCIPAL] = {COLUMNS "principal = ?1 AND " FORWARD,
                      COLUMNS "principal = ?1 AND " BACKWARD},
    [BY_EVENTS] = {COLUMNS "workspace = ?1 AND is_read = 0 AND result = 0 AND " FORWARD,
                   COLUMNS "workspace = ?1 AND is_read = 0 AND result = 0 AND " BACKWARD},
};

static void row_done(struct audit_row *r)
{
    free(r->owned);
    *r = (struct audit_row){0};
}

void audit_rows_done(struct audit_rows *l)
{
    for (size_t i = 0; i < l->count; i++)
        row_done(&l->items[i]);
    free(l->items);
    *l = (struct audit_rows){0};
}

static int read_row(const struct sql_rows *rows, struct audit_row *r, struct err *e)
{
    *r = (struct audit_row){
        .seq = (uint64_t)sql_int(rows, 0),
        .at_us = sql_int(rows, 1),
        .result = (enum audit_result)sql_int(rows, 5),
        .is_read = sql_int(rows, 6) != 0,
    };
    struct str hash = sql_text(rows, 8);
    if (hash.len != HASH_LEN)
        return err_set(e, ERR_DAMAGED, "entry %llu of the audit has no hash",
                       (unsigned long long)r->seq);
    memcpy(r->hash, hash.ptr, HASH_LEN);
    struct text_slot slots[] = {{.to = &r->workspace, .from = sql_text(rows, 2)},
                                {.to = &r->principal, .from = sql_text(rows, 3)},
                                {.to = &r->event, .from = sql_text(rows, 4)},
                                {.to = &r->record, .from = sql_text(rows, 7)}};
    return texts_own(slots, sizeof slots / sizeof *slots, &r->owned, e);
}

/* ---- what is looked for ---- */

struct look {
    const struct audit_filter *filter;
    struct buf parts[4]; /* as a record would have them: "path":"a", "path":"a/, "from":... */
};

static void look_done(struct look *l)
{
    for (size_t i = 0; i < 4; i++)
        buf_done(&l->parts[i]);
}

/* Records are canonical and their texts escaped, so a member can be found as bytes. */
static int look_begin(struct look *l, const struct audit_filter *filter, struct err *e)
{
    l->filter = filter;
    for (size_t i = 0; filter->path && i < 4; i += 2) {
        struct buf *at = &l->parts[i], *below = &l->parts[i + 1];
        *at = *below = BUF_INIT(8 * AUDIT_PATH_MAX);
        buf_str(at, i == 0 ? "\"path\":" : "\"from\":");
        struct json_writer w = JSON_WRITER(at);
        jw_text(&w, filter->path);
        if (buf_check(at, e))
            return -1;
        buf_add(below, at->bytes, at->len - 1);
        buf_str(below, "/");
        if (buf_check(below, e))
            return -1;
    }
    return 0;
}

static bool has_path(const struct look *l, struct str record)
{
    for (size_t i = 0; i < 4; i++)
        if (memmem(record.ptr, record.len, l->parts[i].bytes, l->parts[i].len))
            return true;
    return false;
}

static bool is_text(const struct sql_rows *rows, int column, const char *wanted)
{
    return !wanted || str_is(sql_text(rows, column), wanted);
}

static bool matches(const struct look *l, const struct sql_rows *rows)
{
    const struct audit_filter *f = l->filter;
    int64_t at = sql_int(rows, 1);
    if ((f->from_us && at < f->from_us) || (f->until_us && at >= f->until_us) ||
        !is_text(rows, 2, f->workspace) || !is_text(rows, 3, f->principal) ||
        !is_text(rows, 4, f->event) || (f->has_result && sql_int(rows, 5) != f->result) ||
        (f->is_events && (sql_int(rows, 5) != AUDIT_OK || sql_int(rows, 6))))
        return false;
    return !f->path || has_path(l, sql_text(rows, 7));
}

/* ---- the list ---- */

static int collect(const struct look *look, struct sql_rows *rows, struct audit_rows *l,
                   struct err *e)
{
    uint32_t limit = look->filter->limit;
    int got;
    for (size_t looked = 0; (got = sql_next(rows, e)) == 1; looked++) {
        if (l->count == limit || looked == AUDIT_LOOK_MAX) {
            l->has_more = true;
            return 0;
        }
        l->next = (uint64_t)sql_int(rows, 0);
        if (!matches(look, rows))
            continue;
        if (read_row(rows, &l->items[l->count], e))
            return -1;
        l->count++;
    }
    return got;
}

static enum by choose(const struct audit_filter *f)
{
    if (f->workspace)
        return f->is_events ? BY_EVENTS : BY_WORKSPACE;
    return f->principal ? BY_PRINCIPAL : BY_NOTHING;
}

static int list_on(struct db_conn *c, const struct look *look, struct audit_rows *l, struct err *e)
{
    const struct audit_filter *f = look->filter;
    enum by by = choose(f);
    const char *key = by == BY_PRINCIPAL ? f->principal : f->workspace ? f->workspace : "";
    uint64_t after = f->after || f->is_forward ? f->after : INT64_MAX;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, f->is_forward ? sql[by].forward : sql[by].backward,
                  SQL_WITH(SQL_TEXT(key), SQL_INT((int64_t)after)), &rows, e))
        return -1;
    return collect(look, &rows, l, e);
}

int audit_list(struct meta *m, const struct audit_filter *filter, struct audit_rows *ret,
               struct err *e)
{
    struct audit_filter f = *filter;
    if (f.path && !*f.path)
        f.path = NULL; /* everything is below */
    if (f.limit == 0 || f.limit > AUDIT_LIST_MAX || f.after > INT64_MAX)
        return err_set(e, ERR_INVALID, "a list of the audit has 1 to %d entries", AUDIT_LIST_MAX);
    scoped(look_done) struct look look = {0};
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (look_begin(&look, &f, e) || db_settle(m->db, e) || db_read_begin(m->db, &c, e))
        return -1;
    struct audit_rows l = {.items = calloc(f.limit, sizeof *l.items)};
    int failed = l.items ? list_on(c, &look, &l, e) : err_set(e, ERR_NO_MEMORY, "read the audit");
    if (failed) {
        audit_rows_done(&l);
        return -1;
    }
    *ret = l;
    return 0;
}
