/* text_fill.c -- the text of documents: in, out, from one to another. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/text_index_int.h"

enum {
    TERM_MIN = 4, /* bytes of words that are looked through for similar ones */
    TERM_MAX = 32,
    SEEN_SLOTS = 1 << 14,
};

static const struct {
    const char *find, *take_vectors, *put_chunk, *put_text, *put_words, *take_words, *take_texts,
        *take_chunks;
    const char *less, *more, *ready, *settled, *same, *copied;
    const char *retitle, *again, *add_term, *add_grams, *last_term;
} sql = {
    .find =
        "SELECT d.workspace, d.path, d.mime, d.kind, d.principal FROM docs AS d WHERE d.number = ?1"
        " AND d.sha256 = ?2",
    .take_vectors = "DELETE FROM vectors WHERE workspace ="
                    " (SELECT d.workspace FROM docs AS d WHERE d.number = ?1)"
                    " AND chunk IN (SELECT c.number FROM chunks AS c WHERE c.doc = ?1)",
    .put_chunk = "INSERT INTO chunks (doc, place, first, last, column, word_count, label)"
                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    .put_text = "INSERT INTO texts (number, title, body, scope) VALUES (?1, ?2, ?3, ?4)",
    .put_words = "INSERT INTO words (rowid, title, body, scope) VALUES (?1, ?2, ?3, ?4)",
    .take_words = "INSERT INTO words (words, rowid, title, body, scope)"
                  " SELECT 'delete', t.number, t.title, t.body, t.scope"
                  " FROM chunks AS c JOIN texts AS t ON t.number = c.number WHERE c.doc = ?1",
    .take_texts =
        "DELETE FROM texts WHERE number IN (SELECT c.number FROM chunks AS c WHERE c.doc = ?1)",
    .less =
        "UPDATE workspaces SET"
        " chunks = chunks - (SELECT count(*) FROM chunks AS c WHERE c.doc = ?1),"
        " words = words - (SELECT ifnull(sum(c.word_count), 0) FROM chunks AS c WHERE c.doc = ?1)"
        " WHERE number = (SELECT d.workspace FROM docs AS d WHERE d.number = ?1)",
    .take_chunks = "DELETE FROM chunks WHERE doc = ?1",
    .more = "UPDATE workspaces SET chunks = chunks + ?2, words = words + ?3 WHERE number = ?1",
    .ready = "UPDATE docs SET state = 1, reason = NULL, chunks = ?2, indexed = version"
             " WHERE number = ?1",
    .settled = "UPDATE docs SET state = ?2, reason = ?3, chunks = 0, indexed = version"
               " WHERE number = ?1",
    .same = "SELECT o.number FROM docs AS o INDEXED BY docs_content"
            " JOIN workspaces AS w ON w.number = o.workspace WHERE o.sha256 = ?1 AND o.state = 1"
            " AND o.kind = 0 AND w.vault = ?2 AND o.number <> ?3 AND o.mime = ?4 LIMIT 1",
    .copied = "SELECT c.place, c.first, c.last, c.column, c.word_count, c.label, t.title, t.body"
              " FROM chunks AS c JOIN texts AS t ON t.number = c.number WHERE c.doc = ?1"
              " ORDER BY c.number",
    .retitle = "UPDATE texts SET title = ?2 || substr(title, instr(title, char(10)))"
               " WHERE number IN (SELECT c.number FROM chunks AS c WHERE c.doc = ?1)",
    .again = "INSERT INTO words (rowid, title, body, scope)"
             " SELECT t.number, t.title, t.body, t.scope"
             " FROM chunks AS c JOIN texts AS t ON t.number = c.number WHERE c.doc = ?1",
    .add_term = "INSERT INTO terms (term) VALUES (?1) ON CONFLICT DO NOTHING",
    .add_grams = "INSERT INTO grams (rowid, term) VALUES (?1, ?2)",
    .last_term = "SELECT ifnull(max(number), 0) FROM terms",
};

