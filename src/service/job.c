/* job.c -- what happens to a run on its way from the line to its end. */
#include "service/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "service/desk.h"
#include "service/object.h"
#include "service/service_int.h"
#include "session/session.h"
#include "store/meta.h"
#include "workspace/files.h"
#include "workspace/rates.h"
#include "json/fields.h"
#include "json/write.h"

static const char stopped[] =
    "The server was stopped while the code ran. Variables may be lost; files in /mnt/data are kept.";
static const char not_begun[] =
    "The server was stopped before the code ran: it did not run at all.";

/* ---- telling watchers ---- */

/* With j->lock held. */
static void tell(struct job *j)
{
    for (struct job_watch *w = j->watches; w; w = w->next)
        w->more(w->arg);
    pthread_cond_broadcast(&j->changed);
}

static void note(struct job *j, enum note_kind kind, const void *text, size_t len)
{
    struct err ignored = {0}; /* a watcher misses a note; the run object has everything */
    pthread_mutex_lock(&j->lock);
    (void)journal_add(&j->journal, kind, text, len, &ignored);
    tell(j);
    pthread_mutex_unlock(&j->lock);
}

static void note_json(struct job *j, enum note_kind kind, const struct buf *json)
{
    if (!json->failed)
        note(j, kind, json->bytes, json->len);
}

/* Output. A character whose end has not come yet waits for it. */
static void note_output(struct job *j, bool is_err, const char *bytes, size_t len)
{
    size_t kept = j->torn[is_err].len;
    scoped(buf_done) struct buf all = BUF_INIT(len + sizeof j->torn[0].bytes);
    scoped(buf_done) struct buf json = BUF_INIT(6 * (len + sizeof j->torn[0].bytes) + 64);
    buf_add(&all, j->torn[is_err].bytes, kept);
    buf_add(&all, bytes, len);
    if (all.failed)
        return;
    size_t cut = len > 0 ? utf8_cut(all.bytes, all.len) : all.len; /* nothing more comes */
    j->torn[is_err].len = all.len - cut;
    if (cut < all.len)
        memcpy(j->torn[is_err].bytes, all.bytes + cut, all.len - cut);
    if (cut == 0)
        return;
    struct json_writer w = JSON_WRITER(&json);
    jw_object(&w);
    jw_key(&w, "text");
    jw_str(&w, all.bytes, cut);
    jw_end_object(&w);
    note_json(j, is_err ? NOTE_STDERR : NOTE_STDOUT, &json);
}

static void note_display(struct job *j, enum note_kind kind, const struct display *d)
{
    scoped(buf_done) struct buf json = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&json);
    jw_object(&w);
    jw_key(&w, "data");
    object_bundle(&w, d);
    if (d->id) {
        jw_key(&w, "display_id");
        jw_text(&w, d->id);
    }
    jw_end_object(&w);
    note_json(j, kind, &json);
}

static void note_error(struct job *j, const struct run_error *error)
{
    scoped(buf_done) struct buf json = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&json);
    object_error(&w, error);
    note_json(j, NOTE_ERROR, &json);
}

static int on_event(void *arg, const struct run_event *event)
{
    struct job *j = arg;
    switch (event->kind) {
    case RUN_STDOUT: note_output(j, /* is_err= */ false, event->bytes, event->len); break;
    case RUN_STDERR: note_output(j, /* is_err= */ true, event->bytes, event->len); break;
    case RUN_DISPLAY: note_display(j, NOTE_DISPLAY, event->display); break;
    case RUN_CLEAR: note(j, NOTE_CLEAR, "{}", 2); break;
    case RUN_RESULT: note_display(j, NOTE_RESULT, event->display); break;
    case RUN_ERROR: note_error(j, event->error); break;
    }
    return 0;
}

