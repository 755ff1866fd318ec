/* `cicada files why`: where a file comes from, as a tree. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/words.h"

/* TREE_DEPTH_MAX also bounds how deep this calls itself. */
enum { TREE_DEPTH_MAX = 40, CODE_LINES = 4, CODE_COLUMNS = 76, TREE_MAX = 4 << 20 };

/* clang-format off */
const struct option files_why_options[] = {
    {FILES_VERSION, 'v', "version", "N", "of this version (the newest)"},
    {FILES_LIMIT, 'n', "depth", "N", "go back over so many runs (10)"},
    {FILES_LONG, 'l', "long", NULL, "with all of the code"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
/* clang-format on */

struct tree {
    const json_t *nodes, *edges;
    json_t *seen; /* ids that were drawn with what is behind them */
    struct buf *out;
    bool is_long;
    int64_t now_us;
    char prefix[4 * TREE_DEPTH_MAX * 4 + 1]; /* what stands left of a line: bars and blanks */
};

static const json_t *node_of(const struct tree *t, const char *id)
{
    for (size_t i = 0; i < json_array_size(t->nodes); i++)
        if (strcmp(pick_text(json_array_get(t->nodes, i), "id"), id) == 0)
            return json_array_get(t->nodes, i);
    return NULL;
}

static bool is_run(const json_t *node)
{
    return strcmp(pick_text(node, "kind"), "run") == 0;
}

/* The next edge into the node from `*at` on; NULL: there is none. */
static const json_t *next_edge(const struct tree *t, const char *id, size_t *at)
{
    while (*at < json_array_size(t->edges)) {
        const json_t *edge = json_array_get(t->edges, (*at)++);
        if (strcmp(pick_text(edge, "to"), id) == 0)
            return edge;
    }
    return NULL;
}

static bool has_edges(const struct tree *t, const char *id)
{
    size_t at = 0;
    return next_edge(t, id, &at) != NULL;
}

/* ---- one node ---- */

static void put_shown(struct buf *out, const char *text)
{
    printable(text, strlen(text), out);
}

static void put_version(struct tree *t, const json_t *v, bool is_guessed)
{
    char size[SIZE_TEXT], ago[AGO_TEXT];
    put_shown(t->out, pick_text(v, "path"));
    buf_fmt(t->out, " v%" PRIu64 "  %s, %s", pick_count(v, "version"),
            size_text(pick_count(v, "size"), size),
            ago_text(pick_text(v, "created_at"), t->now_us, ago));
    if (!*pick_text(v, "run_id"))
        buf_str(t->out, ", made by no run");
    if (is_guessed)
        buf_str(t->out, ", perhaps: a process that was started was told of it");
}

static void put_run(struct tree *t, const json_t *run, const char *kind)
{
    char ago[AGO_TEXT];
    if (strcmp(kind, "state") == 0)
        buf_str(t->out, "variables of ");
    put_shown(t->out, pick_text(run, "id"));
    if (!pick_is_true(run, "known")) {
        buf_str(t->out, ", of which nothing is known any more");
        return;
    }
    buf_fmt(t->out, " in %s, %s", pick_text(run, "session_id"),
            ago_text(pick_text(run, "started_at"), t->now_us, ago));
    if (strcmp(pick_text(run, "language"), "python") != 0)
        buf_fmt(t->out, ", %s", pick_text(run, "language"));
    if (strcmp(pick_text(run, "end"), "ok") != 0)
        buf_fmt(t->out, ", ended with %s", pick_text(run, "end"));
    if (*pick_text(run, "undone_at"))
        buf_fmt(t->out, ", undone %s", ago_text(pick_text(run, "undone_at"), t->now_us, ago));
    if (!pick_is_true(run, "complete"))
        buf_str(t->out, ", may have read more");
}

/* The first lines of the code, or all of them. */
static void put_code(struct tree *t, const json_t *run, bool has_more)
{
    const char *at = pick_text(run, "code");
    at += strspn(at, "\r\n");
    for (size_t count = 0; *at; count++) {
        size_t len = strcspn(at, "\n"), shown = len;
        bool is_last = !t->is_long && count + 1 == CODE_LINES && at[len] && at[len + 1];
        if (!t->is_long && shown > CODE_COLUMNS)
            shown = CODE_COLUMNS;
        buf_fmt(t->out, "%s%s", t->prefix, has_more ? "│    " : "     ");
        printable(at, shown, t->out);
        buf_str(t->out, shown < len || is_last ? " …\n" : "\n");
        if (is_last)
            return;
        at += len + (at[len] == '\n');
    }
}

/* ---- the tree ---- */

static void put_children(struct tree *t, const char *id, unsigned depth);

static void put_node(struct tree *t, const json_t *edge, const json_t *node, bool is_last,
                     unsigned depth)
{
    const char *id = pick_text(node, "id");
    size_t len = strlen(t->prefix);
    bool is_seen = json_object_get(t->seen, id) != NULL;
    if (edge)
        buf_fmt(t->out, "%s%s", t->prefix, is_last ? "└─ " : "├─ ");
    if (is_run(node))
        put_run(t, node, edge ? pick_text(edge, "kind") : "");
    else
        put_version(t, node, edge && pick_is_true(edge, "guessed"));
    buf_str(t->out, is_seen && has_edges(t, id) ? " (see above)\n" : "\n");
    if (is_seen || depth == TREE_DEPTH_MAX)
        return;
    (void)json_object_set_new(t->seen, id, json_true()); /* without memory it is drawn again */
    if (edge)
        (void)snprintf(t->prefix + len, sizeof t->prefix - len, "%s", is_last ? "   " : "│  ");
    if (is_run(node))
        put_code(t, node, has_edges(t, id));
    put_children(t, id, depth + 1);
    t->prefix[len] = '\0';
}

static void put_children(struct tree *t, const char *id, unsigned depth)
{
    size_t at = 0;
    const json_t *edge = next_edge(t, id, &at);
    while (edge) {
        const json_t *next = next_edge(t, id, &at);
        const json_t *from = node_of(t, pick_text(edge, "from"));
        if (from)
            put_node(t, edge, from, !next, depth);
        edge = next;
    }
}

static int draw(struct remote *r, const struct verb_input *in, const json_t *graph)
{
    scoped(buf_done) struct buf out = BUF_INIT(TREE_MAX);
    scoped(json_decrefp) json_t *seen = json_object();
    struct tree t = {.nodes = json_object_get(graph, "nodes"),
                     .edges = json_object_get(graph, "edges"),
                     .seen = seen,
                     .out = &out,
                     .is_long = in->values[FILES_LONG] != NULL,
                     .now_us = clock_wall_us()};
    const json_t *root = node_of(&t, pick_text(graph, "node"));
    if (!root || !seen)
        return EXIT_NO_JAIL;
    put_node(&t, /* edge= */ NULL, root, /* is_last= */ true, 0);
    int code = out.failed ? EXIT_NO_JAIL : verb_print_text(&out);
    if (pick_is_true(graph, "truncated"))
        note(&r->notes, "it goes on; --depth N goes further back");
    return code;
}

int files_why(struct remote *r, const struct verb_input *in, struct err *e)
{
    char path[FILEREF_SIZE];
    unsigned long long version, depth;
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *graph = NULL;
    if (fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e) ||
        files_version(in, &version, e) ||
        verb_number(in, FILES_LIMIT, "depth", 1, 50, 10, &depth, e))
        return -1;
    workspace_url(verb_workspace(in), "lineage?path=", &url);
    client_encode(&url, path);
    buf_fmt(&url, "&depth=%llu", depth);
    if (version)
        buf_fmt(&url, "&version=%llu", version);
    const struct call call = {.path = url.bytes};
    if (buf_check(&url, e) || client_call(r->client, &call, &graph, e))
        return -1;
    return verb_is_json(in) ? verb_print(in, graph) : draw(r, in, graph);
}
