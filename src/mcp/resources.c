/* resources.c -- files as resources: which there are. What is in them is resources_read.c. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/base64.h"
#include "base/scope.h"
#include "mcp/hub.h"
#include "mcp/mcp_int.h"
#include "mcp/resources.h"
#include "mcp/uri.h"
#include "json/write.h"

enum {
    LOOKS_MAX = 64, /* that are looked at for one page */
    CURSOR_MAX = 8 << 10,
};

static void put(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

/* ---- the place in the list: the caller's own workspace first, then the others, each by path ---- */

/* As a cursor: base64 of "workspace \n others \n file". Whatever it says, the operations it is given
 * to look at who asks. */
struct place {
    char workspace[ID_SIZE]; /* "": the next of the others */
    char others[160]; /* the list of workspaces goes on there; "": begins; ".": is at its end */
    char file[2 * PATH_BYTES_MAX + 1]; /* the list of its files does; "": begins */
};

static bool copy_line(const char **at, char *to, size_t size)
{
    size_t len = strcspn(*at, "\n");
    if (len >= size)
        return false;
    memcpy(to, *at, len);
    to[len] = '\0';
    *at += len;
    return true;
}

static bool read_place(const char *cursor, struct place *ret)
{
    struct err e = {0};
    scoped(buf_done) struct buf text = BUF_INIT(CURSOR_MAX);
    if (base64_decode(cursor, strlen(cursor), &text, &e) || text.failed || text.len == 0 ||
        strlen(text.bytes) != text.len)
        return false;
    const char *at = text.bytes;
    return copy_line(&at, ret->workspace, sizeof ret->workspace) && *at++ == '\n' &&
           copy_line(&at, ret->others, sizeof ret->others) && *at++ == '\n' &&
           copy_line(&at, ret->file, sizeof ret->file) && *at == '\0';
}

static void write_place(struct mcp_call *m, const struct place *p)
{
    scoped(buf_done) struct buf text = BUF_INIT(CURSOR_MAX), cursor = BUF_INIT(2 * CURSOR_MAX);
    buf_fmt(&text, "%s\n%s\n%s", p->workspace, p->others, p->file);
    base64_add(&cursor, text.bytes, text.len);
    put(&m->w, "nextCursor", cursor.bytes);
}

static int begin_place(struct mcp_call *m, const char own[ID_SIZE], struct place *ret,
                       struct err *e)
{
    json_t *cursor = m->params ? json_object_get(m->params, "cursor") : NULL;
    *ret = (struct place){0};
    if (!cursor || (json_is_string(cursor) && json_string_length(cursor) == 0)) {
        memcpy(ret->workspace, own, ID_SIZE);
        return 0;
    }
    if (!json_is_string(cursor) || !read_place(json_string_value(cursor), ret))
        return mcp_fail(m, RPC_PARAMS, e,
                        "cursor: that is no nextCursor of resources/list; leave it out to begin");
    return 0;
}

/* ---- items ---- */

static void write_item(struct mcp_call *m, const json_t *file)
{
    scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
    struct json_writer *w = &m->w;
    uri_write_file(&uri, text_of(file, "workspace_id"), text_of(file, "path"), /* version= */ 0);
    jw_object(w);
    put(w, "uri", uri.bytes);
    put(w, "name", text_of(file, "path"));
    put(w, "mimeType", text_of(file, "mime"));
    jw_key(w, "size");
    jw_i64(w, json_integer_value(json_object_get(file, "size")));
    if (text_of(file, "modified_at")) {
        jw_key(w, "annotations");
        jw_object(w);
        put(w, "lastModified", text_of(file, "modified_at"));
        jw_end_object(w);
    }
    jw_end_object(w);
}

/* Goes on in p->workspace, and says in it where the next page does: workspace "" when it is done. */
static int list_files(struct mcp_call *m, struct place *p, size_t *left, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, p->workspace);
    native_text(&n, "/files");
    native_query(&n, "recursive", "true");
    native_query_u64(&n, "limit", *left);
    native_query(&n, "cursor", *p->file ? p->file : NULL);
    if (native_call(m, &n, e))
        return -1;
    const json_t *files = json_object_get(n.json, "data");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        *left -= *left > 0;
        if (strcmp(text_of(file, "kind"), "file") == 0)
            write_item(m, file);
    }
    const char *next = text_of(n.json, "next_cursor");
    (void)snprintf(p->file, sizeof p->file, "%s", next ? next : "");
    if (!next)
        p->workspace[0] = '\0';
    return 0;
}

/* Whether it is one of the others. An admin of the server may look into all workspaces; their own are
 * enough here. */
static bool is_other(const struct mcp_call *m, const char *own, const json_t *ws)
{
    const struct who *who = &m->c->who;
    return strcmp(text_of(ws, "id"), own) != 0 &&
           (!who->is_admin || strcmp(text_of(ws, "owner_id"), who->principal) == 0);
}

