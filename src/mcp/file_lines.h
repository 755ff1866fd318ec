/* file_lines.h -- some lines of a text, with their numbers, out of pieces of it.
 *
 *     struct lines l = {.skip = 200, .limit = 100, .out = &text, .text_max = 40000};
 *     while (there is more && !l.is_full)
 *         lines_feed(&l, piece, len);
 *     lines_end(&l);                              if that was the end of the text
 *
 * Pieces may end anywhere. Long lines are cut, and say so. What comes after the last line that is shown
 * is only counted, so a text that came whole has all its lines counted.
 */
#ifndef MCP_FILE_LINES_H
#define MCP_FILE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { LINES_LINE_MAX = 2000 }; /* bytes of a line that are shown */

struct lines {
    uint64_t skip, limit; /* lines */
    size_t text_max;      /* bytes that out may have in the end; more than two lines */
    struct buf *out;
    uint64_t line_max; /* bytes of a line that are shown; 0: LINES_LINE_MAX */

    uint64_t count;    /* lines that have ended */
    uint64_t shown;    /* of them */
    uint64_t cut;      /* of those, not whole */
    uint64_t crlf;     /* of all, ended so */
    bool is_full;      /* nothing more will be shown */
    uint64_t line_len; /* of the line that has not ended yet */
    size_t held_len;
    char held[LINES_LINE_MAX + 1]; /* its beginning */
};

void lines_feed(struct lines *l, const char *bytes, size_t len);
/* The text is over: a last line without a line end is one, too. */
void lines_end(struct lines *l);
/* What came of the line that has not ended, for who will not read on; it says that it is cut. */
void lines_give_up(struct lines *l);

#endif
