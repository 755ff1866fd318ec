/* seat.c -- what the user of a session does with it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/scope.h"
#include "service/desk.h"
#include "service/lineage.h"
#include "service/may.h"
#include "service/object.h"
#include "service/options.h"
#include "service/service_int.h"
#include "session/session.h"
#include "store/meta.h"
#include "store/meta_lineage.h"
#include "workspace/files.h"
#include "workspace/locks.h"

void seat_touch(struct seat *seat)
{
    struct err ignored = {0}; /* a store that has stopped says so elsewhere */
    int64_t now_us = clock_wall_us();
    pthread_mutex_lock(&seat->lock);
    seat->used_us = now_us;
    int64_t sleep_at_us =
        seat->is_closed ? CLOCK_NEVER : clock_us() + (int64_t)seat->idle_s * 1000000;
    seat->sleep_at_us = sleep_at_us;
    pthread_mutex_unlock(&seat->lock);
    if (!seat->is_one_shot)
        (void)meta_session_used(seat->service->o.meta, seat->id, now_us, &ignored);
    keeper_wake(seat->service, sleep_at_us);
}

int seat_begin(struct seat *seat, struct seat_use *use, struct err *e)
{
    *use = (struct seat_use){.seat = seat};
    if (turn_take(&seat->turn, &use->place, /* is_patient= */ true, e))
        return -1;
    int failed = turn_await(&seat->turn, &use->place, e);
    pthread_mutex_lock(&seat->lock);
    seat->sleep_at_us = CLOCK_NEVER;
    if (!failed && seat->is_closed)
        failed = err_set(e, ERR_NOT_FOUND, "session %s was closed", seat->id);
    pthread_mutex_unlock(&seat->lock);
    if (failed) {
        turn_leave(&seat->turn, &use->place);
        room_changed(seat->service);
        return -1;
    }
    return 0;
}

void seat_end(struct seat_use *use)
{
    struct service *s = use->seat->service;
    seat_touch(use->seat);
    turn_leave(&use->seat->turn, &use->place);
    room_changed(s);
}

/* Its options as the row has them; with this pen from now on. */
static int write_options(struct seat *seat, const struct pen *pen, struct err *e)
{
    scoped(buf_done) struct buf options = BUF_INIT(4096);
    options_write(&seat->limits, pen, &options);
    if (buf_check(&options, e))
        return -1;
    return meta_session_set_options(seat->service->o.meta, seat->id, options.bytes, e);
}

int seat_hand(struct seat *seat, const struct who *who, const char *run, struct err *e)
{
    struct pen pen = pen_of(who), before = desk_pen(seat->desk);
    pen.is_blind = seat->is_blind;
    if (may_use(seat, who, e) || (!pen_is_same(&pen, &before) && write_options(seat, &pen, e)))
        return -1;
    desk_take(seat->desk, &pen, run);
    return 0;
}

static bool is_awake(struct seat *seat)
{
    struct session_info info;
    session_look(seat->session, &info);
    return life_has_kernel(info.life);
}

/* What others changed is much: it is not copied into a session that can sleep. */
static void move_to_layers(struct seat *seat)
{
    struct err ignored = {0}; /* then it is copied */
    if (desk_wants_layers(seat->desk, seat->session))
        (void)seat_doze(seat, /* must= */ false, &ignored);
}

/* The first jail of all with layers shows whether they can be where the copies lie. */
static int try_layers(struct seat *seat, const struct jail_data **data, struct err *e)
{
    struct service *s = seat->service;
    if (session_wake(seat->session, *data, e) == 0) {
        s->has_layers = true;
        return 0;
    }
    if (e->code != ERR_UNAVAILABLE)
        return -1;
    log_line(s->o.log, LOG_WARNING, "workspaces are copied from now on", LOG_STR("why", e->text));
    *e = (struct err){0};
    return desk_flatten(seat->desk, e) || desk_ready(seat->desk, seat->session, data, e) ? -1 : 0;
}

int seat_ready(struct seat *seat, const struct jail_data **ret, struct err *e)
{
    move_to_layers(seat);
    if (desk_ready(seat->desk, seat->session, ret, e))
        return -1;
    bool is_first = (*ret)->lower_count > 0 && !seat->service->has_layers && !is_awake(seat);
    return is_first ? try_layers(seat, ret, e) : 0;
}

