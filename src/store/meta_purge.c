/* Forgetting versions for good: asked for, out of the trash, and by a rule. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/files_int.h"
#include "store/lineage_int.h"

static const struct {
    const char *find, *version, *next, *take_over, *drop_version, *fewer, *newest, *pinned,
        *file_cost, *drop_versions, *drop_file, *less, *old_trash, *thin;
} sql = {
/* Some run, of which is known what it did, has read that very version. */
#define READ_BY_RUN "FROM run_reads AS r WHERE r.file = f.number"
/* Somebody has a link to that very version, and it works. */
#define SHARED "FROM shares AS s WHERE s.version > 0 AND s.revoked = 0 AND s.file = f.id"
    .find = "SELECT f.number, f.workspace, f.state, f.version FROM files AS f"
            " CROSS JOIN workspaces AS w ON w.number = f.workspace AND w.deleted = 0"
            " WHERE f.id = ?1 AND f.state < 2",
    .version = "SELECT cost, pinned, sha256 IS NOT NULL FROM versions"
               " WHERE file = ?1 AND version = ?2",
    /* What a version costs goes to the next that has its content for nothing. */
    .next = "SELECT version, cost = 0 AND size > 0 FROM versions WHERE file = ?1 AND version > ?2"
            " AND sha256 IS NOT NULL ORDER BY version LIMIT 1",
    .take_over = "UPDATE versions SET cost = size WHERE file = ?1 AND version = ?2",
    .drop_version = "DELETE FROM versions WHERE file = ?1 AND version = ?2",
    .fewer = "UPDATE files SET kept = kept - 1 WHERE number = ?1",
    /* What a trashed file would come back with. */
    .newest = "UPDATE files SET (sha256, size) = (SELECT sha256, size FROM versions"
              " WHERE file = ?1 AND sha256 IS NOT NULL ORDER BY version DESC LIMIT 1)"
              " WHERE number = ?1",
    .pinned = "SELECT count(*) FROM versions WHERE file = ?1 AND pinned = 1",
    .file_cost = "SELECT coalesce(sum(cost), 0) FROM versions WHERE file = ?1",
    .drop_versions = "DELETE FROM versions WHERE file = ?1",
    /* Its name and revision stay: copies that are older have to hear that it is gone. */
    .drop_file = "UPDATE files SET state = 2, kept = 0, sha256 = NULL, size = 0"
                 " WHERE number = ?1",
    .less = "UPDATE workspaces SET kept_bytes = kept_bytes - ?2 WHERE number = ?1",
    .old_trash = "SELECT f.id FROM workspaces AS w CROSS JOIN files AS f INDEXED BY files_trash"
                 " WHERE w.id = ?1 AND w.deleted = 0 AND f.workspace = w.number AND f.state = 1"
                 " AND f.changed < ?2 AND NOT EXISTS (SELECT 1 FROM versions AS v"
                 "   WHERE v.file = f.number AND v.pinned = 1)"
                 " AND NOT (?5 AND EXISTS (SELECT 1 " READ_BY_RUN "))"
                 " AND NOT EXISTS (SELECT 1 " SHARED " AND (s.expires = 0 OR s.expires > ?4))"
                 " ORDER BY f.changed LIMIT ?3",
    /* ?1: so many stay, and one more of what is in the trash, where the newest is the deletion. */
    .thin = "SELECT f.id, v.version FROM files AS f INDEXED BY files_kept"
            " CROSS JOIN workspaces AS w ON w.number = f.workspace AND w.deleted = 0"
            " CROSS JOIN versions AS v ON v.file = f.number"
            " WHERE f.kept > 1 AND f.kept > ?1 AND v.version <= CASE f.state WHEN 0"
            "   THEN (SELECT n.version FROM versions AS n WHERE n.file = f.number"
            "     ORDER BY n.version DESC LIMIT 1 OFFSET ?1)"
            "   ELSE (SELECT n.version FROM versions AS n WHERE n.file = f.number"
            "     ORDER BY n.version DESC LIMIT 1 OFFSET ?1 + 1) END"
            " AND v.pinned = 0 AND (?2 = 0 OR v.created < ?2)"
            " AND NOT EXISTS (SELECT 1 " READ_BY_RUN " AND r.version = v.version)"
            " AND NOT EXISTS (SELECT 1 " SHARED " AND s.version = v.version"
            "   AND (s.expires = 0 OR s.expires > ?4)) LIMIT ?3",
#undef SHARED
#undef READ_BY_RUN
};

/* A file that is to be forgotten, or one of its versions. */
struct target {
    int64_t number, workspace, version; /* the newest */
    bool is_trashed;
};

static int find(struct db_conn *c, const char *id, struct target *ret, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.find, SQL_WITH(SQL_TEXT(id)), &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got < 0)
        return -1;
    if (!got)
        return err_set(e, ERR_NOT_FOUND, "there is no file %.64s", id);
    *ret = (struct target){.number = sql_int(&rows, 0),
                           .workspace = sql_int(&rows, 1),
                           .is_trashed = sql_int(&rows, 2) == FILE_TRASHED,
                           .version = sql_int(&rows, 3)};
    return 0;
}

