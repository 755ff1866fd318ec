/* exec.c -- one run from its code to its end.
 *
 * Theory of operation. The code goes out as a RUN frame; then this thread waits for whichever comes
 * first of output, frames, the jail's end, a call of kernel_cancel, and the next deadline. A run has
 * one end, and the first reason for it counts:
 *
 *     DONE came                                  ok, or error if an ERROR frame came before
 *     the wall clock limit passed                timeout       \
 *     kernel_cancel, or the sink refused         cancelled      > interrupted, then killed
 *     more output than is read at all            output_limit  /
 *     the disk is down to its reserve, and the
 *     code writes to it                          disk          > interrupted, then killed
 *     the jail ended: memory or disk limit       memory, disk
 *     the jail ended by itself                   crashed
 *     the spawner died                           killed
 *     the kernel broke the protocol              killed
 *
 * Interrupting is SIGINT now and again after half of INTERRUPT_GRACE_MS; whoever has not come to DONE
 * after all of it is killed, and the variables are lost.
 */
#include <assert.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/disk.h"
#include "base/err.h"
#include "session/kernel_int.h"

static const char orphaned[] =
    "The process that makes the sandboxes died, and this session's kernel with it. Variables are lost; "
    "files in /mnt/data are kept. Run the code again when the server has started again.";

struct exec {
    struct kernel *k;
    const struct run_sink *sink;
    struct run *run;
    bool is_done;     /* DONE came */
    bool has_end;     /* run->end is decided */
    bool clears_next; /* CLEAR with WAIT: forget displays when the next one comes */
    bool leaves_files;
    size_t display_bytes;
    int64_t deadline_us; /* of the wall clock, or of the next step of an interrupt */
    int interrupts;
};

static void decide(struct exec *x, enum run_end end)
{
    if (!x->has_end)
        x->run->end = end;
    x->has_end = true;
}

/* Asks the code to stop. What it does about that is seen by DONE or by the next deadline. */
static void interrupt(struct exec *x, enum run_end end)
{
    if (x->interrupts > 0)
        return;
    decide(x, end);
    kernel_request(x->k, JAIL_INTERRUPT);
    x->interrupts = 1;
    x->deadline_us = clock_us() + INTERRUPT_GRACE_MS * 500;
}

/* While a slow reader holds us up, the code's time does not run. */
static void put(struct exec *x, const struct run_event *event)
{
    if (!x->sink)
        return;
    int64_t begun_us = clock_us();
    int refused = x->sink->put(x->sink->arg, event);
    x->deadline_us += clock_us() - begun_us;
    if (refused)
        interrupt(x, END_CANCELLED);
}

static int on_stream(void *arg, enum kernel_stream stream, const char *bytes, size_t len,
                     struct err *e)
{
    struct exec *x = arg;
    struct keep *keep = stream == STREAM_OUT ? &x->run->out : &x->run->err;
    if (keep_add(keep, bytes, len, e))
        return -1;
    put(x, &(struct run_event){
               .kind = stream == STREAM_OUT ? RUN_STDOUT : RUN_STDERR, .bytes = bytes, .len = len});
    if (x->run->out.total + x->run->err.total > x->k->limits.drain_bytes)
        interrupt(x, END_OUTPUT_LIMIT);
    return 0;
}

static void clear_displays(struct exec *x)
{
    for (size_t i = 0; i < x->run->display_count; i++)
        display_done(&x->run->displays[i]);
    x->run->display_count = 0;
    x->display_bytes = 0;
}

/* The display of that id, which an update replaces; NULL if there is none. */
static struct display *find_display(struct run *run, const char *id)
{
    for (size_t i = 0; id && i < run->display_count; i++)
        if (run->displays[i].id && strcmp(run->displays[i].id, id) == 0)
            return &run->displays[i];
    return NULL;
}

/* Keeps a display, which becomes the run's, or drops it if there are too many. */
static int keep_display(struct exec *x, struct display *display, bool is_update, struct err *e)
{
    struct run *run = x->run;
    size_t bytes = display_bytes(display);
    struct display *old = is_update ? find_display(run, display->id) : NULL;
    size_t others = x->display_bytes - (old ? display_bytes(old) : 0);
    if (others + bytes > DISPLAY_BYTES_MAX || (!old && run->display_count >= DISPLAYS_MAX)) {
        run->displays_dropped++;
        display_done(display);
        return 0;
    }
    x->display_bytes = others + bytes;
    if (old) {
        display_done(old);
        *old = *display;
        return 0;
    }
    struct display *grown =
        realloc(run->displays, (run->display_count + 1) * sizeof *run->displays);
    if (!grown) {
        display_done(display);
        return err_set(e, ERR_NO_MEMORY, "keep a display");
    }
    run->displays = grown;
    run->displays[run->display_count++] = *display;
    return 0;
}

