/* notebook_int.h -- what both formats of notebook.h share. */
#ifndef SERVICE_NOTEBOOK_INT_H
#define SERVICE_NOTEBOOK_INT_H

#include <stddef.h>

struct buf;
struct run_row;

void script_begin(struct buf *out, const char *session);
/* `session`: whose script it is. */
void script_run(struct buf *out, const struct run_row *run, const char *session, size_t number);

#endif
