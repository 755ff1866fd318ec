/* file_search.h -- search_files by the index, by name and by a pattern: what they share.
 *
 * Hits are a JSON array of objects: workspace_id, path, version, match, score (real), and where it is
 * known line_start, line_end, page, cite (text), snippet. file_search.c tells them.
 */
#ifndef MCP_FILE_SEARCH_H
#define MCP_FILE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct json_t;
struct mcp_call;
struct native;

enum search_mode { SEARCH_AUTO, SEARCH_TEXT, SEARCH_SEMANTIC, SEARCH_NAME, SEARCH_REGEX };

struct search_args {
    const char *query, *path_glob, *workspace_id;
    int mode;
    int64_t limit, context_lines;
};

/* Each adds to `hits`, and says in m->reply.text what is special. */
int search_names(struct mcp_call *m, struct json_t *hits, struct err *e);
int search_lines(struct mcp_call *m, struct json_t *hits, struct err *e);

/* A new hit in `hits`, borrowed; NULL: no memory. `file` is an object of the native API. */
struct json_t *search_hit(struct json_t *hits, const struct json_t *file, const char *match,
                          double score);

/* Every file that path_glob leaves, page by page: *cursor NULL at first and after the last. `n` is
 * fresh, and n->json.data are the files. */
int search_files_page(struct mcp_call *m, char **cursor, struct native *n, struct err *e);

/* Fills the reply with them. */
void search_tell(struct mcp_call *m, const struct json_t *hits);

#endif
