/* search.h -- looking for words in files and runs: what a question means, who may see what, what is best.
 *
 *     search_new(&options, &s, e)
 *     search_ask(s, &who, ws, &question, &results, e)
 *     results.items[0].path, .cite, .snippet
 *     search_results_done(&results)
 *
 * A question is words. "Words in quotes" follow each other, -word must not be there, wor* begins so. Documents
 * that have all words in one place come first, best first; then those that have some, by the rarest
 * words of the question. A word that nobody has stands for those that are like it. What is found is a
 * document at its best place, with the version that was read, which may not be the newest yet.
 *
 * Files are found in every workspace that the asker may read, runs only by who ran them (and admins), with a key that may run. In
 * workspaces with intelligence on, texts that mean the same are found too (search_meaning.h).
 *
 * Any number of threads. Blocks on disk.
 */
#ifndef WORKSPACE_SEARCH_H
#define WORKSPACE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "store/text_index.h"

struct err;
struct files;
struct meaning;
struct search;
struct who;
struct workspace_row;

enum {
    SEARCH_TEXT_MAX = 1000,        /* bytes of a question */
    SEARCH_LIMIT_MAX = 100,        /* results */
    SEARCH_WORKSPACES_MAX = 20000, /* that one question is put to: an admin's newest ones */
    SEARCH_NOTICE_SIZE = 256,
    SEARCH_SNIPPET_MAX = 400, /* bytes, marks included */
};

struct search_options {
    struct files *files;      /* all borrowed */
    struct text_index *index; /* NULL: there is none, and everything fails with ERR_UNAVAILABLE */
    struct meaning *meaning;  /* NULL: words only */
};

int search_new(const struct search_options *options, struct search **ret, struct err *e);
void search_free(struct search *s); /* NULL is fine */

struct search_question {
    const char *text;
    const char *path; /* a prefix, or a pattern (base/glob.h) if it has any of *?[; NULL: any */
    const char *type; /* "text/csv", "image/", ".csv", "csv"; NULL: any */
    int64_t after_us, before_us; /* when it was changed; 0: any */
    int kind;                    /* of enum doc_kind; -1: both */
    uint32_t limit;
};

enum search_match { MATCH_KEYWORD, MATCH_SEMANTIC, MATCH_BOTH };
extern const char *const search_match_names[];

/* Where the words are, as near as it is known; text_index.h says what counts what. */
struct search_cite {
    enum place place;
    uint32_t first, last;
    uint32_t cell_row,
        cell_column;      /* PLACE_SHEET: of the first word that was found; 0: not known */
    uint32_t last_column; /* PLACE_SHEET: of the lines first to last, first column 1 */
    char label[CHUNK_LABEL_MAX + 1]; /* "": none */
};

struct search_result {
    char workspace[ID_SIZE];
    enum doc_kind kind;
    char id[ID_SIZE]; /* of the file or the run */
    char *path;       /* of the file as it is called now; of a run: its name, or "" */
    uint64_t version; /* that was read; 0 of a run */
    bool is_old;      /* there is a newer one, which is not indexed yet */
    enum search_match match;
    double score;
    char *snippet; /* with ** around what was found */
    struct search_cite cite;
    int64_t changed_us;
};

struct search_results {
    struct search_result *items; /* best first */
    size_t count;
    char notice[SEARCH_NOTICE_SIZE]; /* why only words were looked for, although more was wanted */
};
void search_results_done(struct search_results *r);

/* In `ws`, which the asker may read, or in all they may read (NULL). Fails with ERR_INVALID for a
 * question without a word. */
int search_ask(struct search *s, const struct who *who, const struct workspace_row *ws,
               const struct search_question *question, struct search_results *ret, struct err *e);

struct text_index *search_index(struct search *s);

/* How far a workspace can be searched by what its texts mean. */
struct search_mind {
    const char *model; /* NULL: none, and `why` */
    uint64_t chunks;   /* that have a vector */
    char why[SEARCH_NOTICE_SIZE];
};
int search_mind(struct search *s, const struct workspace_row *ws, struct search_mind *ret,
                struct err *e);

#endif
