/* file_read.h -- read_file, by what the file is; the parts of file_read.c that have files of their own. */
#ifndef MCP_FILE_READ_H
#define MCP_FILE_READ_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct file_facts;
struct mcp_call;

struct read_args {
    const char *path, *workspace_id;
    int64_t version, offset, limit; /* limit 0: what is usual for the kind */
    int as;
};

enum {
    READ_LINES = 2000, /* if nothing is said */
    READ_ROWS = 50,
    READ_BASE64_MAX = 100 << 10,
};

/* Each fills m->reply: text, structured content, a link. */
int read_text(struct mcp_call *m, const struct file_facts *f, struct err *e);
int read_table(struct mcp_call *m, const struct file_facts *f, struct err *e);
int read_image(struct mcp_call *m, const struct file_facts *f, struct err *e);
int read_document(struct mcp_call *m, const struct file_facts *f, struct err *e);
int read_base64(struct mcp_call *m, const struct file_facts *f, struct err *e);

/* Whether read_document can make text of it. */
bool is_document(const char *path);

/* What it is and what can be done with it; `why` it is not shown, or NULL. */
int read_nothing(struct mcp_call *m, const struct file_facts *f, const char *why, struct err *e);

/* The line that every answer begins with: "a.csv: version 3, 120 bytes, text/csv". */
void read_head(struct mcp_call *m, const struct file_facts *f);
/* The facts and `kind`, into the structured content; and the link. */
void read_tail(struct mcp_call *m, const struct file_facts *f, const char *kind);
/* Where the next part begins; `total` 0: not known. Into the structured content. */
struct read_part {
    uint64_t first, count, total; /* from 1 */
    bool has_more;
};
void read_write_part(struct mcp_call *m, const struct read_part *p);

#endif
