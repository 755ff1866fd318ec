/* file_read.c -- read_file: which way a file is shown, and what is told of those that cannot be. */
#include "mcp/file_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/preview.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_common.h"
#include "mcp/mcp_int.h"
#include "mcp/uri.h"
#include "json/fields.h"
#include "json/write.h"

enum read_as { AS_AUTO, AS_TEXT, AS_IMAGE, AS_TABLE, AS_BASE64 };
static const char *const ways[] = {"auto", "text", "image", "table", "base64", NULL};

static const struct json_field fields[] = {
    {JF_TEXT(struct read_args, path), .required = true, .min = 1, .max = FILE_PATH_MAX,
     .doc = FILE_PATH_DOC},
    {JF_INT(struct read_args, version), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "An earlier version, by its number; left out: the newest."},
    {JF_INT(struct read_args, offset), .min = 0, .max = INT64_MAX,
     .doc =
         "Lines (or rows of a table) to skip: 0 begins with line 1. next_offset of the answer goes "
         "on where it ended."},
    {JF_INT(struct read_args, limit), .min = 1, .max = 100000, .is_open = true,
     .doc =
         "Most lines (2000 if left out) or rows of a table (50). Answers end at about 45 KB of text "
         "in any case."},
    {JF_CHOICE(struct read_args, as, ways),
     .doc =
         "`auto` is right nearly always. `text` shows a CSV with line numbers, e.g. before edit_file; "
         "`base64` attaches a file of up to 100 KB as it is."},
    {JF_TEXT(struct read_args, workspace_id), .min = 1, .max = FILE_WORKSPACE_MAX,
     .doc = FILE_WORKSPACE_DOC},
    {0},
};

/* ---- what all answers have ---- */

void read_head(struct mcp_call *m, const struct file_facts *f)
{
    buf_fmt(&m->reply.text, "%s: version %" PRIu64 ", %" PRIu64 " bytes, %s", f->path, f->version,
            f->size, f->mime);
}

void read_tail(struct mcp_call *m, const struct file_facts *f, const char *kind)
{
    const struct read_args *in = m->in;
    file_write(&m->reply.w, f, in->version != 0);
    jw_key(&m->reply.w, "kind");
    jw_text(&m->reply.w, kind);
    file_link(m, f, in->version != 0);
}

static void put_number(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

void read_write_part(struct mcp_call *m, const struct read_part *p)
{
    struct json_writer *w = &m->reply.w;
    put_number(w, "first", p->count ? p->first : 0);
    put_number(w, "last", p->count ? p->first + p->count - 1 : 0);
    if (p->total || !p->has_more)
        put_number(w, "total", p->total);
    if (p->has_more)
        put_number(w, "next_offset", p->first + p->count - 1);
}

/* ---- what cannot be shown ---- */

static const char *advice(const struct file_facts *f)
{
    static const struct {
        const char *part, *text;
    } known[] = {
        {"parquet", "In run_code: pandas.read_parquet, if pyarrow is there."},
        {"sqlite", "In run_code: the module sqlite3 opens it."},
        {"zip", "In run_code: the module zipfile lists and unpacks it."},
        {"gzip", "In run_code: the modules gzip and tarfile unpack it."},
        {"x-tar", "In run_code: the module tarfile unpacks it."},
        {"npy", "In run_code: numpy.load."},
        {"npz", "In run_code: numpy.load."},
        {"hdf5", "In run_code: pandas.read_hdf or h5py, if they are there."},
        {"ms-excel", "In run_code: pandas.read_excel, if it can read this kind."},
        {"image/", "In run_code: PIL.Image.open, and save it as PNG to have it shown."},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strstr(f->mime, known[i].part))
            return known[i].text;
    return "In run_code: open it with a library for its kind.";
}

int read_nothing(struct mcp_call *m, const struct file_facts *f, const char *why, struct err *e)
{
    struct buf *text = &m->reply.text;
    (void)e;
    read_head(m, f);
    buf_fmt(
        text,
        ".\n%s\n%s It is /mnt/data/%s there.\ntransfer_url gives an address to download it%s.\n",
        why ? why : "It is binary: there is no text to show.", advice(f), f->path,
        f->size <= READ_BASE64_MAX ? "; as=\"base64\" attaches it to the answer" : "");
    read_tail(m, f, "binary");
    return 0;
}

int read_base64(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    const struct read_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
    if (f->size > READ_BASE64_MAX)
        return read_nothing(m, f, "It is larger than the 100 KB that are attached to an answer.",
                            e);
    if (f->size > 0 && file_range(m, f, 0, (size_t)f->size, &n, e))
        return -1;
    uri_write_file(&uri, f->workspace, f->path, in->version ? f->version : 0);
    if (buf_check(&uri, e))
        return -1;
    read_head(m, f);
    buf_str(&m->reply.text, ". Attached as a resource.\n");
    reply_resource(&m->reply, uri.bytes, f->mime, n.answer.out.bytes ? n.answer.out.bytes : "",
                   n.answer.out.len);
    read_tail(m, f, "base64");
    return 0;
}

/* ---- which way ---- */

static int read_auto(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    if (is_document(f->path))
        return read_document(m, f, e);
    switch (preview_of(f->path)) {
    case PREVIEW_PICTURE: return read_image(m, f, e);
    case PREVIEW_TABLE: return read_table(m, f, e);
    case PREVIEW_TEXT:
    case PREVIEW_NONE: break;
    }
    return read_text(m, f, e);
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct read_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    struct file_facts f;
    if (file_stat(m, in->workspace_id, in->path, (uint64_t)in->version, &n, &f, e))
        return -1;
    if (f.is_dir) {
        (void)snprintf(m->hint, sizeof m->hint, "list_files with this path shows what is in it.");
        return err_set(e, ERR_CONFLICT, "'%.80s' is a directory", f.path);
    }
    switch ((enum read_as)in->as) {
    case AS_AUTO: return read_auto(m, &f, e);
    case AS_TEXT: return is_document(f.path) ? read_document(m, &f, e) : read_text(m, &f, e);
    case AS_TABLE: return is_document(f.path) ? read_document(m, &f, e) : read_table(m, &f, e);
    case AS_IMAGE: return read_image(m, &f, e);
    case AS_BASE64: break;
    }
    return read_base64(m, &f, e);
}

const struct mcp_tool tool_read_file = {
    .name = "read_file",
    .title = "Read a file",
    .description =
        "Show a file of the workspace: text with line numbers (as `cat -n`; the numbers and the tab are "
        "not part of the file), CSV and TSV as a table of the first rows, images as images, PDF, DOCX, "
        "XLSX, PPTX and notebooks as their text. Works on files of any size: only the part that "
        "is shown is read; go on with offset, e.g. {\"path\": \"log.txt\", \"offset\": 2000} "
        "shows lines 2001 and on. To compute with a file use run_code, where it is /mnt/data/PATH; "
        "to find a place in it use search_files.",
    .fields = fields,
    .size = sizeof(struct read_args),
    .scope = SCOPE_FILES_READ,
    .flags = TOOL_CORE | TOOL_READS | TOOL_REPEATS,
    .run = run,
};