static void note_files(struct job *j, const struct capture *files)
{
    const char *ws = j->seat->workspace;
    for (size_t i = 0; i < files->count; i++) {
        scoped(buf_done) struct buf json = BUF_INIT(1 << 20);
        struct json_writer w = JSON_WRITER(&json);
        object_file(&w, ws, &files->files[i]);
        note_json(j, NOTE_FILE, &json);
    }
}

/* ---- its record ---- */

static struct run_card card_of(const struct job *j)
{
    return (struct run_card){.id = j->id,
                             .session_id = j->seat->id,
                             .workspace_id = j->seat->workspace,
                             .tier = j->service->o.tier,
                             .language = run_language_name((enum run_language)j->language),
                             .name = j->name,
                             .code = j->code,
                             .code_len = j->code_len};
}

struct run_row job_row(const struct job *j, enum run_status status)
{
    struct run_row row = {.status = status,
                          .language = run_language_name((enum run_language)j->language),
                          .name = j->name,
                          .code = j->code,
                          .code_len = j->code_len,
                          .created_us = j->created_us,
                          .started_us = j->started_us};
    memcpy(row.id, j->id, sizeof row.id);
    memcpy(row.session, j->seat->id, sizeof row.session);
    memcpy(row.workspace, j->seat->workspace, sizeof row.workspace);
    memcpy(row.principal, j->who.principal, sizeof row.principal);
    memcpy(row.key, j->who.key, sizeof row.key);
    memcpy(row.request, j->request, sizeof row.request);
    return row;
}

/* Over: the record, the object, the last note. Takes what is in `object`. */
static void conclude(struct job *j, struct run_row *row, struct buf *object)
{
    struct err ignored = {0}; /* a store that has stopped has told so; the answer still goes out */
    row->object = object->bytes;
    row->object_len = object->len;
    (void)meta_run_update(j->service->o.meta, row, META_SOON, &ignored);
    pthread_mutex_lock(&j->lock);
    j->phase = JOB_OVER;
    (void)journal_add(&j->journal, NOTE_DONE, object->bytes ? object->bytes : "{}",
                      object->bytes ? object->len : 2, &ignored);
    buf_done(&j->object);
    j->object = *object;
    *object = BUF_INIT(object->max);
    tell(j);
    pthread_mutex_unlock(&j->lock);
    job_linger(j);
}

static const char *taken_away(struct job *j)
{
    pthread_mutex_lock(&j->lock);
    const char *why = j->why;
    pthread_mutex_unlock(&j->lock);
    return why;
}

/* The code was not run: called off, or it could not be. */
static void conclude_unrun(struct job *j, enum run_end end, const char *hint)
{
    struct run_card card = card_of(j);
    struct run_row row = job_row(j, RUN_DONE);
    struct run none = {.end = end,
                       .state = taken_away(j) ? STATE_LOST : STATE_KEPT,
                       .started_wall_us = j->created_us,
                       .limits = j->seat->limits};
    struct buf object = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&object);
    (void)snprintf(none.hint, sizeof none.hint, "%s", hint);
    object_run(&w, &card, &none);
    row.end = run_end_name(end);
    row.state = run_state_name(none.state);
    conclude(j, &row, &object);
    buf_done(&object);
}

static void log_run(const struct job *j, const struct run *run)
{
    log_line(j->service->o.log, LOG_INFO, "run", LOG_STR("id", j->id),
             LOG_STR("request", j->request), LOG_STR("session", j->seat->id),
             LOG_STR("who", j->who.principal),
             LOG_STR("language", run_language_name((enum run_language)j->language)),
             LOG_STR("end", run_end_name(run->end)), LOG_STR("state", run_state_name(run->state)),
             LOG_MS("ms", (int64_t)run->duration_us), LOG_MS("cpu_ms", (int64_t)run->cpu_us),
             LOG_U64("peak", run->memory_peak), LOG_U64("files", run->files.count));
}

