/* file_transfer.c -- transfer_url: an address by which one file comes or goes without a key. */
#include <stdio.h>
#include <string.h>

#include "api/challenge.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_common.h"
#include "mcp/mcp_int.h"
#include "json/fields.h"
#include "json/write.h"

enum { URL_MAX = 16 << 10, REQUEST_MAX = 32 << 10, EXPIRES_MAX_S = 86400 };

enum direction { UPLOAD, DOWNLOAD };
static const char *const directions[] = {"upload", "download", NULL};

struct transfer_args {
    const char *path, *workspace_id;
    int direction;
    int64_t expires_s;
};

static const struct json_field fields[] = {
    {JF_TEXT(struct transfer_args, path), .required = true, .min = 1, .max = FILE_PATH_MAX,
     .doc = FILE_PATH_DOC
     " For an upload: where it is to be; what is there becomes an earlier version."},
    {JF_CHOICE(struct transfer_args, direction, directions), .required = true,
     .doc = "`upload`: into the workspace; `download`: out of it."},
    {JF_INT(struct transfer_args, expires_s), .min = 60, .max = EXPIRES_MAX_S, .preset = 900,
     .doc = "Seconds it works."},
    {JF_TEXT(struct transfer_args, workspace_id), .min = 1, .max = FILE_WORKSPACE_MAX,
     .doc = FILE_WORKSPACE_DOC},
    {0},
};

/* ---- signing ---- */

static int sign(struct mcp_call *m, struct native *n, struct err *e)
{
    const struct transfer_args *in = m->in;
    scoped(buf_done) struct buf request = BUF_INIT(REQUEST_MAX);
    struct json_writer w = JSON_WRITER(&request);
    jw_object(&w);
    jw_key(&w, "path");
    jw_text(&w, native_clean(in->path));
    jw_key(&w, "method");
    jw_text(&w, in->direction == UPLOAD ? "PUT" : "GET");
    jw_key(&w, "expires_s");
    jw_i64(&w, in->expires_s);
    jw_end_object(&w);
    if (buf_check(&request, e))
        return -1;
    native_workspace(n, in->workspace_id);
    native_text(n, "/sign");
    n->body = (struct str){request.bytes, request.len};
    return native_call(m, n, e) ? file_workspace_failed(m, e) : 0;
}

/* Nobody is given an address of what is not there. */
static int check_there(struct mcp_call *m, struct err *e)
{
    const struct transfer_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    struct file_facts f;
    if (file_stat(m, in->workspace_id, in->path, 0, &n, &f, e))
        return -1;
    if (!f.is_dir)
        return 0;
    (void)snprintf(
        m->hint, sizeof m->hint,
        "Name a file in it, or make an archive of it with run_code (shutil.make_archive).");
    return err_set(e, ERR_CONFLICT, "'%.80s' is a directory", f.path);
}

/* ---- telling ---- */

/* Between single quotes, for a shell. */
static void put_quoted(struct buf *out, const char *text)
{
    buf_str(out, "'");
    for (; *text; text++) {
        if (*text == '\'')
            buf_str(out, "'\\''");
        else
            buf_add(out, text, 1);
    }
    buf_str(out, "'");
}

static void put_curl(struct buf *out, const struct transfer_args *in, const char *url)
{
    scoped(buf_done) struct buf name = BUF_INIT(FILE_PATH_MAX + 8);
    buf_fmt(&name, "./%s", file_name(native_clean(in->path)));
    buf_str(out, in->direction == UPLOAD ? "curl -fsS -T " : "curl -fsS -o ");
    put_quoted(out, name.bytes ? name.bytes : "file");
    buf_str(out, " ");
    put_quoted(out, url);
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static int tell(struct mcp_call *m, const struct native *n, struct err *e)
{
    const struct transfer_args *in = m->in;
    bool is_upload = in->direction == UPLOAD;
    scoped(buf_done) struct buf url = BUF_INIT(URL_MAX), curl = BUF_INIT(2 * URL_MAX);
    const char *expires = file_text(n->json, "expires_at");
    struct json_writer *w = &m->reply.w;
    write_base_url(m->c, &url);
    buf_str(&url, file_text(n->json, "url"));
    if (buf_check(&url, e))
        return -1;
    put_curl(&curl, in, url.bytes);
    if (buf_check(&curl, e))
        return -1;
    buf_fmt(
        &m->reply.text,
        "%s %s until %s, without a key: whoever has this address may do it.\n%s\n\n%s\n\n%s\n",
        is_upload ? "Uploads to" : "Downloads", native_clean(in->path), expires, url.bytes,
        curl.bytes,
        is_upload
            ? "Send the bytes as the body of a PUT; the answer names the new version. Run it outside of "
              "the sandbox, which has no network."
            : "Run it outside of the sandbox, which has no network: there the file is in /mnt/data.");
    put_text(w, "url", url.bytes);
    put_text(w, "method", is_upload ? "PUT" : "GET");
    put_text(w, "expires_at", expires);
    put_text(w, "curl", curl.bytes);
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct transfer_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("POST");
    if (in->direction == DOWNLOAD && check_there(m, e))
        return -1;
    return sign(m, &n, e) ? -1 : tell(m, &n, e);
}

const struct mcp_tool tool_transfer_url = {
    .name = "transfer_url",
    .title = "Get an upload or download address",
    .description =
        "Get a signed address by which a file is uploaded to the workspace, or downloaded from it, by "
        "curl or a browser, without a key and for a while. This is the way for large and binary files: nothing "
        "passes through the conversation, e.g. {\"path\": \"data/big.csv\", \"direction\": "
        "\"upload\"}, then give the curl command to whoever has the file. The sandbox of run_code "
        "has no network and cannot use it; it has the files in /mnt/data. To give others a lasting link "
        "use share.",
    .fields = fields,
    .size = sizeof(struct transfer_args),
    .scope = SCOPE_FILES_READ,
    .flags = TOOL_CORE,
    .run = run,
};
