/* One task after the other: a workspace, its files, the question, and a look at the answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "cli/asking.h"
#include "cli/client.h"
#include "cli/eval_check.h"
#include "cli/eval_int.h"
#include "cli/files_int.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stop.h"
#include "cli/transfer.h"
#include "cli/words.h"

enum { SESSIONS_MAX = 16, CLEAN_TRIES = 20 };

/* What one task has while it is worked on. */
struct attempt {
    struct eval *eval;
    struct remote *remote;
    const struct task *task;
    struct result *result;
    char workspace[ID_SIZE];
};

static enum watch_verdict on_stop(void *arg)
{
    (void)arg;
    return WATCH_CANCELS_CALL;
}

/* ---- before and after ---- */

static int make_workspace(struct attempt *a, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(1024);
    scoped(json_decrefp) json_t *made = NULL;
    char id[ID_SIZE], name[ID_SIZE + 16];
    if (id_make("", id, e))
        return -1;
    (void)snprintf(name, sizeof name, "eval-%s", id);
    verb_put_one("name", name, &body);
    if (remote_post(a->remote, shelf_workspaces.path, &body, &made, e))
        return err_wrap(e, "make a workspace");
    (void)snprintf(a->workspace, sizeof a->workspace, "%s", pick_text(made, "id"));
    return 0;
}

static int bring_files(struct attempt *a, struct ask_wish *wish, struct err *e)
{
    scoped(haul_done) struct haul h = haul_with(a->remote, a->workspace, a->eval->stop);
    h.progress.fd = -1; /* several would draw over each other */
    for (size_t i = 0; i < json_array_size(a->task->files); i++) {
        const char *path = json_string_value(json_array_get(a->task->files, i));
        scoped(json_decrefp) json_t *file = NULL;
        scoped(freep) char *local = NULL;
        bool is_new;
        if (asprintf(&local, "%s/%s", a->eval->dir, path) < 0) {
            local = NULL;
            return err_set(e, ERR_NO_MEMORY, "bring %.150s", path);
        }
        if (upload_file(&h, local, path, &file, &is_new, e))
            return -1;
        wish->files[wish->file_count++] = path;
    }
    return 0;
}

/* Also that of an answer which did not come to its end, so that nobody told its id. */
static void close_sessions(struct attempt *a)
{
    scoped(json_decrefp) json_t *open = NULL;
    struct err ignored = {0};
    char query[ID_SIZE + 32];
    bool has_more;
    size_t i;
    json_t *session;
    (void)snprintf(query, sizeof query, "status=open&workspace=%s", a->workspace);
    if (remote_list(a->remote, shelf_sessions.path, query, SESSIONS_MAX, &open, &has_more,
                    &ignored))
        return;
    json_array_foreach(open, i, session)
    {
        (void)remote_delete(a->remote, &shelf_sessions, pick_text(session, "id"), &ignored);
    }
}

/* An answer that was called off ends a moment later, and may begin its session until then. */
static void clean_up(struct attempt *a)
{
    client_watch(a->remote->client, &(struct watch){.fd = -1});
    if (!*a->workspace)
        return;
    for (unsigned tries = 0; tries < CLEAN_TRIES; tries++) {
        struct err why = {0}; /* what stays is an unused workspace */
        close_sessions(a);
        if (a->eval->keeps ||
            remote_delete(a->remote, &shelf_workspaces, a->workspace, &why) == 0 ||
            why.code != ERR_CONFLICT)
            return;
    }
}

/* ---- the answer ---- */

/* The SHA-256 of the file a task expects; "": there is none. */
static void look_at_file(struct attempt *a, char ret[65])
{
    scoped(json_decrefp) json_t *file = NULL;
    struct err ignored = {0};
    ret[0] = '\0';
    if (a->task->kind == TASK_FILE &&
        verb_file_stat(a->remote, a->workspace, a->task->text, 0, &file, &ignored) == 0 &&
        !file_is_directory(file))
        (void)snprintf(ret, 65, "%s", pick_text(file, "sha256"));
}

/* Only whole characters: it becomes JSON. */
static void set_why(struct result *r, const char *text, size_t len)
{
    scoped(buf_done) struct buf clean = BUF_INIT(3 * len + 1);
    utf8_clean(text, len, &clean);
    size_t fits = clean.len < sizeof r->why ? clean.len : sizeof r->why - 1;
    fits = utf8_cut(clean.bytes ? clean.bytes : "", fits);
    (void)snprintf(r->why, sizeof r->why, "%.*s", (int)fits, clean.bytes ? clean.bytes : "");
}

