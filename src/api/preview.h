/* preview.h -- what of a file can be shown in a page: which kind it is, and tables out of CSV.
 *
 * Only the beginning of a file is looked at, PREVIEW_BYTES of it, and only what cannot do anything in a
 * browser is ever shown as itself: four kinds of pictures. Text is shown as text.
 */
#ifndef API_PREVIEW_H
#define API_PREVIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

enum {
    PREVIEW_BYTES = 64 << 10,
    PREVIEW_ROWS = 200,
    PREVIEW_COLUMNS = 50,
    PREVIEW_CELL = 500,             /* bytes of one cell that are shown */
    PREVIEW_PICTURE_MAX = 32 << 20, /* bytes of a picture that is shown */
};

enum preview { PREVIEW_NONE, PREVIEW_TEXT, PREVIEW_TABLE, PREVIEW_PICTURE };

/* By the ending of its name alone. */
enum preview preview_of(const char *path);

/* The type under which a browser may get it to show: "image/png", "text/plain"; NULL: none, it may only
 * be kept. */
const char *preview_type(const char *path);

/* ---- CSV, as it comes: RFC 4180, with ',' ';' or tabs, whichever the first line has most of ---- */

struct csv {
    struct str rest;
    char separator;
};

struct csv csv_begin(struct str text, bool is_tabs);

enum csv_end {
    CSV_CELL,
    CSV_ROW,
    CSV_NONE
}; /* after it: a cell of the row, the end of it; no cell */

/* The next cell as it stands there, perhaps with quotes around it and doubled ones within. What is cut off
 * in the middle ends there. */
enum csv_end csv_next(struct csv *c, struct str *ret);

/* The same without quotes, into `to`, cut to `size` - 1 bytes between characters; its length. */
size_t csv_text(struct str cell, char *to, size_t size);

#endif
