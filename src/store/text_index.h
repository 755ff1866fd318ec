/* text_index.h -- DATA/search.db: which words are where. Derived data: whoever deletes it loses nothing but
 * the time to make it again, and a file that is damaged, or of another version, is made anew.
 *
 * A *document* is the head of a file, or a run. It is noted when it changes (pending), filled when its
 * text is known (ready), or marked with why there is none (failed, skipped). Its text lies in *chunks*,
 * each of which knows where in the document it is: a page, lines, rows of a sheet.
 *
 *     text_index_note(t, ws, vault, changes, count, rev, e)      what changed; remembers the revision
 *     text_index_next(t, &doc, e)                                what has no text yet
 *     text_index_reuse(t, &doc, e)                               or its vault knows these bytes already
 *     text_index_fill(t, &doc, chunks, count, e)
 *     text_index_settle(t, &doc, DOC_FAILED, "why", e)
 *
 * Looking for words is text_find.h's. It is a database of its own, beside meta.db: nobody who writes files
 * ever waits for it. One connection writes, under a lock; readers have a pool. Durable is what a
 * checkpoint wrote (synchronous NORMAL): a power cut costs the last documents, which are indexed
 * again, because the revision goes with them. Any number of threads; all block on disk.
 */
#ifndef STORE_TEXT_INDEX_H
#define STORE_TEXT_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/id.h"

struct err;
struct text_index;

enum {
    CHUNK_TEXT_TARGET = 2400,  /* bytes at which whoever cuts a text begins another chunk */
    CHUNK_TEXT_MAX = 16 << 10, /* of one chunk */
    CHUNK_LABEL_MAX = 256,     /* of the name of a sheet, a heading */
    DOC_CHUNKS_MAX = 20000,    /* of one document; the rest of it is not indexed */
    DOC_TEXT_MAX = 32 << 20,   /* bytes of all of them */
    DOC_REASON_MAX = 256,      /* bytes */
    TEXT_TERMS_MAX = 1000000,  /* different words that are looked through for similar ones */
};

enum doc_kind { DOC_FILE = 0, DOC_RUN = 1 };                                        /* as stored */
enum doc_state { DOC_PENDING = 0, DOC_READY = 1, DOC_FAILED = 2, DOC_SKIPPED = 3 }; /* as stored */

/* Where a chunk is. `first` and `last` count from 1. */
enum place {                  /* as stored */
             PLACE_NONE = 0,  /* all of it: what an image says about itself */
             PLACE_LINES = 1, /* lines of a text */
             PLACE_PAGE = 2,  /* page `first` */
             PLACE_SHEET = 3, /* rows of the sheet `label`; one line each, cells between tabs */
             PLACE_SLIDE = 4, /* slide `first` */
             PLACE_CELL = 5,  /* cell `first` of a notebook; label: what it is, "code", "output" */
             PLACE_ROWS = 6,  /* records of a table, one line each; the heading is row 1 */
             PLACE_PARAGRAPH = 7, /* paragraphs, one line each; label: the heading above them */
             PLACE_CODE = 8,      /* lines of a run's code */
             PLACE_OUTPUT = 9,    /* lines of what it printed */
             PLACE_COUNT
};

struct text_chunk {
    const char *text; /* UTF-8 */
    size_t len;
    const char *title; /* more words that count as those of the title; NULL: none */
    enum place place;
    uint32_t first, last;
    uint32_t column;   /* PLACE_SHEET: of the first cell of every line */
    const char *label; /* NULL: none */
};

struct text_doc {
    int64_t number; /* 0: going in */
    char workspace[ID_SIZE], vault[ID_SIZE];
    enum doc_kind kind;
    char id[ID_SIZE];        /* of the file, or the run */
    char principal[ID_SIZE]; /* whose run it is; of a file: "" */
    char path[1025];         /* of a run: its name, or "" */
    uint64_t version, size;
    uint8_t sha256[HASH_LEN];
    int64_t changed_us;
};

/* A file that is there now, or is gone. */
struct text_change {
    struct text_doc doc;
    const char *mime;
    bool is_gone;
};

/* `dir` is DATA. */
int text_index_open(const char *dir, struct text_index **ret, struct err *e);
void text_index_close(struct text_index *t); /* NULL is fine */

/* ---- what there is ---- */

/* The revision up to which files were noted, 0: none. */
int text_index_rev(struct text_index *t, const char *workspace, uint64_t *ret, struct err *e);

/* Notes what changed in one workspace, and that it is noted up to `rev` (0: as it was). What has a new
 * content becomes pending; what was only moved keeps its text. One transaction. */
int text_index_note(struct text_index *t, const char *workspace, const char *vault,
                    const struct text_change *changes, size_t count, uint64_t rev, struct err *e);

/* True in *ret when the document is known already. */
int text_index_knows(struct text_index *t, enum doc_kind kind, const char *id, bool *ret,
                     struct err *e);

/* Everything of that workspace; *ret_more: call again. */
int text_index_forget(struct text_index *t, const char *workspace, bool *ret_more, struct err *e);
int text_index_remove(struct text_index *t, enum doc_kind kind, const char *id, struct err *e);

/* Ids of the workspaces that are known, the caller's to free. */
int text_index_workspaces(struct text_index *t, char (**ret)[ID_SIZE], size_t *ret_count,
                          struct err *e);

/* ---- filling ---- */

/* One that is pending: of the vault `vault` rather than of others, the oldest. 1: *ret, 0: there is none. */
int text_index_next(struct text_index *t, const char *vault, struct text_doc *ret, struct err *e);

/* 1: another document of the vault has the same bytes, and this one has its text now. 0: there is none. */
int text_index_reuse(struct text_index *t, const struct text_doc *doc, struct err *e);

/* The text of a document. Nothing happens when it has changed or gone meanwhile. ERR_LIMIT beyond the
 * limits above. */
int text_index_fill(struct text_index *t, const struct text_doc *doc,
                    const struct text_chunk *chunks, size_t count, struct err *e);
int text_index_settle(struct text_index *t, const struct text_doc *doc, enum doc_state state,
                      const char *reason, struct err *e);

/* ---- what is visible of it ---- */

struct text_counts {
    uint64_t docs[4]; /* by enum doc_state */
    uint64_t chunks;
};
int text_index_count(struct text_index *t, const char *workspace, struct text_counts *ret,
                     struct err *e);

/* Documents of a state, the newest first, at most `limit`. */
struct text_problem {
    struct text_doc doc;
    char reason[DOC_REASON_MAX + 1];
};
int text_index_problems(struct text_index *t, const char *workspace, enum doc_state state,
                        size_t limit, struct text_problem **ret, size_t *ret_count, struct err *e);

#endif
