/* session.c -- what a session does while it is awake, and how it comes to be. */
#include "session/session.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "session/kernel.h"
#include "session/pool.h"
#include "session/rest.h"
#include "session/session_int.h"
#include "session/sleeper.h"
#include "session/spawner.h"

struct session *session_begin(struct session *s)
{
    pthread_mutex_lock(&s->busy);
    return s;
}

void session_end(struct session *s)
{
    pthread_mutex_unlock(&s->busy);
}

void session_step(struct session *s, enum life_event event)
{
    struct err e = {0};
    pthread_mutex_lock(&s->lock);
    int stepped = life_step(&s->life, event, &e);
    pthread_mutex_unlock(&s->lock);
    assert(stepped == 0);
}

void session_take_kernel(struct session *s, struct kernel *k, const char *image)
{
    assert(!s->kernel);
    pthread_mutex_lock(&s->lock);
    s->kernel = k;
    (void)snprintf(s->image, sizeof s->image, "%s", image);
    pthread_mutex_unlock(&s->lock);
}

static void drop_data(struct session *s)
{
    int fds[JAIL_DATA_FDS];
    size_t count = jail_data_fds(&s->data, fds);
    for (size_t i = 0; i < count; i++)
        fd_closep(&fds[i]);
    s->data = JAIL_DATA_PLAIN(-1);
}

int session_keep_data(struct session *s, const struct jail_data *data, struct err *e)
{
    int fds[JAIL_DATA_FDS];
    if (s->data.dir_fd >= 0)
        return 0;
    size_t count = jail_data_fds(data, fds), kept = 0;
    while (kept < count && (fds[kept] = fcntl(fds[kept], F_DUPFD_CLOEXEC, 0)) >= 0)
        kept++;
    if (kept == count) {
        s->data = jail_data_from(fds, data->lower_count);
        return 0;
    }
    err_sys(e, errno, "keep the data directory");
    while (kept > 0)
        (void)close(fds[--kept]);
    return -1;
}

struct kernel *session_leave_kernel(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    struct kernel *k = s->kernel;
    s->kernel = NULL;
    s->memory_bytes = 0;
    s->image[0] = '\0';
    s->has_old_libraries = false;
    pthread_mutex_unlock(&s->lock);
    undo_end_twins(s);
    drop_data(s);
    return k;
}

void session_drop_kernel(struct session *s)
{
    kernel_free(session_leave_kernel(s));
}

void session_forget(struct session *s, const char *how)
{
    (void)snprintf(
        s->note, sizeof s->note,
        "%s. Variables are lost; files in /mnt/data are kept. Define again what you need.", how);
    s->owes_loss = true;
}

void session_lose(struct session *s, const char *how)
{
    session_drop_kernel(s);
    session_step(s, LIFE_LOST);
    if (undo_resume(s))
        (void)snprintf(s->note, sizeof s->note, "%s. It goes on as it was after the run before.",
                       how);
    else
        session_forget(s, how);
}

static bool can_use_images(const struct session *s)
{
    const struct jail_hello *hello = spawner_hello(s->all->spawner);
    return hello->tier == TIER_FULL && hello->failure[MECH_IMAGE] == 0;
}

static int start_from_pool(struct session *s)
{
    struct err ignored = {0};
    char image[HASH_HEX_SIZE];
    struct kernel *k = s->all->pool ? pool_take(s->all->pool, &s->limits, image) : NULL;
    if (!k)
        return -1;
    if (kernel_attach(k, &s->data, &ignored)) {
        kernel_free(k);
        return -1;
    }
    session_take_kernel(s, k, image);
    return 0;
}

static int start_from_image(struct session *s, struct err *e)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    struct kernel *k;
    if (current_take(s->all->current, &image, e))
        return -1;
    const struct kernel_origin origin = {.image_fd = image.fd, .delta_fd = -1, .libraries_fd = -1};
    if (kernel_start(s->all->spawner, &s->limits, &s->data, &origin, &k, e))
        return -1;
    session_take_kernel(s, k, image.id);
    return 0;
}

