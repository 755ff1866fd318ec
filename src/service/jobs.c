/* jobs.c -- which runs there are: made, found, kept for a while, read from the store. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/may.h"
#include "service/object.h"
#include "service/service_int.h"
#include "store/meta.h"
#include "store/meta_lineage.h"
#include "workspace/rates.h"
#include "json/fields.h"
#include "json/write.h"

void job_free(struct job *j)
{
    journal_done(&j->journal);
    buf_done(&j->object);
    desk_inputs_done(&j->inputs);
    for (char **at = j->env; at && *at; at++)
        free(*at);
    free(j->env);
    free(j->code);
    free(j->stdin_text);
    free(j->name);
    (void)pthread_cond_destroy(&j->changed);
    (void)pthread_mutex_destroy(&j->lock);
    struct seat *seat = j->seat;
    free(j);
    seat_unref(seat);
}

/* ---- making one ---- */

/* As a shell takes it: anything else would be another variable, or none. */
static int check_env(const struct job_wishes *wishes, struct err *e)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    for (size_t i = 0; i < wishes->env_count; i++) {
        const char *name = wishes->env[i].name;
        if (!*name || name[strspn(name, letters)] || (*name >= '0' && *name <= '9'))
            return err_set(e, ERR_INVALID, "env: \"%.60s\" is not the name of a variable", name);
    }
    return 0;
}

static int copy_env(struct job *j, const struct job_wishes *wishes)
{
    if (wishes->env_count == 0)
        return 0;
    j->env = calloc(wishes->env_count + 1, sizeof *j->env);
    for (size_t i = 0; j->env && i < wishes->env_count; i++)
        if (asprintf(&j->env[i], "%s=%s", wishes->env[i].name, wishes->env[i].value) < 0) {
            j->env[i] = NULL;
            return -1;
        }
    return j->env ? 0 : -1;
}

static int copy_wishes(struct job *j, const struct job_wishes *wishes, struct err *e)
{
    bool has_stdin = wishes->stdin_text.ptr != NULL;
    j->code_len = wishes->code.len;
    j->stdin_len = wishes->stdin_text.len;
    j->language = wishes->language;
    j->wall_ms = wishes->wall_ms;
    j->closes_seat = wishes->closes_seat;
    j->code = malloc(j->code_len + 1);
    j->stdin_text = has_stdin ? malloc(j->stdin_len + 1) : NULL;
    j->name = wishes->name ? strdup(wishes->name) : NULL;
    if (!j->code || (has_stdin && !j->stdin_text) || (wishes->name && !j->name) ||
        copy_env(j, wishes))
        return err_set(e, ERR_NO_MEMORY, "take a run");
    if (j->code_len > 0)
        memcpy(j->code, wishes->code.ptr, j->code_len);
    j->code[j->code_len] = '\0';
    if (j->stdin_len > 0)
        memcpy(j->stdin_text, wishes->stdin_text.ptr, j->stdin_len);
    if (has_stdin)
        j->stdin_text[j->stdin_len] = '\0';
    return 0;
}

static struct job *make_job(struct seat *seat, const struct who *who, const char *request_id)
{
    pthread_condattr_t attr;
    struct job *j = calloc(1, sizeof *j);
    if (!j)
        return NULL;
    j->service = seat->service;
    j->seat = seat_ref(seat);
    j->refs = 1;
    j->who = *who;
    j->created_us = clock_wall_us();
    j->object = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    (void)snprintf(j->request, sizeof j->request, "%s", request_id);
    (void)pthread_mutex_init(&j->lock, NULL); /* none of these can fail in glibc */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&j->changed, &attr);
    (void)pthread_condattr_destroy(&attr);
    return j;
}

static void enter(struct job *j)
{
    struct service *s = j->service;
    pthread_mutex_lock(&s->lock);
    j->next = s->jobs[table_slot(j->id)];
    s->jobs[table_slot(j->id)] = j;
    s->info.jobs++;
    pthread_mutex_unlock(&s->lock);
}

int job_new(struct seat *seat, const struct who *who, const struct job_wishes *wishes,
            const char *request_id, struct job **ret, struct err *e)
{
    uint32_t wall_max_ms = seat->service->o.limits_max.wall_ms;
    if (seat->service->is_stopping)
        return err_set(e, ERR_OVERLOADED, "the server is stopping");
    if (may_use(seat, who, e) || check_env(wishes, e))
        return -1;
    if (wishes->wall_ms > wall_max_ms)
        return err_set(e, ERR_INVALID, "timeout_s: at most %g here", wall_max_ms / 1000.0);
    struct job *j = make_job(seat, who, request_id);
    if (!j)
        return err_set(e, ERR_NO_MEMORY, "take a run");
    if (id_make("run_", j->id, e) || copy_wishes(j, wishes, e) ||
        turn_take(&seat->turn, &j->place, !wishes->is_impatient, e)) {
        job_free(j);
        return -1;
    }
    /* Its code and whose it is are known before it may run. */
    const struct run_row row = job_row(j, RUN_QUEUED);
    if (meta_run_insert(j->service->o.meta, &row, META_SOON, e)) {
        turn_leave(&seat->turn, &j->place);
        job_free(j);
        return -1;
    }
    enter(j);
    *ret = j;
    return 0;
}

