/* marks.h -- reference marks: [1], [2] ... stand for places in files that a model was shown, and its answer cites with them.
 *
 *     marks_add(&marks, &place, &number, e)     gives the place a number, or says which it has
 *     marks_cite(&marks, text, &citations, &unknown, e)
 *
 * Numbers begin at 1 and go on through a conversation, so that a later answer may cite what an earlier one was shown (marks_read,
 * marks_write).
 *
 * Pure. The text is a model's, and may be anything.
 */
#ifndef ASK_MARKS_H
#define ASK_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct json_t;

enum { MARKS_MAX = 1000, MARKS_CITED_MAX = 1000 };

struct mark_place {
    const char *workspace, *path;
    uint64_t version;
    uint64_t page;     /* 0: none */
    const char *where; /* as people say it: "lines 3-8", "sheet Sales"; "": the whole file */
};

struct marks {
    struct json_t *all; /* an array: the n-th is mark n + 1; owned. NULL: none yet */
};

void marks_done(struct marks *m);

/* ERR_LIMIT past MARKS_MAX. */
int marks_add(struct marks *m, const struct mark_place *place, size_t *ret_number, struct err *e);

/* Those of earlier answers, as marks_write gave them, before any are added; what is no such thing is left out. */
int marks_read(struct marks *m, const struct json_t *from, struct err *e);
/* An array, owned by the caller. NULL: no memory. */
struct json_t *marks_write(const struct marks *m);

/* *ret_citations: [{"kind":"file","mark","path","version","page"?,"where"?,"url","start","end"}], one for each mark where it stands; start and end count
 * code points, end is exclusive. *ret_unknown: the numbers of marks that stand for nothing, each once. Marks in code and names of links are no marks. */
int marks_cite(const struct marks *m, struct str text, struct json_t **ret_citations,
               struct json_t **ret_unknown, struct err *e);

#endif
