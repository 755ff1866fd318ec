#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/conn_int.h"
#include "store/lineage_int.h"
#include "store/meta_int.h"
#include "store/meta_lineage.h"
#include "store/pack.h"

enum drive {
    BY_UNDONE,
    BY_SESSION,
    BY_BAD_WORKSPACE,
    BY_WORKSPACE,
    BY_BAD_PRINCIPAL,
    BY_PRINCIPAL,
    BY_BAD,
    BY_ALL,
};

static const struct {
    const char *insert, *update, *status, *get, *code, *undone, *interrupt, *readers;
    const char *list[8]; /* by enum drive */
} sql = {
#define COLUMNS_WITH(code, object)                                                       \
    "SELECT id, session, workspace, principal, key_id, request, status, outcome, state," \
    " language, name, hint, created, started, duration_us, cpu_us, peak, packing,"       \
    " " code ", " object ", trace, number, previous, undone FROM runs "
#define HISTORY "LEFT JOIN run_history ON run = id "
#define COLUMNS(brief) COLUMNS_WITH("iif(" brief ", NULL, code)", "iif(" brief ", NULL, object)")
#define FILTERS                                                            \
    "AND (?4 IS NULL OR principal = ?4) AND (?5 IS NULL OR session = ?5) " \
    "AND (?6 IS NULL OR workspace = ?6) AND (?7 IS NULL OR outcome = ?7) " \
    "AND (?8 < 0 OR status = ?8) "
#define BY(index, condition)                                                                    \
    COLUMNS("?9")                                                                               \
    "INDEXED BY " index " " HISTORY "WHERE " condition " AND (created, id) < (?1, ?2) " FILTERS \
    "ORDER BY created DESC, id DESC LIMIT ?3"
    .insert = "INSERT INTO runs (id, session, workspace, principal, key_id, request, status,"
              " outcome, state, language, name, hint, created, started, duration_us, cpu_us, peak,"
              " packing, code, object) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12,"
              " ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)",
    .update = "UPDATE runs SET status = ?2, outcome = ?3, state = ?4, hint = ?5, started = ?6,"
              " duration_us = ?7, cpu_us = ?8, peak = ?9, packing = ?10, object = ?11, trace = ?12"
              " WHERE id = ?1 AND status < 2",
    .status = "SELECT 1 + status FROM runs WHERE id = ?1",
    .get = COLUMNS("false") HISTORY "WHERE id = ?1",
    .code = COLUMNS_WITH("substr(code, 1, ?2)", "NULL") HISTORY "WHERE id = ?1",
    .undone = COLUMNS("true") HISTORY "WHERE status < 2",
    .readers = COLUMNS("true") HISTORY
    "WHERE id IN (SELECT r.run FROM files AS f CROSS JOIN run_reads AS r"
    " ON r.file = f.number WHERE f.id = ?1 AND r.version = ?2)"
    " ORDER BY created DESC, id DESC LIMIT ?3",
    .interrupt = "UPDATE runs SET status = 2, outcome = ?1, hint = ?2 WHERE status < 2",
    .list =
        {
            [BY_UNDONE] = BY("runs_undone", "status < 2"),
            [BY_SESSION] = BY("runs_session", "session = ?5"),
            [BY_BAD_WORKSPACE] =
                BY("runs_bad_workspace", "workspace = ?6 AND outcome = ?7 AND outcome <> 'ok'"),
            [BY_WORKSPACE] = BY("runs_workspace", "workspace = ?6"),
            [BY_BAD_PRINCIPAL] =
                BY("runs_bad_principal", "principal = ?4 AND outcome = ?7 AND outcome <> 'ok'"),
            [BY_PRINCIPAL] = BY("runs_principal", "principal = ?4"),
            [BY_BAD] = BY("runs_bad", "outcome = ?7 AND outcome <> 'ok'"),
            [BY_ALL] = BY("runs_created", "true"),
        },
};

static enum drive drive_of(const struct run_filter *f)
{
    bool is_bad = f->end && strcmp(f->end, "ok") != 0;
    if (f->has_status && f->status != RUN_DONE)
        return BY_UNDONE;
    if (f->session)
        return BY_SESSION;
    if (f->workspace)
        return is_bad ? BY_BAD_WORKSPACE : BY_WORKSPACE;
    if (f->principal)
        return is_bad ? BY_BAD_PRINCIPAL : BY_PRINCIPAL;
    return is_bad ? BY_BAD : BY_ALL;
}

