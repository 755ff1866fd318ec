/* answer_read.c -- read_file of a question.
 *
 * Documents are hostile, and nothing of the server opens one: a run of its own does, in the sandbox, with the extractor of the index
 * (service/extract.py) and document.py. */
#include "ask/answer_read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/native_call.h"
#include "ask/answer.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "json/read.h"
#include "json/write.h"

enum { ROOM = 24 << 10, REQUEST_MAX = 512 << 10, WALL_S = 45 };

extern const char service_extract[]; /* service/extract.py */
extern const char ask_document[];    /* document.py */

/* Modules are Python's own: a file of the workspace that is called csv.py is not to be one. */
static const char own_modules[] =
    "import sys\nsys.path[:] = [p for p in sys.path if p and not p.startswith('/mnt/data')]";

/* What was asked for, and what the API says of the file. */
struct reading {
    struct answer *a;
    struct halt *halt;
    const char *path; /* clean */
    uint64_t version, newest, page, offset, size;
    struct buf *out;
};

static bool is_document(const char *path)
{
    static const char *const endings[] = {".pdf",  ".docx", ".docm", ".xlsx",
                                          ".xlsm", ".pptx", ".pptm", ".ipynb"};
    size_t len = strlen(path);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t end = strlen(endings[i]);
        if (len > end && strcasecmp(path + len - end, endings[i]) == 0)
            return true;
    }
    return false;
}

static void address(struct native *n, const struct reading *r)
{
    native_workspace(n, r->a->hands.workspace);
    native_text(n, "/files/");
    native_path(n, r->path);
}

static int look_up(struct reading *r, uint64_t version, uint64_t *ret_version, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    address(&n, r);
    native_query(&n, "stat", "true");
    if (version)
        native_query_u64(&n, "version", version);
    if (native_perform(&n, /* c= */ NULL, r->a->caller, "ask", e))
        return err_wrap(e, "%.200s", r->path);
    if (strcmp(text_at(n.json, "kind"), "directory") == 0)
        return err_set(e, ERR_INVALID, "%.200s is a directory; list it with code", r->path);
    *ret_version = number_at(n.json, "version");
    r->size = number_at(n.json, "size");
    return 0;
}

/* What stands above the text. */
static int put_head(struct reading *r, uint64_t page, const char *what, struct err *e)
{
    const struct mark_place place = {.workspace = r->a->hands.workspace,
                                     .path = r->path,
                                     .version = r->version,
                                     .page = page,
                                     .where = ""};
    size_t number;
    if (marks_add(&r->a->marks, &place, &number, e))
        return -1;
    buf_fmt(r->out, "[%zu] %s", number, r->path);
    if (page)
        buf_fmt(r->out, ", page %" PRIu64, page);
    buf_fmt(r->out, " (version %" PRIu64 "%s)\n", r->version, what);
    return 0;
}

static void put_more(struct reading *r, uint64_t next)
{
    if (next)
        buf_fmt(r->out, "\n(There is more: call again with offset %" PRIu64 ".)\n", next);
}

/* ---- text ---- */

static int read_text(struct reading *r, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    char range[64];
    if (r->offset >= r->size)
        return err_set(e, ERR_INVALID, "%.200s has %" PRIu64 " bytes: nothing is from there on",
                       r->path, r->size);
    (void)snprintf(range, sizeof range, "bytes=%" PRIu64 "-%" PRIu64, r->offset,
                   r->offset + ROOM - 1);
    address(&n, r);
    native_query_u64(&n, "version", r->version);
    native_header(&n, "Range", range);
    n.is_raw = true;
    n.max = 2 * ROOM;
    if (native_perform(&n, /* c= */ NULL, r->a->caller, "ask", e))
        return -1;
    const char *bytes = n.answer.out.bytes ? n.answer.out.bytes : "";
    size_t len = n.answer.out.len, skip = utf8_skip(bytes, len);
    skip = r->offset > 0 ? skip : 0;
    size_t shown = utf8_cut(bytes + skip, len - skip);
    if (memchr(bytes, '\0', len) || !utf8_is_valid(bytes + skip, shown))
        return err_set(e, ERR_INVALID, "%.200s is no text; open it with code", r->path);
    if (put_head(r, /* page= */ 0, "", e))
        return -1;
    buf_add(r->out, bytes + skip, shown);
    uint64_t next = r->offset + skip + shown;
    put_more(r, next < r->size ? next : 0);
    return 0;
}

