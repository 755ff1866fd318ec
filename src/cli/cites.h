/* cites.h -- where in a file something stands, for people. */
#ifndef CLI_CITES_H
#define CLI_CITES_H

struct buf;
struct json_t;

/* Appends what a citation knows of page, slide, cell, sheet, lines, rows, paragraphs and heading: ", page 2". */
void cite_add(struct buf *to, const struct json_t *cite);

#endif
