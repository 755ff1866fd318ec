/* seats.c -- which sessions there are: made, found, loaded, let go. */
#include <assert.h>
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
#include "service/may.h"
#include "service/options.h"
#include "service/service_int.h"
#include "session/session.h"
#include "session/zone.h"
#include "store/meta.h"
#include "store/meta_lineage.h"
#include "workspace/files.h"
#include "workspace/rates.h"

uint32_t table_slot(const char *id)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *id; id++)
        h = (h ^ (uint8_t)*id) * 16777619u;
    return h % TABLE_SIZE;
}

/* With service->lock held. */
static struct seat *look_up(struct service *s, const char *id)
{
    struct seat *at = s->seats[table_slot(id)];
    while (at && strcmp(at->id, id) != 0)
        at = at->next;
    return at;
}

struct seat *seat_get(struct service *s, const char *id)
{
    pthread_mutex_lock(&s->lock);
    struct seat *at = look_up(s, id);
    if (at)
        at->refs++;
    pthread_mutex_unlock(&s->lock);
    return at;
}

struct seat *seat_ref(struct seat *seat)
{
    pthread_mutex_lock(&seat->service->lock);
    seat->refs++;
    pthread_mutex_unlock(&seat->service->lock);
    return seat;
}

static void free_seat(struct seat *seat)
{
    desk_close(seat->desk);
    session_unref(seat->session);
    turn_done(&seat->turn);
    (void)pthread_mutex_destroy(&seat->lock);
    free(seat->seen);
    free(seat);
}

/* Nothing is lost by forgetting one that sleeps or is closed: the rest is on disk. */
static bool may_be_forgotten(struct seat *seat)
{
    struct session_info info;
    if (seat->is_closed)
        return true;
    session_look(seat->session, &info);
    return info.life == LIFE_ASLEEP;
}

void seat_unref(struct seat *seat)
{
    if (!seat)
        return;
    struct service *s = seat->service;
    pthread_mutex_lock(&s->lock);
    bool is_over = --seat->refs == 0 && may_be_forgotten(seat);
    if (is_over) {
        struct seat **at = &s->seats[table_slot(seat->id)];
        while (*at != seat)
            at = &(*at)->next;
        *at = seat->next;
    }
    pthread_mutex_unlock(&s->lock);
    if (is_over)
        free_seat(seat);
}

const char *seat_id(const struct seat *seat)
{
    return seat->id;
}

const char *seat_workspace(const struct seat *seat)
{
    return seat->workspace;
}

/* A seat for that row, not in the table yet. `is_new`: it has never had a memory. */
static int make_seat(struct service *s, const struct session_row *row, bool is_new,
                     struct seat **ret, struct err *e)
{
    struct seat *seat = calloc(1, sizeof *seat);
    if (!seat)
        return err_set(e, ERR_NO_MEMORY, "load a session");
    seat->service = s;
    seat->refs = 1;
    memcpy(seat->id, row->id, sizeof seat->id);
    memcpy(seat->principal, row->principal, sizeof seat->principal);
    memcpy(seat->workspace, row->workspace, sizeof seat->workspace);
    memcpy(seat->key, row->key, sizeof seat->key);
    memcpy(seat->parent, row->parent, sizeof seat->parent);
    memcpy(seat->parent_run, row->parent_run, sizeof seat->parent_run);
    (void)snprintf(seat->name, sizeof seat->name, "%s", row->name ? row->name : "");
    (void)snprintf(seat->tz, sizeof seat->tz, "%s", row->tz ? row->tz : "");
    struct pen pen;
    options_read(row->options, &seat->limits, &pen);
    if (!*pen.principal)
        memcpy(pen.principal, row->principal, sizeof pen.principal);
    seat->is_blind = pen.is_blind;
    seat->snapshots = row->snapshots;
    seat->idle_s = row->idle_s;
    seat->created_us = row->created_us;
    seat->used_us = row->used_us;
    seat->sleep_at_us = CLOCK_NEVER;
    turn_init(&seat->turn, s->o.queue_max);
    (void)pthread_mutex_init(&seat->lock, NULL);
    struct session_options options = {.limits = seat->limits, .snapshots = seat->snapshots};
    (void)snprintf(options.tz, sizeof options.tz, "%s", seat->tz);
    const struct desk_options desk = {.service = s,
                                      .session = seat->id,
                                      .workspace = seat->workspace,
                                      .pen = pen,
                                      .undo_max = seat->snapshots};
    bool is_lost = !is_new && row->used_us > row->created_us;
    if (desk_open(&desk, &seat->desk, e) ||
        session_place(s->o.engine, seat->id, &options, is_lost, &seat->session, e)) {
        seat->session = NULL;
        free_seat(seat);
        return -1;
    }
    *ret = seat;
    return 0;
}