static int start_anyhow(struct session *s, struct err *e)
{
    struct err why = {0};
    struct kernel *k;
    if (can_use_images(s) && (start_from_pool(s) == 0 || start_from_image(s, &why) == 0))
        return 0;
    if (kernel_start(s->all->spawner, &s->limits, &s->data, &ORIGIN_COLD, &k, e))
        return -1;
    session_take_kernel(s, k, "");
    return 0;
}

int session_start(struct session *s, struct err *e)
{
    if (start_anyhow(s, e))
        return -1;
    if (!*s->tz || kernel_set_zone(s->kernel, s->tz, e) == 0)
        return 0;
    session_drop_kernel(s);
    return -1;
}

/* RISING to a kernel. 0, or -1 and whether there is still a file to wake from later. */
static int rise(struct session *s, bool is_asleep, const struct jail_data *data, bool *ret_has_file,
                struct err *e)
{
    struct names none = {0};
    *ret_has_file = is_asleep;
    if (session_keep_data(s, data, e))
        return -1;
    if (is_asleep) {
        int got = session_awaken(s, e);
        if (got <= 0)
            return got;
        *ret_has_file = false;
        s->owes_loss = true;
    }
    if (session_keep_data(s, data, e) || session_start(s, e))
        return -1;
    if (s->owes_loss)
        kernel_foretell(s->kernel, STATE_LOST, &none);
    return 0;
}

