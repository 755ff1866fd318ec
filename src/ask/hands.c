#include "ask/hands.h"

#include <string.h>

#include <jansson.h>

#include "agent/halt.h"
#include "api/native_call.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/job.h"
#include "json/write.h"

enum { CODE_MAX = 4 << 20 };

/* ---- the session ---- */

static void write_wishes(const struct hands *h, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "workspace");
    jw_text(&w, h->workspace);
    if (h->memory_mb > 0) {
        jw_key(&w, "limits");
        jw_object(&w);
        jw_key(&w, "memory_mb");
        jw_i64(&w, h->memory_mb);
        jw_end_object(&w);
    }
    jw_end_object(&w);
}

static int ask_session(struct hands *h, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    scoped(native_done) struct native n = NATIVE("POST");
    write_wishes(h, &body);
    native_text(&n, "/api/v1/sessions");
    n.body = (struct str){body.bytes, body.len};
    if (buf_check(&body, e) || native_perform(&n, /* c= */ NULL, h->caller, h->via, e))
        return -1;
    const char *id = json_string_value(json_object_get(n.json, "id"));
    if (!id || strlen(id) >= sizeof h->session)
        return err_set(e, ERR_INTERNAL, "a session without an id");
    memcpy(h->session, id, strlen(id) + 1);
    return 0;
}

static int make_session(struct hands *h, struct err *e)
{
    if (ask_session(h, e))
        return -1;
    h->is_new = true;
    if (h->made)
        h->made(h->arg, h->session);
    return 0;
}

/* ---- the run ---- */

static int write_code(const struct hands *h, struct str code, struct buf *out, struct err *e)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "code");
    jw_str(&w, code.ptr, code.len);
    if (h->timeout_s > 0) {
        jw_key(&w, "timeout_s");
        jw_i64(&w, h->timeout_s);
    }
    jw_end_object(&w);
    return buf_check(out, e);
}

/* The run that goes on, while it does. */
struct going {
    struct halt *halt;
    struct job *job;
};

static void end_run(void *arg)
{
    job_cancel(arg);
}

static void begun(void *arg, struct job *job)
{
    struct going *g = arg;
    g->job = job_ref(job);
    halt_on(g->halt, end_run, job);
}

int hands_perform(struct native *n, struct caller *k, const char *via, struct halt *halt,
                  json_t **ret_run, struct err *e)
{
    struct going going = {.halt = halt};
    n->is_raw = true; /* larger than what json_read takes from strangers */
    n->on_run = begun;
    n->on_run_arg = &going;
    int failed = native_perform(n, /* c= */ NULL, k, via, e);
    halt_on(halt, NULL, NULL);
    if (going.job)
        job_unref(going.job);
    if (failed)
        return -1;
    *ret_run = json_loadb(n->answer.out.bytes, n->answer.out.len, JSON_ALLOW_NUL, NULL);
    return *ret_run ? 0 : err_set(e, ERR_DAMAGED, "a run that cannot be read");
}

static int run_here(struct hands *h, struct str code, struct halt *halt, json_t **ret_run,
                    struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(6 * (size_t)CODE_MAX + 4096);
    scoped(native_done) struct native n = NATIVE("POST");
    if (code.len > CODE_MAX)
        return err_set(e, ERR_TOO_LARGE, "the code has more than %d MiB", CODE_MAX >> 20);
    native_text(&n, "/api/v1/sessions/");
    native_piece(&n, h->session);
    native_text(&n, "/runs");
    if (write_code(h, code, &body, e))
        return -1;
    n.body = (struct str){body.bytes, body.len};
    return hands_perform(&n, h->caller, h->via, halt, ret_run, e);
}

/* The run says what it means for the model that its session is another. */
static void say_lost(json_t *run)
{
    json_object_set_new(run, "state", json_string("lost"));
    json_object_set_new(run, "hint",
                        json_string("The session was closed: variables, imports and functions of "
                                    "earlier runs are gone, the files are there."));
}

int hands_run(struct hands *h, struct str code, struct halt *halt, json_t **ret_run, struct err *e)
{
    bool had_session = *h->session;
    if (halt_is(halt))
        return err_set(e, ERR_GONE, "it was called off");
    if (had_session && run_here(h, code, halt, ret_run, e) == 0)
        return 0;
    if (had_session && e->code != ERR_NOT_FOUND)
        return -1;
    if (make_session(h, e) || run_here(h, code, halt, ret_run, e))
        return -1;
    if (had_session)
        say_lost(*ret_run);
    return 0;
}
