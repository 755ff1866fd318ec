/* undo.c -- the snapshots of a session: what it was before each of its last runs.
 *
 * Theory of operation. A snapshot has two forms. The **copy** is a process that waits in the kernel's jail
 * (twin.h): going back to it takes a fraction of a millisecond, and it ends with the jail. The **file** is
 * the same memory written down beside the sleepers (sleeper.h): going back to it takes as long as waking,
 * and it survives sleep, the end of the kernel by memory or otherwise, and the end of this process. Both
 * are made after a run, when nobody waits for its answer; the file is not synced then, because what it has
 * to survive every few seconds are processes, not power cuts. Falling asleep syncs it.
 *
 * Of a session that woke, the file it slept in becomes the snapshot of before the next run, so waking
 * writes nothing.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/kernel.h"
#include "session/rest.h"
#include "session/session_int.h"
#include "session/sleeper.h"

static bool has_twin(const struct undo *u)
{
    return u->twin.control >= 0;
}

/* The oldest run that may still be undone after so many. */
static uint64_t oldest_possible(uint64_t runs, uint32_t snapshots)
{
    return runs > snapshots ? runs + 1 - snapshots : 1;
}

/* By index; with what belongs to it. */
static void forget_one(struct session *s, size_t index)
{
    struct undo gone = s->undo[index];
    pthread_mutex_lock(&s->lock);
    s->undo_count--;
    memmove(s->undo + index, s->undo + index + 1, (s->undo_count - index) * sizeof *s->undo);
    pthread_mutex_unlock(&s->lock);
    twin_done(&gone.twin);
    if (gone.bytes > 0)
        sleeper_remove_snapshot(s->all->dir_fd, s->id, gone.before);
}

/* The newest goes last: while it is there, whoever finds the files finds what the session was until now; then,
 * what it goes back to. */
void undo_forget(struct session *s, size_t from)
{
    while (s->undo_count > from)
        forget_one(s, from);
}

/* It has no file any more, and is forgotten if it was nothing else. */
static void drop_file(struct session *s, size_t index)
{
    pthread_mutex_lock(&s->lock);
    s->undo[index].bytes = 0;
    pthread_mutex_unlock(&s->lock);
    sleeper_remove_snapshot(s->all->dir_fd, s->id, s->undo[index].before);
    if (!has_twin(&s->undo[index]))
        forget_one(s, index);
}

/* Whatever there is, also what could not be read, or stands for runs that were undone. */
void undo_remove(struct session *s)
{
    struct dir d;
    char id[ID_SIZE];
    uint64_t before;
    undo_forget(s, 0);
    int fd = s->snapshots > 0 ? below_open_dir(s->all->dir_fd, ".") : -ENOENT;
    if (fd < 0)
        return;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));)
        if (sleeper_is_snapshot(entry->d_name, id, &before) && strcmp(id, s->id) == 0)
            sleeper_remove_snapshot(s->all->dir_fd, id, before);
    dir_done(&d);
}

void undo_end_twins(struct session *s)
{
    s->undo_made = 0;
    for (size_t i = s->undo_count; i-- > 0;) {
        twin_done(&s->undo[i].twin);
        if (s->undo[i].bytes == 0)
            forget_one(s, i);
    }
}

/* Where the snapshot of before that run is; undo_count if there is none. */
static size_t find(const struct session *s, uint64_t run)
{
    size_t i = 0;
    while (i < s->undo_count && s->undo[i].before != run)
        i++;
    return i;
}

/* The same, added as the newest where there is none; those that are too old by now give way. */
static size_t find_or_add(struct session *s, uint64_t run)
{
    size_t at = find(s, run);
    if (at < s->undo_count)
        return at;
    while (s->undo_count > 0 && s->undo[0].before < oldest_possible(s->runs, s->snapshots))
        forget_one(s, 0);
    pthread_mutex_lock(&s->lock);
    at = s->undo_count++;
    s->undo[at] = (struct undo){.before = run, .twin = TWIN_NONE};
    pthread_mutex_unlock(&s->lock);
    return at;
}

