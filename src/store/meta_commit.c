/* One commit: a job on the writer's thread. See commit_int.h for how it is divided. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/audit_int.h"
#include "store/commit_int.h"
#include "store/meta_int.h"

static const struct {
    const char *begin, *end, *add, *add_chunk, *replace_chunk, *chunk, *unmark;
} sql = {
    .begin =
        "SELECT w.number, w.vault, w.rev, w.files, w.bytes, w.kept_bytes, v.name,"
        " CASE p.bytes_max WHEN 0 THEN -1 ELSE max(0, p.bytes_max - (SELECT"
        "   coalesce(sum(o.kept_bytes), 0) FROM workspaces AS o WHERE o.owner = w.owner"
        "   AND o.deleted = 0 AND o.number <> w.number)) END"
        " FROM workspaces AS w CROSS JOIN principals AS p ON p.id = w.owner CROSS JOIN vaults AS v ON v.number = w.vault"
        " WHERE w.id = ?1 AND w.deleted = 0",
    .end = "UPDATE workspaces SET rev = ?2, files = ?3, bytes = ?4, kept_bytes = ?5"
           " WHERE number = ?1",
    .add = "INSERT INTO commits (workspace, rev, kind, principal, key_id, session, run, created)"
           " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    /* Whoever stored the same meanwhile was first, unless gc has given that one up. */
    .add_chunk = "INSERT INTO chunks (vault, sha256, kind, pack, offset, stored_len, raw_len,"
                 " flags, dead) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0)"
                 " ON CONFLICT (vault, sha256, kind) DO NOTHING",
    .replace_chunk = "UPDATE chunks SET pack = ?4, offset = ?5, stored_len = ?6, raw_len = ?7,"
                     " flags = ?8, dead = 0 WHERE vault = ?1 AND sha256 = ?2 AND kind = ?3"
                     " AND dead > 0",
    .chunk = "SELECT 1 + (dead > 0) FROM chunks WHERE vault = ?1 AND sha256 = ?2 AND kind = ?3",
    .unmark = "UPDATE chunks SET dead = 0 WHERE vault = ?1 AND sha256 = ?2 AND kind = ?3",
};

struct commit_job {
    const struct commit_row *commit;
    struct file_change *changes;
    size_t count;
    const struct chunk_set *chunks; /* NULL: none */
    uint64_t rev;
};

/* What an earlier try wrote there is forgotten. */
static void forget(struct file_change *changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct file_change *c = &changes[i];
        free(c->ret_path);
        free(c->ret_why);
        c->ret_path = c->ret_why = NULL;
        c->outcome = OUTCOME_DONE;
        c->made = 0;
        c->ret_file[0] = '\0';
        c->ret_version = c->ret_rev = 0;
    }
}

