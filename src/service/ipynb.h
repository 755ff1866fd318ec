/* ipynb.h -- what Jupyter notebooks (nbformat 4.5) of ours have in common.
 *
 *     ipynb_begin(&w)                       then cells, each an object
 *     ipynb_outputs(&w, run, number)        a key of a code cell: what came of it
 *     ipynb_end(&w)
 */
#ifndef SERVICE_IPYNB_H
#define SERVICE_IPYNB_H

#include <stddef.h>

struct json_t;
struct json_writer;

void ipynb_begin(struct json_writer *w);
void ipynb_end(struct json_writer *w);

/* Streams, displays, result and error of a run object; NULL: of one that is not known. `number` is the cell's. */
void ipynb_outputs(struct json_writer *w, const struct json_t *run, size_t number);

#endif
