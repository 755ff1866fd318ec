/* file_table.h -- rows of a CSV or TSV file as a Markdown table, out of pieces of it.
 *
 *     struct table t = {.skip = 0, .limit = 50, .out = &text, .text_max = 40000};
 *     while (there is more && !t.is_full)
 *         table_feed(&t, piece, len);
 *     table_end(&t);                              if that was the end of the file
 *     file_table_done(&t);
 *
 * The first row is the heading and is always shown. Long cells, and columns after TABLE_COLUMNS, are
 * cut. Rows are read as api/preview.h reads them.
 */
#ifndef MCP_FILE_TABLE_H
#define MCP_FILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum {
    TABLE_COLUMNS = 40,
    TABLE_CELL = 120,        /* bytes of one that are shown */
    TABLE_ROW_MAX = 1 << 20, /* bytes of a row; longer: a quote is missing somewhere */
};

struct table {
    uint64_t skip, limit; /* rows, the heading not counted */
    size_t text_max;
    struct buf *out;
    bool is_tabs;

    char separator; /* '\0': not known yet */
    uint64_t rows;  /* that have ended, the heading not counted */
    uint64_t shown;
    size_t columns; /* of the heading */
    bool has_head, is_full;
    bool is_broken; /* a row has no end */
    struct buf held;
};

void table_feed(struct table *t, const char *bytes, size_t len);
void table_end(struct table *t);
void file_table_done(struct table *t);

#endif
