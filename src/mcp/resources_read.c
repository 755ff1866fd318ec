/* resources_read.c -- what is in a resource: a file, one of its versions, a directory, a figure of a run. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/mcp_int.h"
#include "mcp/resources.h"
#include "mcp/uri.h"
#include "json/write.h"

enum {
    ENTRIES_MAX = 1000, /* of a directory */
    PINNED_TTL_MS = 24 * 3600 * 1000,
};

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

/* ---- failures ---- */

static void tell_uri(struct mcp_call *m, const char *uri)
{
    struct json_writer w = JSON_WRITER(&m->error_data);
    buf_done(&m->error_data);
    jw_object(&w);
    put(&w, "uri", uri);
    jw_end_object(&w);
}

int resource_unknown(struct mcp_call *m, const char *uri, struct err *e)
{
    tell_uri(m, uri);
    return mcp_fail(
        m, m->is_modern ? RPC_PARAMS : RPC_NO_RESOURCE, e,
        "Resource not found: %.120s; resources/list and the tool list_files show what there is",
        uri);
}

/* What the native operation said, as an error of the protocol where it is about the question. */
static int explain(struct mcp_call *m, const char *uri, struct err *e)
{
    switch (e->code) {
    case ERR_NOT_FOUND: return resource_unknown(m, uri, e);
    case ERR_TOO_LARGE:
        tell_uri(m, uri);
        return mcp_fail(m, RPC_PARAMS, e,
                        "the resource is larger than %d MiB: get an address for it with the tool "
                        "transfer_url, or read a part of it with read_file",
                        RESOURCE_BYTES_MAX >> 20);
    case ERR_INVALID:
    case ERR_CONFLICT:
    case ERR_DENIED: {
        struct err why = *e;
        tell_uri(m, uri);
        return mcp_fail(m, RPC_PARAMS, e, "%s", why.text);
    }
    default: return -1;
    }
}

/* ---- contents ---- */

bool resource_is_text(const char *mime, struct str bytes)
{
    bool is_media = strncmp(mime, "image/", 6) == 0 || strncmp(mime, "audio/", 6) == 0 ||
                    strncmp(mime, "video/", 6) == 0;
    if (is_media && !strstr(mime, "+xml"))
        return false;
    return bytes.len == 0 ||
           (!memchr(bytes.ptr, '\0', bytes.len) && utf8_is_valid(bytes.ptr, bytes.len));
}

static void write_contents(struct mcp_call *m, const char *uri, const char *mime, struct str bytes)
{
    struct json_writer *w = &m->w;
    bool is_text = resource_is_text(mime, bytes);
    jw_key(w, "contents");
    jw_array(w);
    jw_object(w);
    put(w, "uri", uri);
    put(w, "mimeType", mime);
    jw_key(w, is_text ? "text" : "blob");
    if (is_text)
        jw_str(w, bytes.ptr ? bytes.ptr : "", bytes.len);
    else
        jw_base64(w, bytes.ptr, bytes.len);
    jw_end_object(w);
    jw_end_array(w);
}

/* The answer's type, without its parameters. */
static void type_of(const struct native *n, char ret[128])
{
    struct str type = native_answer_header(n, "Content-Type");
    size_t len = 0;
    while (len < type.len && len < 127 && type.ptr[len] != ';' && type.ptr[len] != ' ')
        len++;
    (void)snprintf(ret, 128, "%.*s", (int)len, len ? type.ptr : "");
    if (len == 0)
        (void)snprintf(ret, 128, "application/octet-stream");
}

static int get_bytes(struct mcp_call *m, struct native *n, struct err *e)
{
    n->max = RESOURCE_BYTES_MAX;
    n->is_raw = true;
    return native_call(m, n, e);
}

static void give_bytes(struct mcp_call *m, const struct native *n, const char *uri)
{
    char type[128];
    type_of(n, type);
    write_contents(m, uri, type, (struct str){n->answer.out.bytes, n->answer.out.len});
}

/* ---- directories ---- */