static void add_file(struct session *s, uint64_t run, uint64_t bytes, bool needs_sync)
{
    size_t at = find_or_add(s, run);
    pthread_mutex_lock(&s->lock);
    s->undo[at].bytes = bytes;
    s->undo[at].needs_sync = needs_sync;
    pthread_mutex_unlock(&s->lock);
}

/* The oldest give way when all files together are too large. */
static void bound(struct session *s)
{
    uint64_t total = 0;
    for (size_t i = s->undo_count; i-- > 0;) {
        total += s->undo[i].bytes;
        if (s->undo[i].bytes > 0 && total > SNAPSHOT_BYTES_MAX)
            drop_file(s, i);
    }
}

static void note_refusal(struct session *s, const struct names *reasons)
{
    scoped(buf_done) struct buf text = BUF_INIT(UNDO_WHY_SIZE);
    names_text(reasons, UNDO_WHY_SIZE - 2, &text);
    (void)snprintf(s->undo_why, sizeof s->undo_why, "%s", text.bytes ? text.bytes : "");
}

/* ---- making them ---- */

static int copy_kernel(struct session *s, struct twin *ret, struct err *e)
{
    struct rest_report report = {0};
    if (kernel_copy(s->kernel, ret, &report, e))
        return -1;
    if (report.is_refused)
        note_refusal(s, &report.reasons);
    rest_report_done(&report);
    return 0;
}

/* *ret_bytes stays 0 where there is none. */
static int write_file(struct session *s, uint64_t *ret_bytes, struct err *e)
{
    scoped(sleeper_abandon) struct sleeper_draft draft = SLEEPER_DRAFT_NONE;
    scoped(sleeper_done) struct sleeper head = {0};
    scoped(rest_report_done) struct rest_report report = {0};
    if (session_make_head(s, SLEEPER_DELTA, &head, e) ||
        sleeper_begin(s->all->dir_fd, &head, &draft, e) ||
        kernel_sleep(s->kernel, SLEEP_STAYS, draft.fd, &report, e))
        return -1;
    if (report.is_refused) {
        note_refusal(s, &report.reasons);
        return 0;
    }
    session_seal_head(&head, &report);
    if (report.len > SNAPSHOT_BYTES_MAX) {
        s->undo_large = s->memory_bytes;
        (void)snprintf(s->undo_why, sizeof s->undo_why, "it holds too much to be kept on disk");
        return 0;
    }
    return sleeper_commit_snapshot(&draft, &head, ret_bytes, e);
}

/* Whether it is worth the attempt: it can be written down, and is not known to be too large. */
static bool can_write(const struct session *s)
{
    return s->image[0] && s->memory_bytes <= SNAPSHOT_MEMORY_MAX &&
           (s->undo_large == 0 || s->memory_bytes < s->undo_large);
}