static int less_kept(struct db_conn *c, const struct target *t, int64_t bytes, struct err *e)
{
    return bytes == 0 ? 0
                      : sql_run(c, sql.less, SQL_WITH(SQL_INT(t->workspace), SQL_INT(bytes)), e);
}

static int drop_file(struct db_conn *c, const struct target *t, struct err *e)
{
    int64_t pinned, cost;
    const struct sql_value number[] = {SQL_INT(t->number)};
    if (!t->is_trashed)
        return err_set(e, ERR_CONFLICT, "the file is not in the trash: delete it first");
    if (sql_number(c, sql.pinned, number, 1, &pinned, e) ||
        sql_number(c, sql.file_cost, number, 1, &cost, e))
        return -1;
    if (pinned)
        return err_set(e, ERR_CONFLICT, "%lld of its versions are pinned: unpin them first",
                       (long long)pinned);
    if (sql_run(c, sql.drop_versions, number, 1, e) || sql_run(c, sql.drop_file, number, 1, e))
        return -1;
    return less_kept(c, t, cost, e);
}

/* What the version costs: to the next one, or out of the sum. */
static int pass_cost(struct db_conn *c, const struct target *t, int64_t version, int64_t cost,
                     struct err *e)
{
    int64_t heir = 0;
    if (cost == 0)
        return 0;
    {
        scoped(sql_rows_done) struct sql_rows rows = {0};
        if (sql_query(c, sql.next, SQL_WITH(SQL_INT(t->number), SQL_INT(version)), &rows, e))
            return -1;
        int got = sql_next(&rows, e);
        if (got < 0)
            return -1;
        if (got && sql_int(&rows, 1))
            heir = sql_int(&rows, 0);
    }
    return heir ? sql_run(c, sql.take_over, SQL_WITH(SQL_INT(t->number), SQL_INT(heir)), e)
                : less_kept(c, t, cost, e);
}

static int drop_version(struct db_conn *c, const struct target *t, int64_t version, struct err *e)
{
    int64_t cost, pinned, has_content;
    {
        scoped(sql_rows_done) struct sql_rows rows = {0};
        if (sql_query(c, sql.version, SQL_WITH(SQL_INT(t->number), SQL_INT(version)), &rows, e))
            return -1;
        int got = sql_next(&rows, e);
        if (got < 0)
            return -1;
        if (!got)
            return err_set(e, ERR_NOT_FOUND, "there is no such version (or no longer)");
        cost = sql_int(&rows, 0);
        pinned = sql_int(&rows, 1);
        has_content = sql_int(&rows, 2);
    }
    if (version == t->version)
        return err_set(e, ERR_CONFLICT,
                       t->is_trashed ? "that version is the deletion: purge the whole file"
                                     : "the newest version stays: delete the file instead");
    if (pinned)
        return err_set(e, ERR_CONFLICT, "the version is pinned: unpin it first");
    if (pass_cost(c, t, version, cost, e) ||
        sql_run(c, sql.drop_version, SQL_WITH(SQL_INT(t->number), SQL_INT(version)), e) ||
        sql_run(c, sql.fewer, SQL_WITH(SQL_INT(t->number)), e))
        return -1;
    if (!t->is_trashed || !has_content)
        return 0;
    int64_t left;
    if (sql_number(c, sql.next, SQL_WITH(SQL_INT(t->number), SQL_INT(0)), &left, e))
        return -1;
    return left ? sql_run(c, sql.newest, SQL_WITH(SQL_INT(t->number)), e)
                : drop_file(c, t, e); /* nothing could come back */
}

struct purging {
    const char *file;
    uint64_t version;
};

static int purge(struct db_conn *c, void *arg, struct err *e)
{
    const struct purging *p = arg;
    struct target t;
    if (find(c, p->file, &t, e))
        return -1;
    return p->version ? drop_version(c, &t, (int64_t)(p->version & INT64_MAX), e)
                      : drop_file(c, &t, e);
}

int meta_purge(struct meta *m, const char *file, uint64_t version, struct err *e)
{
    struct purging p = {file, version};
    return db_write(m->db, purge, &p, e);
}

/* ---- many: found by a reader, and looked at again by the job ---- */

struct doomed {
    char file[ID_SIZE];
    uint64_t version; /* 0: the whole file */
};

struct doom {
    struct doomed *items;
    size_t count;
    int64_t before_us; /* of trash: still in it, and since before then */
    bool is_rule;      /* nobody asked for just that: what runs have read stays */
    uint64_t gone;
    const char *event, *workspace; /* how the audit calls it; NULL: in none, or in several */
};

static void doom_done(struct doom *d)
{
    free(d->items);
}

