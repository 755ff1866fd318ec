/* text_words.c -- a connection that can cut text into words and say how well a chunk fits. */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/glob.h"
#include "store/text_index_int.h"

/* BM25's two constants, and what a word in the title counts for. */
static const double k1 = 1.5, b = 0.65, title_weight = 2.0;
enum { COLUMN_TITLE, COLUMN_BODY, COLUMN_SCOPE };

/* How often a phrase is in the row, those in the title more than once. */
static int count_phrase(const Fts5ExtensionApi *api, Fts5Context *row, int phrase, double *ret)
{
    Fts5PhraseIter at;
    int column, offset;
    double count = 0;
    int rc = api->xPhraseFirst(row, phrase, &at, &column, &offset);
    if (rc)
        return rc;
    for (; column >= 0; api->xPhraseNext(row, &at, &column, &offset))
        count += column == COLUMN_TITLE ? title_weight : column == COLUMN_BODY ? 1 : 0;
    *ret = count;
    return SQLITE_OK;
}

/* relevance(words, numbers): numbers are doubles: the average length of a chunk in words, then what each
 * phrase of the question counts for. */
static void relevance(const Fts5ExtensionApi *api, Fts5Context *row, sqlite3_context *answer,
                      int count, sqlite3_value **values)
{
    size_t len = count == 1 ? (size_t)sqlite3_value_bytes(values[0]) / sizeof(double) : 0;
    const char *numbers = len ? sqlite3_value_blob(values[0]) : NULL;
    int words = 0, rc = SQLITE_OK, phrases = api->xPhraseCount(row);
    double score = 0, average = 1;
    if (!numbers || len <= (size_t)phrases || api->xColumnSize(row, -1, &words)) {
        sqlite3_result_error(answer, "relevance: wrong numbers", -1);
        return;
    }
    memcpy(&average, numbers, sizeof average);
    double norm = k1 * (1 - b + b * words / (average > 1 ? average : 1));
    for (int i = 0; i < phrases && !rc; i++) {
        double weight, found = 0;
        memcpy(&weight, numbers + (size_t)(i + 1) * sizeof weight, sizeof weight);
        if (weight > 0 && (rc = count_phrase(api, row, i, &found)) == SQLITE_OK)
            score += weight * found * (k1 + 1) / (found + norm);
    }
    if (rc)
        sqlite3_result_error_code(answer, rc);
    else
        sqlite3_result_double(answer, score);
}

static void path_fits(sqlite3_context *answer, int count, sqlite3_value **values)
{
    const char *pattern = (const char *)sqlite3_value_text(values[0]);
    const char *path = (const char *)sqlite3_value_text(values[1]);
    sqlite3_result_int(answer, count == 2 && pattern && path && glob_fits(pattern, path));
}

/* ---- connections ---- */

static fts5_api *fts5_of(sqlite3 *sqlite)
{
    fts5_api *api = NULL;
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(sqlite, "SELECT fts5(?1)", -1, &st, NULL) == SQLITE_OK) {
        (void)sqlite3_bind_pointer(st, 1, &api, "fts5_api_ptr", NULL);
        (void)sqlite3_step(st);
    }
    (void)sqlite3_finalize(st);
    return api;
}

static int find_tokenizer(fts5_api *api, const char *name, const char **args, int count,
                          fts5_tokenizer *ret, Fts5Tokenizer **ret_it)
{
    void *own = NULL;
    int rc = api->xFindTokenizer(api, name, &own, ret);
    return rc ? rc : ret->xCreate(own, args, count, ret_it);
}

static int extend(struct text_conn *c)
{
    const char *below[] = {"unicode61"};
    fts5_api *api = fts5_of(c->db->sqlite);
    if (!api)
        return SQLITE_ERROR;
    int rc = api->xCreateFunction(api, "relevance", NULL, relevance, NULL);
    if (!rc)
        rc = sqlite3_create_function(c->db->sqlite, "path_fits", 2,
                                     SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, path_fits, NULL,
                                     NULL);
    if (!rc)
        rc = find_tokenizer(api, "porter", below, 1, &c->porter, &c->porter_it);
    if (!rc)
        rc = find_tokenizer(api, "unicode61", NULL, 0, &c->plain, &c->plain_it);
    return rc;
}

int text_conn_open(struct text_conn *c, const char *path, bool is_reader, struct err *e)
{
    c->db = conn_open(path, /* vfs= */ NULL, is_reader, e);
    if (!c->db)
        return -1;
    int rc = extend(c);
    return rc ? conn_fail(c->db, rc, e) : 0;
}

void text_conn_close(struct text_conn *c)
{
    if (c->porter_it)
        c->porter.xDelete(c->porter_it);
    if (c->plain_it)
        c->plain.xDelete(c->plain_it);
    conn_close(c->db);
    *c = (struct text_conn){0};
}

/* ---- words ---- */

struct giving {
    text_put *put;
    void *arg;
};

static int give(void *arg, int flags, const char *token, int len, int from, int to)
{
    const struct giving *g = arg;
    const struct str word = {.ptr = token, .len = (size_t)len};
    (void)flags;
    return g->put(g->arg, word, (size_t)from, (size_t)to) ? SQLITE_DONE : SQLITE_OK;
}

int text_tokens(struct text_conn *c, bool is_stemmed, const char *text, size_t len, text_put *put,
                void *arg)
{
    struct giving g = {put, arg};
    const fts5_tokenizer *how = is_stemmed ? &c->porter : &c->plain;
    Fts5Tokenizer *it = is_stemmed ? c->porter_it : c->plain_it;
    int rc = how->xTokenize(it, &g, FTS5_TOKENIZE_DOCUMENT, text, (int)len, give);
    return rc == SQLITE_OK || rc == SQLITE_DONE ? 0 : -1;
}
