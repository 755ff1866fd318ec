/* view.c -- sessions as JSON, from memory or from their rows. */
#include <string.h>

#include "base/err.h"
#include "service/may.h"
#include "service/object.h"
#include "service/options.h"
#include "service/service_int.h"
#include "session/session.h"
#include "store/meta.h"
#include "json/write.h"

/* What is shown of a session, wherever it came from. */
struct view {
    char name_kept[SEAT_NAME_MAX + 1]; /* the name of one in memory may change */
    const char *id, *name, *status, *workspace, *principal, *tz, *parent, *parent_run;
    struct limits limits;
    uint32_t idle_s, snapshots;
    int64_t created_us, used_us, closed_us;
    const char *closed_why;
    struct session_info info;
};

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text && *text ? text : NULL);
}

static void put_number(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

static void put_parent(struct json_writer *w, const struct view *v)
{
    jw_key(w, "parent");
    if (!*v->parent) {
        jw_null(w);
        return;
    }
    jw_object(w);
    put_text(w, "session_id", v->parent);
    put_text(w, "run_id", v->parent_run);
    jw_end_object(w);
}

static void put_view(struct json_writer *w, const struct view *v, uint32_t keep_s)
{
    bool expires = keep_s && !v->closed_us;
    jw_object(w);
    put_text(w, "id", v->id);
    put_text(w, "name", v->name);
    put_text(w, "status", v->status);
    put_text(w, "workspace_id", v->workspace);
    put_text(w, "principal_id", v->principal);
    put_parent(w, v);
    jw_key(w, "limits");
    object_limits(w, &v->limits);
    put_number(w, "idle_s", v->idle_s);
    put_number(w, "snapshots", v->snapshots);
    jw_key(w, "tz");
    jw_text(w, v->tz && *v->tz ? v->tz : "UTC");
    object_time(w, "created_at", v->created_us);
    object_time(w, "last_used_at", v->used_us);
    object_time(w, "expires_at",
                expires ? v->used_us + ((int64_t)v->idle_s + keep_s) * 1000000 : 0);
    object_time(w, "closed_at", v->closed_us);
    if (v->closed_us)
        put_text(w, "closed_why", v->closed_why);
    put_number(w, "memory_bytes", v->info.memory_bytes);
    put_number(w, "sleep_bytes", v->info.sleep_bytes);
    put_number(w, "snapshot_bytes", v->info.snapshot_bytes);
    put_number(w, "runs", v->info.runs);
    put_number(w, "rollback_steps", v->info.oldest ? v->info.runs + 1 - v->info.oldest : 0);
    jw_key(w, "baked");
    jw_bool(w, v->info.is_baked);
    jw_end_object(w);
}

static const char *status_of(enum life life, bool is_running)
{
    if (is_running)
        return "running";
    switch (life) {
    case LIFE_RISING: return "starting";
    case LIFE_BUSY: return "running";
    case LIFE_RESTING:
    case LIFE_ASLEEP: return "asleep";
    case LIFE_GONE: return "closed";
    default: return "idle";
    }
}

static void view_seat(struct seat *seat, struct view *ret)
{
    *ret = (struct view){.id = seat->id,
                         .workspace = seat->workspace,
                         .principal = seat->principal,
                         .tz = seat->tz,
                         .parent = seat->parent,
                         .parent_run = seat->parent_run,
                         .limits = seat->limits,
                         .snapshots = seat->snapshots,
                         .created_us = seat->created_us};
    session_look(seat->session, &ret->info);
    pthread_mutex_lock(&seat->lock);
    memcpy(ret->name_kept, seat->name, sizeof ret->name_kept);
    ret->name = ret->name_kept;
    ret->idle_s = seat->idle_s;
    ret->used_us = seat->used_us;
    ret->closed_us = seat->closed_us;
    ret->closed_why = seat->closed_why;
    ret->status = seat->is_closed ? "closed" : status_of(ret->info.life, seat->running != NULL);
    pthread_mutex_unlock(&seat->lock);
}

const char *seat_status(struct seat *seat)
{
    struct view v;
    view_seat(seat, &v);
    return v.status;
}

void seat_object(struct seat *seat, struct json_writer *w)
{
    struct view v;
    view_seat(seat, &v);
    put_view(w, &v, seat->service->o.keep_s);
}

/* One that is not in memory: it sleeps, or has nothing, or is closed. */
static void view_row(struct service *s, const struct session_row *row, struct view *ret)
{
    struct view v = {.id = row->id,
                     .name = row->name,
                     .status = "closed",
                     .workspace = row->workspace,
                     .principal = row->principal,
                     .tz = row->tz,
                     .parent = row->parent,
                     .parent_run = row->parent_run,
                     .idle_s = row->idle_s,
                     .snapshots = row->snapshots,
                     .created_us = row->created_us,
                     .used_us = row->used_us,
                     .closed_us = row->closed_us,
                     .closed_why = row->closed_why};
    struct pen pen; /* not shown */
    options_read(row->options, &v.limits, &pen);
    if (!row->closed_us)
        v.status = sessions_peek(s->o.engine, row->id, &v.info) ? "asleep" : "idle";
    *ret = v;
}

/* Writes it, unless it is in another status than the one that is wanted (NULL: any). */
static void put_row(struct service *s, const struct session_row *row, const char *status,
                    struct json_writer *w)
{
    struct view v;
    struct seat *seat = row->closed_us ? NULL : seat_get(s, row->id);
    if (seat)
        view_seat(seat, &v);
    else
        view_row(s, row, &v);
    if (!status || strcmp(status, v.status) == 0)
        put_view(w, &v, s->o.keep_s);
    seat_unref(seat);
}

/* The row of a one-shot was posted a moment ago and may not be readable yet. */
static int get_row(struct service *s, const char *id, struct session_row *ret, struct err *e)
{
    if (meta_session_get(s->o.meta, id, ret, e) == 0)
        return 0;
    if (e->code != ERR_NOT_FOUND || meta_settle(s->o.meta, e))
        return -1;
    return meta_session_get(s->o.meta, id, ret, e);
}

int seat_show(struct service *s, const struct who *who, const char *id_or_name,
              struct json_writer *w, struct err *e)
{
    struct session_row row;
    struct seat *seat;
    if (strncmp(id_or_name, "ses_", 4) != 0) {
        if (seat_find(s, who, id_or_name, &seat, e))
            return -1;
        seat_object(seat, w);
        seat_unref(seat);
        return 0;
    }
    if (get_row(s, id_or_name, &row, e))
        return e->code == ERR_NOT_FOUND
                   ? err_set(e, ERR_NOT_FOUND, "there is no session %.64s", id_or_name)
                   : -1;
    bool is_theirs;
    int failed = may_see(s, who, row.principal, row.workspace, &is_theirs, e);
    if (!failed && is_theirs)
        put_row(s, &row, NULL, w);
    else if (!failed)
        failed = err_set(e, ERR_NOT_FOUND, "there is no session %.64s", id_or_name);
    session_row_done(&row);
    return failed;
}

/* Which rows have to be looked at, and which status they must have then. */
static int parse_status(const char *text, int *ret_open, const char **ret_status, struct err *e)
{
    static const char *const live[] = {"starting", "idle", "running", "asleep"};
    *ret_open = OPEN_ONLY;
    *ret_status = NULL;
    if (!text || strcmp(text, "open") == 0)
        return 0;
    if (strcmp(text, "closed") == 0 || strcmp(text, "any") == 0) {
        *ret_open = *text == 'c' ? CLOSED_ONLY : 0;
        return 0;
    }
    for (size_t i = 0; i < sizeof live / sizeof *live; i++)
        if (strcmp(text, live[i]) == 0) {
            *ret_status = live[i];
            return 0;
        }
    return err_set(e, ERR_INVALID, "status: open, starting, idle, running, asleep, closed or any");
}

int seat_list(struct service *s, const struct who *who, const struct seat_filter *filter,
              const struct page *page, struct json_writer *w, struct err *e)
{
    struct session_rows rows;
    bool is_all = who->is_admin; /* the admins of a workspace see all that are in it */
    if (filter->workspace && may_oversee(s, who, filter->workspace, &is_all, e))
        return -1;
    struct session_filter wanted = {.principal = is_all ? NULL : who->principal,
                                    .workspace = filter->workspace,
                                    .name = filter->name,
                                    .open = OPEN_ONLY};
    const char *status;
    if (parse_status(filter->status, &wanted.open, &status, e) || meta_settle(s->o.meta, e) ||
        meta_session_list(s->o.meta, &wanted, page, &rows, e))
        return -1;
    jw_object(w);
    jw_key(w, "data");
    jw_array(w);
    for (size_t i = 0; i < rows.count; i++)
        put_row(s, &rows.items[i], status, w);
    jw_end_array(w);
    jw_key(w, "has_more");
    jw_bool(w, rows.has_more);
    put_text(w, "next_cursor", rows.next);
    jw_end_object(w);
    session_rows_done(&rows);
    return 0;
}
