/* native_runs.c -- /api/v1/runs, and the runs of a session. */
#include <string.h>

#include "api/api_int.h"
#include "api/native.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/job.h"
#include "service/seat.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

enum {
    FILES_MAX = 64, /* that may be brought to a one-shot */
    ENV_MAX = 64,
    WAIT_MAX_S = 60,
};

/* ---- what they take ---- */

static const char *const languages[] = {"python", "bash", "javascript", NULL};

struct run_args {
    struct str code, stdin;
    int language;
    int64_t timeout_s;
    struct json_pairs env;
    const char *name;
    bool background, queue;
    /* one-shots only */
    const char *workspace, *tz, *on_behalf_of;
    struct limit_wishes limits;
    struct json_structs files;
};

struct file_args {
    const char *path;
    struct str content;
    const char *content_base64;
};

static const struct json_field file_fields[] = {
    {JF_TEXT(struct file_args, path), .required = true, .min = 1, .max = 1024,
     .doc = "relative to /mnt/data"},
    {JF_STR(struct file_args, content), .max = 32 << 20, .doc = "as text"},
    {JF_TEXT(struct file_args, content_base64), .max = 48 << 20, .doc = "or as base64"},
    {0},
};

#define RUN_FIELDS                                                                              \
    {JF_STR(struct run_args, code), .required = true, .max = 4 << 20, .doc = "what to run"},    \
        {JF_CHOICE(struct run_args, language, languages),                                       \
         .doc = "bash and javascript are one process each, beside the session's Python"},       \
        {JF_MILLI(struct run_args, timeout_s, "timeout_s"), .min = 100, .max = 86400000,        \
         .is_open = true, .doc = "seconds until it is ended; the session's limit if left out"}, \
        {JF_STR(struct run_args, stdin), .max = 16 << 20,                                       \
         .doc = "what input() reads; without it input() is an error"},                          \
        {JF_PAIRS(struct run_args, env), .max = ENV_MAX, .item_max = 64 << 10,                  \
         .doc = "environment of this run; never stored"},                                       \
        {JF_TEXT(struct run_args, name), .min = 1, .max = 256,                                  \
         .doc = "what tracebacks call the code"},                                               \
        {JF_BOOL(struct run_args, background), .doc = "answer at once; fetch the run later"},

static const struct json_field session_run_fields[] = {
    RUN_FIELDS{JF_BOOL(struct run_args, queue), .preset = true,
               .doc = "wait for the session's other runs; false: 409 if there are any"},
    {0},
};

static const struct json_field one_shot_fields[] = {
    RUN_FIELDS{JF_TEXT(struct run_args, workspace), .min = 1, .max = 64},
    {JF_OBJECT(struct run_args, limits, native_limits)},
    {JF_TEXT(struct run_args, tz), .min = 1, .max = SEAT_TZ_MAX},
    {JF_TEXT(struct run_args, on_behalf_of), .min = 1, .max = 256},
    {JF_OBJECTS(struct run_args, files, struct file_args, file_fields), .max = FILES_MAX,
     .doc = "written to /mnt/data before the code runs"},
    {0},
};

struct list_args {
    const char *session, *workspace, *status, *end, *cursor;
    int64_t limit;
};