int seat_doze(struct seat *seat, bool must, struct err *e)
{
    struct session_rest rest = {0};
    struct service *s = seat->service;
    bool was_awake = is_awake(seat);
    if (was_awake && !must)
        seat_remember(seat);
    if (session_sleep(seat->session, must ? REST_MUST : REST_POLITE, &rest, e))
        return -1;
    int refused = rest.is_refused;
    if (refused) {
        scoped(buf_done) struct buf why = BUF_INIT(200);
        names_text(&rest.reasons, 150, &why);
        (void)err_set(e, ERR_CONFLICT, "it cannot sleep now: %s", why.bytes ? why.bytes : "");
    } else if (was_awake) {
        pthread_mutex_lock(&s->lock);
        s->info.sleeps++;
        pthread_mutex_unlock(&s->lock);
    }
    session_rest_done(&rest);
    if (!refused && desk_rest(seat->desk, seat->session, e))
        return -1;
    return refused;
}

/* ---- operations ---- */

int seat_sleep(struct seat *seat, struct err *e)
{
    struct seat_use use;
    if (seat_begin(seat, &use, e))
        return -1;
    int failed = seat_doze(seat, /* must= */ false, e);
    seat_end(&use);
    return failed ? -1 : 0;
}

int seat_restart(struct seat *seat, struct err *e)
{
    struct seat_use use;
    jobs_call_off(
        seat, "The session was restarted before this run had ended. Variables are lost; files in "
              "/mnt/data are kept.");
    if (seat_begin(seat, &use, e))
        return -1;
    int failed = session_restart(seat->session, e) ||
                 meta_session_emptied(seat->service->o.meta, seat->id, e) ||
                 desk_rest(seat->desk, seat->session, e);
    seat_end(&use);
    return failed;
}

/* The memory. One of which no copy waits any more wakes from the snapshot's file, so that its files can be put
 * back in every kind of working copy. */
static int go_back(struct seat *seat, uint64_t run, struct err *e)
{
    const struct jail_data *data;
    int failed = room_enter_now(seat, e) || session_rollback(seat->session, run, e);
    if (!failed && !is_awake(seat))
        failed = seat_ready(seat, &data, e) || session_wake(seat->session, data, e);
    room_leave(seat);
    return failed ? -1 : 0;
}

/* Memory goes back first, since that alone can say no, when there is room for the files; then its runs are marked, and nothing that stands on them
 * can be written down any more; then the files, of which every version is kept. A server that is killed on the
 * way finds the session as its last snapshot says. Killed before the mark nothing was undone; after it, the workspace
 * may still have files as the undone runs left them. A mark that could not be written is made up for
 * by the next run (store/meta_lineage.h). */
static int roll_back(struct seat *seat, uint64_t first, uint64_t last, struct err *e)
{
    return desk_check_undo(seat->desk, first, e) || go_back(seat, first, e) ||
                   meta_runs_undo(seat->service->o.meta, seat->id, first, last, clock_wall_us(),
                                  e) ||
                   desk_undo(seat->desk, seat->session, first, e)
               ? -1
               : 0;
}

/* The first to be undone. */
static int find_first(struct seat *seat, uint64_t runs, uint64_t steps, const char *run,
                      uint64_t *ret, struct err *e)
{
    if (run)
        return lineage_number(seat->service, seat->id, run, ret, e);
    if (steps > runs)
        return err_set(e, ERR_NOT_FOUND, "the session has had %llu runs only",
                       (unsigned long long)runs);
    *ret = runs - steps + 1;
    return 0;
}

int seat_rollback(struct seat *seat, const struct who *who, uint64_t steps, const char *run,
                  struct err *e)
{
    struct seat_use use;
    struct session_info info;
    uint64_t first;
    if (may_use(seat, who, e) || seat_begin(seat, &use, e))
        return -1;
    session_look(seat->session, &info);
    int failed = seat_hand(seat, who, "", e) ||
                 find_first(seat, info.runs, steps, run, &first, e) ||
                 roll_back(seat, first, info.runs, e);
    seat_end(&use);
    return failed ? -1 : 0;
}

int seat_refresh(struct seat *seat, const struct who *who, struct err *e)
{
    struct seat_use use;
    if (may_use(seat, who, e) || seat_begin(seat, &use, e))
        return -1;
    move_to_layers(seat);
    int failed = desk_refresh(seat->desk, seat->session, e);
    seat_end(&use);
    return failed;
}

