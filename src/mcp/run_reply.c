/* run_reply.c -- what a model reads of a run. The session comes first, then what the code printed and gave,
 * then what became of files, then what to do now. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "mcp/uri.h"
#include "service/job.h"
#include "json/read.h"

enum { FILE_LINKS_MAX = 8 };

/* ---- what the reply depends on besides the run ---- */

static enum run_images images_wish(const struct mcp_call *m)
{
    int wish = IMAGES_INLINE;
    if (m->tool == &tool_run_code)
        wish = ((const struct run_args *)m->in)->images;
    else if (m->tool == &tool_get_execution)
        wish = ((const struct get_args *)m->in)->images;
    return (enum run_images)wish;
}

/* Whether there is a session to go on in. */
static bool has_session(struct mcp_call *m, const json_t *run)
{
    if (m->tool == &tool_run_code)
        return !((const struct run_args *)m->in)->stateless;
    scoped(native_done) struct native n = NATIVE("GET");
    struct err none = {0};
    native_text(&n, "/api/v1/sessions/");
    native_piece(&n, run_text(run, "session_id"));
    return native_call(m, &n, &none) == 0 && !run_is(n.json, "status", "closed");
}

/* ---- text ---- */

static void put_head(struct buf *out, const json_t *run, bool goes_on)
{
    double seconds = run_number(run, "duration_ms") / 1000;
    if (goes_on)
        buf_fmt(out, "session_id: %s (pass it to keep variables)\n", run_text(run, "session_id"));
    else
        buf_fmt(out, "execution_id: %s (its session has ended: no variables are kept)\n",
                run_text(run, "id"));
    if (!run_is(run, "end", "ok"))
        buf_fmt(out, "status: %s after %.3g s\n", run_text(run, "end"), seconds);
}

static void put_part(struct buf *out, const char *name, const struct buf *text, size_t max,
                     const char *where)
{
    if (text->len == 0)
        return;
    bool is_line = text->len < 200 && !memchr(text->bytes, '\n', text->len - 1);
    buf_fmt(out, "%s:%s", name, is_line ? " " : "\n");
    (void)text_shorten(out, (struct str){text->bytes, text->len}, max, where);
}

static void put_images(struct mcp_call *m, const json_t *run, size_t images)
{
    if (images == 0)
        return;
    buf_fmt(&m->reply.text, "images: %zu", images);
    if (m->reply.images > 0)
        buf_fmt(&m->reply.text, ", %u shown here (made smaller where needed)", m->reply.images);
    buf_fmt(&m->reply.text, "; originals: run://%s/%s\n", run_text(run, "id"),
            json_array_size(json_object_get(run, "displays")) > 0 ? "displays/0 and on" : "result");
}

static void put_output(struct buf *out, const json_t *run, const struct run_output *o)
{
    const char *where = *o->where ? o->where : NULL;
    put_part(out, "stdout", &o->out, RUN_STDOUT_MAX, where);
    put_part(out, "stderr", &o->err, RUN_STDERR_MAX, where);
    put_part(out, "displayed", &o->shown, RUN_DISPLAY_MAX, where);
    put_part(out, "result", &o->result, RUN_RESULT_MAX, where);
    put_part(out, "error", &o->trace, RUN_TRACE_MAX, where);
    if (o->trace.len == 0 && json_is_object(json_object_get(run, "error")))
        buf_fmt(out, "error: %.200s: %.1000s\n", run_text(json_object_get(run, "error"), "name"),
                run_text(json_object_get(run, "error"), "message"));
}

/* ---- links ---- */

static void link_output(struct mcp_call *m, const json_t *run, const struct run_output *o)
{
    if (!*o->path)
        return;
    scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
    uri_write_file(&uri, run_text(run, "workspace_id"), o->path, 0);
    const struct reply_link link = {.uri = uri.bytes,
                                    .name = o->path,
                                    .title = "the whole output",
                                    .mime = "text/plain",
                                    .size = -1};
    reply_link(&m->reply, &link);
}