/* ---- documents ---- */

static void put_env(struct json_writer *w, const char *key, uint64_t v)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%" PRIu64, v);
    jw_key(w, key);
    jw_text(w, text);
}

static int write_request(const struct reading *r, struct buf *out, struct err *e)
{
    scoped(buf_done) struct buf code = BUF_INIT(REQUEST_MAX), path = BUF_INIT(8192);
    struct json_writer w = JSON_WRITER(out);
    buf_fmt(&code, "%s\n%s\n%s", own_modules, service_extract, ask_document);
    buf_fmt(&path, "/mnt/data/%s", r->path);
    if (buf_check(&code, e) || buf_check(&path, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "code");
    jw_str(&w, code.bytes, code.len);
    jw_key(&w, "name");
    jw_text(&w, "read_file");
    jw_key(&w, "workspace");
    jw_text(&w, r->a->hands.workspace);
    jw_key(&w, "timeout_s");
    jw_u64(&w, WALL_S);
    jw_key(&w, "env");
    jw_object(&w);
    jw_key(&w, "DOCUMENT");
    jw_text(&w, path.bytes);
    put_env(&w, "DOCUMENT_PAGE", r->page);
    put_env(&w, "DOCUMENT_OFFSET", r->offset);
    put_env(&w, "DOCUMENT_ROOM", ROOM);
    jw_end_object(&w);
    jw_end_object(&w);
    return buf_check(out, e);
}

/* What document.py said. */
static int take_out(struct reading *r, json_t **ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(buf_done) struct buf request = BUF_INIT(2 * REQUEST_MAX);
    scoped(json_freep) json_t *run = NULL;
    native_text(&n, "/api/v1/runs");
    if (write_request(r, &request, e))
        return -1;
    n.body = (struct str){request.bytes, request.len};
    if (hands_perform(&n, r->a->caller, "ask", r->halt, &run, e))
        return -1;
    if (strcmp(text_at(run, "end"), "ok") != 0)
        return err_set(e, ERR_INVALID, "reading it in the sandbox ended with '%.20s'",
                       text_at(run, "end"));
    const char *said = text_at(run, "stdout");
    return json_read(said, strlen(said), ret, e);
}

static int read_document(struct reading *r, struct err *e)
{
    scoped(json_freep) json_t *said = NULL;
    if (r->version != r->newest)
        return err_set(
            e, ERR_CONFLICT,
            "the text of an earlier version of such a file cannot be taken out here; its newest is %" PRIu64,
            r->newest);
    if (take_out(r, &said, e))
        return -1;
    const char *text = text_at(said, "text"), *fail = text_at(said, "fail");
    uint64_t pages = number_at(said, "pages"), next = number_at(said, "next");
    if (!*text && *fail)
        return err_set(e, ERR_INVALID, "%.100s: its text cannot be had: %.100s", r->path, fail);
    if (!*text && r->page > pages && pages > 0)
        return err_set(e, ERR_INVALID, "%.100s has %" PRIu64 " pages", r->path, pages);
    char what[64] = "";
    if (pages)
        (void)snprintf(what, sizeof what, ", %" PRIu64 " pages", pages);
    if (put_head(r, r->page, what, e))
        return -1;
    if (pages && !r->page)
        buf_str(r->out, "(To cite a page, read it with `page`: then it has a mark of its own.)\n");
    buf_str(r->out, text);
    put_more(r, next > r->offset ? next : 0);
    return 0;
}

int read_file(void *arg, const json_t *arguments, struct halt *halt, struct buf *ret, struct err *e)
{
    struct reading r = {.a = arg,
                        .halt = halt,
                        .path = native_clean(text_at(arguments, "path")),
                        .page = number_at(arguments, "page"),
                        .offset = number_at(arguments, "offset"),
                        .out = ret};
    uint64_t wanted = number_at(arguments, "version");
    if (!*r.path)
        return err_set(e, ERR_INVALID, "path: name a file");
    if (is_document(r.path) && look_up(&r, 0, &r.newest, e))
        return -1;
    if (look_up(&r, wanted, &r.version, e))
        return -1;
    return is_document(r.path) ? read_document(&r, e) : read_text(&r, e);
}
