/* run_get.c -- get_execution: a run that goes on, or one that ended, however long ago. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "api/op.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "service/job.h"
#include "json/fields.h"

enum { WAIT_MAX_S = 50, TAIL_MIN = 100, TAIL_MAX = 20000 };

static const struct json_field fields[] = {
    {JF_TEXT(struct get_args, execution_id), .required = true, .min = 1, .max = 128,
     .doc = "`run_...`, from a reply of run_code."},
    {JF_INT(struct get_args, wait_s), .min = 0, .max = WAIT_MAX_S, .preset = 0,
     .doc = "Wait so many seconds for its end."},
    {JF_INT(struct get_args, tail), .min = TAIL_MIN, .max = TAIL_MAX, .preset = 4000,
     .doc = "Bytes of output: the last ones of a run that goes on, or those after offset."},
    {JF_INT(struct get_args, offset), .min = 0, .max = INT64_MAX, .preset = -1, .is_open = true,
     .doc = "Read stdout from this byte on, when the reply of run_code left some of it out."},
    {JF_CHOICE(struct get_args, images, run_images_names), .doc = "As of run_code."},
    {0},
};

/* A piece of stdout, as it was printed. */
static void show_piece(struct mcp_call *m, const json_t *run, const struct get_args *in)
{
    size_t next;
    struct str all = run_str(run, "stdout");
    size_t offset = (uint64_t)in->offset < all.len ? (size_t)in->offset : all.len;
    struct str piece = text_window(all, offset, (size_t)in->tail, &next);
    struct buf *out = &m->reply.text;
    struct json_writer *w = &m->reply.w;
    buf_fmt(out, "stdout of %s, bytes %zu to %zu of %zu:\n", run_text(run, "id"), offset, next,
            all.len);
    (void)text_shorten(out, piece, piece.len, /* where= */ NULL);
    if (next < all.len)
        buf_fmt(out, "next: the rest begins at offset %zu\n", next);
    bool is_done = run_is(run, "status", "done");
    jw_key(w, "execution_id");
    jw_text(w, run_text(run, "id"));
    jw_key(w, "status");
    jw_text(w, run_text(run, is_done ? "end" : "status"));
    jw_key(w, "stdout_bytes");
    jw_u64(w, all.len);
    if (next < all.len) {
        jw_key(w, "next_offset");
        jw_u64(w, next);
    }
}

static int not_there(struct mcp_call *m, const char *id, struct err *e)
{
    (void)snprintf(m->hint, sizeof m->hint,
                   "Take the execution_id from a reply of run_code; it begins with run_.");
    return err_set(e, ERR_NOT_FOUND, "there is no execution %.64s that you may see", id);
}

/* The run, as it is when it has ended or the time is over. *ret_job NULL: it is not in memory. */
static int find(struct mcp_call *m, const struct get_args *in, struct job **ret_job, json_t **ret,
                struct err *e)
{
    struct err gone = {0};
    if (run_load(m, in->execution_id, ret, e))
        return e->code == ERR_NOT_FOUND ? not_there(m, in->execution_id, e) : -1;
    if (run_is(*ret, "status", "done") ||
        job_find(m->mcp->o.service, &m->c->who, in->execution_id, ret_job, &gone))
        return 0;
    if (!run_wait(m, *ret_job, clock_us() + in->wait_s * 1000000, /* ends_it= */ false))
        return 0;
    json_decref(*ret);
    *ret = NULL;
    return run_load_job(*ret_job, ret, e);
}

static int show(struct mcp_call *m, const struct get_args *in, json_t *run, struct job *job,
                struct err *e)
{
    if (!run_is(run, "status", "done"))
        return run_reply_open(m, run, job, (size_t)in->tail, e);
    if (in->offset < 0)
        return run_reply(m, run, e);
    show_piece(m, run, in);
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    const struct get_args *in = m->in;
    scoped(job_unrefp) struct job *job = NULL;
    json_t *object = NULL;
    int failed = find(m, in, &job, &object, e) || show(m, in, object, job, e);
    json_decref(object);
    return failed ? -1 : 0;
}

const struct mcp_tool tool_get_execution = {
    .name = "get_execution",
    .title = "Look at a run",
    .description =
        "What became of a run of run_code: its output so far while it goes on, its whole result "
        "when it has ended, also long afterwards. With wait_s it waits for the end; with offset it "
        "reads on in stdout that was too long for a reply.",
    .fields = fields,
    .size = sizeof(struct get_args),
    .scope = SCOPE_RUN,
    .flags = TOOL_CORE | TOOL_READS | TOOL_REPEATS,
    .run = run,
};
