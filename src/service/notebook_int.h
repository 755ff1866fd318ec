/* notebook_int.h -- what both formats of notebook.h share. */
#ifndef SERVICE_NOTEBOOK_INT_H
#define SERVICE_NOTEBOOK_INT_H

#include <stddef.h>

struct buf;
struct run_row;

void script_begin(struct buf *out, const char *session);
void script_run(struct buf *out, const struct run_row *run, size_t number);

#endif
