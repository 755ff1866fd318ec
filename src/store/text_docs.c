/* text_docs.c -- which documents there are, and what is known of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/text_index_int.h"

#define FROM_DOCS " FROM docs AS d JOIN workspaces AS w ON w.number = d.workspace"

static const struct {
    const char *rev, *add_workspace, *set_rev, *find, *insert, *change, *move, *remove;
    const char *pending, *pending_of, *knows, *of_workspace, *forget, *workspaces;
    const char *count, *chunks, *problems;
} sql = {
    .rev = "SELECT rev FROM workspaces WHERE id = ?1",
    .add_workspace = "INSERT INTO workspaces (id, vault, rev, chunks, words)"
                     " VALUES (?1, ?2, 0, 0, 0) ON CONFLICT (id) DO UPDATE SET vault = ?2",
    .set_rev = "UPDATE workspaces SET rev = max(rev, ?2) WHERE id = ?1",
    .find = "SELECT number, sha256, path, version FROM docs WHERE kind = ?1 AND id = ?2",
    .insert =
        "INSERT INTO docs (workspace, kind, id, principal, path, version, indexed, size, sha256, mime,"
        " changed, state, reason, chunks) SELECT number, ?2, ?3, ?10, ?4, ?5, 0, ?6, ?7, ?8, ?9, 0,"
        " NULL, 0 FROM workspaces WHERE id = ?1",
    .change = "UPDATE docs SET path = ?2, version = ?3, size = ?4, sha256 = ?5, mime = ?6,"
              " changed = ?7, state = 0, reason = NULL WHERE number = ?1",
    .move = "UPDATE docs SET path = ?2, version = ?3, mime = ?4, changed = ?5,"
            " indexed = CASE state WHEN 0 THEN indexed ELSE ?3 END WHERE number = ?1",
    .remove = "DELETE FROM docs WHERE number = ?1",
    .pending = "SELECT " DOC_COLUMNS FROM_DOCS " WHERE d.state = 0 ORDER BY d.number LIMIT 1",
    .pending_of = "SELECT " DOC_COLUMNS FROM_DOCS
                  " WHERE d.state = 0 AND w.vault = ?1 ORDER BY d.number LIMIT 1",
    .knows = "SELECT count(*) FROM docs WHERE kind = ?1 AND id = ?2",
    .of_workspace = "SELECT d.number" FROM_DOCS " WHERE w.id = ?1 LIMIT 200",
    .forget = "DELETE FROM workspaces WHERE id = ?1",
    .workspaces = "SELECT id FROM workspaces ORDER BY id",
    .count = "SELECT d.state, count(*)" FROM_DOCS " WHERE w.id = ?1 GROUP BY d.state",
    .chunks = "SELECT chunks FROM workspaces WHERE id = ?1",
    .problems = "SELECT " DOC_COLUMNS ", d.reason" FROM_DOCS
                " WHERE w.id = ?1 AND d.state = ?2 ORDER BY d.number DESC LIMIT ?3",
};

static void copy_text(char *to, size_t size, struct str from)
{
    size_t len = from.len < size ? from.len : size - 1;
    if (len)
        memcpy(to, from.ptr, len);
    to[len] = '\0';
}

void text_doc_read(const struct sql_rows *rows, struct text_doc *ret)
{
    struct str sha256 = sql_text(rows, 8);
    *ret = (struct text_doc){
        .number = sql_int(rows, 0),
        .kind = sql_int(rows, 3) == DOC_RUN ? DOC_RUN : DOC_FILE,
        .version = (uint64_t)sql_int(rows, 6),
        .size = (uint64_t)sql_int(rows, 7),
        .changed_us = sql_int(rows, 9),
    };
    sql_id(rows, 1, ret->workspace);
    sql_id(rows, 2, ret->vault);
    sql_id(rows, 4, ret->id);
    sql_id(rows, 10, ret->principal);
    copy_text(ret->path, sizeof ret->path, sql_text(rows, 5));
    if (sha256.len == HASH_LEN)
        memcpy(ret->sha256, sha256.ptr, HASH_LEN);
}

/* ---- noting ---- */

struct known {
    int64_t number; /* 0: it is new */
    bool is_same, is_moved;
};

