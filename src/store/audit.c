#include "store/audit.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "store/audit_int.h"
#include "store/meta_int.h"

static const struct {
    const char *last, *add;
} sql = {
    .last = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1",
    .add = "INSERT INTO audit (seq, at, workspace, principal, event, result, is_read, record, hash)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
};

/* ---- the chain ---- */

int audit_link(const uint8_t before[HASH_LEN], const char *record, size_t len,
               uint8_t ret[HASH_LEN], struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    return hash_init(&h, e) || hash_add(&h, before, HASH_LEN, e) || hash_add(&h, record, len, e) ||
                   hash_end(&h, ret, e)
               ? -1
               : 0;
}

/* The newest row; zeros when there is none. */
static int find_last(struct db_conn *c, int64_t *ret_seq, uint8_t ret_hash[HASH_LEN], struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.last, SQL_NOTHING, &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got < 0)
        return -1;
    *ret_seq = got ? sql_int(&rows, 0) : 0;
    memset(ret_hash, 0, HASH_LEN);
    struct str hash = got ? sql_text(&rows, 1) : STR_NONE;
    if (got && hash.len != HASH_LEN)
        return err_set(e, ERR_DAMAGED, "the audit is damaged: check it with `cicada audit verify`");
    if (got)
        memcpy(ret_hash, hash.ptr, HASH_LEN);
    return 0;
}

/* A column repeats what the record says: cut as it is there. */
static const char *column(const char *text, char cut[AUDIT_TEXT_MAX + 1])
{
    size_t len = text ? strnlen(text, AUDIT_TEXT_MAX + 1) : 0;
    if (len <= AUDIT_TEXT_MAX)
        return text ? text : "";
    len = utf8_cut(text, AUDIT_TEXT_MAX);
    memcpy(cut, text, len);
    cut[len] = '\0';
    return cut;
}

int audit_add(struct db_conn *c, const struct audit_entry *a, struct err *e)
{
    assert(a->event && *a->event);
    scoped(buf_done) struct buf record = BUF_INIT(AUDIT_RECORD_MAX);
    audit_record(a, &record);
    int64_t seq;
    uint8_t hash[HASH_LEN];
    if (buf_check(&record, e) || find_last(c, &seq, hash, e) ||
        audit_link(hash, record.bytes, record.len, hash, e))
        return -1;
    char cuts[3][AUDIT_TEXT_MAX + 1];
    const struct sql_value values[] = {SQL_INT(seq + 1),
                                       SQL_INT(a->at_us),
                                       SQL_ID(column(a->workspace, cuts[0])),
                                       SQL_ID(column(a->principal, cuts[1])),
                                       SQL_TEXT(column(a->event, cuts[2])),
                                       SQL_INT(a->result),
                                       SQL_INT(a->is_read),
                                       SQL_TEXT(record.bytes),
                                       SQL_BYTES(hash, HASH_LEN)};
    return sql_run(c, sql.add, values, sizeof values / sizeof *values, e);
}

/* ---- rides ---- */

int audit_ride(struct db_conn *c, void *arg, struct err *e)
{
    const struct audit_ride *r = arg;
    struct audit_entry a = r->entry;
    a.is_read = a.is_read || r->made.is_unchanged;
    a.version = r->made.version ? r->made.version : a.version;
    a.rev = r->made.rev ? r->made.rev : a.rev;
    a.object = *r->made.object ? r->made.object : a.object;
    a.workspace = *r->made.workspace ? r->made.workspace : a.workspace;
    a.session = *r->made.session ? r->made.session : a.session;
    a.run = *r->made.run ? r->made.run : a.run;
    if (*r->made.principal && (!a.principal || strcmp(a.principal, r->made.principal) != 0)) {
        a.behalf = a.principal;
        a.principal = r->made.principal;
    }
    a.path = r->made.path ? r->made.path : a.path;
    a.detail = r->made.detail ? r->made.detail : a.detail;
    return audit_add(c, &a, e);
}

void audit_ride_done(struct audit_ride *r)
{
    free(r->made.path);
    free(r->made.detail);
    memset(&r->made, 0, sizeof r->made);
}

static void set_id(char to[ID_SIZE], const char *id)
{
    if (id && *id)
        (void)snprintf(to, ID_SIZE, "%s", id);
}

void audit_tell(struct db_conn *c, const struct audit_subject *s)
{
    struct audit_ride *r = audit_riding(c);
    if (!r)
        return;
    set_id(r->made.object, s->object);
    set_id(r->made.principal, s->principal);
    if (!r->entry.principal || !*r->entry.principal)
        set_id(r->made.principal, s->signed_in);
    set_id(r->made.workspace, s->workspace);
    set_id(r->made.session, s->session);
    set_id(r->made.run, s->run);
}

struct audit_ride *audit_riding(struct db_conn *c)
{
    return db_rider_arg(c);
}

int audit_own(struct db_conn *c, const struct audit_entry *entry, struct err *e)
{
    struct audit_entry a = *entry;
    if (audit_riding(c))
        return 0;
    a.via = a.via ? a.via : "server";
    a.at_us = a.at_us ? a.at_us : clock_wall_us();
    return audit_add(c, &a, e);
}

/* ---- posting ---- */

struct posted {
    struct audit_entry entry;
    void *owned;
};

static int add_posted(struct db_conn *c, void *arg, struct err *e)
{
    const struct posted *p = arg;
    return audit_add(c, &p->entry, e);
}

static void free_posted(void *arg)
{
    struct posted *p = arg;
    free(p->owned);
    free(p);
}

int audit_post(struct meta *m, const struct audit_entry *from, struct err *e)
{
    struct posted *p = malloc(sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "write to the audit");
    *p = (struct posted){.entry = *from};
    struct audit_entry *a = &p->entry;
    const char **const texts[] = {&a->event, &a->principal, &a->key,     &a->behalf,    &a->via,
                                  &a->peer,  &a->agent,     &a->request, &a->workspace, &a->session,
                                  &a->run,   &a->object,    &a->path,    &a->detail,    &a->reason};
    enum { COUNT = sizeof texts / sizeof *texts };
    struct text_slot slots[COUNT];
    for (size_t i = 0; i < COUNT; i++)
        slots[i] =
            (struct text_slot){.to = texts[i], .from = *texts[i] ? str_of(*texts[i]) : STR_NONE};
    if (texts_own(slots, COUNT, &p->owned, e)) {
        free(p);
        return -1;
    }
    return db_note(m->db, add_posted, p, free_posted, e);
}

uint64_t audit_head(struct meta *m, struct err *e)
{
    int64_t seq;
    return meta_number(m, sql.last, SQL_NOTHING, &seq, e) ? 0 : (uint64_t)seq;
}