static int on_display(struct exec *x, const struct frame *frame, struct err *e)
{
    struct display display = {0};
    struct field update = {0};
    if (display_from_frame(frame, &display, e))
        return -1;
    if (x->clears_next)
        clear_displays(x);
    x->clears_next = false;
    put(x, &(struct run_event){.kind = RUN_DISPLAY, .display = &display});
    bool is_update = field_find(frame, FIELD_UPDATE, &update) && field_u32(&update, 0) != 0;
    return keep_display(x, &display, is_update, e);
}

static int on_clear(struct exec *x, const struct frame *frame)
{
    struct field wait = {0};
    if (field_find(frame, FIELD_WAIT, &wait) && field_u32(&wait, 0) != 0) {
        x->clears_next = true;
        return 0;
    }
    clear_displays(x);
    put(x, &(struct run_event){.kind = RUN_CLEAR});
    return 0;
}

static int on_result(struct exec *x, const struct frame *frame, struct err *e)
{
    display_done(&x->run->result);
    if (display_from_frame(frame, &x->run->result, e))
        return -1;
    put(x, &(struct run_event){.kind = RUN_RESULT, .display = &x->run->result});
    return 0;
}

static int on_error(struct exec *x, const struct frame *frame, struct err *e)
{
    run_error_done(&x->run->error);
    if (run_error_from_frame(frame, &x->run->error, e))
        return -1;
    put(x, &(struct run_event){.kind = RUN_ERROR, .error = &x->run->error});
    return 0;
}

static int on_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct exec *x = arg;
    /* A thread of the session may print or show something when the run is over. It gets its answer; what
     * it shows belongs to no run any more. */
    if (x->is_done)
        return pump_acknowledge(x->k, frame, e);
    switch (frame->kind) {
    case FRAME_SYNC: return pump_acknowledge(x->k, frame, e);
    case FRAME_DISPLAY: return on_display(x, frame, e) ? -1 : pump_acknowledge(x->k, frame, e);
    case FRAME_CLEAR: return on_clear(x, frame) ? -1 : pump_acknowledge(x->k, frame, e);
    case FRAME_RESULT: return on_result(x, frame, e);
    case FRAME_ERROR: return on_error(x, frame, e);
    case FRAME_READS: return run_reads_from_frame(frame, &x->run->reads, e);
    case FRAME_DONE: x->is_done = true; return 0;
    default: return err_set(e, ERR_PROTOCOL, "a frame of kind %d", frame->kind);
    }
}

/* Node takes the host's memory for its own. Told what it has, it collects its garbage in time, and who
 * needs more than half of it ends alone, not with the session. A variable of the run comes later and
 * counts instead. */
static void put_heap_limit(struct kernel *k)
{
    char pair[64];
    int len = snprintf(pair, sizeof pair, "NODE_OPTIONS=--max-old-space-size=%llu",
                       (unsigned long long)(k->limits.memory_bytes / 2 / MIB));
    field_put(&k->out, FIELD_ENV, pair, (size_t)len);
}

static int send_run(struct kernel *k, const struct run_spec *spec, struct err *e)
{
    size_t mark = frame_begin(&k->out, FRAME_RUN);
    field_put(&k->out, FIELD_CODE, spec->code, spec->code_len);
    if (spec->name)
        field_put(&k->out, FIELD_NAME, spec->name, strlen(spec->name));
    if (spec->language != LANGUAGE_PYTHON)
        field_put_u32(&k->out, FIELD_LANGUAGE, spec->language);
    if (spec->stdin_text)
        field_put(&k->out, FIELD_STDIN, spec->stdin_text, spec->stdin_len);
    if (spec->language == LANGUAGE_JAVASCRIPT)
        put_heap_limit(k);
    for (const char *const *env = spec->env; env && *env; env++)
        field_put(&k->out, FIELD_ENV, *env, strlen(*env));
    frame_end(&k->out, mark);
    return pump_send(k, e);
}