static void count(struct service *s, const struct run *run)
{
    pthread_mutex_lock(&s->lock);
    s->info.runs[run->end]++;
    s->info.run_us += run->duration_us;
    if (run->state == STATE_WOKEN)
        s->info.wakes++;
    pthread_mutex_unlock(&s->lock);
}

/* Cancelled, but not because its owner asked for just that. */
static void explain(struct job *j, struct run *run)
{
    const char *why = taken_away(j);
    if (run->end != END_CANCELLED || (!why && !j->service->is_stopping))
        return;
    if (why)
        run->state = STATE_LOST;
    else
        run->end = END_KILLED;
    (void)snprintf(run->hint, sizeof run->hint, "%s", why ? why : stopped);
}

static void conclude_run(struct job *j, struct run *run)
{
    struct run_card card = card_of(j);
    struct run_row row = job_row(j, RUN_DONE);
    struct buf object = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&object);
    note_output(j, /* is_err= */ false, NULL, 0);
    note_output(j, /* is_err= */ true, NULL, 0);
    note_files(j, &run->files);
    explain(j, run);
    object_run(&w, &card, run);
    row.end = run_end_name(run->end);
    row.state = run_state_name(run->state);
    row.started_us = run->started_wall_us;
    row.duration_us = (int64_t)run->duration_us;
    row.cpu_us = (int64_t)run->cpu_us;
    row.peak_bytes = run->memory_peak;
    rates_run_end(j->service->o.rates, &j->who, run->cpu_us);
    count(j->service, run);
    log_run(j, run);
    conclude(j, &row, &object);
    buf_done(&object);
}

/* ---- running ---- */

/* Another phase, unless it was called off meanwhile. */
static int advance(struct job *j, enum job_phase phase, struct err *e)
{
    pthread_mutex_lock(&j->lock);
    bool is_off = atomic_load(&j->cancel);
    if (!is_off)
        j->phase = phase;
    pthread_mutex_unlock(&j->lock);
    return is_off ? err_set(e, ERR_CONFLICT, "cancelled before it began") : 0;
}

static void begin(struct job *j)
{
    struct run_card card = card_of(j);
    scoped(buf_done) struct buf json = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&json);
    pthread_mutex_lock(&j->seat->lock);
    j->seat->running = j;
    j->seat->sleep_at_us = CLOCK_NEVER;
    pthread_mutex_unlock(&j->seat->lock);
    pthread_mutex_lock(&j->lock);
    j->started_us = clock_wall_us();
    pthread_mutex_unlock(&j->lock);
    object_open_run(&w, &card, "running", j->started_us, &j->seat->limits);
    note_json(j, NOTE_STARTED, &json);
}

/* Also when it could not begin. */
static void end(struct job *j)
{
    pthread_mutex_lock(&j->seat->lock);
    bool has_begun = j->seat->running == j;
    j->seat->running = NULL;
    pthread_mutex_unlock(&j->seat->lock);
    if (has_begun)
        seat_touch(j->seat);
}

/* In the engine; the seat's turn and a slot are ours. */
static int run_code(struct job *j, struct run *run, struct err *e)
{
    const struct jail_data *data;
    const struct run_spec spec = {.code = j->code,
                                  .code_len = j->code_len,
                                  .name = j->name,
                                  .stdin_text = j->stdin_text,
                                  .stdin_len = j->stdin_len,
                                  .env = (const char *const *)j->env,
                                  .wall_ms = j->wall_ms,
                                  .language = (enum run_language)j->language,
                                  .cancel = &j->cancel,
                                  .leaves_files = true};
    const struct run_sink sink = {.put = on_event, .arg = j};
    if (files_check_space(j->service->o.files, e) || seat_make_room(j->seat, e) ||
        seat_ready(j->seat, &data, e) || advance(j, JOB_IN_ENGINE, e))
        return -1;
    begin(j);
    return session_run(j->seat->session, data, &spec, &sink, run, e);
}

