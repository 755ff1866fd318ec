/* job.c -- what happens to a run on its way from the line to its end. */
#include "service/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/desk.h"
#include "service/job_int.h"
#include "service/object.h"
#include "session/session.h"
#include "workspace/files.h"
#include "workspace/rates.h"
#include "json/write.h"

static const char not_begun[] =
    "The server was stopped before the code ran: it did not run at all.";

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
    struct run_card card = job_card(j);
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
    job_note(j, NOTE_STARTED, &json);
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
    const struct run_sink sink = {.put = job_on_event, .arg = j};
    if (files_check_room(j->service->o.files, ROOM_FOR_RUNS, 0, 0, e) ||
        seat_hand(j->seat, &j->who, j->id, e) || seat_ready(j->seat, &data, e) ||
        advance(j, JOB_IN_ENGINE, e))
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

/* What the code did not find was not lost. */
static void tell_blind(const struct job *j, struct run *run)
{
    if (j->seat->is_blind && !*run->hint)
        (void)snprintf(
            run->hint, sizeof run->hint,
            "The workspace's files are not in /mnt/data: the session was made by a key that "
            "may not read files (scope files:read).");
}

/* What the run read; where that cannot be found out, it is not known. */
static void find_inputs(struct job *j, const struct run *run)
{
    struct err e = {0};
    if (desk_inputs(j->seat->desk, j->id, &run->reads, &j->inputs, &e) == 0)
        return;
    j->inputs.is_partial = true;
    log_line(j->service->o.log, LOG_WARNING, "what a run read is not known", LOG_STR("run", j->id),
             LOG_STR("why", e.text));
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

/* With the seat's turn, and room. */
static int run_in_slot(struct job *j, struct err *e)
{
    struct run run = {0};
    struct service *s = j->service;
    if (gate_enter(&s->gate, j->who.principal, clock_us() + SLOT_WAIT_US, &j->pass, e))
        return -1;
    int failed = run_code(j, &run, e);
    gate_leave(&s->gate, &j->pass);
    if (!failed) {
        find_inputs(j, &run);
        keep_files(j, &run);
        tell_blind(j, &run);
    }
    end(j);
    if (failed)
        return -1;
    job_conclude(j, &run);
    run_done(&run);
    return 0;
}

/* Room comes first: who has a slot then waits for nobody, so slots become free. */
static int run_in_room(struct job *j, struct err *e)
{
    if (advance(j, JOB_AT_GATE, e) || room_enter(j->seat, &j->room, e))
        return -1;
    int failed = run_in_slot(j, e);
    room_leave(j->seat);
    return failed;
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
        failed = run_in_room(j, e);
    turn_leave(&j->seat->turn, &j->place);
    room_changed(j->service);
    return failed;
}

int job_execute(struct job *j, struct err *e)
{
    if (run_in_turn(j, e) == 0)
        return 0;
    rates_run_refund(j->service->o.rates, &j->who);
    if (atomic_load(&j->cancel)) {
        const char *why = job_taken_away(j);
        bool is_stopping = !why && j->service->is_stopping;
        job_conclude_unrun(j, is_stopping ? END_KILLED : END_CANCELLED,
                           why           ? why
                           : is_stopping ? not_begun
                                         : "Cancelled before it began.");
        return 0;
    }
    job_conclude_unrun(j, END_KILLED, e->text);
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
    case JOB_AT_GATE:
        room_call_off(j->service, &j->room);
        gate_call_off(&j->service->gate, &j->pass);
        break;
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
    if (s->is_stopping) /* otherwise nobody waits for that */
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
    room_changed(s);
    rates_run_refund(s->o.rates, &j->who);
    job_conclude_unrun(j, END_KILLED, e->text);
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
