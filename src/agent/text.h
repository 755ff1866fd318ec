/* text.h -- what a program printed, made fit for a model to read: no colours, no overwritten lines,
 * and of what is too long its beginning and its end.
 *
 *     text_plain(&plain, str_of("\033[31mred\033[0m"))     "red"
 *     text_shorten(&out, text, 20000, "all of it is in .outputs/x.txt")
 *
 * No I/O. Whatever comes is taken: bytes that are no UTF-8 go through as they are.
 */
#ifndef AGENT_TEXT_H
#define AGENT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct buf;
struct json_t;

enum { TEXT_NOTICE_MAX = 400 }; /* bytes of the line that says what is left out */

/* Appends `text` as a terminal would show it: without escape sequences, and of what was written over with
 * carriage returns (bars of progress) only the last. */
void text_plain(struct buf *out, struct str text);

/* Appends `text`, if it has more than `max` bytes as head and tail of together at most `max`, cut at the
 * ends of lines where that loses little and never inside a character. A line between them says how much
 * is left out, and `where` it is (NULL: that is not said). Ends with a line end unless it is empty. True
 * when something was left out. */
bool text_shorten(struct buf *out, struct str text, size_t max, const char *where);

/* Bytes that UTF-8 takes at most as a JSON string, without the quotes. */
size_t text_json_size(struct str text);

/* The same as text_shorten, without a line end of its own, for a JSON string of at most `max` bytes. */
bool text_shorten_json(struct buf *out, struct str text, size_t max);

/* The same text if it is UTF-8 without NULs; else it is made so in `copy`, with U+FFFD in place of what is not. `copy` fails by itself. */
struct str text_clean(struct str text, struct buf *copy);
/* A JSON string of any bytes, made clean. NULL: no memory. Owned. */
struct json_t *text_json(struct str text);

/* At most `len` bytes (4 or more) from `offset` on, whole characters only; *ret_next is where the rest
 * begins. */
struct str text_window(struct str text, size_t offset, size_t len, size_t *ret_next);

#endif
