/* diff.h -- what changed between two texts, in the unified form that `patch` reads.
 *
 *     struct diff_side old = {"a.csv", {bytes, len}}, new = {...};
 *     diff_text(&old, &new, &out, &outcome, e)
 *
 *     --- a/a.csv
 *     +++ b/a.csv
 *     @@ -1,4 +1,4 @@
 *
 * Myers' algorithm in linear space: the shortest way from one to the other, found from both ends. How
 * much it may work is bounded; where the bound is reached, lines are taken away and put back that would
 * not have had to be, and the result is still right. Memory is about 24 bytes for each line.
 */
#ifndef WORKSPACE_DIFF_H
#define WORKSPACE_DIFF_H

#include "base/buf.h"
#include "base/str.h"

struct err;

enum {
    DIFF_BYTES_MAX = 8 << 20,  /* of each side */
    DIFF_LINES_MAX = 500000,   /* of each side */
    DIFF_WORK_MAX = 100000000, /* steps; about half a second */
    DIFF_CONTEXT = 3,          /* lines around a change */
};

enum diff_outcome {
    DIFF_SAME,      /* nothing was written */
    DIFF_DIFFERENT, /* `out` says how */
    DIFF_BINARY,    /* one of them has a NUL or is no UTF-8 */
    DIFF_TOO_LARGE, /* to compare */
};

struct diff_side {
    const char *path;
    struct str text;
};

/* Appends to `out`. Fails with ERR_LIMIT when that is full, ERR_NO_MEMORY. */
int diff_text(const struct diff_side *from, const struct diff_side *to, struct buf *out,
              enum diff_outcome *ret, struct err *e);

#endif