struct author job_author(const struct job *j)
{
    struct author author = {0};
    memcpy(author.principal, j->who.principal, ID_SIZE);
    memcpy(author.key, j->who.key, ID_SIZE);
    memcpy(author.session, j->seat->id, ID_SIZE);
    memcpy(author.run, j->id, ID_SIZE);
    return author;
}

/* What the run wrote is durable when this returns, or the run says that it is not. */
static void keep_files(struct job *j, struct run *run)
{
    struct err e = {0};
    struct session_info info;
    const struct author author = job_author(j);
    session_look(j->seat->session, &info);
    if (desk_keep(j->seat->desk, &author, COMMIT_RUN, info.runs, &run->files, &e) == 0)
        return;
    log_line(j->service->o.log, LOG_ERROR, "files of a run were not kept", LOG_STR("run", j->id),
             LOG_STR("why", e.text));
    struct err ignored = {0}; /* the hint says it as well */
    (void)capture_miss(&run->files, ".", "the workspace could not be written to", &ignored);
    (void)snprintf(
        run->hint, sizeof run->hint,
        "The files of this run could not be saved as versions. They are in the session's "
        "/mnt/data, and are saved with its next run that works.");
}

/* With the seat's turn. */
static int run_in_slot(struct job *j, struct err *e)
{
    struct run run = {0};
    struct service *s = j->service;
    if (advance(j, JOB_AT_GATE, e) ||
        gate_enter(&s->gate, j->who.principal, clock_us() + SLOT_WAIT_US, &j->pass, e))
        return -1;
    int failed = run_code(j, &run, e);
    gate_leave(&s->gate, &j->pass);
    if (!failed)
        keep_files(j, &run);
    end(j);
    if (failed)
        return -1;
    conclude_run(j, &run);
    run_done(&run);
    return 0;
}

static int run_in_turn(struct job *j, struct err *e)
{
    bool is_closed;
    int failed = turn_await(&j->seat->turn, &j->place, e);
    pthread_mutex_lock(&j->seat->lock);
    is_closed = j->seat->is_closed || j->seat->is_closing;
    pthread_mutex_unlock(&j->seat->lock);
    if (!failed && is_closed)
        failed = err_set(e, ERR_NOT_FOUND, "session %s was closed", j->seat->id);
    if (!failed)
        failed = run_in_slot(j, e);
    turn_leave(&j->seat->turn, &j->place);
    return failed;
}

int job_execute(struct job *j, struct err *e)
{
    if (run_in_turn(j, e) == 0)
        return 0;
    rates_run_refund(j->service->o.rates, &j->who);
    if (atomic_load(&j->cancel)) {
        const char *why = taken_away(j);
        bool is_stopping = !why && j->service->is_stopping;
        conclude_unrun(j, is_stopping ? END_KILLED : END_CANCELLED,
                       why           ? why
                       : is_stopping ? not_begun
                                     : "Cancelled before it began.");
        return 0;
    }
    conclude_unrun(j, END_KILLED, e->text);
    return -1;
}

void job_settle(struct job *j)
{
    struct err ignored = {0}; /* whoever comes next pays, or is told */
    if (j->closes_seat)
        (void)seat_close(j->seat, "one-shot", &ignored);
    else
        (void)session_settle(j->seat->session, &ignored);
}

/* ---- from outside ---- */

static void call_off(struct job *j, const char *why)
{
    pthread_mutex_lock(&j->lock);
    atomic_store(&j->cancel, true);
    if (!j->why)
        j->why = why;
    enum job_phase phase = j->phase;
    pthread_mutex_unlock(&j->lock);
    switch (phase) {
    case JOB_IN_LINE: turn_call_off(&j->seat->turn, &j->place); break;
    case JOB_AT_GATE: gate_call_off(&j->service->gate, &j->pass); break;
    case JOB_IN_ENGINE: session_cancel(j->seat->session); break;
    case JOB_OVER: break;
    }
}

void job_cancel(struct job *j)
{
    call_off(j, NULL);
}