/* The store may know of runs that what the session woke up in, after a power cut, does not. */
static void tell_gap(struct seat *seat)
{
    uint64_t runs;
    struct err ignored = {0}; /* a store that does not answer says so elsewhere */
    if (meta_session_number(seat->service->o.meta, seat->id, &runs, &ignored) == 0)
        session_has_run(seat->session, runs);
}

/* Into the table; or, if it is there already, that one instead: then this one has touched nothing of the
 * session's on disk. */
static struct seat *enter(struct service *s, struct seat *seat)
{
    struct session_info info;
    session_look(seat->session, &info);
    if (info.life == LIFE_ASLEEP) /* before a run can find it */
        tell_gap(seat);
    desk_hold(seat->desk); /* nobody has it yet; whoever finds it waits until it is complete */
    pthread_mutex_lock(&s->lock);
    struct seat *known = look_up(s, seat->id);
    if (known) {
        known->refs++;
    } else {
        seat->next = s->seats[table_slot(seat->id)];
        s->seats[table_slot(seat->id)] = seat;
    }
    pthread_mutex_unlock(&s->lock);
    if (!known)
        desk_load_undo(seat->desk, info.runs);
    desk_release(seat->desk);
    if (!known)
        return seat;
    free_seat(seat);
    return known;
}

static int not_found(const char *id, struct err *e)
{
    return err_set(e, ERR_NOT_FOUND, "there is no session %.64s", id);
}

/* From its row. */
static int load(struct service *s, const struct who *who, const char *id, struct seat **ret,
                struct err *e)
{
    struct session_row row;
    struct seat *seat;
    if (meta_session_get(s->o.meta, id, &row, e))
        return e->code == ERR_NOT_FOUND ? not_found(id, e) : -1;
    bool is_theirs;
    int failed = may_see(s, who, row.principal, row.workspace, &is_theirs, e);
    if (!failed && !is_theirs)
        failed = not_found(id, e);
    else if (!failed && row.closed_us)
        failed = err_set(e, ERR_NOT_FOUND, "session %.64s was closed (%s); make a new one", id,
                         row.closed_why ? row.closed_why : "");
    else if (!failed)
        failed = make_seat(s, &row, /* is_new= */ false, &seat, e);
    session_row_done(&row);
    if (failed)
        return -1;
    *ret = enter(s, seat);
    return 0;
}

/* The id of the open session that `who` calls by that name. */
static int find_name(struct service *s, const struct who *who, const char *name, char ret[ID_SIZE],
                     struct err *e)
{
    struct session_rows rows;
    const struct session_filter filter = {
        .principal = who->principal, .name = name, .open = OPEN_ONLY};
    const struct page page = {.limit = 1};
    if (meta_session_list(s->o.meta, &filter, &page, &rows, e))
        return -1;
    int failed = rows.count == 0 ? not_found(name, e) : 0;
    if (!failed)
        memcpy(ret, rows.items[0].id, ID_SIZE);
    session_rows_done(&rows);
    return failed;
}

int seat_find(struct service *s, const struct who *who, const char *id_or_name, struct seat **ret,
              struct err *e)
{
    char id[ID_SIZE];
    if (strncmp(id_or_name, "ses_", 4) != 0) {
        if (find_name(s, who, id_or_name, id, e))
            return -1;
        id_or_name = id;
    }
    struct seat *seat = seat_get(s, id_or_name);
    if (!seat)
        return load(s, who, id_or_name, ret, e);
    pthread_mutex_lock(&seat->lock);
    bool is_closed = seat->is_closed, is_theirs = false;
    pthread_mutex_unlock(&seat->lock);
    int failed = may_see(s, who, seat->principal, seat->workspace, &is_theirs, e);
    if (failed || is_closed || !is_theirs) {
        seat_unref(seat);
        return failed ? -1 : not_found(id_or_name, e);
    }
    *ret = seat;
    return 0;
}

/* ---- making one ---- */

int seat_check_name(const char *name, struct err *e)
{
    if (!name)
        return 0;
    size_t len = strlen(name);
    bool is_fine = len > 0 && len <= SEAT_NAME_MAX && utf8_is_valid(name, len) &&
                   strncmp(name, "ses_", 4) != 0;
    for (size_t i = 0; i < len && is_fine; i++)
        is_fine = (unsigned char)name[i] >= ' ' && name[i] != '/' && name[i] != 127;
    return is_fine ? 0
                   : err_set(e, ERR_INVALID,
                             "name: 1 to %d bytes of text, without slashes and control characters, "
                             "not beginning with ses_",
                             SEAT_NAME_MAX);
}

/* How many the caller may have. */
void seat_set_max(struct service *s, const struct who *who, struct session_row *row)
{
    row->principal_max = s->o.seats_max;
    row->key_max = *who->key ? who->limits.sessions : 0;
}

static int choose_workspace(struct service *s, const struct who *who, const char *wanted,
                            char ret[ID_SIZE], struct err *e)
{
    struct workspace_row ws;
    if (files_workspace(s->o.files, who, wanted, RIGHT_WRITE, &ws, e))
        return -1;
    memcpy(ret, ws.id, ID_SIZE);
    workspace_row_done(&ws);
    return 0;
}

