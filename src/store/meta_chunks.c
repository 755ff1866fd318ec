/* Where chunks lie, and which of them are needed. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/files_int.h"

enum { RECORD_HEADER_LEN = 52 }; /* of a record in a pack */

static const struct {
    const char *find, *find_any, *list, *move, *vaults, *contents, *names, *mark, *unmark, *sweep,
        *packs;
} sql = {
#define COLUMNS                                                                           \
    "SELECT c.sha256, c.kind, c.pack, c.offset, c.stored_len, c.raw_len, c.flags, c.dead" \
    " FROM chunks AS c "
#define VAULT "(SELECT number FROM vaults WHERE name = ?1)"
    .find = COLUMNS "WHERE c.vault = " VAULT " AND c.sha256 = ?2 AND c.kind = ?3 AND c.dead = 0",
    .find_any = COLUMNS "WHERE c.vault = " VAULT " AND c.sha256 = ?2 AND c.kind = ?3",
    .list = COLUMNS "INDEXED BY chunks_pack WHERE c.vault = " VAULT
                    " AND c.pack = ?2 AND c.offset >= ?3 ORDER BY c.offset LIMIT ?4",
    .move = "UPDATE chunks SET pack = ?6, offset = ?7, stored_len = ?8, flags = ?9"
            " WHERE vault = " VAULT " AND sha256 = ?2 AND kind = ?3 AND pack = ?4 AND offset = ?5",
    .vaults = "SELECT v.name FROM vaults AS v INDEXED BY sqlite_autoindex_vaults_1"
              " WHERE EXISTS (SELECT 1 FROM chunks AS c WHERE c.vault = v.number)"
              " OR EXISTS (SELECT 1 FROM versions AS n INDEXED BY versions_content"
              "   WHERE n.vault = v.number AND n.sha256 IS NOT NULL) ORDER BY v.name",
    .contents = "SELECT v.sha256, v.size FROM versions AS v INDEXED BY versions_content"
                " CROSS JOIN workspaces AS w ON w.number = v.workspace AND w.deleted = 0"
                " WHERE v.vault = " VAULT " AND v.sha256 IS NOT NULL AND v.sha256 > ?2"
                " GROUP BY v.sha256 ORDER BY v.sha256 LIMIT ?3",
    .names = "SELECT w.id, w.name, v.path, v.version, f.state,"
             "  NOT EXISTS (SELECT 1 FROM versions AS n WHERE n.file = v.file"
             "    AND n.version > v.version AND n.sha256 IS NOT NULL)"
             " FROM versions AS v INDEXED BY versions_content"
             " CROSS JOIN workspaces AS w ON w.number = v.workspace AND w.deleted = 0"
             " CROSS JOIN files AS f ON f.number = v.file"
             " WHERE v.vault = " VAULT " AND v.sha256 IS NOT NULL AND v.sha256 = ?2"
             " ORDER BY w.id, v.path, v.version",
    .mark = "UPDATE chunks SET dead = ?4 WHERE vault = " VAULT
            " AND sha256 = ?2 AND kind = ?3 AND dead = 0",
    .unmark = "UPDATE chunks SET dead = 0 WHERE vault = " VAULT
              " AND sha256 = ?2 AND kind = ?3 AND dead > 0",
    .sweep = "DELETE FROM chunks WHERE (vault, sha256, kind) IN (SELECT vault, sha256, kind"
             " FROM chunks INDEXED BY chunks_dead WHERE vault = " VAULT
             " AND dead > 0 AND dead < ?2 LIMIT ?3)",
    .packs = "SELECT c.pack, count(*), sum(c.stored_len + ?2), max(c.offset + c.stored_len + ?2)"
             " FROM chunks AS c INDEXED BY chunks_pack WHERE c.vault = " VAULT
             " GROUP BY c.pack ORDER BY c.pack",
};

static void read_chunk(const struct sql_rows *rows, struct chunk_row *ret)
{
    *ret = (struct chunk_row){
        .kind = (enum chunk_kind)sql_int(rows, 1),
        .pack = (uint64_t)sql_int(rows, 2),
        .offset = (uint64_t)sql_int(rows, 3),
        .stored_len = (uint32_t)sql_int(rows, 4),
        .raw_len = (uint32_t)sql_int(rows, 5),
        .flags = (uint32_t)sql_int(rows, 6),
        .dead_us = sql_int(rows, 7),
    };
    struct str hash = sql_text(rows, 0);
    memcpy(ret->sha256, hash.ptr, hash.len < HASH_LEN ? hash.len : HASH_LEN);
}