static int next_workspace(struct mcp_call *m, const char *own, struct place *p, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_text(&n, "/api/v1/workspaces");
    native_query(&n, "limit", "1");
    native_query(&n, "cursor", *p->others ? p->others : NULL);
    if (native_call(m, &n, e))
        return -1;
    const json_t *ws = json_array_get(json_object_get(n.json, "data"), 0);
    const char *next = text_of(n.json, "next_cursor");
    (void)snprintf(p->others, sizeof p->others, "%s", next ? next : ".");
    if (ws && is_other(m, own, ws))
        (void)snprintf(p->workspace, sizeof p->workspace, "%s", text_of(ws, "id"));
    return 0;
}

static bool is_done(const struct place *p)
{
    return !*p->workspace && strcmp(p->others, ".") == 0;
}

/* Fills one page. What a key may not see at all is a list with nothing in it. */
static int fill_page(struct mcp_call *m, const char *own, struct place *p, struct err *e)
{
    size_t left = MCP_PAGE;
    for (int tries = 0; left > 0 && tries < LOOKS_MAX && !is_done(p); tries++) {
        if (*p->workspace ? list_files(m, p, &left, e) == 0 : next_workspace(m, own, p, e) == 0)
            continue;
        if (e->code == ERR_INVALID)
            return mcp_fail(m, RPC_PARAMS, e, "cursor: begin again without one");
        if (e->code != ERR_NOT_FOUND && e->code != ERR_DENIED)
            return -1;
        if (e->code == ERR_DENIED || !*p->workspace)
            (void)snprintf(p->others, sizeof p->others, ".");
        p->workspace[0] = p->file[0] = '\0'; /* it has gone meanwhile */
        *e = (struct err){0};
    }
    return 0;
}

static int list(struct mcp_call *m, struct err *e)
{
    struct place p;
    char own[ID_SIZE];
    if (m->mcp->o.has_fixtures)
        return fixture_resources_list(m, e);
    if (resource_workspace(m, own, e) || begin_place(m, own, &p, e))
        return -1;
    jw_key(&m->w, "resources");
    jw_array(&m->w);
    if (fill_page(m, own, &p, e))
        return -1;
    jw_end_array(&m->w);
    if (!is_done(&p))
        write_place(m, &p);
    return 0;
}

/* ---- workspaces ---- */

int resource_workspace(struct mcp_call *m, char ret[ID_SIZE], struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    if (!m->workspace) {
        memcpy(ret, m->c->who.workspace, ID_SIZE);
        return 0;
    }
    native_workspace(&n, /* id= */ NULL);
    if (native_call(m, &n, e))
        return -1;
    (void)snprintf(ret, ID_SIZE, "%s", text_of(n.json, "id"));
    return 0;
}

int resource_workspaces(struct mcp_call *m, char (*ret)[ID_SIZE], size_t max, size_t *ret_count,
                        struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    size_t count = 1;
    if (max == 0 || resource_workspace(m, ret[0], e))
        return -1;
    native_text(&n, "/api/v1/workspaces");
    native_query_u64(&n, "limit", 1000);
    if (native_call(m, &n, e))
        return -1;
    const json_t *list = json_object_get(n.json, "data");
    for (size_t i = 0; i < json_array_size(list) && count < max; i++) {
        const json_t *ws = json_array_get(list, i);
        if (is_other(m, ret[0], ws))
            (void)snprintf(ret[count++], ID_SIZE, "%s", text_of(ws, "id"));
    }
    *ret_count = count;
    return 0;
}

/* ---- templates ---- */

const struct resource_template resource_templates[] = {
    {"workspace://{workspace_id}/{+path}", "workspace-file", "File in a workspace",
     "A file as it is now, or a directory as a list of what is in it. The path is the one that list_files "
     "shows, which is /mnt/data/<path> for code."},
    {"workspace://{workspace_id}/{+path}{?version}", "workspace-file-version",
     "Version of a file in a workspace",
     "A file as it was at a version; file_versions lists them. It never changes."},
    {"run://{execution_id}/displays/{index}", "run-display", "Figure of a run",
     "What a run displayed, in its original size; the first has index 0."},
    {0},
};

static int list_templates(struct mcp_call *m, struct err *e)
{
    struct json_writer *w = &m->w;
    if (m->mcp->o.has_fixtures)
        return fixture_templates_list(m, e);
    uint64_t from = 0;
    if (mcp_cursor_read(m, &from, e))
        return -1;
    jw_key(w, "resourceTemplates");
    jw_array(w);
    for (const struct resource_template *t = resource_templates; t->uri; t++) {
        jw_object(w);
        put(w, "uriTemplate", t->uri);
        put(w, "name", t->name);
        put(w, "title", t->title);
        put(w, "description", t->description);
        jw_end_object(w);
    }
    jw_end_array(w);
    return 0;
}

static const struct mcp_method items[] = {
    {"resources/list", METHOD_BOTH | METHOD_CACHED, NULL, list},
    {"resources/read", METHOD_BOTH | METHOD_CACHED, "uri", resources_read},
    {"resources/templates/list", METHOD_BOTH | METHOD_CACHED | METHOD_PUBLIC, NULL, list_templates},
    {"resources/subscribe", METHOD_LEGACY, NULL, hub_subscribe},
    {"resources/unsubscribe", METHOD_LEGACY, NULL, hub_unsubscribe},
};

const struct mcp_methods methods_resources = {items, sizeof items / sizeof *items};
