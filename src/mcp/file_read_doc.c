/* file_read_doc.c -- read_file of documents: their text, taken out of them in the sandbox.
 *
 * Documents are hostile, and nothing of the server opens one. A run of its own does, as run_code would:
 * it needs the scope for that, and without it only what is known of the file is told. What it runs is the
 * extractor of the index (service/extract.py) and document.py. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/file_common.h"
#include "mcp/file_read.h"
#include "mcp/mcp_int.h"
#include "json/read.h"
#include "json/write.h"

enum { BODY_MAX = REPLY_TEXT_MAX - 2 * FILE_ROOM, REQUEST_MAX = 256 << 10, WALL_S = 45 };

extern const char service_extract[]; /* service/extract.py */
extern const char mcp_document[];    /* document.py */

/* Modules are Python's own: a file of the workspace that is called csv.py is not to be one. */
static const char own_modules[] =
    "import sys\nsys.path[:] = [p for p in sys.path if p and not p.startswith('/mnt/data')]";

bool is_document(const char *path)
{
    static const char *const endings[] = {".pdf",  ".docx", ".docm",  ".xlsx",   ".xlsm",
                                          ".pptx", ".pptm", ".ipynb", ".parquet"};
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (len > end && strcasecmp(path + len - end, endings[i]) == 0)
            return true;
    }
    return false;
}

/* ---- the run ---- */

static void put_env(struct json_writer *w, const char *key, uint64_t v)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    jw_key(w, key);
    jw_text(w, text);
}

static void write_request(struct mcp_call *m, const struct file_facts *f, struct buf *out)
{
    const struct read_args *in = m->in;
    scoped(buf_done) struct buf text = BUF_INIT(REQUEST_MAX);
    struct json_writer w = JSON_WRITER(out);
    buf_fmt(&text, "%s\n%s\n%s", own_modules, service_extract, mcp_document);
    jw_object(&w);
    jw_key(&w, "code");
    jw_str(&w, text.bytes ? text.bytes : "", text.len);
    jw_key(&w, "name");
    jw_text(&w, "read_file");
    jw_key(&w, "workspace");
    jw_text(&w, f->workspace);
    jw_key(&w, "timeout_s");
    jw_u64(&w, WALL_S);
    jw_key(&w, "env");
    jw_object(&w);
    buf_done(&text);
    buf_fmt(&text, "/mnt/data/%s", f->path);
    jw_key(&w, "DOCUMENT");
    jw_text(&w, text.bytes);
    put_env(&w, "DOCUMENT_OFFSET", (uint64_t)in->offset);
    put_env(&w, "DOCUMENT_LIMIT", in->limit ? (uint64_t)in->limit : READ_LINES);
    put_env(&w, "DOCUMENT_ROOM", BODY_MAX);
    jw_end_object(&w);
    jw_end_object(&w);
    if (text.failed)
        out->failed = true;
}

/* What document.py said. Fails when the run did. */
static int take_out(struct mcp_call *m, const struct file_facts *f, json_t **ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(buf_done) struct buf request = BUF_INIT(2 * REQUEST_MAX);
    native_text(&n, "/api/v1/runs");
    write_request(m, f, &request);
    if (buf_check(&request, e))
        return -1;
    n.body = (struct str){request.bytes, request.len};
    if (native_call(m, &n, e))
        return -1;
    const char *end = file_text(n.json, "end"), *out = file_text(n.json, "stdout");
    if (strcmp(end, "ok") != 0)
        return err_set(e, ERR_INVALID, "reading it in the sandbox ended with '%.20s'", end);
    return json_read(out, strlen(out), ret, e);
}

/* The sandbox has the newest version only. */
static int check_newest(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    const struct read_args *in = m->in;
    scoped(native_done) struct native n = NATIVE("GET");
    struct file_facts newest;
    if (!in->version)
        return 0;
    if (file_stat(m, in->workspace_id, in->path, 0, &n, &newest, e) == 0 &&
        newest.version == f->version)
        return 0;
    return err_set(
        e, ERR_CONFLICT,
        "the text of an earlier version of this kind cannot be taken out here; copy that version "
        "to another name with manage_file, and read the copy");
}

/* ---- what is told ---- */

/* Adds lines with their numbers; what came from the sandbox is believed as text only. */
static void put_lines(struct buf *text, const char *lines, uint64_t number)
{
    size_t before = text->len;
    while (*lines && text->len - before < BODY_MAX + FILE_ROOM) {
        size_t len = strcspn(lines, "\n");
        buf_fmt(text, "%6" PRIu64 "\t", number++);
        buf_add(text, lines, len < FILE_ROOM ? len : utf8_cut(lines, FILE_ROOM));
        buf_str(text, "\n");
        lines += len + (lines[len] == '\n');
    }
}

static void tell(struct mcp_call *m, const struct file_facts *f, const json_t *said)
{
    struct buf *text = &m->reply.text;
    struct read_part part = {.first = file_number(said, "first"),
                             .count = file_number(said, "count"),
                             .total = file_number(said, "total")};
    part.has_more = part.count > 0 && part.first + part.count - 1 < part.total;
    read_head(m, f);
    if (part.count)
        buf_fmt(text, ", its text: lines %" PRIu64 "-%" PRIu64 " of %" PRIu64 ".\n", part.first,
                part.first + part.count - 1, part.total);
    else
        buf_fmt(text, ", its text has %" PRIu64 " lines: none from there on.\n", part.total);
    put_lines(text, file_text(said, "text"), part.first);
    if (part.has_more)
        buf_fmt(text, "[there is more: call again with offset=%" PRIu64 "]\n",
                part.first + part.count - 1);
    if (json_is_true(json_object_get(said, "cut")))
        buf_str(text, "[its text is longer than what is taken out: use run_code for the rest]\n");
    read_tail(m, f, "document");
    read_write_part(m, &part);
}

static int without(struct mcp_call *m, const struct file_facts *f, const char *why, struct err *e)
{
    char text[400];
    (void)snprintf(text, sizeof text, "Its text cannot be shown: %.250s.", why);
    m->hint[0] = '\0';
    return read_nothing(m, f, text, e);
}

int read_document(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    struct err why = {0};
    json_t *said = NULL;
    if (check_newest(m, f, &why) || take_out(m, f, &said, &why))
        return without(m, f, why.text, e);
    const char *fail = file_text(said, "fail");
    int failed = 0;
    if (*fail && file_number(said, "total") == 0)
        failed = without(m, f, fail, e);
    else
        tell(m, f, said);
    json_decref(said);
    return failed;
}
