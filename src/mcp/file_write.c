/* file_write.c -- write_file: a file, a new version of one, or more at its end. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_common.h"
#include "mcp/mcp_int.h"
#include "json/fields.h"
#include "json/write.h"

enum {
    CONTENT_MAX = 15 << 20,
    APPEND_MAX = 64 << 20, /* bytes of a file to which something is appended */
    APPEND_TRIES = 200,    /* of several who append at the same time, one wins each time */
};

enum write_encoding { WRITE_UTF8, WRITE_BASE64 };
static const char *const encodings[] = {"utf8", "base64", NULL};
enum write_mode { WRITE_OVER, WRITE_CREATE, WRITE_APPEND };
static const char *const modes[] = {"overwrite", "create", "append", NULL};

struct write_args {
    const char *path, *lock_token, *workspace_id;
    struct str content;
    int encoding, mode;
    int64_t if_version;
};

static const struct json_field fields[] = {
    {JF_TEXT(struct write_args, path), .required = true, .min = 1, .max = FILE_PATH_MAX,
     .doc = FILE_PATH_DOC " Directories are made as needed."},
    {JF_STR(struct write_args, content), .required = true, .max = CONTENT_MAX,
     .doc =
         "The whole new content, as it is to stand in the file: no line numbers, no Markdown fence "
         "around it."},
    {JF_CHOICE(struct write_args, encoding, encodings),
     .doc = "`base64`: content is base64 of the bytes. For more than 100 KB use transfer_url."},
    {JF_CHOICE(struct write_args, mode, modes),
     .doc =
         "`create` fails if there is a file already; `append` adds to its end (put the line end into "
         "content yourself)."},
    {JF_INT(struct write_args, if_version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc =
         "Write only if the file is still at this version, as read_file told it; otherwise nothing "
         "happens and you are told the current one."},
    {JF_TEXT(struct write_args, lock_token), .min = 1, .max = FILE_LOCK_TOKEN_MAX,
     .doc = "Token of your lock on it, from lock_file."},
    {JF_TEXT(struct write_args, workspace_id), .min = 1, .max = FILE_WORKSPACE_MAX,
     .doc = FILE_WORKSPACE_DOC},
    {0},
};

/* ---- the content ---- */

/* Line ends and blanks between the letters are what programs put there to wrap them. */
static int decode(struct str text, struct buf *out, struct err *e)
{
    scoped(buf_done) struct buf packed = BUF_INIT(CONTENT_MAX + 1);
    size_t from = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (!strchr(" \t\r\n", text.ptr[i]) || !text.ptr[i])
            continue;
        buf_add(&packed, text.ptr + from, i - from);
        from = i + 1;
    }
    buf_add(&packed, text.ptr + from, text.len - from);
    if (buf_check(&packed, e))
        return -1;
    if (base64_decode(packed.bytes ? packed.bytes : "", packed.len, out, e))
        return err_wrap(e, "content");
    return buf_check(out, e);
}

static int take_content(struct mcp_call *m, struct buf *decoded, struct str *ret, struct err *e)
{
    const struct write_args *in = m->in;
    *ret = in->content;
    if (in->encoding == WRITE_UTF8)
        return 0;
    if (decode(in->content, decoded, e)) {
        (void)snprintf(m->hint, sizeof m->hint,
                       "Send standard base64 with padding, or plain text with encoding \"utf8\".");
        return -1;
    }
    *ret = (struct str){decoded->bytes ? decoded->bytes : "", decoded->len};
    return 0;
}

/* ---- the ways to write ---- */

static struct file_put put_of(const struct write_args *in, struct str bytes)
{
    return (struct file_put){.workspace = in->workspace_id,
                             .path = in->path,
                             .bytes = bytes,
                             .lock_token = in->lock_token};
}

static int overwrite(struct mcp_call *m, struct str bytes, struct native *n, struct err *e)
{
    const struct write_args *in = m->in;
    struct file_put put = put_of(in, bytes);
    char etag[FILE_ETAG_SIZE];
    if (in->if_version) {
        if (file_etag_of(m, in->workspace_id, in->path, (uint64_t)in->if_version, etag, e))
            return -1;
        put.if_match = etag;
    }
    return file_put(m, &put, n, e);
}

