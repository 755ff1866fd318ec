/* run_output.c -- what a run printed and gave, as plain text; and the file for what is too long. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"

void run_output_done(struct run_output *o)
{
    buf_done(&o->out);
    buf_done(&o->err);
    buf_done(&o->result);
    buf_done(&o->trace);
    buf_done(&o->shown);
}

/* Displays that are no images, one after the other. */
static void read_displays(const json_t *run, struct buf *out)
{
    size_t i;
    json_t *bundle;
    const char *mime;
    json_array_foreach(json_object_get(run, "displays"), i, bundle)
    {
        struct str text = run_bundle_text(bundle);
        if (run_bundle_image(bundle, &mime).ptr || text.len == 0)
            continue;
        text_plain(out, text);
        if (out->len > 0 && out->bytes[out->len - 1] != '\n')
            buf_str(out, "\n");
    }
}

static int read_texts(const json_t *run, struct run_output *o, struct err *e)
{
    const json_t *error = json_object_get(run, "error");
    *o = (struct run_output){.out = BUF_INIT(RUN_JSON_MAX),
                             .err = BUF_INIT(RUN_JSON_MAX),
                             .result = BUF_INIT(RUN_JSON_MAX),
                             .trace = BUF_INIT(RUN_JSON_MAX),
                             .shown = BUF_INIT(RUN_JSON_MAX)};
    text_plain(&o->out, run_str(run, "stdout"));
    text_plain(&o->err, run_str(run, "stderr"));
    text_plain(&o->result, run_bundle_text(json_object_get(run, "result")));
    text_plain(&o->trace, run_str(error, "traceback"));
    read_displays(run, &o->shown);
    o->is_cut = o->out.len > RUN_STDOUT_MAX || o->err.len > RUN_STDERR_MAX ||
                o->result.len > RUN_RESULT_MAX || o->trace.len > RUN_TRACE_MAX ||
                o->shown.len > RUN_DISPLAY_MAX;
    return buf_check(&o->out, e) || buf_check(&o->err, e) || buf_check(&o->result, e) ||
                   buf_check(&o->trace, e) || buf_check(&o->shown, e)
               ? -1
               : 0;
}

/* ---- the file ---- */

static void add_part(struct buf *out, const char *name, struct str text, bool is_alone)
{
    if (text.len == 0)
        return;
    if (!is_alone)
        buf_fmt(out, "==== %s ====\n", name);
    buf_add(out, text.ptr, text.len);
    if (!is_alone && text.ptr[text.len - 1] != '\n')
        buf_str(out, "\n");
}

static struct str view(const struct buf *b)
{
    return (struct str){b->bytes, b->len};
}

/* As it was printed, with colours and all; alone, stdout is what the file has. */
static void write_all(const json_t *run, const struct run_output *o, struct buf *out)
{
    struct str printed = run_str(run, "stdout"), complained = run_str(run, "stderr");
    bool is_alone = complained.len + o->shown.len + o->result.len + o->trace.len == 0;
    add_part(out, "stdout", printed, is_alone);
    add_part(out, "stderr", complained, /* is_alone= */ false);
    add_part(out, "displayed", view(&o->shown), /* is_alone= */ false);
    add_part(out, "result", view(&o->result), /* is_alone= */ false);
    add_part(out, "error", view(&o->trace), /* is_alone= */ false);
}

/* One that is there already is that of an earlier reply of the same run. */
static int put_file(struct mcp_call *m, const json_t *run, const struct run_output *o,
                    const char *path, struct err *e)
{
    scoped(buf_done) struct buf all = BUF_INIT(RUN_JSON_MAX);
    scoped(native_done) struct native n = NATIVE("PUT");
    write_all(run, o, &all);
    if (buf_check(&all, e))
        return -1;
    native_workspace(&n, run_text(run, "workspace_id"));
    native_text(&n, "/files/");
    native_path(&n, path);
    native_header(&n, "If-None-Match", "*");
    n.type = "text/plain; charset=utf-8";
    n.body = view(&all);
    return native_call(m, &n, e) && e->code != ERR_PRECONDITION ? -1 : 0;
}

static void save(struct mcp_call *m, const json_t *run, struct run_output *o)
{
    struct err e = {0}; /* then it is said how else to get it */
    char hint[sizeof m->hint];
    const char *id = run_text(run, "id");
    memcpy(hint, m->hint, sizeof hint);
    (void)snprintf(o->path, sizeof o->path, ".outputs/%.64s.txt", id);
    if (put_file(m, run, o, o->path, &e) == 0) {
        (void)snprintf(o->where, sizeof o->where, "all of it is in %.95s (read_file)", o->path);
    } else {
        o->path[0] = '\0';
        (void)snprintf(o->where, sizeof o->where,
                       "get_execution with execution_id %.64s and offset reads it", id);
    }
    memcpy(m->hint, hint, sizeof hint);
}

int run_output_make(struct mcp_call *m, const struct json_t *run, struct run_output *ret,
                    struct err *e)
{
    if (read_texts(run, ret, e)) {
        run_output_done(ret);
        return -1;
    }
    if (ret->is_cut)
        save(m, run, ret);
    return 0;
}
