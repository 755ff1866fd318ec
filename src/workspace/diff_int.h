/* diff_int.h -- lines as numbers, and which of them differ. */
#ifndef WORKSPACE_DIFF_INT_H
#define WORKSPACE_DIFF_INT_H

#include <stdbool.h>
#include <stdint.h>

#include "workspace/diff.h"

/* One side. Lines keep their '\n', so a last line without one is another line than with it. */
struct diff_lines {
    struct str text;
    uint32_t count;
    uint32_t *starts; /* count + 1 of them; line i is [starts[i], starts[i + 1]) */
    uint32_t *ids;    /* equal lines of both sides have equal ids */
    bool *is_changed;
};

void diff_lines_done(struct diff_lines *l);

/* Cuts both texts into lines and numbers them. 1: done; 0: too many lines, or too much work; -1. */
int diff_lines_make(struct str from, struct str to, struct diff_lines *a, struct diff_lines *b,
                    struct err *e);

/* Sets is_changed: what is left unmarked is the same on both sides, line by line. At most `work_max`
 * steps. */
int diff_mark(struct diff_lines *a, struct diff_lines *b, uint64_t work_max, struct err *e);

#endif