/* The wall clock limit, or the next step of an interrupt that was not obeyed. */
static void on_deadline(struct exec *x)
{
    if (x->interrupts == 0) {
        interrupt(x, END_TIMEOUT);
    } else if (x->interrupts == 1) {
        kernel_request(x->k, JAIL_INTERRUPT);
        x->interrupts = 2;
        x->deadline_us = clock_us() + INTERRUPT_GRACE_MS * 500;
    } else {
        const struct pump_user user = {.on_stream = on_stream, .on_frame = on_frame, .arg = x};
        kernel_kill(x->k, &user);
    }
}

/* Nobody says when the jail of a spawner that died is really gone; its kernel's end of the sockets
 * does. What it still writes until then is part of the run. */
static void await_death(struct exec *x)
{
    enum { DEATH_MS = 2000 };
    const struct pump_user user = {.on_stream = on_stream, .on_frame = on_frame, .arg = x};
    struct kernel *k = x->k;
    struct err ignored = {0};
    int64_t deadline_us = clock_us() + DEATH_MS * 1000;
    while ((k->control >= 0 || k->stream[STREAM_OUT] >= 0 || k->stream[STREAM_ERR] >= 0) &&
           clock_us() < deadline_us)
        if (pump(k, deadline_us, &user, &ignored))
            break; /* it dies all the same */
}

/* How the jail's end ends the run, where nothing else has ended it before. */
static void on_jail_end(struct exec *x)
{
    const struct jail_event *end = &x->k->end;
    if (x->k->is_orphaned)
        await_death(x);
    kernel_enter(x->k, KERNEL_DEAD);
    if (x->is_done)
        return; /* what died after the end of the run did not end it */
    switch (end->cause) {
    case JAIL_OVER_MEMORY: decide(x, END_MEMORY); break;
    case JAIL_OVER_DISK: decide(x, END_DISK); break;
    case JAIL_OVER_RESERVE:
        x->run->is_disk_full |= !x->has_end;
        decide(x, END_DISK);
        break;
    case JAIL_KILLED:
        if (x->k->is_orphaned && !x->has_end)
            (void)snprintf(x->run->hint, sizeof x->run->hint, "%s", orphaned);
        decide(x, END_KILLED);
        break;
    case JAIL_EXITED:
        x->run->crash_code = end->status;
        decide(x, END_CRASHED);
        break;
    case JAIL_SIGNALLED:
        x->run->crash_signal = end->status;
        decide(x, END_CRASHED);
        break;
    }
}

static void follow(struct exec *x)
{
    const struct pump_user user = {.on_stream = on_stream, .on_frame = on_frame, .arg = x};
    struct err e = {0};
    while (!x->is_done && x->k->end.kind == 0 && x->k->state != KERNEL_DEAD) {
        if (atomic_load_explicit(&x->k->is_cancelled, memory_order_acquire))
            interrupt(x, END_CANCELLED);
        if (x->k->is_full && x->interrupts == 0) {
            x->run->is_disk_full = true;
            interrupt(x, END_DISK);
        }
        if (pump(x->k, x->deadline_us, &user, &e)) {
            decide(x, END_KILLED);
            snprintf(x->run->hint, sizeof x->run->hint, "The session was ended: %.200s.", e.text);
            kernel_kill(x->k, &user);
        } else if (!x->is_done && x->k->end.kind == 0 && clock_us() >= x->deadline_us) {
            on_deadline(x);
        }
    }
    if (x->k->end.kind || x->k->state == KERNEL_DEAD)
        on_jail_end(x);
}

static bool has_counters(const struct kernel *k)
{
    return k->counters.fds[0] >= 0;
}

static void ask_usage(struct kernel *k)
{
    k->has_usage = false;
    kernel_request(k, JAIL_USAGE);
}

/* The spawner may be about to end a jail that came so close to its memory limit: what was killed there
 * need not have been the kernel. Its answer then comes after the end. */
static bool is_near_limit(const struct kernel *k)
{
    return k->used.memory_peak > k->limits.memory_bytes / 8 * 7;
}

static bool is_disk_full(const struct kernel *k)
{
    struct disk_room room;
    struct err ignored = {0};
    return k->reserve_bytes > 0 &&
           disk_look(k->data.dir_fd, k->reserve_bytes, &room, &ignored) == 0 &&
           (room.bytes == 0 || room.inodes == 0);
}