void undo_take(struct session *s)
{
    struct err e = {0};
    uint64_t before = s->runs + 1, bytes = 0;
    struct twin twin = TWIN_NONE;
    if (s->snapshots == 0 || s->life != LIFE_IDLE || !kernel_is_alive(s->kernel))
        return;
    size_t at = find(s, before);
    bool is_there = at < s->undo_count;
    bool needs_twin = !is_there || !has_twin(&s->undo[at]);
    bool needs_file = (!is_there || s->undo[at].bytes == 0) && can_write(s);
    if (s->undo_made == before || (!needs_twin && !needs_file))
        return;
    if (needs_file && session_is_disk_full(s)) {
        needs_file = false;
        (void)snprintf(s->undo_why, sizeof s->undo_why, "the disk of the server is full");
    }
    if (!s->image[0])
        (void)snprintf(s->undo_why, sizeof s->undo_why, "it was started without an image");
    session_step(s, LIFE_BEGIN);
    /* The file first: after a fork every page that writing itself down touches would be copied. */
    int failed = needs_file ? write_file(s, &bytes, &e) : 0;
    if (bytes > 0) /* from now on: it goes on from there, should the copy kill it */
        add_file(s, before, bytes, /* needs_sync= */ true);
    if (needs_twin && kernel_is_alive(s->kernel) && copy_kernel(s, &twin, &e))
        failed = -1;
    if (!kernel_is_alive(s->kernel)) {
        twin_done(&twin);
        session_lose(s, "The session's kernel died while it was copied for a snapshot");
        return;
    }
    session_step(s, LIFE_END);
    if (failed && e.code == ERR_NO_SPACE)
        (void)snprintf(s->undo_why, sizeof s->undo_why, "the disk of the server is full");
    if (twin.control < 0 && bytes == 0)
        return;
    s->undo_made = before; /* what was refused now is not asked for again */
    if (twin.control >= 0) {
        at = find_or_add(s, before);
        pthread_mutex_lock(&s->lock);
        s->undo[at].twin = twin;
        pthread_mutex_unlock(&s->lock);
    }
    bound(s);
}

/* Its file is what that snapshot was, and no kernel is there. */
static void become_asleep(struct session *s, size_t at, const struct sleeper *head, uint64_t size)
{
    pthread_mutex_lock(&s->lock);
    s->undo[at].bytes = 0; /* its name is gone */
    pthread_mutex_unlock(&s->lock);
    undo_forget(s, at);
    session_step(s, LIFE_BACK);
    pthread_mutex_lock(&s->lock);
    s->runs = head->runs;
    s->generation = head->generation;
    s->sleep_bytes = size;
    pthread_mutex_unlock(&s->lock);
    s->needs_sync = true; /* those that are forgotten must not come back */
    s->owes_loss = false; /* what was lost is there again */
    s->note[0] = '\0';
}

void undo_begin(struct session *s)
{
    size_t at = find(s, s->runs + 1);
    if (at < s->undo_count && s->undo[at].bytes > 0)
        sleeper_mark_snapshot(s->all->dir_fd, s->id, s->runs + 1, /* has_begun= */ true);
}

/* ---- sleep ---- */

void undo_sync(struct session *s)
{
    struct err ignored = {0};
    for (size_t i = s->undo_count; i-- > 0;) {
        struct undo *u = &s->undo[i];
        if (u->bytes == 0 || !u->needs_sync)
            continue;
        if (sleeper_sync_snapshot(s->all->dir_fd, s->id, u->before, &ignored))
            drop_file(s, i);
        else
            u->needs_sync = false;
    }
}

void undo_slept(struct session *s)
{
    size_t at = find(s, s->runs + 1);
    if (at < s->undo_count)
        forget_one(s, at);
}

bool undo_woke(struct session *s, uint64_t bytes)
{
    if (s->snapshots == 0 || bytes > SNAPSHOT_BYTES_MAX ||
        !sleeper_to_snapshot(s->all->dir_fd, s->id, s->runs + 1))
        return false;
    add_file(s, s->runs + 1, bytes, /* needs_sync= */ false); /* it was synced when it was made */
    bound(s);
    return true;
}

/* ---- finding them again ---- */

/* The file of before that run, if it is there and says so itself. */
static void load_one(struct session *s, uint64_t before, bool *ret_is_past)
{
    struct sleeper head = {0};
    struct err why = {0};
    uint64_t bytes = 0;
    if (s->undo_count >= JAIL_COPIES_MAX)
        return;
    if (sleeper_look_snapshot(s->all->dir_fd, s->id, before, &head, &bytes, &why)) {
        if (why.code == ERR_DAMAGED)
            sleeper_set_snapshot_aside(s->all->dir_fd, s->id, before);
        return;
    }
    *ret_is_past = head.is_past;
    sleeper_done(&head);
    s->undo[s->undo_count++] =
        (struct undo){.before = before, .twin = TWIN_NONE, .bytes = bytes, .needs_sync = true};
}