static int find_chunk(struct meta *m, const char *text, const char *vault,
                      const struct chunk_key *key, struct chunk_row *ret, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, text,
                  SQL_WITH(SQL_TEXT(vault), SQL_BYTES(key->sha256, HASH_LEN), SQL_INT(key->kind)),
                  &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got == 1)
        read_chunk(&rows, ret);
    return got;
}

int meta_chunk_find(struct meta *m, const char *vault, const struct chunk_key *key,
                    struct chunk_row *ret, struct err *e)
{
    return find_chunk(m, sql.find, vault, key, ret, e);
}

int meta_chunk_read(struct meta *m, const char *vault, const struct chunk_key *key,
                    struct chunk_row *ret, struct err *e)
{
    return find_chunk(m, sql.find_any, vault, key, ret, e);
}

int meta_chunk_list(struct meta *m, const char *vault, uint64_t pack, uint64_t offset, size_t limit,
                    struct chunk_row *ret, size_t *ret_count, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.list,
                  SQL_WITH(SQL_TEXT(vault), SQL_INT((int64_t)pack), SQL_INT((int64_t)offset),
                           SQL_INT((int64_t)limit)),
                  &rows, e))
        return -1;
    size_t count = 0;
    int got = 0;
    while (count < limit && (got = sql_next(&rows, e)) == 1)
        read_chunk(&rows, &ret[count++]);
    if (got < 0)
        return -1;
    *ret_count = count;
    return 0;
}

/* ---- changing ---- */

struct chunk_job {
    const char *vault;
    const struct chunk_move *moves;
    const struct chunk_key *keys;
    size_t count;
    bool is_dead;
    int64_t moment_us;
    uint32_t limit;
    uint64_t gone;
};

static int move_chunks(struct db_conn *c, void *arg, struct err *e)
{
    const struct chunk_job *j = arg;
    for (size_t i = 0; i < j->count; i++) {
        const struct chunk_row *from = &j->moves[i].from, *to = &j->moves[i].to;
        if (sql_run(c, sql.move,
                    SQL_WITH(SQL_TEXT(j->vault), SQL_BYTES(from->sha256, HASH_LEN),
                             SQL_INT(from->kind), SQL_INT((int64_t)from->pack),
                             SQL_INT((int64_t)from->offset), SQL_INT((int64_t)to->pack),
                             SQL_INT((int64_t)to->offset), SQL_INT(to->stored_len),
                             SQL_INT(to->flags)),
                    e))
            return -1;
    }
    return 0;
}

int meta_chunk_move(struct meta *m, const char *vault, const struct chunk_move *moves, size_t count,
                    struct err *e)
{
    struct chunk_job j = {.vault = vault, .moves = moves, .count = count};
    return db_write(m->db, move_chunks, &j, e);
}

static int mark_chunks(struct db_conn *c, void *arg, struct err *e)
{
    const struct chunk_job *j = arg;
    for (size_t i = 0; i < j->count; i++) {
        const struct chunk_key *k = &j->keys[i];
        const struct sql_value values[] = {SQL_TEXT(j->vault), SQL_BYTES(k->sha256, HASH_LEN),
                                           SQL_INT(k->kind), SQL_INT(j->moment_us)};
        if (sql_run(c, j->is_dead ? sql.mark : sql.unmark, values, j->is_dead ? 4 : 3, e))
            return -1;
    }
    return 0;
}

int meta_chunk_mark(struct meta *m, const char *vault, const struct chunk_key *keys, size_t count,
                    bool is_dead, int64_t now_us, struct err *e)
{
    struct chunk_job j = {.vault = vault,
                          .keys = keys,
                          .count = count,
                          .is_dead = is_dead,
                          .moment_us = now_us > 0 ? now_us : 1};
    return db_write(m->db, mark_chunks, &j, e);
}