/* ---- holding ---- */

struct job *job_ref(struct job *j)
{
    pthread_mutex_lock(&j->service->lock);
    j->refs++;
    pthread_mutex_unlock(&j->service->lock);
    return j;
}

void job_unref(struct job *j)
{
    if (!j)
        return;
    struct service *s = j->service;
    pthread_mutex_lock(&s->lock);
    bool is_last = --j->refs == 0;
    if (is_last) {
        struct job **at = &s->jobs[table_slot(j->id)];
        while (*at != j)
            at = &(*at)->next;
        *at = j->next;
        s->info.jobs--;
    }
    pthread_mutex_unlock(&s->lock);
    if (is_last)
        job_free(j);
}

const char *job_id(const struct job *j)
{
    return j->id;
}

int64_t job_created_us(const struct job *j)
{
    return j->created_us;
}

int job_record(struct job *j, struct err *e)
{
    return meta_settle(j->service->o.meta, e);
}

/* The oldest that lingers, out of the list; NULL if none is due. */
static struct job *take_due(struct service *s, int64_t now_us)
{
    pthread_mutex_lock(&s->lock);
    struct job *j = s->linger_first;
    if (j && (j->linger_until_us <= now_us || s->linger_count > LINGER_MAX ||
              s->linger_bytes > LINGER_BYTES_MAX)) {
        s->linger_first = j->linger_next;
        if (!s->linger_first)
            s->linger_last = NULL;
        s->linger_count--;
        s->linger_bytes -= j->linger_bytes;
    } else {
        j = NULL;
    }
    pthread_mutex_unlock(&s->lock);
    return j;
}

void jobs_forget(struct service *s, int64_t now_us)
{
    for (struct job *j; (j = take_due(s, now_us));)
        job_unref(j);
}

void job_linger(struct job *j)
{
    struct service *s = j->service;
    pthread_mutex_lock(&j->lock);
    size_t bytes = j->journal.bytes + j->object.len + j->code_len;
    pthread_mutex_unlock(&j->lock);
    pthread_mutex_lock(&s->lock);
    j->refs++;
    j->linger_bytes = bytes;
    s->linger_bytes += bytes;
    j->linger_next = NULL;
    j->linger_until_us = clock_us() + LINGER_US;
    if (s->linger_last)
        s->linger_last->linger_next = j;
    else
        s->linger_first = j;
    s->linger_last = j;
    s->linger_count++;
    pthread_mutex_unlock(&s->lock);
    jobs_forget(s, 0);
}

struct job *job_get(struct service *s, const char *id)
{
    pthread_mutex_lock(&s->lock);
    struct job *j = s->jobs[table_slot(id)];
    while (j && strcmp(j->id, id) != 0)
        j = j->next;
    if (j)
        j->refs++;
    pthread_mutex_unlock(&s->lock);
    return j;
}

struct job **jobs_list(struct service *s, const struct seat *seat, size_t *ret_count)
{
    size_t count = 0;
    pthread_mutex_lock(&s->lock);
    struct job **list = calloc(s->info.jobs + 1, sizeof(void *));
    for (size_t i = 0; list && i < TABLE_SIZE; i++)
        for (struct job *j = s->jobs[i]; j; j = j->next)
            if (!seat || j->seat == seat) {
                j->refs++;
                list[count++] = j;
            }
    pthread_mutex_unlock(&s->lock);
    *ret_count = count;
    return list;
}

static int not_found(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no run %.64s", id);
}

int job_find(struct service *s, const struct who *who, const char *id, struct job **ret,
             struct err *e)
{
    struct job *j = job_get(s, id);
    bool is_theirs = false;
    int failed =
        j ? may_see_run(s, who, j->who.principal, j->seat->id, j->seat->workspace, &is_theirs, e)
          : 0;
    if (failed || !is_theirs) {
        job_unref(j);
        return failed ? -1 : not_found(id, e);
    }
    *ret = j;
    return 0;
}

/* ---- from the store ---- */