void undo_load(struct session *s)
{
    bool ignored;
    for (uint64_t before = oldest_possible(s->runs, s->snapshots);
         s->snapshots > 0 && before <= s->runs; before++)
        load_one(s, before, &ignored);
}

void undo_tidy(struct session *s)
{
    scoped(sleeper_done) struct sleeper head = {0};
    struct err ignored = {0}; /* then it says nothing about them */
    uint64_t size;
    if (s->snapshots == 0 || sleeper_look(s->all->dir_fd, s->id, &head, &size, &ignored))
        return;
    /* The oldest and the newest are never further apart. */
    for (uint64_t before = head.runs + 2; before <= head.runs + 1 + s->snapshots; before++)
        sleeper_remove_snapshot(s->all->dir_fd, s->id, before);
}

/* The number of the newest snapshot that has a file; 0: there is none. */
static uint64_t find_newest(struct session *s)
{
    struct dir d;
    uint64_t newest = 0, before;
    char id[ID_SIZE];
    int fd = below_open_dir(s->all->dir_fd, ".");
    if (fd < 0)
        return 0;
    dir_init(&d, fd);
    for (const struct dirent64 *entry; (entry = dir_next(&d));)
        if (sleeper_is_snapshot(entry->d_name, id, &before) && strcmp(id, s->id) == 0 &&
            before > newest)
            newest = before;
    dir_done(&d);
    return newest;
}

void undo_find(struct session *s)
{
    bool is_past = false;
    uint64_t newest = s->snapshots > 0 ? find_newest(s) : 0;
    if (newest == 0)
        return;
    for (uint64_t before = oldest_possible(newest, s->snapshots); before <= newest; before++)
        load_one(s, before, &is_past);
    s->runs = is_past ? newest : newest - 1;
}

bool undo_resume(struct session *s)
{
    scoped(sleeper_done) struct sleeper head = {0};
    struct err why = {0};
    uint64_t run = s->runs + 1, size;
    size_t at = find(s, run);
    if (at == s->undo_count || s->undo[at].bytes == 0)
        return false;
    if (sleeper_from_snapshot(s->all->dir_fd, s->id, run, &head, &size, &why)) {
        session_tell_damage(s, &why);
        sleeper_set_snapshot_aside(s->all->dir_fd, s->id, run);
        forget_one(s, at);
        return false;
    }
    become_asleep(s, at, &head, size);
    return true;
}

void undo_peek(struct sessions *all, const char *id, struct session_info *info)
{
    for (uint64_t before = oldest_possible(info->runs, info->snapshots);
         info->snapshots > 0 && before <= info->runs; before++) {
        struct sleeper head = {0};
        struct err ignored = {0};
        uint64_t bytes;
        if (sleeper_look_snapshot(all->dir_fd, id, before, &head, &bytes, &ignored))
            continue;
        sleeper_done(&head);
        info->oldest = info->oldest ? info->oldest : before;
        info->snapshot_bytes += bytes;
    }
}

uint64_t undo_steps(const struct session *s, uint64_t until)
{
    for (size_t i = s->undo_count; i-- > 0;)
        if (s->undo[i].before <= until && s->undo[i].bytes > 0)
            return s->runs + 1 - s->undo[i].before;
    return 0;
}

/* ---- going back ---- */