static int sweep_chunks(struct db_conn *c, void *arg, struct err *e)
{
    struct chunk_job *j = arg;
    if (sql_run(c, sql.sweep,
                SQL_WITH(SQL_TEXT(j->vault), SQL_INT(j->moment_us), SQL_INT(j->limit)), e))
        return -1;
    j->gone = sql_changes(c);
    return 0;
}

int meta_chunk_sweep(struct meta *m, const char *vault, int64_t before_us, uint32_t limit,
                     uint64_t *ret_count, struct err *e)
{
    struct chunk_job j = {.vault = vault, .moment_us = before_us, .limit = limit};
    if (db_write(m->db, sweep_chunks, &j, e))
        return -1;
    *ret_count = j.gone;
    return 0;
}

/* ---- for gc ---- */

/* The list with room for one more of `size` bytes each, doubling. NULL: `items` is as it was. */
static void *widen(void *items, size_t count, size_t *cap, size_t size, struct err *e)
{
    if (count < *cap)
        return items;
    size_t wider = *cap ? 2 * *cap : 16;
    void *more = reallocarray(items, wider, size);
    if (more)
        *cap = wider;
    else
        (void)err_set(e, ERR_NO_MEMORY, "read a list");
    return more;
}

int meta_vault_list(struct meta *m, char (**ret)[ID_SIZE], size_t *ret_count, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    scoped(freep) void *items = NULL;
    size_t count = 0, cap = 0;
    int got = sql_query(c, sql.vaults, SQL_NOTHING, &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        char(*more)[ID_SIZE] = widen(items, count, &cap, sizeof *more, e);
        if (!more)
            return -1;
        items = more;
        sql_id(&rows, 0, more[count++]);
        got = 0;
    }
    if (got < 0)
        return -1;
    *ret = take(items);
    *ret_count = count;
    return 0;
}

int meta_content_list(struct meta *m, const char *vault, const uint8_t *after, size_t limit,
                      struct content *ret, size_t *ret_count, struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.contents,
                  SQL_WITH(SQL_TEXT(vault),
                           SQL_BYTES(after ? (const void *)after : "", after ? HASH_LEN : 0),
                           SQL_INT((int64_t)limit)),
                  &rows, e))
        return -1;
    size_t count = 0;
    int got = 0;
    while (count < limit && (got = sql_next(&rows, e)) == 1)
        content_read_column(&rows, 0, &ret[count++]);
    if (got < 0)
        return -1;
    *ret_count = count;
    return 0;
}

int meta_content_names(struct meta *m, const char *vault, const uint8_t sha256[HASH_LEN],
                       void (*each)(void *arg, const struct content_name *name), void *arg,
                       struct err *e)
{
    enum { LIVE, TRASHED };
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c, sql.names, SQL_WITH(SQL_TEXT(vault), SQL_BYTES(sha256, HASH_LEN)), &rows, e))
        return -1;
    int got;
    while ((got = sql_next(&rows, e)) == 1) {
        struct content_name name = {.workspace_name = sql_text(&rows, 1),
                                    .path = sql_text(&rows, 2),
                                    .version = (uint64_t)sql_int(&rows, 3),
                                    .is_in_trash = sql_int(&rows, 4) == TRASHED,
                                    .is_newest = sql_int(&rows, 5) != 0};
        sql_id(&rows, 0, name.workspace);
        each(arg, &name);
    }
    return got;
}

int meta_pack_use(struct meta *m, const char *vault, struct pack_use **ret, size_t *ret_count,
                  struct err *e)
{
    scoped(db_read_endp) struct db_conn *c = NULL;
    if (db_read_begin(m->db, &c, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    scoped(freep) void *items = NULL;
    size_t count = 0, cap = 0;
    int got =
        sql_query(c, sql.packs, SQL_WITH(SQL_TEXT(vault), SQL_INT(RECORD_HEADER_LEN)), &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1) {
        struct pack_use *more = widen(items, count, &cap, sizeof *more, e);
        if (!more)
            return -1;
        items = more;
        more[count++] = (struct pack_use){
            .pack = (uint64_t)sql_int(&rows, 0),
            .records = (uint64_t)sql_int(&rows, 1),
            .bytes = (uint64_t)sql_int(&rows, 2),
            .end = (uint64_t)sql_int(&rows, 3),
        };
        got = 0;
    }
    if (got < 0)
        return -1;
    *ret = take(items);
    *ret_count = count;
    return 0;
}