void seat_interrupt(struct seat *seat)
{
    struct service *s = seat->service;
    pthread_mutex_lock(&s->lock); /* first, as always: references are counted under it */
    pthread_mutex_lock(&seat->lock);
    struct job *running = seat->running;
    if (running)
        running->refs++;
    pthread_mutex_unlock(&seat->lock);
    pthread_mutex_unlock(&s->lock);
    if (running)
        job_cancel(running);
    job_unref(running);
}

static int write_row(struct seat *seat, const char *name, uint32_t idle_s, struct err *e)
{
    struct session_row row = {.name = *name ? name : NULL,
                              .tz = seat->tz,
                              .idle_s = idle_s,
                              .snapshots = seat->snapshots};
    scoped(buf_done) struct buf options = BUF_INIT(4096);
    const struct pen pen = desk_pen(seat->desk);
    options_write(&seat->limits, &pen, &options);
    if (buf_check(&options, e))
        return -1;
    memcpy(row.id, seat->id, sizeof row.id);
    row.options = options.bytes;
    return meta_session_update(seat->service->o.meta, &row, e);
}

int seat_change(struct seat *seat, const struct seat_changes *changes, struct err *e)
{
    char name[SEAT_NAME_MAX + 1];
    pthread_mutex_lock(&seat->lock);
    (void)snprintf(name, sizeof name, "%s", changes->name ? changes->name : seat->name);
    uint32_t idle_s = changes->idle_s < 0 ? seat->idle_s : (uint32_t)changes->idle_s;
    pthread_mutex_unlock(&seat->lock);
    if ((changes->name && seat_check_name(changes->name, e)) || write_row(seat, name, idle_s, e))
        return -1;
    pthread_mutex_lock(&seat->lock);
    memcpy(seat->name, name, sizeof seat->name);
    seat->idle_s = idle_s;
    pthread_mutex_unlock(&seat->lock);
    seat_touch(seat);
    return 0;
}

/* False: it was closed before. */
static bool mark_closed(struct seat *seat, const char *why)
{
    pthread_mutex_lock(&seat->lock);
    bool was_closed = seat->is_closed;
    seat->is_closed = true;
    if (!was_closed) {
        seat->closed_us = clock_wall_us();
        seat->closed_why = why;
    }
    seat->sleep_at_us = CLOCK_NEVER;
    pthread_mutex_unlock(&seat->lock);
    return !was_closed;
}

static void mark_open(struct seat *seat)
{
    pthread_mutex_lock(&seat->lock);
    seat->is_closed = seat->is_closing = false;
    pthread_mutex_unlock(&seat->lock);
}

/* Its files are kept when nobody writes to them any more, and before its row says that it is
 * closed: what is in the directory of a closed session is swept at the next start. What finds no
 * room on a full disk goes with the session: closing is what makes room, and its runs have said
 * that it was not saved. */
static int end_copy(struct seat *seat, struct err *e)
{
    if (desk_rest(seat->desk, seat->session, e)) {
        if (e->code != ERR_NO_SPACE)
            return -1;
        *e = (struct err){0};
    }
    if (desk_has_unsaved(seat->desk))
        log_line(seat->service->o.log, LOG_WARNING,
                 "a session is closed with files that could not be kept",
                 LOG_STR("session", seat->id));
    return 0;
}

/* Whether the database takes anything now. One that would not, on a full disk or a failed one, must not
 * cost the session its variables. */
static int try_to_write(struct seat *seat, struct err *e)
{
    const struct pen pen = desk_pen(seat->desk);
    return write_options(seat, &pen, e);
}

/* Ends the session itself; its turn is taken. On failure it can be closed again. */
static int end_session(struct seat *seat, const char *why, struct err *e)
{
    struct service *s = seat->service;
    bool waits = !seat->is_one_shot || strcmp(why, "deleted") == 0; /* until that is durable */
    if (!mark_closed(seat, why))
        return err_set(e, ERR_NOT_FOUND, "session %s was closed", seat->id);
    if (waits && try_to_write(seat, e)) {
        mark_open(seat);
        return -1;
    }
    int failed = session_delete(seat->session, e);
    if (failed && e->code == ERR_NOT_FOUND) /* somebody got as far as this before */
        failed = 0;
    if (failed || end_copy(seat, e) ||
        meta_session_close(s->o.meta, seat->id, clock_wall_us(), why, waits ? META_NOW : META_SOON,
                           e)) {
        mark_open(seat);
        return -1;
    }
    locks_wake(s->o.files); /* those of the session ended with it */
    desk_remove(seat->desk);
    return 0;
}