static void judge(struct attempt *a, const json_t *answer)
{
    struct result *r = a->result;
    scoped(buf_done) struct buf why = BUF_INIT(64 << 10);
    struct err e = {0};
    char sha256[65];
    const char *end = pick_text(answer, "end"), *text = pick_text(answer, "answer");
    const char *message = pick_text(json_object_get(answer, "error"), "message");
    look_at_file(a, sha256);
    if (!*text && strcmp(end, "ok") != 0)
        buf_fmt(&why, "no answer (%.20s): %.2000s", end, message);
    else if (check_answer(a->task, text, *sha256 ? sha256 : NULL, &r->is_solved, &why, &e))
        buf_fmt(&why, "%s", e.text);
    if (!r->is_solved)
        set_why(r, why.bytes ? why.bytes : "", why.len);
}

static void keep(struct attempt *a, const json_t *answer)
{
    struct result *r = a->result;
    const json_t *usage = json_object_get(answer, "usage");
    (void)snprintf(r->answer_id, sizeof r->answer_id, "%s", pick_text(answer, "id"));
    r->answer = strdup(pick_text(answer, "answer"));
    r->runs = json_array_size(json_object_get(answer, "runs"));
    r->tokens = pick_count(usage, "total_tokens");
    r->cost = pick_number(usage, "cost");
}

static int try_task(struct attempt *a, struct err *e)
{
    struct ask_wish wish = {.question = a->task->question,
                            .workspace = a->workspace,
                            .model = a->eval->model,
                            .max_runs = a->eval->max_runs,
                            .timeout_s = a->eval->timeout_s};
    scoped(buf_done) struct buf body = BUF_INIT(ASK_BODY_MAX);
    scoped(asking_done) struct asking asking = {.client = a->remote->client};
    if (make_workspace(a, e) || bring_files(a, &wish, e))
        return -1;
    asking_request(&wish, &body);
    if (asking_run(&asking, &body, e))
        return -1;
    keep(a, asking.answer);
    judge(a, asking.answer);
    a->result->is_done = true;
    return 0;
}

/* ---- workers ---- */

/* The next task; NULL: none is left, or it is over. */
static const struct task *take_task(struct eval *v)
{
    const struct task *t = NULL;
    pthread_mutex_lock(&v->lock);
    if (!v->has_failed && !stop_is_asked(v->stop) && v->next < v->tasks.count)
        t = &v->tasks.all[v->next++];
    pthread_mutex_unlock(&v->lock);
    return t;
}

static void fail(struct eval *v, const struct err *e, const char *hint)
{
    pthread_mutex_lock(&v->lock);
    if (!v->has_failed) {
        v->has_failed = true;
        v->failure = *e;
        (void)snprintf(v->hint, sizeof v->hint, "%s", hint);
    }
    pthread_mutex_unlock(&v->lock);
}

static void tell(const struct attempt *a)
{
    char time[TIME_TEXT];
    struct notes notes = *a->eval->notes;
    if (a->eval->is_quiet || !a->result->is_done)
        return;
    note(&notes, "%s: %s, %s%s%s", a->task->id, a->result->is_solved ? "solved" : "not solved",
         time_text(a->result->seconds * 1000, time), *a->result->why ? "; " : "", a->result->why);
}

static void work_on(struct eval *v, struct remote *r, const struct task *t)
{
    struct err e = {0};
    int64_t begun_us = clock_us();
    struct attempt a = {.eval = v, .remote = r, .task = t, .result = &v->results[t - v->tasks.all]};
    client_watch(r->client, &(struct watch){stop_fd(v->stop), on_stop, NULL});
    if (try_task(&a, &e)) {
        (void)err_wrap(&e, "%s", t->id);
        fail(v, &e, client_hint(r->client));
    }
    a.result->seconds = (double)(clock_us() - begun_us) / 1e6;
    tell(&a);
    clean_up(&a);
}

void eval_work(struct eval *v)
{
    struct err e = {0};
    scoped(remote_done) struct remote r = {.notes = *v->notes};
    if (client_open(&v->address, &r.notes, &r.client, &e)) {
        fail(v, &e, "");
        return;
    }
    for (const struct task *t; (t = take_task(v));)
        work_on(v, &r, t);
}