int text_clear(struct text_conn *c, int64_t doc, struct err *e)
{
    const struct sql_value number = SQL_INT(doc);
    return sql_run(c->db, sql.take_vectors, &number, 1, e) ||
                   sql_run(c->db, sql.take_words, &number, 1, e) ||
                   sql_run(c->db, sql.take_texts, &number, 1, e) ||
                   sql_run(c->db, sql.less, &number, 1, e) ||
                   sql_run(c->db, sql.take_chunks, &number, 1, e)
               ? -1
               : 0;
}

int text_retitle(struct text_conn *c, int64_t doc, const char *path, struct err *e)
{
    const struct sql_value number = SQL_INT(doc);
    return sql_run(c->db, sql.take_words, &number, 1, e) ||
                   sql_run(c->db, sql.retitle, SQL_WITH(number, SQL_TEXT(path)), e) ||
                   sql_run(c->db, sql.again, &number, 1, e)
               ? -1
               : 0;
}

/* ---- words as they are written ---- */

struct counting {
    struct text_conn *c;
    uint64_t *seen; /* SEEN_SLOTS hashes of words that were handed in a moment ago */
    uint64_t words;
    int64_t terms; /* that there are */
    int failed;
    struct err *e;
};

/* A number is not mistyped for another. */
static bool is_term(struct str word)
{
    if (word.len < TERM_MIN || word.len > TERM_MAX)
        return false;
    for (size_t i = 0; i < word.len; i++)
        if (!isdigit((unsigned char)word.ptr[i]))
            return true;
    return false;
}

static bool was_seen(struct counting *n, struct str word)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < word.len; i++)
        h = (h ^ (unsigned char)word.ptr[i]) * 1099511628211u;
    uint64_t *slot = &n->seen[(h >> 20) % SEEN_SLOTS];
    bool was = *slot == h;
    *slot = h;
    return was;
}

static int count_word(void *arg, struct str word, size_t from, size_t to)
{
    struct counting *n = arg;
    (void)from;
    (void)to;
    n->words++;
    if (!is_term(word) || n->terms >= TEXT_TERMS_MAX || was_seen(n, word))
        return 0;
    const struct sql_value text = {.kind = SQL_KIND_TEXT, .bytes = word.ptr, .len = word.len};
    if (sql_run(n->c->db, sql.add_term, &text, 1, n->e))
        return n->failed = -1;
    if (sql_changes(n->c->db) == 0)
        return 0;
    n->terms = sqlite3_last_insert_rowid(n->c->db->sqlite);
    if (sql_run(n->c->db, sql.add_grams, SQL_WITH(SQL_INT(n->terms), text), n->e))
        return n->failed = -1;
    return 0;
}

static int count_words(struct counting *n, const char *text, size_t len, uint64_t *ret)
{
    n->words = 0;
    int failed = text_tokens(n->c, /* is_stemmed= */ false, text, len, count_word, n);
    if (n->failed)
        return -1;
    *ret = n->words;
    return failed ? err_set(n->e, ERR_NO_MEMORY, "count words") : 0;
}

/* ---- filling ---- */

struct filling {
    const struct text_doc *doc;
    const struct text_chunk *chunks;
    size_t count;
    enum doc_state state;
    const char *reason;
    bool is_copied;
};

struct target {
    int64_t doc, workspace;
    char path[1025], mime[128], scope[32 + ID_SIZE];
    uint64_t chunks, words;
};