int seat_close(struct seat *seat, const char *why, struct err *e)
{
    struct turn_place place;
    pthread_mutex_lock(&seat->lock);
    seat->is_closing = true;
    pthread_mutex_unlock(&seat->lock);
    jobs_call_off(
        seat,
        "The session was closed before this run had ended. Its variables are gone; its files are in the "
        "workspace.");
    turn_insist(&seat->turn, &place);
    int failed = turn_await(&seat->turn, &place, e) || end_session(seat, why, e);
    turn_leave(&seat->turn, &place);
    room_changed(seat->service);
    return failed ? -1 : 0;
}

/* ---- branching ---- */

static int adopt_branch(struct seat *seat, const struct who *who, const char *name,
                        struct session *branch, struct desk *desk, struct seat **ret, struct err *e)
{
    struct session_row row = {.name = name, .tz = seat->tz, .snapshots = seat->snapshots};
    scoped(buf_done) struct buf options = BUF_INIT(4096);
    const struct pen pen = desk_pen(desk);
    options_write(&seat->limits, &pen, &options);
    if (buf_check(&options, e))
        return -1;
    (void)snprintf(row.id, sizeof row.id, "%s", session_id(branch));
    memcpy(row.principal, who->principal, sizeof row.principal);
    memcpy(row.workspace, seat->workspace, sizeof row.workspace);
    memcpy(row.key, who->key, sizeof row.key);
    memcpy(row.parent, seat->id, sizeof row.parent);
    row.options = options.bytes;
    row.idle_s = seat->idle_s;
    row.created_us = clock_wall_us();
    row.used_us = row.created_us + 1; /* it has a memory */
    seat_set_max(seat->service, who, &row);
    if (meta_session_insert(seat->service->o.meta, &row, META_NOW, e)) {
        if (e->code == ERR_CONFLICT)
            (void)err_set(e, ERR_CONFLICT, "a session called %.100s is open already",
                          name ? name : "so");
        return -1;
    }
    return desk_branched(seat->desk, desk, e) || seat_find(seat->service, who, row.id, ret, e) ? -1
                                                                                               : 0;
}

/* The branch's desk has a name before the branch has: it is given its own afterwards. */
static int branch(struct seat *seat, const struct who *who, const char *name, struct seat **ret,
                  struct err *e)
{
    struct service *s = seat->service;
    struct session *made = NULL;
    struct desk *desk = NULL;
    const struct jail_data *data;
    char draft[ID_SIZE];
    struct desk_options options = {.service = s,
                                   .session = draft,
                                   .workspace = seat->workspace,
                                   .pen = pen_of(who),
                                   .undo_max = seat->snapshots};
    options.pen.is_blind = seat->is_blind;
    if (id_make("new_", draft, e) || desk_open(&options, &desk, e))
        return -1;
    int failed = desk_branch(seat->desk, desk, seat->limits.disk_bytes * 2, &data, e) ||
                 session_fork(seat->session, data, &made, e) ||
                 desk_rename(desk, session_id(made), e) ||
                 adopt_branch(seat, who, name, made, desk, ret, e);
    if (failed) {
        struct err ignored = {0};
        if (made)
            (void)session_delete(made, &ignored);
        desk_remove(desk);
        desk_close(desk);
    } else { /* this one holds the layers that the branch has mounted */
        desk_close((*ret)->desk);
        (*ret)->desk = desk;
    }
    session_unref(made);
    return failed ? -1 : 0;
}

int seat_fork(struct seat *seat, const struct who *who, const char *name, struct seat **ret,
              struct err *e)
{
    struct seat_use use;
    if ((name && seat_check_name(name, e)) || may_use(seat, who, e) || seat_begin(seat, &use, e))
        return -1;
    int failed = branch(seat, who, name, ret, e);
    seat_end(&use);
    if (!failed)
        seat_touch(*ret);
    return failed;
}