int session_rise(struct session *s, const struct jail_data *data, struct err *e)
{
    bool has_file;
    if (s->life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    if (s->life == LIFE_IDLE && !kernel_is_alive(s->kernel))
        session_lose(s, "The session's kernel ended while nobody used it");
    if (s->life == LIFE_IDLE)
        return 0;
    bool is_asleep = s->life == LIFE_ASLEEP;
    session_step(s, LIFE_RISE);
    if (rise(s, is_asleep, data, &has_file, e)) {
        session_drop_kernel(s);
        session_step(s, has_file ? LIFE_SLEPT : LIFE_LOST);
        return -1;
    }
    session_step(s, LIFE_UP);
    return 0;
}

/* After a run that ended the kernel, or began without what there was before: then the newest snapshot may be
 * of the new kernel. */
static void tell_way_back(const struct session *s, size_t size, char *hint)
{
    uint64_t steps = undo_steps(s, s->owes_loss ? s->runs - 1 : s->runs);
    size_t len = strlen(hint);
    if (steps > 0)
        (void)snprintf(hint + len, size - len,
                       " Rolling the session back by %llu run%s brings variables and files back.",
                       (unsigned long long)steps, steps > 1 ? "s" : "");
}

/* What the session itself has to say about the run, before what the run says. */
static void annotate(struct session *s, struct run *run)
{
    char hint[sizeof run->hint];
    scoped(buf_done) struct buf lost = BUF_INIT(NOTE_SIZE);
    if (run->lost.count > 0 && !*s->note) {
        buf_str(&lost, "Did not survive sleeping, make them again: ");
        names_text(&run->lost, NOTE_SIZE - 2, &lost);
        (void)snprintf(s->note, sizeof s->note, "%s.", lost.bytes ? lost.bytes : "");
    }
    if (s->has_old_libraries && !*s->note && run->error.name &&
        strcmp(run->error.name, "ModuleNotFoundError") == 0)
        (void)snprintf(
            s->note, sizeof s->note,
            "This session has the libraries of when it began. What was installed since is "
            "there in a new session, or after a restart.");
    (void)snprintf(hint, sizeof hint, "%s%s%.255s", s->note, *s->note && *run->hint ? " " : "",
                   run->hint);
    if (run->state == STATE_LOST)
        tell_way_back(s, sizeof hint, hint);
    memcpy(run->hint, hint, sizeof hint);
    s->note[0] = '\0';
    s->owes_loss = false;
}

static void note_memory(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    s->memory_bytes = kernel_memory(s->kernel);
    pthread_mutex_unlock(&s->lock);
}

/* BUSY to what the kernel is now. */
static void leave_busy(struct session *s)
{
    if (kernel_is_alive(s->kernel)) {
        note_memory(s);
        session_step(s, LIFE_END);
        return;
    }
    session_drop_kernel(s);
    session_step(s, LIFE_LOST);
}

int session_run(struct session *which, const struct jail_data *data, const struct run_spec *spec,
                const struct run_sink *sink, struct run *ret, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    if (session_rise(s, data, e))
        return -1;
    undo_take(s);
    if (session_rise(s, data, e)) /* should that have killed it */
        return -1;
    undo_begin(s);
    session_step(s, LIFE_BEGIN);
    int failed = kernel_run(s->kernel, spec, sink, ret, e);
    if (!failed) {
        pthread_mutex_lock(&s->lock);
        s->runs++;
        pthread_mutex_unlock(&s->lock);
        annotate(s, ret);
    }
    leave_busy(s);
    return failed;
}

void session_cancel(struct session *s)
{
    pthread_mutex_lock(&s->lock);
    if (s->kernel && s->life == LIFE_BUSY)
        kernel_cancel(s->kernel);
    pthread_mutex_unlock(&s->lock);
}

int session_ask(struct session *which, const struct jail_data *data, const char *topic,
                const char *code, uint32_t cursor, char **ret, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    if (s->life == LIFE_IDLE && !kernel_is_alive(s->kernel))
        session_lose(s, "The session's kernel ended while nobody used it");
    if (!data && s->life != LIFE_IDLE)
        return err_set(e, ERR_CONFLICT, "the session is not awake");
    if (data && session_rise(s, data, e))
        return -1;
    session_step(s, LIFE_BEGIN);
    int failed = kernel_ask(s->kernel, topic, code, cursor, ret, e);
    if (kernel_is_alive(s->kernel))
        session_step(s, LIFE_END);
    else
        session_lose(s, "The session's kernel died when it was asked a question");
    return failed;
}

int session_wake(struct session *which, const struct jail_data *data, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    return session_rise(s, data, e);
}

int session_settle(struct session *which, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    undo_take(s);
    if (!s->needs_sync)
        return 0;
    s->needs_sync = false;
    return sleeper_sync(s->all->dir_fd, e);
}

int session_restart(struct session *which, struct err *e)
{
    scoped(session_endp) struct session *s = session_begin(which);
    if (s->life == LIFE_GONE)
        return err_set(e, ERR_NOT_FOUND, "the session was deleted");
    bool has_file = s->life == LIFE_ASLEEP;
    session_drop_kernel(s);
    has_file = has_file || s->undo_count > 0;
    undo_remove(s);
    if (has_file)
        sleeper_remove(s->all->dir_fd, s->id);
    session_step(s, LIFE_RESET);
    pthread_mutex_lock(&s->lock);
    s->sleep_bytes = 0;
    pthread_mutex_unlock(&s->lock);
    s->owes_loss = false; /* nothing is lost that somebody wanted */
    s->note[0] = '\0';
    bool needs_sync = has_file || s->needs_sync;
    s->needs_sync = false;
    return needs_sync ? sleeper_sync(s->all->dir_fd, e) : 0;
}

void session_look(struct session *s, struct session_info *ret)
{
    pthread_mutex_lock(&s->lock);
    *ret = (struct session_info){.life = s->life,
                                 .limits = s->limits,
                                 .snapshots = s->snapshots,
                                 .runs = s->runs,
                                 .oldest = s->undo_count > 0 ? s->undo[0].before : 0,
                                 .sleep_bytes = s->sleep_bytes,
                                 .memory_bytes = s->memory_bytes,
                                 .is_baked = s->image[0] != '\0'};
    memcpy(ret->tz, s->tz, sizeof ret->tz);
    for (size_t i = 0; i < s->undo_count; i++)
        ret->snapshot_bytes += s->undo[i].bytes;
    pthread_mutex_unlock(&s->lock);
}