/* ---- reading ---- */

static int own_texts(const struct sql_rows *rows, struct run_row *r, struct str object,
                     struct err *e)
{
    struct text_slot texts[] = {
        {.to = &r->end, .from = sql_text(rows, 7)},
        {.to = &r->state, .from = sql_text(rows, 8)},
        {.to = &r->language, .from = sql_text(rows, 9)},
        {.to = &r->name, .from = sql_text(rows, 10)},
        {.to = &r->hint, .from = sql_text(rows, 11)},
        {.to = &r->code, .len = &r->code_len, .from = sql_text(rows, 18)},
        {.to = &r->object, .len = &r->object_len, .from = object},
    };
    return texts_own(texts, sizeof texts / sizeof *texts, &r->owned, e);
}

static int read_run(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct run_row *r = ret;
    *r = (struct run_row){
        .status = (enum run_status)sql_int(rows, 6),
        .created_us = sql_int(rows, 12),
        .started_us = sql_int(rows, 13),
        .duration_us = sql_int(rows, 14),
        .cpu_us = sql_int(rows, 15),
        .peak_bytes = (uint64_t)sql_int(rows, 16),
        .trace = (enum run_trace)sql_int(rows, 20),
        .number = (uint64_t)sql_int(rows, 21),
        .has_previous = sql_text(rows, 22).ptr != NULL,
        .undone_us = sql_int(rows, 23),
    };
    sql_id(rows, 22, r->previous);
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->session);
    sql_id(rows, 2, r->workspace);
    sql_id(rows, 3, r->principal);
    sql_id(rows, 4, r->key);
    sql_id(rows, 5, r->request);
    struct str object = sql_text(rows, 19);
    if (!object.ptr)
        return own_texts(rows, r, STR_NONE, e);
    scoped(freep) char *text = NULL;
    size_t len;
    if (unpack(&rows->c->unpacker, (enum packing)sql_int(rows, 17), object, RUN_OBJECT_MAX, &text,
               &len, e))
        return err_wrap(e, "run %s", r->id);
    return own_texts(rows, r, (struct str){text, len}, e);
}

static void done_run(void *row)
{
    run_row_done(row);
}

static const struct row_kind run_kind = {
    .size = sizeof(struct run_row),
    .created_at = offsetof(struct run_row, created_us),
    .read = read_run,
    .done = done_run,
};

int meta_run_get(struct meta *m, const char *id, struct run_row *ret, struct err *e)
{
    return row_get(m, &run_kind, sql.get, SQL_WITH(SQL_TEXT(id)), ret, e);
}