/* 1: the document is still there and has these bytes. */
static int find_target(struct text_conn *c, const struct text_doc *doc, struct target *ret,
                       struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    if (sql_query(c->db, sql.find, SQL_WITH(SQL_INT(doc->number), SQL_BYTES(doc->sha256, HASH_LEN)),
                  &rows, e))
        return -1;
    int got = sql_next(&rows, e);
    if (got != 1)
        return got;
    struct str path = sql_text(&rows, 1), mime = sql_text(&rows, 2);
    *ret = (struct target){.doc = doc->number, .workspace = sql_int(&rows, 0)};
    (void)snprintf(ret->path, sizeof ret->path, "%.*s", (int)path.len, path.ptr);
    (void)snprintf(ret->mime, sizeof ret->mime, "%.*s", (int)mime.len, mime.ptr);
    if (sql_int(&rows, 3) == DOC_FILE) {
        (void)snprintf(ret->scope, sizeof ret->scope, "zw%lld", (long long)ret->workspace);
    } else {
        char principal[ID_SIZE];
        sql_id(&rows, 4, principal);
        (void)snprintf(ret->scope, sizeof ret->scope, "zr%lld %s", (long long)ret->workspace,
                       principal);
    }
    return 1;
}

static int put_chunk(struct text_conn *c, struct target *to, const struct text_chunk *chunk,
                     uint64_t words, struct err *e)
{
    const struct sql_value body = SQL_BYTES(chunk->len ? chunk->text : "", chunk->len);
    char title[2048];
    (void)snprintf(title, sizeof title, "%s\n%s", to->path, chunk->title ? chunk->title : "");
    if (sql_run(c->db, sql.put_chunk,
                SQL_WITH(SQL_INT(to->doc), SQL_INT(chunk->place), SQL_INT(chunk->first),
                         SQL_INT(chunk->last), SQL_INT(chunk->column), SQL_INT((int64_t)words),
                         SQL_TEXT(chunk->label)),
                e))
        return -1;
    struct sql_value text = body;
    text.kind = SQL_KIND_TEXT;
    const struct sql_value values[] = {SQL_INT(sqlite3_last_insert_rowid(c->db->sqlite)),
                                       SQL_TEXT(title), text, SQL_TEXT(to->scope)};
    to->chunks++;
    to->words += words;
    return sql_run(c->db, sql.put_text, values, 4, e) || sql_run(c->db, sql.put_words, values, 4, e)
               ? -1
               : 0;
}

static int finish(struct text_conn *c, const struct target *to, struct err *e)
{
    return sql_run(c->db, sql.more,
                   SQL_WITH(SQL_INT(to->workspace), SQL_INT((int64_t)to->chunks),
                            SQL_INT((int64_t)to->words)),
                   e) ||
                   sql_run(c->db, sql.ready,
                           SQL_WITH(SQL_INT(to->doc), SQL_INT((int64_t)to->chunks)), e)
               ? -1
               : 0;
}

static int fill_doc(struct text_conn *c, void *arg, struct err *e)
{
    const struct filling *f = arg;
    struct target to;
    int got = find_target(c, f->doc, &to, e);
    if (got != 1)
        return got;
    scoped(freep) uint64_t *seen = calloc(SEEN_SLOTS, sizeof *seen);
    struct counting n = {.c = c, .seen = seen, .e = e};
    if (!seen)
        return err_set(e, ERR_NO_MEMORY, "index a document");
    if (text_clear(c, to.doc, e) || sql_number(c->db, sql.last_term, SQL_NOTHING, &n.terms, e))
        return -1;
    for (size_t i = 0; i < f->count; i++) {
        uint64_t words = 0;
        if (count_words(&n, f->chunks[i].text, f->chunks[i].len, &words) ||
            put_chunk(c, &to, &f->chunks[i], words, e))
            return -1;
    }
    return finish(c, &to, e);
}

static int check_chunks(const struct text_chunk *chunks, size_t count, struct err *e)
{
    size_t total = 0;
    if (count > DOC_CHUNKS_MAX)
        return err_set(e, ERR_LIMIT, "a document has at most %d parts", DOC_CHUNKS_MAX);
    for (size_t i = 0; i < count; i++) {
        total += chunks[i].len;
        if (chunks[i].len > CHUNK_TEXT_MAX || total > DOC_TEXT_MAX)
            return err_set(e, ERR_LIMIT, "the text of a document is too long");
    }
    return 0;
}

