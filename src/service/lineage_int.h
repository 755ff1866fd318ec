/* lineage_int.h -- the graph of lineage.h: lineage_graph.c fills it, lineage.c tells it. */
#ifndef SERVICE_LINEAGE_INT_H
#define SERVICE_LINEAGE_INT_H

#include <stdbool.h>

#include "service/lineage.h"
#include "store/rows.h"

enum { NODE_ID_SIZE = ID_SIZE + 24 };

struct node {
    char id[NODE_ID_SIZE];
    uint32_t depth; /* runs that may still come before it */
    bool is_run, is_known, is_whole;
    struct version_row version;
    struct run_row run;
};

struct edge {
    size_t from, to; /* nodes */
    enum edge_kind { EDGE_READ, EDGE_WROTE, EDGE_STATE } kind;
    bool is_guessed;
};

struct graph {
    struct service *service;
    struct node *nodes; /* LINEAGE_NODES_MAX; those after `done` have to be looked at */
    size_t count, done;
    struct edge *edges;
    size_t edge_count;
    bool is_partial, is_truncated;
};

/* Everything behind the version, which is the first node. */
int graph_fill(struct graph *g, const struct version_row *of, uint32_t depth, struct err *e);
void graph_done(struct graph *g);

#endif