static int collect(struct meta *m, const char *text, const struct sql_value *values, size_t count,
                   bool has_version, uint32_t limit, struct doom *ret, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    ret->items = calloc(limit, sizeof *ret->items);
    if (!ret->items)
        return err_set(e, ERR_NO_MEMORY, "look for what to forget");
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, text, values, count, &rows, e))
        return -1;
    int got;
    while ((got = sql_next(&rows, e)) == 1 && ret->count < limit) {
        struct doomed *d = &ret->items[ret->count++];
        sql_id(&rows, 0, d->file);
        d->version = has_version ? (uint64_t)sql_int(&rows, 1) : 0;
    }
    return got < 0 ? -1 : 0;
}

static int tell_forgotten(struct db_conn *c, const struct doom *d, struct err *e)
{
    char detail[64];
    if (d->gone == 0)
        return 0;
    (void)snprintf(detail, sizeof detail, "{\"forgotten\":%llu}", (unsigned long long)d->gone);
    return audit_own(
        c, &(struct audit_entry){.event = d->event, .workspace = d->workspace, .detail = detail},
        e);
}

/* What changed its mind meanwhile (untrashed, pinned, shared, read by a run, purged) stays; a file that
 * was deleted anew too, since it has become younger. */
static int forget(struct db_conn *c, void *arg, struct err *e)
{
    static const char is_old[] = "SELECT count(*) FROM files WHERE id = ?1 AND state = 1"
                                 " AND changed < ?2";
    static const char is_shared[] = "SELECT count(*) FROM shares WHERE file = ?1 AND version > 0"
                                    " AND (?2 = 0 OR version = ?2) AND revoked = 0"
                                    " AND (expires = 0 OR expires > ?3)";
    struct doom *d = arg;
    d->gone = 0;
    for (size_t i = 0; i < d->count; i++) {
        struct doomed *it = &d->items[i];
        struct purging p = {it->file, it->version};
        struct err why = {0};
        int64_t old = 1, shared, read;
        if ((!it->version &&
             sql_number(c, is_old, SQL_WITH(SQL_TEXT(it->file), SQL_INT(d->before_us)), &old, e)) ||
            sql_number(c, is_shared,
                       SQL_WITH(SQL_TEXT(it->file), SQL_INT((int64_t)it->version),
                                SQL_INT(clock_wall_us())),
                       &shared, e) ||
            lineage_is_input(c, it->file, it->version, &read, e))
            return -1;
        if (!old || shared || (read && d->is_rule))
            continue;
        if (!purge(c, &p, &why)) {
            d->gone++;
        } else if (why.code != ERR_CONFLICT && why.code != ERR_NOT_FOUND) {
            *e = why;
            return -1;
        }
    }
    return tell_forgotten(c, d, e);
}

static int forget_all(struct meta *m, struct doom *d, uint64_t *ret_count, struct err *e)
{
    if (d->count > 0 && db_write(m->db, forget, d, e))
        return -1;
    *ret_count = d->gone;
    return 0;
}

static int purge_trash(struct meta *m, const char *workspace, int64_t before_us, uint32_t limit,
                       bool is_rule, uint64_t *ret_count, struct err *e)
{
    scoped(doom_done) struct doom d = {
        .before_us = before_us, .is_rule = is_rule, .event = "emptyTrash", .workspace = workspace};
    if (collect(m, sql.old_trash,
                SQL_WITH(SQL_TEXT(workspace), SQL_INT(before_us), SQL_INT(limit),
                         SQL_INT(clock_wall_us()), SQL_INT(is_rule)),
                /* has_version= */ false, limit, &d, e))
        return -1;
    return forget_all(m, &d, ret_count, e);
}

int meta_purge_trash(struct meta *m, const char *workspace, int64_t before_us, uint32_t limit,
                     uint64_t *ret_count, struct err *e)
{
    return purge_trash(m, workspace, before_us, limit, /* is_rule= */ false, ret_count, e);
}

int meta_tidy_trash(struct meta *m, const char *workspace, int64_t before_us, uint32_t limit,
                    uint64_t *ret_count, struct err *e)
{
    return purge_trash(m, workspace, before_us, limit, /* is_rule= */ true, ret_count, e);
}

int meta_thin(struct meta *m, const struct thinning *rule, uint32_t limit, uint64_t *ret_count,
              struct err *e)
{
    scoped(doom_done) struct doom d = {.is_rule = true, .event = "thinVersions"};
    *ret_count = 0;
    if (rule->keep_last == 0 && rule->older_than_us == 0)
        return 0;
    int64_t keep = rule->keep_last > 1 ? rule->keep_last : 1; /* the newest always stays */
    if (collect(m, sql.thin,
                SQL_WITH(SQL_INT(keep), SQL_INT(rule->older_than_us), SQL_INT(limit),
                         SQL_INT(clock_wall_us())),
                /* has_version= */ true, limit, &d, e))
        return -1;
    return forget_all(m, &d, ret_count, e);
}