static int no_snapshot(const struct session *s, uint64_t run, struct err *e)
{
    const char *why = *s->undo_why ? s->undo_why : NULL;
    if (s->snapshots == 0)
        return err_set(e, ERR_NOT_FOUND,
                       "the session keeps no snapshots; make one with some (snapshots: 5)");
    uint64_t most = s->undo_count > 0 ? s->runs + 1 - s->undo[0].before : 0;
    if (most == 0)
        return err_set(
            e, ERR_NOT_FOUND,
            "the session has no snapshots to go back to%s%s. The next run that can be written down makes "
            "one; a session that was started without an image has to be restarted first",
            why ? ": " : " yet", why ? why : "");
    if (run < s->undo[0].before)
        return err_set(e, ERR_NOT_FOUND,
                       "there is no snapshot of before run %llu; the oldest is of before run %llu: "
                       "roll back by at most %llu",
                       (unsigned long long)run, (unsigned long long)s->undo[0].before,
                       (unsigned long long)most);
    return err_set(e, ERR_NOT_FOUND,
                   "there is no snapshot of before run %llu%s%s; roll back by %llu runs for the "
                   "oldest there is",
                   (unsigned long long)run, why ? ": " : "", why ? why : "",
                   (unsigned long long)most);
}

/* 0, or -1; then the kernel may have died, and whether there is a file decides what is next. */
static int switch_to(struct session *s, size_t at, struct err *e)
{
    struct names none = {0};
    uint64_t run = s->undo[at].before;
    session_step(s, LIFE_BEGIN);
    int failed = kernel_switch(s->kernel, &s->undo[at].twin, e);
    if (!failed) {
        session_step(s, LIFE_END);
        bool has_file = s->undo[at].bytes > 0;
        if (has_file)
            sleeper_mark_snapshot(s->all->dir_fd, s->id, run, /* has_begun= */ false);
        undo_forget(s, has_file ? at + 1 : at); /* its own copy has been taken over */
        pthread_mutex_lock(&s->lock);
        s->runs = run - 1;
        pthread_mutex_unlock(&s->lock);
        s->undo_made = 0;
        s->needs_sync = true;
        kernel_foretell(s->kernel, s->runs > 0 ? STATE_KEPT : STATE_FRESH, &none);
        return 0;
    }
    if (!kernel_is_alive(s->kernel)) {
        session_lose(s, "The session's kernel died when it should go back to a snapshot");
        return -1;
    }
    session_step(s, LIFE_END);
    twin_done(&s->undo[at].twin);
    return -1;
}

/* The file becomes the session's own; what it was is forgotten. */
static int go_back_asleep(struct session *s, uint64_t run, struct err *e)
{
    scoped(sleeper_done) struct sleeper head = {0};
    size_t at = find(s, run);
    uint64_t size;
    if (session_has_image(s, run, e))
        return -1;
    if (sleeper_from_snapshot(s->all->dir_fd, s->id, run, &head, &size, e)) {
        if (e->code != ERR_DAMAGED && e->code != ERR_NOT_FOUND && e->code != ERR_DENIED &&
            e->code != ERR_UNAVAILABLE)
            return -1;
        session_tell_damage(s, e);
        sleeper_set_snapshot_aside(s->all->dir_fd, s->id, run);
        forget_one(s, at);
        char why[120];
        (void)snprintf(why, sizeof why, "%.110s", e->text);
        return err_set(e, ERR_NOT_FOUND,
                       "the snapshot of before run %llu cannot be used (%s); "
                       "roll back by another number of runs",
                       (unsigned long long)run, why);
    }
    session_drop_kernel(s);
    become_asleep(s, find(s, run), &head, size);
    return 0;
}

int session_rollback(struct session *which, uint64_t run, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    if (s->life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    bool has_memory = s->life == LIFE_ASLEEP || (s->life == LIFE_IDLE && !s->owes_loss);
    if (has_memory && s->snapshots > 0 && run == s->runs + 1)
        return 0; /* nothing is to be undone */
    size_t at = find(s, run);
    if (at == s->undo_count)
        return no_snapshot(s, run, e);
    bool has_file = s->undo[at].bytes > 0;
    if (s->life == LIFE_IDLE && has_twin(&s->undo[at])) {
        if (switch_to(s, at, e) == 0)
            return 0;
        if (!has_file) {
            if (s->life == LIFE_IDLE)
                undo_forget(s, at); /* those after it are of no use without an order */
            return -1;
        }
        *e = (struct err){0};
    }
    return go_back_asleep(s, run, e);
}
