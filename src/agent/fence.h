/* fence.h -- a text cut into what is said and blocks that are to be run, while it comes.
 *
 *     static void part(void *arg, const struct fence_part *p);
 *     struct fence f;
 *     fence_init(&f, has_calls, part, arg);
 *     fence_feed(&f, piece);
 *     fence_end(&f);
 *
 * A block is fenced by three or more backticks or tildes at the beginning of a line, and is Python when the word after them
 * says so (python, python3, py, ipython, tool_code). With `has_calls`, blocks that say tool_call are calls of functions. What is
 * inside a block of another kind is said. A block that is not closed ends with the text.
 *
 * Every byte comes once, in order, as `raw` of some part. A line is held back only as long as it may still be a fence. Parts end
 * where pieces or lines do, so that characters stay whole.
 */
#ifndef AGENT_FENCE_H
#define AGENT_FENCE_H

#include <stdbool.h>

#include "base/str.h"

enum fence_kind {
    FENCE_TEXT,  /* what is said */
    FENCE_OPEN,  /* the line that opens a block */
    FENCE_CODE,  /* inside it */
    FENCE_CLOSE, /* the line that closes it; raw is empty when nothing did */
};

struct fence_part {
    enum fence_kind kind;
    struct str raw;  /* as it came */
    struct str code; /* of FENCE_CODE: without what the block is indented by; may be empty */
    bool is_call;    /* the block is a call, not Python */
};

enum { FENCE_INDENT_MAX = 12, FENCE_LINE_MAX = 128 };

struct fence {
    void (*part)(void *arg, const struct fence_part *p);
    void *arg;
    bool has_calls;
    char line[FENCE_LINE_MAX]; /* held back: the line up to now */
    size_t line_len;
    bool is_inside; /* a line of which the beginning was passed on already */
    bool is_block;  /* within a block of any kind */
    bool is_ours;   /* that block is Python or a call */
    bool is_call;   /* it is a call */
    char mark;      /* of that block: '`' or '~' */
    size_t mark_len, indent;
    size_t strip; /* how many blanks of that are still to come in this line */
};

void fence_init(struct fence *f, bool has_calls,
                void (*part)(void *arg, const struct fence_part *p), void *arg);
void fence_feed(struct fence *f, struct str piece);
void fence_end(struct fence *f);

#endif