static int begin(struct work *w, const struct chunk_set *chunks, struct err *e)
{
    const char *id = w->commit->workspace;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(w->c, sql.begin, SQL_WITH(SQL_TEXT(id)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got < 0)
        return -1;
    if (!got)
        return err_set(e, ERR_NOT_FOUND, "there is no workspace %s", id);
    w->workspace = sql_int(&rows, 0);
    w->vault = sql_int(&rows, 1);
    w->rev = (uint64_t)sql_int(&rows, 2) + 1;
    w->files = (uint64_t)sql_int(&rows, 3);
    w->bytes = (uint64_t)sql_int(&rows, 4);
    w->kept_bytes = (uint64_t)sql_int(&rows, 5);
    w->owner_max = sql_int(&rows, 7);
    if (chunks && !str_is(sql_text(&rows, 6), chunks->vault))
        return err_set(e, ERR_INTERNAL, "the chunks of another vault cannot be used here");
    return 0;
}

/* ---- chunks ---- */

static int add_chunks(struct work *w, const struct chunk_set *set, struct err *e)
{
    for (size_t i = 0; i < set->fresh_count; i++) {
        const struct chunk_row *r = &set->fresh[i];
        const struct sql_value values[] = {SQL_INT(w->vault),
                                           SQL_BYTES(r->sha256, HASH_LEN),
                                           SQL_INT(r->kind),
                                           SQL_INT((int64_t)r->pack),
                                           SQL_INT((int64_t)r->offset),
                                           SQL_INT(r->stored_len),
                                           SQL_INT(r->raw_len),
                                           SQL_INT(r->flags)};
        if (sql_run(w->c, sql.add_chunk, values, 8, e) ||
            (sql_changes(w->c) == 0 && sql_run(w->c, sql.replace_chunk, values, 8, e)))
            return -1;
    }
    return 0;
}

static int check_chunks(struct work *w, const struct chunk_set *set, struct err *e)
{
    for (size_t i = 0; i < set->reused_count; i++) {
        const struct chunk_key *k = &set->reused[i];
        const struct sql_value values[] = {SQL_INT(w->vault), SQL_BYTES(k->sha256, HASH_LEN),
                                           SQL_INT(k->kind)};
        int64_t found;
        if (sql_number(w->c, sql.chunk, values, 3, &found, e) ||
            (found == 2 && sql_run(w->c, sql.unmark, values, 3, e)))
            return -1;
        if (found == 0)
            return err_set(e, ERR_BUSY, "bytes that were to be used again are gone: try again");
    }
    return 0;
}

/* ---- changes ---- */

static int change(struct work *w, struct file_change *c, struct err *e)
{
    switch (c->op) {
    case OP_PUT: return op_put(w, c, e);
    case OP_DELETE: return op_delete(w, c, e);
    case OP_MOVE: return op_move(w, c, e);
    case OP_COPY: return op_copy(w, c, e);
    case OP_MKDIR: return op_mkdir(w, c, e);
    case OP_RESTORE: return op_restore(w, c, e);
    case OP_UNTRASH: return op_untrash(w, c, e);
    }
    return err_set(e, ERR_INTERNAL, "no such change");
}

/* Whoever is lenient has done nothing when there was no room (commit_int.h). */
static int change_all(struct work *w, struct file_change *changes, size_t count, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        if (!locks_check(w, &changes[i], &why) && !change(w, &changes[i], &why))
            continue;
        if (why.code != ERR_QUOTA || !changes[i].is_lenient) {
            *e = why;
            return -1;
        }
        changes[i].outcome = OUTCOME_QUOTA;
        changes[i].made = 0;
    }
    return 0;
}

static int end(struct work *w, struct err *e)
{
    const struct commit_row *k = w->commit;
    if (sql_run(w->c, sql.add,
                SQL_WITH(SQL_INT(w->workspace), SQL_INT((int64_t)w->rev), SQL_INT(k->kind),
                         SQL_ID(k->author.principal), SQL_ID(k->author.key),
                         SQL_ID(k->author.session), SQL_ID(k->author.run), SQL_INT(k->created_us)),
                e))
        return -1;
    return sql_run(w->c, sql.end,
                   SQL_WITH(SQL_INT(w->workspace), SQL_INT((int64_t)w->rev),
                            SQL_INT((int64_t)w->files), SQL_INT((int64_t)w->bytes),
                            SQL_INT((int64_t)w->kept_bytes)),
                   e);
}

static int run(struct db_conn *c, void *arg, struct err *e)
{
    struct commit_job *j = arg;
    struct work w = {.c = c, .commit = j->commit};
    forget(j->changes, j->count);
    if (begin(&w, j->chunks, e))
        return -1;
    if (j->chunks && (add_chunks(&w, j->chunks, e) || check_chunks(&w, j->chunks, e)))
        return -1;
    int failed = locks_load(&w, e) || change_all(&w, j->changes, j->count, e) ||
                 (w.has_changed && end(&w, e)) || audit_commit(&w, j->changes, j->count, e);
    locks_done(&w);
    j->rev = rev_now(&w);
    return failed ? -1 : 0;
}

int meta_commit_set(struct meta *m, const struct commit_row *commit, struct file_change *changes,
                    size_t count, const struct chunk_set *chunks, uint64_t *ret_rev, struct err *e)
{
    assert(!commit->is_working_copy || *commit->author.session);
    struct commit_job j = {.commit = commit, .changes = changes, .count = count, .chunks = chunks};
    for (size_t i = 0; i < count; i++)
        changes[i].ret_path = changes[i].ret_why = NULL; /* going in, they are nobody's */
    /* What a run made is told of by itself, whoever's request waits for it. */
    bool is_own = commit->kind == COMMIT_RUN || commit->kind == COMMIT_RECOVERED;
    struct db_rider *before = is_own ? db_rider_set(NULL) : NULL;
    int failed = db_write(m->db, run, &j, e);
    if (is_own)
        (void)db_rider_set(before);
    if (failed) {
        forget(changes, count);
        return -1;
    }
    *ret_rev = j.rev;
    return 0;
}