static int find_known(struct text_conn *c, const struct text_doc *doc, struct known *ret,
                      struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    *ret = (struct known){0};
    if (sql_query(c->db, sql.find, SQL_WITH(SQL_INT(doc->kind), SQL_TEXT(doc->id)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got != 1)
        return got;
    struct str sha256 = sql_text(&rows, 1);
    ret->number = sql_int(&rows, 0);
    ret->is_same = sha256.len == HASH_LEN && memcmp(sha256.ptr, doc->sha256, HASH_LEN) == 0;
    ret->is_moved = !str_is(sql_text(&rows, 2), doc->path);
    return 0;
}

static int remove_doc(struct text_conn *c, int64_t number, struct err *e)
{
    return text_clear(c, number, e) || sql_run(c->db, sql.remove, SQL_WITH(SQL_INT(number)), e) ? -1
                                                                                                : 0;
}

static int note_one(struct text_conn *c, const char *workspace, const struct text_change *change,
                    struct err *e)
{
    const struct text_doc *d = &change->doc;
    const char *mime = change->mime ? change->mime : "";
    struct known known;
    if (find_known(c, d, &known, e))
        return -1;
    if (change->is_gone)
        return known.number ? remove_doc(c, known.number, e) : 0;
    if (!known.number)
        return sql_run(c->db, sql.insert,
                       SQL_WITH(SQL_TEXT(workspace), SQL_INT(d->kind), SQL_TEXT(d->id),
                                SQL_TEXT(d->path), SQL_INT((int64_t)d->version),
                                SQL_INT((int64_t)d->size), SQL_BYTES(d->sha256, HASH_LEN),
                                SQL_TEXT(mime), SQL_INT(d->changed_us), SQL_TEXT(d->principal)),
                       e);
    if (!known.is_same)
        return sql_run(c->db, sql.change,
                       SQL_WITH(SQL_INT(known.number), SQL_TEXT(d->path),
                                SQL_INT((int64_t)d->version), SQL_INT((int64_t)d->size),
                                SQL_BYTES(d->sha256, HASH_LEN), SQL_TEXT(mime),
                                SQL_INT(d->changed_us)),
                       e);
    if (known.is_moved && text_retitle(c, known.number, d->path, e))
        return -1;
    return sql_run(c->db, sql.move,
                   SQL_WITH(SQL_INT(known.number), SQL_TEXT(d->path), SQL_INT((int64_t)d->version),
                            SQL_TEXT(mime), SQL_INT(d->changed_us)),
                   e);
}

struct noting {
    const char *workspace, *vault;
    const struct text_change *changes;
    size_t count;
    uint64_t rev;
};

static int note_all(struct text_conn *c, void *arg, struct err *e)
{
    const struct noting *n = arg;
    if (sql_run(c->db, sql.add_workspace, SQL_WITH(SQL_TEXT(n->workspace), SQL_TEXT(n->vault)), e))
        return -1;
    for (size_t i = 0; i < n->count; i++)
        if (note_one(c, n->workspace, &n->changes[i], e))
            return -1;
    return sql_run(c->db, sql.set_rev, SQL_WITH(SQL_TEXT(n->workspace), SQL_INT((int64_t)n->rev)),
                   e);
}

int text_index_note(struct text_index *t, const char *workspace, const char *vault,
                    const struct text_change *changes, size_t count, uint64_t rev, struct err *e)
{
    struct noting n = {workspace, vault, changes, count, rev};
    return text_write(t, note_all, &n, e);
}

/* ---- forgetting ---- */

struct forgetting {
    const char *workspace;
    bool has_more;
};

static int forget_some(struct text_conn *c, void *arg, struct err *e)
{
    struct forgetting *f = arg;
    int64_t numbers[200];
    size_t count = 0;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = sql_query(c->db, sql.of_workspace, SQL_WITH(SQL_TEXT(f->workspace)), &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1)
        if (count < sizeof numbers / sizeof *numbers) {
            numbers[count++] = sql_int(&rows, 0);
            got = 0;
        }
    if (got < 0)
        return -1;
    sql_rows_done(&rows);
    for (size_t i = 0; i < count; i++)
        if (remove_doc(c, numbers[i], e))
            return -1;
    f->has_more = count > 0;
    return count ? 0 : sql_run(c->db, sql.forget, SQL_WITH(SQL_TEXT(f->workspace)), e);
}

int text_index_forget(struct text_index *t, const char *workspace, bool *ret_more, struct err *e)
{
    struct forgetting f = {.workspace = workspace};
    if (text_write(t, forget_some, &f, e))
        return -1;
    *ret_more = f.has_more;
    return 0;
}

static int remove_one(struct text_conn *c, void *arg, struct err *e)
{
    const struct text_doc *doc = arg;
    struct known known;
    if (find_known(c, doc, &known, e))
        return -1;
    return known.number ? remove_doc(c, known.number, e) : 0;
}

int text_index_remove(struct text_index *t, enum doc_kind kind, const char *id, struct err *e)
{
    struct text_doc doc = {.kind = kind};
    (void)snprintf(doc.id, sizeof doc.id, "%s", id);
    return text_write(t, remove_one, &doc, e);
}

/* ---- asking ---- */

static int number_of(struct text_index *t, const char *text, const struct sql_value *values,
                     size_t count, int64_t *ret, struct err *e)
{
    struct text_conn *c;
    if (text_read_take(t, &c, e))
        return -1;
    int failed = sql_number(c->db, text, values, count, ret, e);
    text_read_give(t, c);
    return failed;
}

int text_index_rev(struct text_index *t, const char *workspace, uint64_t *ret, struct err *e)
{
    int64_t rev = 0;
    if (number_of(t, sql.rev, SQL_WITH(SQL_TEXT(workspace)), &rev, e))
        return -1;
    *ret = (uint64_t)rev;
    return 0;
}

int text_index_knows(struct text_index *t, enum doc_kind kind, const char *id, bool *ret,
                     struct err *e)
{
    int64_t count = 0;
    if (number_of(t, sql.knows, SQL_WITH(SQL_INT(kind), SQL_TEXT(id)), &count, e))
        return -1;
    *ret = count > 0;
    return 0;
}

static int next_on(struct text_conn *c, const char *vault, struct text_doc *ret, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = vault ? sql_query(c->db, sql.pending_of, SQL_WITH(SQL_TEXT(vault)), &rows, e)
                    : sql_query(c->db, sql.pending, SQL_NOTHING, &rows, e);
    if (!got && (got = sql_next(&rows, e)) == 1)
        text_doc_read(&rows, ret);
    return got;
}

int text_index_next(struct text_index *t, const char *vault, struct text_doc *ret, struct err *e)
{
    struct text_conn *c;
    if (text_read_take(t, &c, e))
        return -1;
    int got = vault ? next_on(c, vault, ret, e) : 0;
    if (got == 0)
        got = next_on(c, NULL, ret, e);
    text_read_give(t, c);
    return got;
}

static int list_workspaces(struct text_conn *c, char (**ret)[ID_SIZE], size_t *ret_count,
                           struct err *e)
{
    scoped(freep) char(*list)[ID_SIZE] = NULL;
    size_t count = 0;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = sql_query(c->db, sql.workspaces, SQL_NOTHING, &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        char(*more)[ID_SIZE] = count % 256 ? list : realloc(list, (count + 256) * sizeof *list);
        if (!more)
            return err_set(e, ERR_NO_MEMORY, "list what is indexed");
        list = more;
        sql_id(&rows, 0, list[count++]);
        got = 0;
    }
    if (got < 0)
        return -1;
    *ret = take(list);
    *ret_count = count;
    return 0;
}

int text_index_workspaces(struct text_index *t, char (**ret)[ID_SIZE], size_t *ret_count,
                          struct err *e)
{
    struct text_conn *c;
    if (text_read_take(t, &c, e))
        return -1;
    int failed = list_workspaces(c, ret, ret_count, e);
    text_read_give(t, c);
    return failed;
}

static int count_on(struct text_conn *c, const char *workspace, struct text_counts *ret,
                    struct err *e)
{
    struct text_counts counts = {0};
    int64_t chunks = 0;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = sql_query(c->db, sql.count, SQL_WITH(SQL_TEXT(workspace)), &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        counts.docs[sql_int(&rows, 0) & 3] = (uint64_t)sql_int(&rows, 1);
        got = 0;
    }
    if (got < 0 || sql_number(c->db, sql.chunks, SQL_WITH(SQL_TEXT(workspace)), &chunks, e))
        return -1;
    counts.chunks = (uint64_t)chunks;
    *ret = counts;
    return 0;
}

int text_index_count(struct text_index *t, const char *workspace, struct text_counts *ret,
                     struct err *e)
{
    struct text_conn *c;
    if (text_read_take(t, &c, e))
        return -1;
    int failed = count_on(c, workspace, ret, e);
    text_read_give(t, c);
    return failed;
}

static int problems_on(struct text_conn *c, const struct sql_value *values, size_t limit,
                       struct text_problem *list, size_t *ret_count, struct err *e)
{
    size_t count = 0;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    int got = sql_query(c->db, sql.problems, values, 3, &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1 && count < limit) {
        text_doc_read(&rows, &list[count].doc);
        copy_text(list[count].reason, sizeof list[count].reason, sql_text(&rows, DOC_COLUMN_COUNT));
        count++;
        got = 0;
    }
    *ret_count = count;
    return got < 0 ? -1 : 0;
}

int text_index_problems(struct text_index *t, const char *workspace, enum doc_state state,
                        size_t limit, struct text_problem **ret, size_t *ret_count, struct err *e)
{
    const struct sql_value values[] = {SQL_TEXT(workspace), SQL_INT(state),
                                       SQL_INT((int64_t)limit)};
    struct text_conn *c;
    struct text_problem *list = calloc(limit ? limit : 1, sizeof *list);
    if (!list)
        return err_set(e, ERR_NO_MEMORY, "list what is not indexed");
    if (text_read_take(t, &c, e)) {
        free(list);
        return -1;
    }
    int failed = problems_on(c, values, limit, list, ret_count, e);
    text_read_give(t, c);
    if (failed)
        free(list);
    else
        *ret = list;
    return failed;
}
