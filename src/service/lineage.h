/* lineage.h -- where a version comes from: the run that made it, what that read, and so on back.
 *
 *     lineage_write(s, &ws, &version, depth, ...)        the graph, as JSON
 *     lineage_chain(s, &run, max, &chain, e)          the runs whose variables a run had
 *
 * What a run wrote and read is exact where its trace is whole (store/rows.h). But a run also has the
 * variables that earlier runs left, and those came from somewhere too: so the earlier runs of the same
 * history, as far as they read anything, are part of the graph.
 *
 * A history is what really made a state: each run follows the one whose state it began with (run_row.previous).
 * It begins with a kernel, goes on in a fork from the run of the parent at which that was made, and does
 * not hold what had been undone by then; what was undone later stays part of the histories it was in.
 */
#ifndef SERVICE_LINEAGE_H
#define SERVICE_LINEAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;
struct run_row;
struct run_rows;
struct service;
struct version_row;
struct workspace_row;

enum {
    LINEAGE_NODES_MAX = 500,
    LINEAGE_DEPTH_MAX = 50,  /* runs from one end to the other */
    LINEAGE_CHAIN_MAX = 200, /* of those, runs that one run is said to have followed */
    LINEAGE_CODE_MAX = 4000, /* bytes of a run's code */
};

/* {"path", "version", "complete", "truncated", "nodes", "edges", "read_by"}. Blocks on disk. */
int lineage_write(struct service *s, const struct workspace_row *ws, const struct version_row *of,
                  uint32_t depth, struct buf *out, struct err *e);

/* The history that `run` (any row of it) began with, newest first, back to where its kernel began, brief, at
 * most `max`. has_more when the beginning was not found: there are more, or they were forgotten. `ret` is the
 * caller's (run_rows_done). */
int lineage_chain(struct service *s, const struct run_row *run, size_t max, struct run_rows *ret,
                  struct err *e);

/* The number of a run of the session that is part of what it remembers now; ERR_NOT_FOUND when it is none. */
int lineage_number(struct service *s, const char *session, const char *run, uint64_t *ret,
                   struct err *e);

/* Whether the run, which has ended, began with a new kernel, without anything of the runs before it. */
bool lineage_is_first(const struct run_row *run);

#endif
