/* text_index_int.h -- the inside of text_index.h and text_find.h. */
#ifndef STORE_TEXT_INDEX_INT_H
#define STORE_TEXT_INDEX_INT_H

#include <pthread.h>

#include "store/conn_int.h"
#include "store/text_find.h"
#include "store/text_index.h"

enum {
    TEXT_READERS = 3,
    TEXT_READ_WAIT_MS = 10000,
    TEXT_WAL_MAX = 8 << 20, /* bytes of the log after which it is written back */
};

/* A connection that knows our functions: relevance(words, numbers), path_fits(pattern, path). */
struct text_conn {
    struct db_conn *db;
    fts5_tokenizer porter, plain;
    Fts5Tokenizer *porter_it, *plain_it; /* "porter unicode61", "unicode61" */
    bool is_free;                        /* guarded by pool_lock */
};

struct text_index {
    pthread_mutex_t lock; /* protects the writer; held while it writes */
    struct text_conn writer;
    pthread_mutex_t pool_lock;
    pthread_cond_t pool_free;
    struct text_conn readers[TEXT_READERS];
};

/* One search: a snapshot, and what it may see. */
struct text_reader {
    struct text_index *index;
    struct text_conn *c;
    const char (*workspaces)[ID_SIZE];
    size_t workspace_count;
    struct text_filter filter;
    struct buf scope, numbers; /* as FTS5 wants it, "" when too many; as JSON */
    size_t scope_count;
    uint64_t chunks, words;
};

/* text_words.c */
int text_conn_open(struct text_conn *c, const char *path, bool is_reader, struct err *e);
void text_conn_close(struct text_conn *c);
typedef int text_put(void *arg, struct str word, size_t from, size_t to);
int text_tokens(struct text_conn *c, bool is_stemmed, const char *text, size_t len, text_put *put,
                void *arg);

/* A transaction of the writer: `body` is all or nothing. Takes the lock. */
int text_write(struct text_index *t, int (*body)(struct text_conn *c, void *arg, struct err *e),
               void *arg, struct err *e);

/* A reader of the pool; ERR_OVERLOADED. */
int text_read_take(struct text_index *t, struct text_conn **ret, struct err *e);
void text_read_give(struct text_index *t, struct text_conn *c);

/* text_fill.c: takes the text of a document away. */
int text_clear(struct text_conn *c, int64_t doc, struct err *e);
/* The same text under another path. */
int text_retitle(struct text_conn *c, int64_t doc, const char *path, struct err *e);

/* text_docs.c: columns of a document in the order of DOC_COLUMNS. */
#define DOC_COLUMNS                                                                          \
    "d.number, w.id, w.vault, d.kind, d.id, d.path, d.version, d.size, d.sha256, d.changed," \
    " d.principal"
enum { DOC_COLUMN_COUNT = 11 };
void text_doc_read(const struct sql_rows *rows, struct text_doc *ret);

#endif