static void await_usage(struct kernel *k, const struct pump_user *user)
{
    struct err ignored = {0};
    int64_t deadline_us = clock_us() + 1000000;
    while (!k->has_usage && k->handle >= 0 && clock_us() < deadline_us)
        if (pump(k, deadline_us, user, &ignored))
            break; /* only numbers are missing then */
}

static int acknowledge(void *arg, const struct frame *frame, struct err *e)
{
    return pump_acknowledge(arg, frame, e);
}

/* On a full disk this run is judged by what it writes, and no other. */
static void mark(struct kernel *k)
{
    const struct pump_user user = {.on_frame = acknowledge, .arg = k};
    if (is_disk_full(k)) {
        k->has_usage = false;
        kernel_request(k, JAIL_MARK);
        await_usage(k, &user);
    }
    k->is_full = false; /* that was what ran before */
}

/* What the jail has used so far, in k->used. On a full disk what the run wrote has to be seen before it is
 * over. */
static void measure(struct exec *x)
{
    const struct pump_user user = {.on_stream = on_stream, .on_frame = on_frame, .arg = x};
    struct kernel *k = x->k;
    if (has_counters(k)) {
        k->has_usage =
            counters_read(&k->counters, &k->used) == 0 && !is_near_limit(k) && !is_disk_full(k);
        if (k->has_usage)
            kernel_listen(k);
        else
            ask_usage(k);
    }
    await_usage(k, &user);
}

static void collect(struct exec *x)
{
    struct kernel *k = x->k;
    struct err e = {0};
    if (k->state != KERNEL_DEAD && !has_counters(k))
        ask_usage(k); /* the answer is usually there when the files have been looked at */
    if (!x->leaves_files && capture_next(k->data.dir_fd, &k->files, &x->run->files, &e))
        snprintf(x->run->hint, sizeof x->run->hint, "The files of this run could not be listed.");
    if (k->state != KERNEL_DEAD)
        measure(x);
    x->run->cpu_us = k->used.cpu_us > k->cpu_before_us ? k->used.cpu_us - k->cpu_before_us : 0;
    x->run->memory_peak = k->used.memory_peak;
    x->run->disk_bytes = k->used.disk_bytes;
    x->run->disk_files = k->used.disk_files;
    k->cpu_before_us = k->used.cpu_us;
    bool is_full = k->is_full || k->end.cause == JAIL_OVER_RESERVE;
    if (is_full && (x->run->end == END_OK || x->run->end == END_ERROR)) {
        x->run->is_disk_full = true;
        x->run->end = END_DISK;
    }
    if (!k->end.kind)
        return;
    /* Meanwhile. What went over the limit may have been a child, of whose death the code heard before the
     * spawner ended the jail for it. */
    if (k->state != KERNEL_DEAD && k->end.cause == JAIL_OVER_MEMORY && x->interrupts == 0)
        x->run->end = END_MEMORY;
    kernel_enter(k, KERNEL_DEAD);
}

static const char died_late[] = "The Python interpreter died when the run was over.";

/* Why it ended so and what to do about it, in words a model can act on; NULL if there is nothing to say. */
static const char *reason(const struct run *run, bool is_dead)
{
    switch (run->end) {
    case END_TIMEOUT:
        return "The code ran longer than its time limit. Do less at once, make it faster, or ask for "
               "a longer timeout.";
    case END_MEMORY:
        return "The session used more memory than its limit and was ended. Work on smaller pieces "
               "(chunks, fewer columns, smaller types) or ask for more memory.";
    case END_OUTPUT_LIMIT:
        return "The code printed too much. Print a summary, or write to a file in /mnt/data.";
    case END_DISK:
        if (run->is_disk_full)
            return "The server's disk is nearly full, and what is left is kept in reserve: this is not "
                   "the session's own limit. Delete files that are not needed, in /mnt/data and from the "
                   "workspace's trash (purge), or ask the operator to make room.";
        return "/mnt/data grew over its limit (limits.disk_mb) and the session was ended. Delete what is "
               "not needed, write less, or ask for more disk. Changing a file of the workspace "
               "may count all of it.";
    case END_CRASHED:
        return "The Python interpreter itself died (not an exception). Native code, os._exit, closed "
               "descriptors or a signal did it.";
    case END_KILLED: return "The session was ended from outside.";
    case END_CANCELLED:
        return is_dead ? "The code did not stop when it was asked to, so its session was ended."
                       : NULL;
    case END_ERROR:
        if (!is_dead && run_error_is_memory(&run->error))
            return "The code asked for more memory than its session has left. Work on smaller "
                   "pieces (chunks, fewer columns, smaller types), delete what is not needed, or "
                   "use a session with more (limits.memory_mb).";
        return is_dead ? died_late : NULL;
    case END_OK: return is_dead ? died_late : NULL;
    case END_COUNT: break;
    }
    return NULL;
}

