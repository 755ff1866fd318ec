/* tail.h -- the end of the audit: in which workspaces something has happened since one last looked.
 *
 *     uint64_t at = audit_head(meta, e);
 *     ... the bell rings ...
 *     tail_read(meta, &at, put, arg, e)      put(arg, "ws_...") for each, a few times perhaps
 */
#ifndef SERVICE_TAIL_H
#define SERVICE_TAIL_H

#include <stdint.h>

struct err;
struct meta;

/* Reads on from *at, which moves. Blocks on disk. */
int tail_read(struct meta *m, uint64_t *at, void (*put)(void *arg, const char *workspace),
              void *arg, struct err *e);

#endif
