#include "service/lineage.h"

#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "service/lineage_int.h"
#include "service/object.h"
#include "service/service_int.h"
#include "store/meta_lineage.h"
#include "json/write.h"

enum { READERS_MAX = 20 };

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text && *text ? text : NULL);
}

static void put_version(struct json_writer *w, const struct version_row *v)
{
    char hex[HASH_HEX_SIZE];
    hash_hex(v->content.sha256, hex);
    put_text(w, "path", v->path);
    jw_key(w, "version");
    jw_u64(w, v->version);
    put_text(w, "file_id", v->file);
    jw_key(w, "size");
    jw_u64(w, v->content.size);
    put_text(w, "sha256", v->change == CHANGE_DELETED ? NULL : hex);
    put_text(w, "change", change_names[v->change]);
    object_time(w, "created_at", v->created_us);
    put_text(w, "principal_id", v->author.principal);
    put_text(w, "run_id", v->author.run);
}

static void put_run(struct json_writer *w, const struct node *n)
{
    const struct run_row *r = &n->run;
    size_t len = r->code_len;
    jw_key(w, "known");
    jw_bool(w, n->is_known);
    if (!n->is_known)
        return;
    if (len > LINEAGE_CODE_MAX)
        len = utf8_cut(r->code, LINEAGE_CODE_MAX);
    put_text(w, "session_id", r->session);
    put_text(w, "principal_id", r->principal);
    put_text(w, "language", r->language);
    put_text(w, "name", r->name);
    jw_key(w, "code");
    jw_str(w, r->code, len);
    jw_key(w, "code_truncated");
    jw_bool(w, len < r->code_len);
    put_text(w, "end", r->end);
    put_text(w, "state", r->state);
    object_time(w, "started_at", r->started_us);
    object_time(w, "undone_at", r->undone_us);
    jw_key(w, "complete");
    jw_bool(w, n->is_whole);
}

static void put_nodes(struct json_writer *w, const struct graph *g)
{
    jw_key(w, "nodes");
    jw_array(w);
    for (size_t i = 0; i < g->count; i++) {
        const struct node *n = &g->nodes[i];
        jw_object(w);
        put_text(w, "id", n->id);
        put_text(w, "kind", n->is_run ? "run" : "version");
        if (n->is_run)
            put_run(w, n);
        else
            put_version(w, &n->version);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void put_edges(struct json_writer *w, const struct graph *g)
{
    static const char *const names[] = {
        [EDGE_READ] = "read", [EDGE_WROTE] = "wrote", [EDGE_STATE] = "state"};
    jw_key(w, "edges");
    jw_array(w);
    for (size_t i = 0; i < g->edge_count; i++) {
        const struct edge *edge = &g->edges[i];
        jw_object(w);
        put_text(w, "from", g->nodes[edge->from].id);
        put_text(w, "to", g->nodes[edge->to].id);
        put_text(w, "kind", names[edge->kind]);
        jw_key(w, "guessed");
        jw_bool(w, edge->is_guessed);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static int put_readers(struct json_writer *w, struct service *s, const struct version_row *of,
                       struct err *e)
{
    struct run_rows runs;
    if (meta_version_readers(s->o.meta, of->file, of->version, READERS_MAX, &runs, e))
        return -1;
    jw_key(w, "read_by");
    jw_array(w);
    for (size_t i = 0; i < runs.count; i++) {
        jw_object(w);
        put_text(w, "run_id", runs.items[i].id);
        put_text(w, "session_id", runs.items[i].session);
        object_time(w, "started_at", runs.items[i].started_us);
        jw_end_object(w);
    }
    jw_end_array(w);
    run_rows_done(&runs);
    return 0;
}

int lineage_write(struct service *s, const struct workspace_row *ws, const struct version_row *of,
                  uint32_t depth, struct buf *out, struct err *e)
{
    scoped(graph_done) struct graph g = {.service = s};
    struct json_writer w = JSON_WRITER(out);
    /* A run that has just ended is written down a moment after its answer. */
    if (meta_settle(s->o.meta, e) || graph_fill(&g, of, depth, e))
        return -1;
    jw_object(&w);
    put_text(&w, "workspace_id", ws->id);
    put_text(&w, "path", of->path);
    jw_key(&w, "version");
    jw_u64(&w, of->version);
    put_text(&w, "node", g.nodes[0].id);
    jw_key(&w, "complete");
    jw_bool(&w, !g.is_partial && !g.is_truncated);
    jw_key(&w, "truncated");
    jw_bool(&w, g.is_truncated);
    put_nodes(&w, &g);
    put_edges(&w, &g);
    int failed = put_readers(&w, s, of, e);
    if (failed)
        return -1;
    jw_end_object(&w);
    return 0;
}