static void write_entry(struct buf *out, const json_t *file, size_t skip)
{
    const char *path = text_of(file, "path");
    const char *name = strlen(path) > skip ? path + skip : path;
    if (strcmp(text_of(file, "kind"), "file") != 0) {
        buf_fmt(out, "%s/\n", name);
        return;
    }
    buf_fmt(out, "%s\t%" PRIi64 " bytes\t%s\tversion %" PRIi64 "\t%s\n", name,
            (int64_t)json_integer_value(json_object_get(file, "size")), text_of(file, "mime"),
            (int64_t)json_integer_value(json_object_get(file, "version")),
            text_of(file, "modified_at"));
}

static void write_entries(struct buf *out, const json_t *answer, size_t skip)
{
    const json_t *files = json_object_get(answer, "data");
    for (size_t i = 0; i < json_array_size(files); i++)
        write_entry(out, json_array_get(files, i), skip);
    if (json_array_size(files) == 0)
        buf_str(out, "(nothing is in it)\n");
    if (json_is_true(json_object_get(answer, "has_more")))
        buf_str(out, "... and more: the tool list_files shows all, in pages\n");
}

static int read_directory(struct mcp_call *m, const struct mcp_uri *u, const char *uri,
                          struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf prefix = BUF_INIT(PATH_BYTES_MAX + 2), text = BUF_INIT(4 << 20);
    buf_fmt(&prefix, "%s%s", u->path, *u->path ? "/" : "");
    native_workspace(&n, u->id);
    native_text(&n, "/files");
    native_query(&n, "prefix", *u->path ? prefix.bytes : NULL);
    native_query_u64(&n, "limit", ENTRIES_MAX);
    if (native_call(m, &n, e))
        return -1;
    write_entries(&text, n.json, prefix.len);
    if (buf_check(&text, e))
        return -1;
    write_contents(m, uri, "inode/directory", (struct str){text.bytes, text.len});
    return 0;
}

/* ---- which ---- */

/* One that was made and has nothing in it is got as nothing. */
static int is_made_directory(struct mcp_call *m, const struct mcp_uri *u, bool *ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, u->id);
    native_text(&n, "/files/");
    native_path(&n, u->path);
    native_query(&n, "stat", "true");
    if (native_call(m, &n, e))
        return -1;
    *ret = strcmp(text_of(n.json, "kind"), "directory") == 0;
    return 0;
}

static int read_file(struct mcp_call *m, const struct mcp_uri *u, const char *uri, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    bool is_directory = !*u->path;
    if (is_directory)
        return read_directory(m, u, uri, e);
    native_workspace(&n, u->id);
    native_text(&n, "/files/");
    native_path(&n, u->path);
    if (u->version)
        native_query_u64(&n, "version", u->version);
    if (get_bytes(m, &n, e)) {
        if (e->code != ERR_CONFLICT || u->version)
            return -1;
        *e = (struct err){0};
        is_directory = true;
    } else if (n.answer.out.len == 0 && !u->version && is_made_directory(m, u, &is_directory, e)) {
        return -1;
    }
    if (is_directory)
        return read_directory(m, u, uri, e);
    m->ttl_ms = u->version ? PINNED_TTL_MS : 0;
    give_bytes(m, &n, uri);
    return 0;
}

static int read_shown(struct mcp_call *m, const struct mcp_uri *u, const char *uri, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    char index[16];
    (void)snprintf(index, sizeof index, "%" PRIu32, u->index);
    native_text(&n, "/api/v1/runs/");
    native_piece(&n, u->id);
    native_text(&n, "/displays/");
    native_text(&n, u->kind == URI_RESULT ? "result" : index);
    if (get_bytes(m, &n, e))
        return -1;
    m->ttl_ms = PINNED_TTL_MS;
    give_bytes(m, &n, uri);
    return 0;
}

int resources_read(struct mcp_call *m, struct err *e)
{
    const char *uri = mcp_param(m, "uri");
    struct mcp_uri u;
    if (!uri)
        return mcp_fail(m, RPC_PARAMS, e, "uri: it is needed, as resources/list gives it");
    if (m->mcp->o.has_fixtures)
        return fixture_resources_read(m, uri, e);
    if (!uri_read(uri, &u))
        return resource_unknown(m, uri, e);
    int failed = u.kind == URI_FILE ? read_file(m, &u, uri, e) : read_shown(m, &u, uri, e);
    return failed ? explain(m, uri, e) : 0;
}