int text_index_fill(struct text_index *t, const struct text_doc *doc,
                    const struct text_chunk *chunks, size_t count, struct err *e)
{
    struct filling f = {.doc = doc, .chunks = chunks, .count = count};
    return check_chunks(chunks, count, e) || text_write(t, fill_doc, &f, e) ? -1 : 0;
}

static int settle_doc(struct text_conn *c, void *arg, struct err *e)
{
    const struct filling *f = arg;
    struct target to;
    int got = find_target(c, f->doc, &to, e);
    if (got != 1)
        return got;
    char reason[DOC_REASON_MAX + 1];
    (void)snprintf(reason, sizeof reason, "%s", f->reason);
    return text_clear(c, to.doc, e) ||
                   sql_run(c->db, sql.settled,
                           SQL_WITH(SQL_INT(to.doc), SQL_INT(f->state), SQL_TEXT(reason)), e)
               ? -1
               : 0;
}

int text_index_settle(struct text_index *t, const struct text_doc *doc, enum doc_state state,
                      const char *reason, struct err *e)
{
    struct filling f = {.doc = doc, .state = state, .reason = reason};
    return text_write(t, settle_doc, &f, e);
}

/* ---- from one to another ---- */

static int copy_chunk(struct text_conn *c, struct target *to, const struct sql_rows *rows,
                      struct err *e)
{
    struct str label = sql_text(rows, 5), title = sql_text(rows, 6), body = sql_text(rows, 7);
    char own_label[CHUNK_LABEL_MAX + 1], own_title[1024] = "";
    const char *line = title.len ? memchr(title.ptr, '\n', title.len) : NULL;
    if (line)
        (void)snprintf(own_title, sizeof own_title, "%.*s",
                       (int)(title.len - (size_t)(line + 1 - title.ptr)), line + 1);
    if (label.ptr)
        (void)snprintf(own_label, sizeof own_label, "%.*s", (int)label.len, label.ptr);
    const struct text_chunk chunk = {
        .text = body.ptr,
        .len = body.len,
        .title = own_title,
        .place = (enum place)sql_int(rows, 0),
        .first = (uint32_t)sql_int(rows, 1),
        .last = (uint32_t)sql_int(rows, 2),
        .column = (uint32_t)sql_int(rows, 3),
        .label = label.ptr ? own_label : NULL,
    };
    return put_chunk(c, to, &chunk, (uint64_t)sql_int(rows, 4), e);
}

static int copy_doc(struct text_conn *c, void *arg, struct err *e)
{
    struct filling *f = arg;
    struct target to;
    int64_t from = 0;
    int got = find_target(c, f->doc, &to, e);
    if (got != 1)
        return got;
    if (sql_number(c->db, sql.same,
                   SQL_WITH(SQL_BYTES(f->doc->sha256, HASH_LEN), SQL_TEXT(f->doc->vault),
                            SQL_INT(to.doc), SQL_TEXT(to.mime)),
                   &from, e))
        return -1;
    if (!from)
        return 0;
    if (text_clear(c, to.doc, e))
        return -1;
    scoped(sql_rows_done) struct sql_rows rows = {0};
    got = sql_query(c->db, sql.copied, SQL_WITH(SQL_INT(from)), &rows, e);
    while (!got && (got = sql_next(&rows, e)) == 1)
        got = copy_chunk(c, &to, &rows, e);
    f->is_copied = true;
    return got < 0 ? -1 : finish(c, &to, e);
}

int text_index_reuse(struct text_index *t, const struct text_doc *doc, struct err *e)
{
    struct filling f = {.doc = doc};
    if (text_write(t, copy_doc, &f, e))
        return -1;
    return f.is_copied;
}
