/* table.h -- rows and columns, for eyes or for programs.
 *
 * On a terminal: a line of titles, columns as wide as they need, and where the terminal is too narrow
 * the columns that may be cut are cut, with an ellipsis. Elsewhere: the same rows without titles, values
 * unrounded, separated by tabs. A cell may be anything a stranger chose: what could steer a
 * terminal or break a line is replaced. Width is counted as terminals do it, in UTF-8.
 *
 *     scoped(table_done) struct table t = TABLE(columns, 3);
 *     table_add(&t, id, NULL); table_add(&t, bytes, "1.5 KiB"); ...
 *     table_print(&t, width, &out)
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;

enum { TABLE_COLUMNS_MAX = 12, TABLE_CUT_MIN = 8 };

struct column {
    const char *title;
    bool is_number; /* to the right */
    bool may_be_cut;
};

struct table {
    const struct column *columns;
    size_t count;  /* of columns */
    char **cells;  /* owned; row by row, each cell twice: for programs and for eyes */
    size_t filled; /* cells */
    bool failed;   /* no memory */
};

#define TABLE(column_list, column_count) \
    ((struct table){.columns = (column_list), .count = (column_count)})

void table_done(struct table *t);

/* The next cell. `shown` is the value for people; NULL: the same. Copied. */
void table_add(struct table *t, const char *value, const char *shown);

/* Appends the table; `width` is that of the terminal, 0: for programs. Fails with ERR_NO_MEMORY.
 * The table has to have whole rows. */
int table_print(const struct table *t, size_t width, struct buf *out, struct err *e);

/* The columns a text takes in a terminal. Needs a UTF-8 locale (text_locale) for all but ASCII. */
size_t text_width(const char *text);

/* Appends as much of the text as fits into `width` columns, ending in an ellipsis if it is cut. */
void text_cut(const char *text, size_t width, struct buf *out);

/* Makes the C library understand UTF-8, whatever the environment says. */
void text_locale(void);

/* The width of the terminal that standard output is; 0 if it is none. */
size_t terminal_width(void);

#endif