static int fill_row(struct service *s, const struct who *who, const struct seat_wishes *wishes,
                    struct buf *options, struct session_row *row, struct err *e)
{
    struct limits limits;
    if (seat_check_name(wishes->name, e) ||
        options_limits(&s->o, &wishes->limits, who->limits.memory_mb, &limits, e) ||
        choose_workspace(s, who, wishes->workspace, row->workspace, e) ||
        id_make("ses_", row->id, e))
        return -1;
    if (wishes->tz && zone_check(wishes->tz, e))
        return err_wrap(e, "tz");
    const struct pen pen = pen_of(who);
    options_write(&limits, &pen, options);
    if (buf_check(options, e))
        return -1;
    memcpy(row->principal, who->principal, ID_SIZE);
    memcpy(row->key, who->key, ID_SIZE);
    row->name = wishes->name;
    row->options = options->bytes;
    row->tz = wishes->tz;
    row->idle_s = wishes->idle_s < 0 ? s->o.idle_s : (uint32_t)wishes->idle_s;
    row->snapshots = wishes->snapshots < 0 ? 0 : (uint32_t)wishes->snapshots;
    row->created_us = row->used_us = clock_wall_us();
    if (!wishes->is_one_shot)
        seat_set_max(s, who, row);
    if (row->snapshots > s->o.snapshots_max)
        return err_set(e, ERR_INVALID, "snapshots: at most %u here", s->o.snapshots_max);
    return 0;
}

static int start_kernel(struct seat *seat, struct err *e)
{
    const struct jail_data *data;
    if (seat_ready(seat, &data, e) || session_wake(seat->session, data, e))
        return -1;
    seat_touch(seat);
    return 0;
}

/* Its kernel; when that fails there was never a session. */
static int start(struct seat *seat, struct err *e)
{
    if (room_enter_now(seat, e))
        return -1;
    int failed = start_kernel(seat, e);
    room_leave(seat);
    return failed;
}

/* What comes with a one-shot is in the workspace before its session begins. */
static int bring_files(struct service *s, const struct who *who, const struct seat_wishes *wishes,
                       const struct session_row *row, struct err *e)
{
    struct author author = {0};
    struct workspace_row ws;
    struct commit *commit = NULL;
    if (wishes->file_count == 0)
        return 0;
    memcpy(author.principal, who->principal, ID_SIZE);
    memcpy(author.key, who->key, ID_SIZE);
    memcpy(author.session, row->id, ID_SIZE);
    if (files_workspace_known(s->o.files, row->workspace, &ws, e))
        return -1;
    int failed = commit_new(s->o.files, &ws, &author, COMMIT_UPLOAD, &commit, e);
    for (size_t i = 0; i < wishes->file_count && !failed; i++) {
        const struct seat_file *f = &wishes->files[i];
        if (commit_put(commit, f->path, &(struct how){0}, f->len, e) ||
            commit_write(commit, f->bytes, f->len, e) || commit_end(commit, e))
            failed = err_wrap(e, "files: %.200s", f->path);
    }
    if (!failed)
        failed = commit_finish(commit, e);
    commit_free(commit);
    workspace_row_done(&ws);
    return failed;
}

int seat_create(struct service *s, const struct who *who, const struct seat_wishes *wishes,
                struct seat **ret, struct err *e)
{
    struct session_row row = {0};
    struct seat *seat = NULL;
    scoped(buf_done) struct buf options = BUF_INIT(4096);
    if (s->is_stopping)
        return err_set(e, ERR_OVERLOADED, "the server is stopping");
    if (files_check_room(s->o.files, ROOM_FOR_RUNS, 0, 0, e) ||
        fill_row(s, who, wishes, &options, &row, e) || bring_files(s, who, wishes, &row, e) ||
        make_seat(s, &row, /* is_new= */ true, &seat, e))
        return -1;
    assert(seat);
    seat->is_one_shot = wishes->is_one_shot;
    enum meta_when when = wishes->is_one_shot ? META_SOON : META_NOW;
    int failed = meta_session_insert(s->o.meta, &row, when, e);
    if (failed && e->code == ERR_LIMIT && seats_make_room(s, who, &row))
        failed = meta_session_insert(s->o.meta, &row, when, e);
    if (failed) {
        if (e->code == ERR_CONFLICT)
            (void)err_set(e, ERR_CONFLICT, "a session called %.100s is open already", row.name);
        desk_remove(seat->desk);
        free_seat(seat);
        return -1;
    }
    seat = enter(s, seat);
    if (start(seat, e)) {
        struct err ignored = {0};
        (void)seat_close(seat, "could not be started", &ignored);
        seat_unref(seat);
        return -1;
    }
    *ret = seat;
    return 0;
}
