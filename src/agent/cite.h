/* cite.h -- where a text speaks of files: annotations of the kind container_file_citation.
 *
 * Indices count Unicode code points, as the API they belong to does: a text with an emoji before the link has other
 * offsets in UTF-8, UTF-16 and code points, and it is the last that is meant. end is exclusive.
 */
#ifndef AGENT_CITE_H
#define AGENT_CITE_H

struct err;
struct json_t;

/* `files`: [{"path":"plots/a.png","file_id":"cfile_...","container_id":"cntr_..."}], relative to /mnt/data. Every
 * "sandbox:/mnt/data/PATH" in the text (also percent-encoded, as links have it) is cited where it stands, as often as it does; the longest path that fits
 * wins. Files that stand nowhere in it are cited at 0, 0. *ret is an array, owned. */
int cite_files(const char *text, const struct json_t *files, struct json_t **ret, struct err *e);

#endif
