/* lineage_graph.c -- following a version back: runs, what they read, and who made that. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/lineage_int.h"
#include "service/service_int.h"
#include "store/meta_lineage.h"

void graph_done(struct graph *g)
{
    for (size_t i = 0; i < g->count; i++) {
        version_row_done(&g->nodes[i].version);
        run_row_done(&g->nodes[i].run);
    }
    free(g->nodes);
    free(g->edges);
}

/* The node of that id, a new one if there is room; NULL: there is none. */
static struct node *node_of(struct graph *g, const char *id, uint32_t depth, bool *ret_new)
{
    *ret_new = false;
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->nodes[i].id, id) == 0)
            return &g->nodes[i];
    if (g->count == LINEAGE_NODES_MAX) {
        g->is_truncated = true;
        return NULL;
    }
    struct node *n = &g->nodes[g->count++];
    *n = (struct node){.depth = depth};
    (void)snprintf(n->id, sizeof n->id, "%s", id);
    *ret_new = true;
    return n;
}

static int add_edge(struct graph *g, const struct node *from, const struct node *to,
                    enum edge_kind kind, bool is_guessed, struct err *e)
{
    const struct edge edge = {.from = (size_t)(from - g->nodes),
                              .to = (size_t)(to - g->nodes),
                              .kind = kind,
                              .is_guessed = is_guessed};
    for (size_t i = 0; i < g->edge_count; i++)
        if (g->edges[i].from == edge.from && g->edges[i].to == edge.to)
            return 0;
    if (g->edge_count % 64 == 0) {
        struct edge *grown = realloc(g->edges, (g->edge_count + 64) * sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "follow the lineage");
        g->edges = grown;
    }
    g->edges[g->edge_count++] = edge;
    return 0;
}

/* Takes the row's texts over if the node is new. */
static struct node *add_version(struct graph *g, struct version_row *v, uint32_t depth)
{
    char id[NODE_ID_SIZE];
    bool is_new;
    (void)snprintf(id, sizeof id, "%s@%llu", v->file, (unsigned long long)v->version);
    struct node *n = node_of(g, id, depth, &is_new);
    if (n && is_new) {
        n->version = *v;
        v->owned = NULL;
    }
    return n;
}

static int add_run(struct graph *g, const char *id, uint32_t depth, struct node **ret,
                   struct err *e)
{
    bool is_new;
    struct node *n = node_of(g, id, depth, &is_new);
    *ret = n;
    if (!n || !is_new)
        return 0;
    n->is_run = true;
    if (meta_run_code(g->service->o.meta, id, LINEAGE_CODE_MAX + 1, &n->run, e) == 0) {
        n->is_known = true;
        n->is_whole = n->run.trace == TRACE_WHOLE;
        g->is_partial |= !n->is_whole;
        return 0;
    }
    n->run = (struct run_row){0};
    g->is_partial = true;
    if (e->code != ERR_NOT_FOUND)
        return -1;
    *e = (struct err){0}; /* it was forgotten */
    return 0;
}

/* What the run read; `ret_count` of them. */
static int add_inputs(struct graph *g, struct node *run, size_t *ret_count, struct err *e)
{
    struct input_rows rows;
    if (meta_run_inputs(g->service->o.meta, run->id, &rows, e))
        return -1;
    int failed = 0;
    g->is_partial |= rows.purged > 0;
    *ret_count = rows.count;
    for (size_t i = 0; i < rows.count && !failed; i++) {
        uint32_t depth = run->depth > 0 ? run->depth - 1 : 0;
        const struct node *v = add_version(g, &rows.items[i].version, depth);
        if (v)
            failed = add_edge(g, v, run, EDGE_READ, rows.items[i].is_guessed, e);
    }
    input_rows_done(&rows);
    return failed;
}

static bool has_inputs(struct graph *g, const char *run)
{
    struct input_rows rows;
    struct err ignored = {0};
    if (meta_run_inputs(g->service->o.meta, run, &rows, &ignored))
        return false;
    bool has = rows.count > 0 || rows.purged > 0;
    input_rows_done(&rows);
    return has;
}

/* Earlier runs of its history that read something: it may have used their variables. */
static int add_chain(struct graph *g, struct node *run, struct err *e)
{
    struct run_rows chain;
    int failed = 0;
    if (!run->is_known || lineage_chain(g->service, &run->run, LINEAGE_CHAIN_MAX, &chain, e))
        return run->is_known ? -1 : 0;
    g->is_partial |= chain.has_more;
    for (size_t i = 0; i < chain.count && !failed; i++) {
        struct node *before = NULL;
        if (chain.items[i].trace != TRACE_WHOLE)
            g->is_partial = true;
        if (!has_inputs(g, chain.items[i].id))
            continue;
        failed = add_run(g, chain.items[i].id, run->depth, &before, e) ||
                 (before && add_edge(g, before, run, EDGE_STATE, false, e));
    }
    run_rows_done(&chain);
    return failed ? -1 : 0;
}

static int expand_version(struct graph *g, struct node *v, struct err *e)
{
    struct node *run = NULL;
    if (!*v->version.author.run)
        return 0;
    if (v->depth == 0) {
        g->is_truncated = true;
        return 0;
    }
    if (add_run(g, v->version.author.run, v->depth, &run, e))
        return -1;
    return run ? add_edge(g, run, v, EDGE_WROTE, false, e) : 0;
}

static int expand_run(struct graph *g, struct node *run, struct err *e)
{
    size_t count;
    return add_inputs(g, run, &count, e) || add_chain(g, run, e) ? -1 : 0;
}

int graph_fill(struct graph *g, const struct version_row *of, uint32_t depth, struct err *e)
{
    struct version_row copy = {0};
    g->nodes = calloc(LINEAGE_NODES_MAX, sizeof *g->nodes);
    if (!g->nodes)
        return err_set(e, ERR_NO_MEMORY, "follow the lineage");
    if (meta_version_get(g->service->o.meta, of->file, of->version, &copy, e))
        return -1;
    (void)add_version(g, &copy, depth);
    version_row_done(&copy);
    for (; g->done < g->count; g->done++) {
        struct node *n = &g->nodes[g->done];
        if (n->is_run ? expand_run(g, n, e) : expand_version(g, n, e))
            return -1;
    }
    return 0;
}