static int create(struct mcp_call *m, struct str bytes, struct native *n, struct err *e)
{
    const struct write_args *in = m->in;
    struct file_put put = put_of(in, bytes);
    put.if_none_match = "*";
    if (in->if_version)
        return err_set(e, ERR_INVALID,
                       "if_version is for files that are there; mode is \"create\"");
    if (file_put(m, &put, n, e) == 0)
        return 0;
    if (e->code == ERR_PRECONDITION)
        (void)snprintf(
            m->hint, sizeof m->hint,
            "Choose another path, or mode \"overwrite\": the version that is there is kept.");
    return -1;
}

/* What is there now with the rest behind it; *put says what the commit has to find. */
static int append_to(struct mcp_call *m, struct str more, struct buf *all, char *etag,
                     struct file_put *put, struct err *e)
{
    const struct write_args *in = m->in;
    scoped(native_done) struct native old = NATIVE("GET");
    uint64_t version = 0;
    buf_done(all);
    bool is_there =
        file_whole(m, in->workspace_id, in->path, APPEND_MAX, &old, etag, &version, e) == 0;
    if (!is_there && e->code != ERR_NOT_FOUND)
        return -1;
    if (in->if_version && version != (uint64_t)in->if_version) {
        (void)err_set(e, ERR_PRECONDITION, "'%.80s' is at version %" PRIu64 " now", in->path,
                      version);
        return file_failed(m, e);
    }
    buf_add(all, old.answer.out.bytes, is_there ? old.answer.out.len : 0);
    buf_add(all, more.ptr, more.len);
    *put = put_of(in, (struct str){all->bytes ? all->bytes : "", all->len});
    put->if_match = is_there ? etag : NULL;
    put->if_none_match = is_there ? NULL : "*";
    return buf_check(all, e);
}

/* Whoever writes in between is not overwritten: then it begins again. */
static int append(struct mcp_call *m, struct str bytes, struct native *n, struct err *e)
{
    const struct write_args *in = m->in;
    scoped(buf_done) struct buf all = BUF_INIT(APPEND_MAX + CONTENT_MAX);
    char etag[FILE_ETAG_SIZE];
    struct file_put put;
    for (int tries = 1;; tries++) {
        if (append_to(m, bytes, &all, etag, &put, e))
            return -1;
        if (file_put(m, &put, n, e) == 0)
            return 0;
        if (e->code != ERR_PRECONDITION || in->if_version || in->lock_token ||
            tries >= APPEND_TRIES || mcp_is_cancelled(m))
            return -1;
        native_done(n);
        *n = NATIVE("PUT");
    }
}

/* ---- what is told ---- */

static void tell(struct mcp_call *m, const struct native *n)
{
    const struct write_args *in = m->in;
    static const char *const verbs[] = {"Wrote", "Created", "Appended to"};
    struct json_writer *w = &m->reply.w;
    struct file_facts f;
    bool is_new = n->status == 201;
    file_facts(n->json, &f);
    buf_fmt(&m->reply.text,
            "%s %s: version %" PRIu64 ", %" PRIu64 " bytes%s. In run_code: /mnt/data/%s\n",
            verbs[in->mode], f.path, f.version, f.size, is_new ? ", a new file" : "", f.path);
    file_write(w, &f, /* is_pinned= */ false);
    jw_key(w, "created");
    jw_bool(w, is_new);
    file_link(m, &f, /* is_pinned= */ false);
    m->hint[0] = '\0';
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct write_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("PUT");
    scoped(buf_done) struct buf decoded = BUF_INIT(CONTENT_MAX);
    struct str bytes;
    if (take_content(m, &decoded, &bytes, e))
        return -1;
    int failed = in->mode == WRITE_CREATE   ? create(m, bytes, &n, e)
                 : in->mode == WRITE_APPEND ? append(m, bytes, &n, e)
                                            : overwrite(m, bytes, &n, e);
    if (failed)
        return -1;
    tell(m, &n);
    return 0;
}

const struct mcp_tool tool_write_file = {
    .name = "write_file",
    .title = "Write a file",
    .description =
        "Make a file in the workspace, or a new version of one: what was there is kept and can be had again "
        "with file_versions. content is the whole file; to change a part of a file use edit_file, which "
        "is shorter and safer. When others may write the same file, pass the version you read as "
        "if_version, e.g. {\"path\": \"plan.md\", \"content\": \"...\", \"if_version\": 3}: then nobody's "
        "change is lost. For large or binary files use transfer_url; what code makes in /mnt/data "
        "(run_code) is saved by itself.",
    .fields = fields,
    .size = sizeof(struct write_args),
    .scope = SCOPE_FILES_WRITE,
    .flags = TOOL_CORE,
    .run = run,
};