/* EFBIG, as Python words it: a write, or the copy that changing a file of a lower layer begins with. */
static bool is_file_too_large(const struct run *run)
{
    static const char begins[] = "[Errno 27]";
    return run->error.name && strcmp(run->error.name, "OSError") == 0 && run->error.message &&
           strncmp(run->error.message, begins, sizeof begins - 1) == 0;
}

static void advise(struct run *run, bool is_dead)
{
    const char *why = reason(run, is_dead);
    char limit[64] = "";
    if (!*run->hint && run->end == END_ERROR && !why && is_file_too_large(run))
        snprintf(
            run->hint, sizeof run->hint,
            "A file written here may have at most %llu MiB (limits.disk_mb). A larger one can be "
            "read; changing it in place copies it first. Use a session with a larger disk_mb, or "
            "write what is new to another file. Variables are kept.",
            (unsigned long long)(run->limits.file_bytes >> 20));
    if (*run->hint || !why)
        return;
    if (run->end == END_MEMORY || (run->end == END_ERROR && why != died_late))
        (void)snprintf(limit, sizeof limit, " The limit is %" PRIu64 " MiB.",
                       run->limits.memory_bytes / MIB);
    snprintf(run->hint, sizeof run->hint, "%s%s%s", why, limit,
             is_dead ? " Variables are lost; files in /mnt/data are kept."
                     : " Variables are kept.");
}

static int check_spec(const struct run_spec *spec, struct err *e)
{
    if (spec->code_len > CODE_MAX)
        return err_set(e, ERR_LIMIT, "the code has %zu bytes; at most %d are taken", spec->code_len,
                       CODE_MAX);
    if (spec->stdin_len > STDIN_MAX)
        return err_set(e, ERR_LIMIT, "the input has %zu bytes; at most %d are taken",
                       spec->stdin_len, STDIN_MAX);
    return 0;
}

int kernel_run(struct kernel *k, const struct run_spec *spec, const struct run_sink *sink,
               struct run *ret, struct err *e)
{
    if (check_spec(spec, e) || kernel_begin(k, e))
        return -1;
    uint32_t wall_ms = spec->wall_ms ? spec->wall_ms : k->limits.wall_ms;
    int64_t begun_us = clock_us();
    *ret = (struct run){.out = KEEP_INIT(k->limits.output_bytes),
                        .err = KEEP_INIT(k->limits.output_bytes),
                        .state = k->next_state,
                        .language = spec->language,
                        .started_wall_us = clock_wall_us(),
                        .limits = k->limits};
    ret->limits.wall_ms = wall_ms;
    struct exec x = {.k = k,
                     .sink = sink,
                     .run = ret,
                     .leaves_files = spec->leaves_files || k->data.lower_count > 0,
                     .deadline_us = begun_us + (int64_t)wall_ms * 1000};
    atomic_store_explicit(&k->is_cancelled, false, memory_order_release);
    mark(k);
    if (spec->cancel && atomic_load_explicit(spec->cancel, memory_order_acquire))
        kernel_cancel(k);
    if (!x.leaves_files)
        snapshot_settle(&k->files);
    if (send_run(k, spec, e)) {
        buf_done(&k->out); /* nothing of it has been sent */
        kernel_enter(k, KERNEL_IDLE);
        run_done(ret);
        e->code = ERR_LIMIT;
        return -1;
    }
    follow(&x);
    /* It comes with DONE, from kernels that know of it. */
    ret->reads.is_partial |= !ret->reads.is_told || !x.is_done;
    decide(&x, ret->error.name ? END_ERROR : END_OK);
    ret->duration_us = (uint64_t)(clock_us() - begun_us);
    collect(&x);
    ret->lost = k->lost;
    k->lost = (struct names){0};
    k->next_state = STATE_KEPT;
    if (k->state == KERNEL_DEAD)
        ret->state = STATE_LOST;
    else
        kernel_enter(k, KERNEL_IDLE);
    advise(ret, k->state == KERNEL_DEAD);
    return 0;
}