/* A run that was interrupted has no object: what is known of it is its row. */
static void put_row(struct service *s, const struct run_row *row, struct buf *out)
{
    struct run_card card = {.id = row->id,
                            .session_id = row->session,
                            .workspace_id = row->workspace,
                            .tier = s->o.tier,
                            .language = row->language,
                            .name = row->name,
                            .created_us = row->created_us,
                            .code = row->code ? row->code : "",
                            .code_len = row->code ? row->code_len : 0};
    struct job *j = job_get(s, row->id);
    if (j) {
        job_object(j, out);
        job_unref(j);
    } else if (row->object) {
        buf_add(out, row->object, row->object_len);
    } else {
        struct json_writer w = JSON_WRITER(out);
        object_lost_run(&w, &card, row->started_us, row->hint ? row->hint : "");
    }
    object_undone(out, row->undone_us);
}

/* One in memory: what happened to it since its end is in its row. */
static int put_job(struct service *s, struct job *j, struct buf *out, struct err *e)
{
    struct run_row row;
    job_object(j, out);
    if (meta_run_code(s->o.meta, j->id, /* code_max= */ 0, &row, e) == 0) {
        object_undone(out, row.undone_us);
        run_row_done(&row);
        return 0;
    }
    if (e->code != ERR_NOT_FOUND)
        return -1;
    *e = (struct err){0}; /* it will be written in a moment */
    return 0;
}

/* What was posted a moment ago may not be readable yet. */
static int get_row(struct service *s, const char *id, struct run_row *ret, struct err *e)
{
    if (meta_run_get(s->o.meta, id, ret, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND || meta_settle(s->o.meta, e))
        return -1;
    return meta_run_get(s->o.meta, id, ret, e);
}

int job_show(struct service *s, const struct who *who, const char *id, struct buf *out,
             struct err *e)
{
    struct job *j = NULL;
    struct run_row row;
    if (job_find(s, who, id, &j, e) == 0) {
        int failed = put_job(s, j, out, e);
        job_unref(j);
        return failed;
    }
    if (get_row(s, id, &row, e))
        return e->code == ERR_NOT_FOUND ? not_found(id, e) : -1;
    bool is_theirs;
    int failed = may_see_run(s, who, row.principal, row.session, row.workspace, &is_theirs, e);
    if (!failed && !is_theirs)
        failed = not_found(id, e);
    if (!failed)
        put_row(s, &row, out);
    run_row_done(&row);
    return failed;
}

static int parse_status(const char *text, struct run_filter *wanted, struct err *e)
{
    static const char *const names[] = {"queued", "running", "done"};
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            wanted->has_status = true;
            wanted->status = (enum run_status)i;
            if (wanted->status == RUN_RUNNING)
                wanted->status = RUN_QUEUED; /* what is not done is told apart in memory only */
            return 0;
        }
    return text ? err_set(e, ERR_INVALID, "status: queued, running or done") : 0;
}

/* Whether runs of others are listed, too: all of a workspace, or of a session, to whom they concern. */
static int sees_all(struct service *s, const struct who *who, const struct job_filter *filter,
                    bool *ret, struct err *e)
{
    struct session_row row;
    *ret = who->is_admin;
    if (*ret)
        return 0;
    if (filter->workspace)
        return may_oversee(s, who, filter->workspace, ret, e);
    if (!filter->session)
        return 0;
    if (meta_session_get(s->o.meta, filter->session, &row, e)) {
        bool is_gone = e->code == ERR_NOT_FOUND;
        if (is_gone)
            *e = (struct err){0};
        return is_gone ? 0 : -1;
    }
    int failed = may_see(s, who, row.principal, row.workspace, ret, e);
    session_row_done(&row);
    return failed;
}

int job_list(struct service *s, const struct who *who, const struct job_filter *filter,
             const struct page *page, struct buf *out, struct err *e)
{
    struct run_rows rows;
    bool is_all;
    if (sees_all(s, who, filter, &is_all, e))
        return -1;
    struct run_filter wanted = {.principal = is_all ? NULL : who->principal,
                                .session = filter->session,
                                .workspace = filter->workspace,
                                .end = filter->end};
    if (parse_status(filter->status, &wanted, e) || meta_settle(s->o.meta, e) ||
        meta_run_list(s->o.meta, &wanted, page, &rows, e))
        return -1;
    buf_str(out, "{\"data\":[");
    for (size_t i = 0; i < rows.count; i++) {
        if (i > 0)
            buf_str(out, ",");
        put_row(s, &rows.items[i], out);
    }
    buf_fmt(out, "],\"has_more\":%s,\"next_cursor\":", rows.has_more ? "true" : "false");
    if (rows.has_more)
        buf_fmt(out, "\"%s\"}", rows.next);
    else
        buf_str(out, "null}");
    run_rows_done(&rows);
    return 0;
}