void jobs_call_off(struct seat *seat, const char *why)
{
    size_t count;
    struct job **list = jobs_list(seat->service, seat, &count);
    for (size_t i = 0; list && i < count; i++) {
        call_off(list[i], why);
        job_unref(list[i]);
    }
    free(list);
}

static void *launched(void *arg)
{
    struct job *j = arg;
    struct service *s = j->service;
    struct err e = {0};
    (void)job_execute(j, &e); /* the failure is in its object */
    job_settle(j);
    job_unref(j);
    pthread_mutex_lock(&s->lock);
    s->launched--;
    pthread_cond_broadcast(&s->quiet);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static int start_thread(struct job *j, struct err *e)
{
    pthread_t thread;
    pthread_attr_t attr;
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attr, 512 << 10);
    int why = pthread_create(&thread, &attr, launched, job_ref(j));
    (void)pthread_attr_destroy(&attr);
    if (why)
        job_unref(j);
    return why ? err_sys(e, why, "start a thread for the run") : 0;
}

int job_launch(struct job *j, struct err *e)
{
    struct service *s = j->service;
    pthread_mutex_lock(&s->lock);
    bool is_full = s->launched >= s->o.threads_max;
    s->launched += !is_full;
    pthread_mutex_unlock(&s->lock);
    int failed = is_full ? err_set(e, ERR_OVERLOADED, "%u runs go on in the background already",
                                   s->o.threads_max)
                         : start_thread(j, e);
    if (!failed)
        return 0;
    if (!is_full) {
        pthread_mutex_lock(&s->lock);
        s->launched--;
        pthread_mutex_unlock(&s->lock);
    }
    turn_leave(&j->seat->turn, &j->place);
    rates_run_refund(s->o.rates, &j->who);
    conclude_unrun(j, END_KILLED, e->text);
    return -1;
}

bool job_wait(struct job *j, int64_t deadline_us)
{
    const struct timespec until = {.tv_sec = deadline_us / 1000000,
                                   .tv_nsec = deadline_us % 1000000 * 1000};
    int why = 0;
    pthread_mutex_lock(&j->lock);
    while (j->phase != JOB_OVER && why != ETIMEDOUT)
        why = pthread_cond_timedwait(&j->changed, &j->lock, &until);
    bool is_over = j->phase == JOB_OVER;
    pthread_mutex_unlock(&j->lock);
    return is_over;
}

void job_object(struct job *j, struct buf *out)
{
    struct run_card card = card_of(j);
    pthread_mutex_lock(&j->lock);
    if (j->phase == JOB_OVER) {
        buf_add(out, j->object.bytes ? j->object.bytes : "{}", j->object.bytes ? j->object.len : 2);
    } else {
        struct json_writer w = JSON_WRITER(out);
        object_open_run(&w, &card, j->phase == JOB_IN_ENGINE ? "running" : "queued", j->started_us,
                        &j->seat->limits);
    }
    pthread_mutex_unlock(&j->lock);
}

bool job_read(struct job *j, uint64_t seen, bool (*put)(void *arg, const struct note *n), void *arg)
{
    const struct note *n;
    bool goes_on = true;
    pthread_mutex_lock(&j->lock);
    for (; goes_on && (n = journal_after(&j->journal, seen)); seen = n->id)
        goes_on = put(arg, n);
    bool is_all = goes_on && j->phase == JOB_OVER;
    pthread_mutex_unlock(&j->lock);
    return is_all;
}

void job_watch(struct job *j, struct job_watch *w)
{
    pthread_mutex_lock(&j->lock);
    w->next = j->watches;
    j->watches = w;
    pthread_mutex_unlock(&j->lock);
}

void job_unwatch(struct job *j, struct job_watch *w)
{
    pthread_mutex_lock(&j->lock);
    for (struct job_watch **at = &j->watches; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    pthread_mutex_unlock(&j->lock);
}
