/* prompts_say.c -- messages of a prompt: what the user says, and the files that go along. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "mcp/uri.h"
#include "json/write.h"

enum { SHOWN_MAX = 16 << 10 }; /* bytes of a file that is given in full */

static void put(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* ---- messages ---- */

static void begin(struct json_writer *w, const char *type)
{
    jw_object(w);
    put(w, "role", "user");
    jw_key(w, "content");
    jw_object(w);
    put(w, "type", type);
}

static void end(struct json_writer *w)
{
    jw_end_object(w);
    jw_end_object(w);
}

void prompt_say(struct mcp_call *m, const struct buf *text)
{
    begin(&m->w, "text");
    jw_key(&m->w, "text");
    jw_str(&m->w, text->bytes ? text->bytes : "", text->len);
    end(&m->w);
}

/* ---- files ---- */

/* Before 2025-06-18 nobody knew links. */
static bool has_links(const struct mcp_call *m)
{
    return strcmp(m->version, "2025-06-18") >= 0;
}

static void say_link(struct mcp_call *m, const json_t *file, const char *uri)
{
    struct json_writer *w = &m->w;
    if (!has_links(m)) {
        scoped(buf_done) struct buf text = BUF_INIT(16 << 10);
        buf_fmt(&text, "The file is the resource %s", uri);
        prompt_say(m, &text);
        return;
    }
    begin(w, "resource_link");
    put(w, "uri", uri);
    put(w, "name", text_of(file, "path"));
    put(w, "mimeType", text_of(file, "mime"));
    jw_key(w, "size");
    jw_i64(w, json_integer_value(json_object_get(file, "size")));
    end(w);
}

static void say_contents(struct mcp_call *m, const json_t *file, const char *uri, struct str bytes)
{
    struct json_writer *w = &m->w;
    begin(w, "resource");
    jw_key(w, "resource");
    jw_object(w);
    put(w, "uri", uri);
    put(w, "mimeType", text_of(file, "mime"));
    jw_key(w, "text");
    jw_str(w, bytes.ptr ? bytes.ptr : "", bytes.len);
    jw_end_object(w);
    end(w);
}

int prompt_wrong(struct mcp_call *m, const char *argument, const char *value, struct err *e)
{
    struct err why = *e;
    switch (e->code) {
    case ERR_NOT_FOUND:
        return mcp_fail(m, RPC_PARAMS, e, "%s: there is no %.120s; %s", argument, value,
                        strcmp(argument, "execution_id") == 0
                            ? "run_code gives the id of each run"
                            : "the tool list_files shows what there is");
    case ERR_INVALID:
    case ERR_CONFLICT: return mcp_fail(m, RPC_PARAMS, e, "%s: %s", argument, why.text);
    default: return -1;
    }
}

/* A short text is read; whatever else it is, or if it cannot be, is named. */
static int show(struct mcp_call *m, const json_t *file, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
    uri_write_file(&uri, text_of(file, "workspace_id"), text_of(file, "path"), /* version= */ 0);
    bool is_short = json_integer_value(json_object_get(file, "size")) <= SHOWN_MAX &&
                    strcmp(text_of(file, "kind"), "file") == 0;
    if (is_short) {
        native_workspace(&n, text_of(file, "workspace_id"));
        native_text(&n, "/files/");
        native_path(&n, text_of(file, "path"));
        n.max = 2 * SHOWN_MAX;
        if (native_call(m, &n, e))
            return -1;
    }
    struct str bytes = {n.answer.out.bytes, n.answer.out.len};
    if (is_short && resource_is_text(text_of(file, "mime"), bytes))
        say_contents(m, file, uri.bytes, bytes);
    else
        say_link(m, file, uri.bytes);
    return 0;
}

int prompt_show_file(struct mcp_call *m, const char *workspace, const char *path, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, workspace);
    native_text(&n, "/files/");
    native_path(&n, native_clean(path));
    native_query(&n, "stat", "true");
    return native_call(m, &n, e) || show(m, n.json, e) ? -1 : 0;
}