static const struct json_field list_fields[] = {
    {JF_TEXT(struct list_args, session), .max = 64},
    {JF_TEXT(struct list_args, workspace), .max = 64},
    {JF_TEXT(struct list_args, status), .max = 16, .doc = "queued, running or done"},
    {JF_TEXT(struct list_args, end), .max = 16, .doc = "ok, error, timeout ..."},
    {JF_TEXT(struct list_args, cursor), .max = 128},
    {JF_INT(struct list_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

struct get_args {
    int64_t wait_s;
};

static const struct json_field get_fields[] = {
    {JF_MILLI(struct get_args, wait_s, "wait_s"), .min = 0, .max = WAIT_MAX_S * 1000,
     .doc = "wait so long for its end before answering"},
    {0},
};

/* ---- running ---- */

static void settle(struct call *c)
{
    job_settle(c->arg);
    job_unref(c->arg);
}

/* Waits for the end and answers with the run; what can wait is done after the answer. */
static int run_here(struct call *c, struct job *job, struct err *e)
{
    int failed = job_execute(job, e);
    if (!failed)
        job_object(job, &c->out);
    c->arg = job_ref(job);
    c->after = settle;
    return failed;
}

static int run_in_background(struct call *c, struct job *job, struct err *e)
{
    if (job_launch(job, e))
        return -1;
    job_object(job, &c->out);
    c->status = 202;
    return 0;
}

static int follow_new(struct call *c, struct job *job, struct err *e)
{
    return job_launch(job, e) || follow_job(c, job, 0, e) ? -1 : 0;
}

static int start(struct call *c, struct seat *seat, bool is_one_shot, struct err *e)
{
    const struct run_args *in = c->in;
    const struct job_wishes wishes = {.code = in->code,
                                      .language = in->language,
                                      .name = in->name,
                                      .stdin_text = in->stdin,
                                      .env = in->env.items,
                                      .env_count = in->env.count,
                                      .wall_ms = (uint32_t)in->timeout_s,
                                      .is_impatient = !is_one_shot && !in->queue,
                                      .closes_seat = is_one_shot};
    scoped(job_unrefp) struct job *job = NULL;
    if (job_new(seat, &c->who, &wishes, c->id, &job, e))
        return -1;
    once_made(&c->once, job_id(job));
    if (c->on_run)
        c->on_run(c->on_run_arg, job);
    http_add_header(c->x, "X-Run-Id", "%s", job_id(job));
    if (in->background)
        return run_in_background(c, job, e);
    return wants_events(c) ? follow_new(c, job, e) : run_here(c, job, e);
}

/* The answer to a request that was made before: the run it made, when it has ended. */
static int show_again(struct call *c, struct err *e)
{
    scoped(job_unrefp) struct job *job = NULL;
    struct err none = {0};
    if (job_find(c->api->o.service, &c->who, c->once.subject, &job, &none))
        return job_show(c->api->o.service, &c->who, c->once.subject, &c->out, e);
    if (wants_events(c))
        return follow_job(c, job, 0, e);
    if (!((const struct run_args *)c->in)->background)
        (void)job_wait(job, clock_us() + (int64_t)86400 * 1000000);
    job_object(job, &c->out);
    return 0;
}

static int run_in_session(struct call *c, struct err *e)
{
    scoped(seat_unrefp) struct seat *seat = NULL;
    if (c->once.state == ONCE_AGAIN)
        return show_again(c, e);
    return seat_find(c->api->o.service, &c->who, c->param[0], &seat, e) ||
                   start(c, seat, /* is_one_shot= */ false, e)
               ? -1
               : 0;
}

/* ---- one-shots ---- */

/* Files that come with a one-shot, decoded. */
struct brought {
    struct seat_file *files;
    struct buf *decoded; /* one for each, empty for text */
    size_t count;
};

static void brought_done(struct brought *b)
{
    for (size_t i = 0; i < b->count; i++)
        buf_done(&b->decoded[i]);
    free(b->files);
    free(b->decoded);
}

static int take_file(struct brought *b, const struct file_args *f, struct err *e)
{
    if ((f->content.ptr != NULL) == (f->content_base64 != NULL))
        return err_set(e, ERR_INVALID, "files: %.200s needs either content or content_base64",
                       f->path);
    struct seat_file *to = &b->files[b->count];
    struct buf *bytes = &b->decoded[b->count++];
    *bytes = BUF_INIT(48 << 20);
    *to = (struct seat_file){f->path, f->content.ptr, f->content.len};
    if (f->content.ptr)
        return 0;
    if (base64_decode(f->content_base64, strlen(f->content_base64), bytes, e) ||
        buf_check(bytes, e))
        return err_wrap(e, "files: %.200s", f->path);
    *to = (struct seat_file){f->path, bytes->bytes ? bytes->bytes : "", bytes->len};
    return 0;
}

static int take_files(const struct json_structs *files, struct brought *ret, struct err *e)
{
    const struct file_args *all = files->items;
    ret->files = calloc(files->count + 1, sizeof *ret->files);
    ret->decoded = calloc(files->count + 1, sizeof *ret->decoded);
    if (!ret->files || !ret->decoded)
        return err_set(e, ERR_NO_MEMORY, "read the files");
    for (size_t i = 0; i < files->count; i++)
        if (take_file(ret, &all[i], e))
            return -1;
    return 0;
}

/* What comes with it becomes files of the workspace. */
static void run_once_demands(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs)
{
    const struct run_args *in = c->in;
    (void)ret_needs;
    if (in->files.count > 0)
        *ret_scope = SCOPE_FILES_WRITE;
}

static int run_once(struct call *c, struct err *e)
{
    const struct run_args *in = c->in;
    scoped(seat_unrefp) struct seat *seat = NULL;
    if (c->once.state == ONCE_AGAIN)
        return show_again(c, e);
    scoped(brought_done) struct brought brought = {0};
    if (take_files(&in->files, &brought, e))
        return -1;
    const struct seat_wishes wishes = {.workspace = in->workspace,
                                       .tz = in->tz,
                                       .limits = in->limits,
                                       .idle_s = -1,
                                       .is_one_shot = true,
                                       .files = brought.files,
                                       .file_count = brought.count};
    if (native_behalf(c, in->on_behalf_of, e) ||
        seat_create(c->api->o.service, &c->who, &wishes, &seat, e))
        return -1;
    if (start(c, seat, /* is_one_shot= */ true, e)) {
        struct err ignored = {0};
        if (!c->after)
            (void)seat_close(seat, "one-shot", &ignored);
        return -1;
    }
    return 0;
}

/* ---- runs that exist ---- */

static int list(struct call *c, struct err *e)
{
    const struct list_args *in = c->query;
    const struct job_filter filter = {in->session, in->workspace, in->status, in->end};
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    return job_list(c->api->o.service, &c->who, &filter, &page, &c->out, e);
}

static int get(struct call *c, struct err *e)
{
    const struct get_args *in = c->query;
    scoped(job_unrefp) struct job *job = NULL;
    struct err none = {0};
    if (in->wait_s > 0 && job_find(c->api->o.service, &c->who, c->param[0], &job, &none) == 0)
        (void)job_wait(job, clock_us() + in->wait_s * 1000);
    return job_show(c->api->o.service, &c->who, c->param[0], &c->out, e);
}

static int events(struct call *c, struct err *e)
{
    uint64_t seen = 0;
    scoped(job_unrefp) struct job *job = NULL;
    scoped(buf_done) struct buf object = BUF_INIT(OP_ANSWER_MAX);
    struct err none = {0};
    if (last_event_id(c, &seen, e))
        return -1;
    if (job_find(c->api->o.service, &c->who, c->param[0], &job, &none) == 0)
        return follow_job(c, job, seen, e);
    if (job_show(c->api->o.service, &c->who, c->param[0], &object, e))
        return -1;
    return follow_record(c, &object, e);
}

static int cancel(struct call *c, struct err *e)
{
    scoped(job_unrefp) struct job *job = NULL;
    struct err none = {0};
    if (job_find(c->api->o.service, &c->who, c->param[0], &job, &none) == 0) {
        job_cancel(job);
        (void)job_wait(job, clock_us() + (int64_t)10 * 1000000);
    }
    return job_show(c->api->o.service, &c->who, c->param[0], &c->out, e);
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)

static const struct op ops[] = {
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/runs",
     .name = "runInSession",
     .summary = "Run code in a session, with the variables of the runs before.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .flags = OP_CREATES | OP_RUNS | OP_STREAMS,
     BODY(run_args, session_run_fields),
     .status = 200,
     .answer = "Run",
     .run = run_in_session},
    {.method = "POST",
     .path = "/api/v1/runs",
     .name = "runOnce",
     .summary = "Run code in a session of its own, which ends with it.",
     .needs = NEEDS_NAMED,
     .scope = SCOPE_RUN,
     .flags = OP_CREATES | OP_RUNS | OP_STREAMS,
     BODY(run_args, one_shot_fields),
     .status = 200,
     .answer = "Run",
     .demand = run_once_demands,
     .run = run_once},
    {.method = "GET",
     .path = "/api/v1/runs",
     .name = "listRuns",
     .summary = "List your runs, newest first.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_RUN,
     QUERY(list_args, list_fields),
     .status = 200,
     .answer = "RunList",
     .run = list},
    {.method = "GET",
     .path = "/api/v1/runs/{id}",
     .name = "getRun",
     .summary = "Show a run; wait for its end if asked to.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     QUERY(get_args, get_fields),
     .status = 200,
     .answer = "Run",
     .run = get},
    {.method = "GET",
     .path = "/api/v1/runs/{id}/events",
     .name = "followRun",
     .summary = "The events of a run, from the beginning or after Last-Event-ID.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .flags = OP_STREAMS,
     .status = 200,
     .answer = NULL,
     .run = events},
    {.method = "POST",
     .path = "/api/v1/runs/{id}/cancel",
     .name = "cancelRun",
     .summary = "End a run; the session's variables stay.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Run",
     .run = cancel},
};

const struct op_table native_runs = {ops, sizeof ops / sizeof *ops};
