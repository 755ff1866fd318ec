/* text_find.h -- looking for words in DATA/search.db (text_index.h). The mechanism: what a question means
 * is workspace/search.h's.
 *
 *     text_reader_begin(t, ids, count, &filter, &r, e)     a snapshot, and what it is allowed to see
 *     text_count(r, &term, &n, e)                          how many chunks have it
 *     text_find(r, &plan, &hits, e)                        the best documents, best first
 *     text_mark(r, &plan, text, len, marks, max)           where the words are in a text
 *     text_reader_end(r)
 *
 * Nothing here counts what the reader may not see: neither hits nor how rare a word is depend on the
 * documents of others.
 */
#ifndef STORE_TEXT_FIND_H
#define STORE_TEXT_FIND_H

#include "base/buf.h"
#include "base/str.h"
#include "store/text_index.h"

struct text_reader;

enum {
    TEXT_TERMS = 32, /* of one plan */
    TEXT_COUNT_MAX = 4000,
    TEXT_SCORED_MAX = 6000, /* chunks that are weighed: of more, the newest */
    TEXT_SIMILAR_MAX = 6,   /* words that are taken for one */
    TEXT_SCOPE_WORDS =
        64, /* workspaces that are named in a question to FTS5; more are filtered after */
};

struct text_filter {       /* NULL, 0: any */
    int kind;              /* of enum doc_kind; -1: both */
    const char *principal; /* whose runs; files are found whosoever they are */
    const char *prefix;    /* of the path */
    const char *glob;
    const char *mime;   /* "text/csv", or "image/" for all of them */
    const char *suffix; /* of the path: ".csv" */
    int64_t after_us, before_us;
};

/* A word, or several that follow each other. */
struct text_term {
    const char *text;                      /* as it was written; NUL-terminated */
    bool is_prefix;                        /* the last word only begins so */
    double weight;                         /* what it counts for; the planner's, as the next */
    uint64_t found;                        /* chunks that have it */
    const char *similar[TEXT_SIMILAR_MAX]; /* words that do instead of it; NULL: none, no more */
};

struct text_plan {
    const struct text_term *terms;
    size_t count;
    bool is_all;   /* all of them have to be there; otherwise one of the first `needed`, and the */
    size_t needed; /* others only make it better. 0: one of any */
    const struct text_term *without;
    size_t without_count;
    size_t limit; /* documents */
};

struct text_hit {
    struct text_doc doc;
    int64_t chunk;
    double score;
    enum place place;
    uint32_t first, last, column;
    char *label; /* NULL: none; both the hits' to free */
    char *text;
    size_t text_len;
};
struct text_hits {
    struct text_hit *items;
    size_t count;
};
void text_hits_done(struct text_hits *h);

/* `workspaces` are ids. Fails with ERR_OVERLOADED when no connection becomes free in time. The arguments
 * have to stay until text_reader_end. */
int text_reader_begin(struct text_index *t, const char (*workspaces)[ID_SIZE], size_t count,
                      const struct text_filter *filter, struct text_reader **ret, struct err *e);
void text_reader_end(struct text_reader *r); /* NULL is fine */
static inline void text_reader_endp(struct text_reader **r)
{
    text_reader_end(*r);
}

/* Chunks that the reader may see at all, filters aside. */
uint64_t text_reader_chunks(const struct text_reader *r);

/* How many chunks have it: beyond TEXT_COUNT_MAX about so many. */
int text_count(struct text_reader *r, const struct text_term *term, uint64_t *ret, struct err *e);

/* Words of the index that are like this one: contain it, or differ by a typing mistake. Up to
 * TEXT_SIMILAR_MAX, the likest first, the caller's to free. They may be words of others: look whether
 * they are found. */
int text_similar(struct text_reader *r, const char *word, char *ret[TEXT_SIMILAR_MAX],
                 size_t *ret_count, struct err *e);

int text_find(struct text_reader *r, const struct text_plan *plan, struct text_hits *ret,
              struct err *e);

/* A chunk as a hit, without a score. 1: *ret is filled, and its text and label the caller's to free; 0:
 * there is no such chunk. */
int text_hit_load(struct text_reader *r, int64_t chunk, struct text_hit *ret, struct err *e);

/* Where words of the plan are in a text, in order: bytes from, to; and which term. Returns how many. */
struct text_mark {
    size_t from, to, term;
};
size_t text_mark(struct text_reader *r, const struct text_plan *plan, const char *text, size_t len,
                 struct text_mark *ret, size_t max);

/* The words of a text as the index sees them, without endings; for whoever splits a question. `put`
 * may end it by returning non-zero. */
int text_words(struct text_reader *r, const char *text, size_t len,
               int (*put)(void *arg, struct str stem, size_t from, size_t to), void *arg);

#endif