int meta_run_list(struct meta *m, const struct run_filter *f, const struct page *page,
                  struct run_rows *ret, struct err *e)
{
    struct mark mark;
    struct row_list l;
    if (mark_parse(page, &mark, e) ||
        row_list(m, &run_kind, sql.list[drive_of(f)],
                 SQL_WITH(PAGE_VALUES(mark, page), SQL_TEXT(f->principal), SQL_TEXT(f->session),
                          SQL_TEXT(f->workspace), SQL_TEXT(f->end),
                          SQL_INT(f->has_status ? (int64_t)f->status : -1), SQL_INT(f->is_brief)),
                 page->limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

int meta_run_code(struct meta *m, const char *id, uint32_t code_max, struct run_row *ret,
                  struct err *e)
{
    return row_get(m, &run_kind, sql.code, SQL_WITH(SQL_TEXT(id), SQL_INT(code_max)), ret, e);
}

int meta_runs_before(struct meta *m, const char *session, int64_t created_us, const char *id,
                     uint32_t limit, struct run_rows *ret, struct err *e)
{
    struct row_list l;
    if (row_list(m, &run_kind, sql.list[BY_SESSION],
                 SQL_WITH(SQL_INT(created_us), SQL_TEXT(id), SQL_INT((int64_t)limit + 1),
                          SQL_TEXT(NULL), SQL_TEXT(session), SQL_TEXT(NULL), SQL_TEXT(NULL),
                          SQL_INT(-1), SQL_INT(true)),
                 limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

int meta_version_readers(struct meta *m, const char *file, uint64_t version, uint32_t limit,
                         struct run_rows *ret, struct err *e)
{
    struct row_list l;
    if (row_list(m, &run_kind, sql.readers,
                 SQL_WITH(SQL_TEXT(file), SQL_INT((int64_t)(version & INT64_MAX)),
                          SQL_INT((int64_t)limit + 1)),
                 limit, &l, e))
        return -1;
    ROWS_GIVE(ret, l);
    return 0;
}

/* ---- writing ---- */

struct run_write {
    struct run_row row; /* its texts are the caller's, or its own (row.owned) when written soon */
    struct packed object;
    struct run_input *inputs; /* its own, when written soon */
};

static void run_write_done(struct run_write *w)
{
    free(w->inputs);
    run_row_done(&w->row);
    packed_done(&w->object);
}

static void run_write_free(void *arg)
{
    run_write_done(arg);
    free(arg);
}

static struct str view(const char *text)
{
    return text ? str_of(text) : STR_NONE;
}

/* The row with texts of its own; the object is left out if it was compressed. */
static int copy_row(const struct run_row *from, bool with_object, struct run_row *ret,
                    struct err *e)
{
    *ret = *from;
    struct text_slot texts[] = {
        {.to = &ret->end, .from = view(from->end)},
        {.to = &ret->state, .from = view(from->state)},
        {.to = &ret->language, .from = view(from->language)},
        {.to = &ret->name, .from = view(from->name)},
        {.to = &ret->hint, .from = view(from->hint)},
        {.to = &ret->code, .len = &ret->code_len, .from = {from->code, from->code_len}},
        {.to = &ret->object,
         .len = &ret->object_len,
         .from = {with_object ? from->object : NULL, with_object ? from->object_len : 0}},
    };
    ret->owned = NULL;
    return texts_own(texts, sizeof texts / sizeof *texts, &ret->owned, e);
}

static int copy_inputs(struct run_write *w, struct err *e)
{
    size_t count = w->row.input_count;
    if (count == 0)
        return 0;
    w->inputs = calloc(count, sizeof *w->inputs);
    if (!w->inputs) {
        run_write_done(w);
        return err_set(e, ERR_NO_MEMORY, "keep a run");
    }
    memcpy(w->inputs, w->row.inputs, count * sizeof *w->inputs);
    w->row.inputs = w->inputs;
    return 0;
}

static int run_write_init(struct meta *m, struct run_write *w, const struct run_row *row,
                          enum meta_when when, struct err *e)
{
    *w = (struct run_write){.row = *row};
    w->row.owned = NULL;
    if (row->object_len > RUN_OBJECT_MAX)
        return err_set(e, ERR_TOO_LARGE, "a run object of %zu bytes", row->object_len);
    if (row->object && pack(&m->packer, (struct str){row->object, row->object_len}, &w->object, e))
        return -1;
    if (when == META_NOW)
        return 0;
    bool is_raw = row->object && !w->object.owned;
    if (copy_row(row, is_raw, &w->row, e)) {
        packed_done(&w->object);
        return -1;
    }
    if (is_raw)
        w->object.bytes = w->row.object;
    return copy_inputs(w, e);
}

static int write_run(struct meta *m, const struct run_row *row, db_job *job, enum meta_when when,
                     struct err *e)
{
    if (when == META_NOW) {
        struct run_write w;
        if (run_write_init(m, &w, row, when, e))
            return -1;
        int failed = db_write(m->db, job, &w, e);
        run_write_done(&w);
        return failed;
    }
    struct run_write *w = malloc(sizeof *w);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "keep a run");
    if (run_write_init(m, w, row, when, e)) {
        free(w);
        return -1;
    }
    return db_post(m->db, job, w, run_write_free, e);
}

static int insert_run(struct db_conn *c, void *arg, struct err *e)
{
    const struct run_write *w = arg;
    const struct run_row *r = &w->row;
    if (sql_run(c, sql.insert,
                SQL_WITH(SQL_TEXT(r->id), SQL_TEXT(r->session), SQL_TEXT(r->workspace),
                         SQL_TEXT(r->principal), SQL_ID(r->key), SQL_ID(r->request),
                         SQL_INT(r->status), SQL_TEXT(r->end), SQL_TEXT(r->state),
                         SQL_TEXT(r->language), SQL_TEXT(r->name), SQL_TEXT(r->hint),
                         SQL_INT(r->created_us), SQL_INT(r->started_us), SQL_INT(r->duration_us),
                         SQL_INT(r->cpu_us), SQL_INT((int64_t)r->peak_bytes),
                         SQL_INT(w->object.packing), SQL_BYTES(r->code ? r->code : "", r->code_len),
                         SQL_BYTES(w->object.bytes, w->object.len)),
                e))
        return -1;
    audit_tell(c, &(struct audit_subject){.object = r->id,
                                          .principal = r->principal,
                                          .workspace = r->workspace,
                                          .session = r->session,
                                          .run = r->id});
    return 0;
}

/* A run goes on when the request that began it was told of: its end is an entry of its own. */
static int tell_end(struct db_conn *c, const struct run_row *r, struct err *e)
{
    char detail[64];
    if (r->status != RUN_DONE)
        return 0;
    audit_tell(
        c, &(struct audit_subject){.workspace = r->workspace, .session = r->session, .run = r->id});
    (void)snprintf(detail, sizeof detail, "{\"end\":\"%.32s\"}", r->end ? r->end : "");
    return audit_own(c,
                     &(struct audit_entry){.event = "finishRun",
                                           .via = "sandbox",
                                           .principal = r->principal,
                                           .key = r->key,
                                           .request = r->request,
                                           .workspace = r->workspace,
                                           .session = r->session,
                                           .run = r->id,
                                           .object = r->id,
                                           .detail = detail},
                     e);
}

static int update_run(struct db_conn *c, void *arg, struct err *e)
{
    const struct run_write *w = arg;
    const struct run_row *r = &w->row;
    if (sql_run(c, sql.update,
                SQL_WITH(SQL_TEXT(r->id), SQL_INT(r->status), SQL_TEXT(r->end), SQL_TEXT(r->state),
                         SQL_TEXT(r->hint), SQL_INT(r->started_us), SQL_INT(r->duration_us),
                         SQL_INT(r->cpu_us), SQL_INT((int64_t)r->peak_bytes),
                         SQL_INT(w->object.packing), SQL_BYTES(w->object.bytes, w->object.len),
                         SQL_INT(r->trace)),
                e))
        return -1;
    if (sql_changes(c) > 0)
        return lineage_add(c, r->id, r->inputs, r->input_count, e) ||
                       (r->number > 0 && lineage_follow(c, r, e)) || tell_end(c, r, e)
                   ? -1
                   : 0;
    int64_t found;
    if (sql_number(c, sql.status, SQL_WITH(SQL_TEXT(r->id)), &found, e))
        return -1;
    return found ? err_set(e, ERR_CONFLICT, "run %s is over", r->id)
                 : err_set(e, ERR_NOT_FOUND, "there is no run %s", r->id);
}

int meta_run_insert(struct meta *m, const struct run_row *row, enum meta_when when, struct err *e)
{
    return write_run(m, row, insert_run, when, e);
}

int meta_run_update(struct meta *m, const struct run_row *row, enum meta_when when, struct err *e)
{
    return write_run(m, row, update_run, when, e);
}

struct interrupt {
    const char *end, *hint;
    struct row_list list;
};

static void interrupt_done(struct interrupt *i)
{
    struct run_rows rows;
    ROWS_GIVE(&rows, i->list);
    run_rows_done(&rows);
    i->list = (struct row_list){0};
}

static int interrupt_runs(struct db_conn *c, void *arg, struct err *e)
{
    struct interrupt *i = arg;
    interrupt_done(i); /* of the time before */
    if (row_list_on(c, &run_kind, sql.undone, SQL_NOTHING, /* limit= */ 0, &i->list, e))
        return -1;
    if (sql_run(c, sql.interrupt, SQL_WITH(SQL_TEXT(i->end), SQL_TEXT(i->hint)), e))
        return -1;
    for (size_t k = 0; k < i->list.count; k++) {
        struct run_row r = ((const struct run_row *)i->list.items)[k];
        r.status = RUN_DONE;
        r.end = i->end;
        if (tell_end(c, &r, e))
            return -1;
    }
    return 0;
}

int meta_runs_interrupt(struct meta *m, const char *end, const char *hint, struct run_rows *ret,
                        struct err *e)
{
    struct interrupt i = {.end = end, .hint = hint};
    if (db_write(m->db, interrupt_runs, &i, e)) {
        interrupt_done(&i);
        return -1;
    }
    ROWS_GIVE(ret, i.list);
    return 0;
}
