/* file_edits.h -- replacing exact pieces of a text, and what to say when they are not in it.
 *
 *     struct edit edits[] = {{.old_text = ..., .new_text = ...}};
 *     enum edit_outcome outcome = edits_apply(edits, 1, text, &out, &fault, e)
 *
 * Edits are applied in order: each sees what those before it have made. Where the text has CRLF line
 * ends and an edit has LF ones, the edit's are taken for CRLF. No I/O.
 */
#ifndef MCP_FILE_EDITS_H
#define MCP_FILE_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;

struct edit {
    struct str old_text, new_text;
    bool replace_all;
};

enum edit_fault_kind { EDIT_FINE, EDIT_MISSING, EDIT_SEVERAL, EDIT_SAME };

/* Why an edit could not be made. */
struct edit_fault {
    enum edit_fault_kind kind;
    size_t index;      /* of the edit */
    uint64_t count;    /* EDIT_SEVERAL: how often it is there */
    uint64_t lines[5]; /* and the first of the lines where; 0: none */
};

/* Appends the new text to `out`; *ret_replaced is how many pieces were. Returns 0, or -1 with *fault set
 * (and e ERR_INVALID), or with fault->kind EDIT_FINE and e set (no memory, too large). */
int edits_apply(const struct edit *edits, size_t count, struct str text, struct buf *out,
                uint64_t *ret_replaced, struct edit_fault *fault, struct err *e);

/* Says in a few lines what is in `text` that comes closest to `old_text`, for who is to try again. */
void edits_explain(struct str text, struct str old_text, struct buf *out);

#endif
