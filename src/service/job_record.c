/* job_record.c -- what is written down about a run: its row, its object, its line in the log. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "service/indexer.h"
#include "service/job_int.h"
#include "service/lineage.h"
#include "service/object.h"
#include "session/session.h"
#include "store/meta.h"
#include "workspace/rates.h"
#include "json/write.h"

static const char stopped[] =
    "The server was stopped while the code ran. Variables may be lost; files in /mnt/data are kept.";

struct run_card job_card(const struct job *j)
{
    return (struct run_card){.id = j->id,
                             .session_id = j->seat->id,
                             .workspace_id = j->seat->workspace,
                             .tier = j->service->o.tier,
                             .language = run_language_name((enum run_language)j->language),
                             .name = j->name,
                             .created_us = j->created_us,
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
    job_tell(j);
    pthread_mutex_unlock(&j->lock);
    indexer_ran(j->service->o.indexer, j->id);
    job_linger(j);
}

const char *job_taken_away(struct job *j)
{
    pthread_mutex_lock(&j->lock);
    const char *why = j->why;
    pthread_mutex_unlock(&j->lock);
    return why;
}

void job_conclude_unrun(struct job *j, enum run_end end, const char *hint)
{
    struct run_card card = job_card(j);
    struct run_row row = job_row(j, RUN_DONE);
    struct run none = {.end = end,
                       .state = job_taken_away(j) ? STATE_LOST : STATE_KEPT,
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
    const char *why = job_taken_away(j);
    if (run->end != END_CANCELLED || (!why && !j->service->is_stopping))
        return;
    if (why)
        run->state = STATE_LOST;
    else
        run->end = END_KILLED;
    (void)snprintf(run->hint, sizeof run->hint, "%s", why ? why : stopped);
}

void job_conclude(struct job *j, struct run *run)
{
    struct run_card card = job_card(j);
    struct run_row row = job_row(j, RUN_DONE);
    struct session_info info;
    struct buf object = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&object);
    job_note_end(j, &run->files);
    explain(j, run);
    card.inputs = &j->inputs;
    row.inputs = j->inputs.items;
    row.input_count = j->inputs.count;
    row.trace = j->inputs.is_partial ? TRACE_PARTIAL : TRACE_WHOLE;
    object_run(&w, &card, run);
    row.end = run_end_name(run->end);
    row.state = run_state_name(run->state);
    row.started_us = run->started_wall_us;
    row.duration_us = (int64_t)run->duration_us;
    row.cpu_us = (int64_t)run->cpu_us;
    row.peak_bytes = run->memory_peak;
    session_look(j->seat->session, &info);
    row.number = info.runs;
    /* One that ended well, and its kernel right after it, says "lost" too. */
    row.is_first = lineage_is_first(&row) &&
                   (run->state != STATE_LOST || row.number == 1 || life_has_kernel(info.life));
    rates_run_end(j->service->o.rates, &j->who, j->seat->workspace, run->cpu_us);
    count(j->service, run);
    log_run(j, run);
    conclude(j, &row, &object);
    buf_done(&object);
}

void job_object(struct job *j, struct buf *out)
{
    struct run_card card = job_card(j);
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