static void link_files(struct mcp_call *m, const json_t *run)
{
    size_t i, count = 0;
    json_t *file;
    json_array_foreach(json_object_get(run, "files"), i, file)
    {
        const char *kept = run_text(file, "kept_as");
        const char *path = *kept ? kept : run_text(file, "path");
        scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
        if (run_is(file, "change", "deleted") || run_number(file, "version") < 1)
            continue;
        uri_write_file(&uri, run_text(run, "workspace_id"), path, 0);
        if (uri.failed || ++count > FILE_LINKS_MAX)
            continue;
        const struct reply_link link = {.uri = uri.bytes,
                                        .name = path,
                                        .mime = run_text(file, "mime"),
                                        .size = (int64_t)run_number(file, "size")};
        reply_link(&m->reply, &link);
    }
}

/* ---- all of it ---- */

int run_reply(struct mcp_call *m, struct json_t *run, struct err *e)
{
    scoped(run_output_done) struct run_output output = {0};
    struct buf *out = &m->reply.text;
    if (run_output_make(m, run, &output, e))
        return -1;
    const struct run_facts facts = {.run = run,
                                    .output = &output,
                                    .has_session = has_session(m, run),
                                    .next = run_next(run, output.is_cut),
                                    .images = run_show_images(m, run, images_wish(m))};
    put_head(out, run, facts.has_session);
    size_t head = out->len;
    put_output(out, run, &output);
    put_images(m, run, facts.images);
    run_note_files(out, run);
    if (out->len == head)
        buf_str(out, "(no output)\n");
    run_note_rest(out, run);
    if (*facts.next)
        buf_fmt(out, "next: %s\n", facts.next);
    link_output(m, run, &output);
    link_files(m, run);
    run_structure(m, &facts);
    m->reply.is_error = !run_is(run, "end", "ok");
    return 0;
}

/* ---- of one that goes on ---- */

enum { SO_FAR_MAX = 1 << 20, SO_FAR_KEPT = 128 << 10 };

/* Of what is long only the end is shown: the beginning may go. */
static void make_room(struct buf *text, size_t len)
{
    if (text->len + len <= SO_FAR_MAX || text->len <= SO_FAR_KEPT)
        return;
    memmove(text->bytes, text->bytes + text->len - SO_FAR_KEPT, SO_FAR_KEPT + 1);
    text->len = SO_FAR_KEPT;
}

static bool add_note(void *arg, const struct note *n)
{
    struct buf *so_far = arg;
    struct err ignored = {0};
    json_t *note = NULL;
    if (n->kind != NOTE_STDOUT && n->kind != NOTE_STDERR)
        return true;
    if (json_read(n->text, n->len, &note, &ignored) == 0) {
        struct str text = run_str(note, "text");
        size_t skip = text.len > SO_FAR_KEPT ? text.len - SO_FAR_KEPT : 0;
        make_room(so_far, text.len - skip);
        buf_add(so_far, text.ptr + skip, text.len - skip);
    }
    json_decref(note);
    return true;
}

int run_reply_open(struct mcp_call *m, const struct json_t *run, struct job *job, size_t tail,
                   struct err *e)
{
    static const char next[] = "Call get_execution again with wait_s (at most 50), or end it with "
                               "manage_session interrupt.";
    scoped(buf_done) struct buf so_far = BUF_INIT(2 * SO_FAR_MAX), plain = BUF_INIT(2 * SO_FAR_MAX);
    struct buf *out = &m->reply.text;
    if (job)
        (void)job_read(job, 0, add_note, &so_far);
    text_plain(&plain, (struct str){so_far.bytes, so_far.len});
    size_t end, skip = plain.len > tail ? plain.len - tail : 0;
    struct str shown = text_window((struct str){plain.bytes, plain.len}, skip, tail, &end);
    buf_fmt(out, "session_id: %s (pass it to keep variables)\nexecution_id: %s\nstatus: %s\n",
            run_text(run, "session_id"), run_text(run, "id"), run_text(run, "status"));
    if (shown.len > 0) {
        buf_fmt(out, "%s:\n", skip ? "output so far, its end" : "output so far");
        (void)text_shorten(out, shown, shown.len, NULL);
    }
    buf_fmt(out, "next: %s\n", next);
    const struct run_facts facts = {.run = run, .so_far = shown, .has_session = true, .next = next};
    run_structure(m, &facts);
    return buf_check(out, e);
}
