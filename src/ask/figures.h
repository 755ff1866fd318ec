/* figures.h -- the figures an answer rests on, and the run whose output each came from.
 *
 * A model may say any number. Those that stand in an output of its code were computed; of the others nobody knows, and the answer
 * says so. A figure is a number of the answer (numbers.h) that is not the number of a list, not a reference mark such as [1], and
 * not in a link or in code. A year is one only if an output has it, too.
 *
 * Pure.
 */
#ifndef ASK_FIGURES_H
#define ASK_FIGURES_H

#include <stddef.h>

#include "base/str.h"

struct err;
struct json_t;

enum {
    FIGURES_MAX = 200,          /* of one answer; the first ones */
    FIGURES_SEEN_MAX = 1 << 17, /* numbers of outputs that are looked at */
    FIGURE_LINE_MAX = 200,      /* bytes of a line that are shown */
};

/* What a run wrote; or what the model was shown of files, then run_id is NULL. In the order in which it came. */
struct figure_source {
    const char *run_id;
    struct str text;
};

/* *ret: [{"text","value","run_id"|null,"line"|null}], each text once, in the order of the answer. The line is the text of the line
 * of the output. Of several outputs the last one that has it exactly, else the last that has it when rounded. A figure that no run
 * has but the model was shown has that line, without a run. */
int figures_find(struct str answer, const struct figure_source *sources, size_t count,
                 struct json_t **ret, struct err *e);

#endif
