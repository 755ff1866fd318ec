#include "session/kernel.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/kernel_int.h"
#include "session/zone.h"

enum {
    KILL_TIMEOUT_MS = 10000,
    ASK_TIMEOUT_MS = 5000, /* the kernel gives up earlier: kernel/ask.py */
    DEMAND_TIMEOUT_MS = 10000,
    MEASURE_TIMEOUT_MS = 1000,
    BRING_TIMEOUT_MS = 120000, /* the spawner gives up earlier */
};

bool kernel_may_enter(enum kernel_state from, enum kernel_state to)
{
    static const bool arrows[KERNEL_STATES][KERNEL_STATES] = {
        [KERNEL_STARTING] = {[KERNEL_PARKED] = true, [KERNEL_IDLE] = true, [KERNEL_DEAD] = true},
        [KERNEL_PARKED] = {[KERNEL_IDLE] = true, [KERNEL_DEAD] = true},
        [KERNEL_IDLE] = {[KERNEL_BUSY] = true, [KERNEL_DEAD] = true},
        [KERNEL_BUSY] = {[KERNEL_IDLE] = true, [KERNEL_DEAD] = true},
        [KERNEL_DEAD] = {[KERNEL_DEAD] = true},
    };
    return arrows[from][to];
}

void kernel_enter(struct kernel *k, enum kernel_state to)
{
    assert(kernel_may_enter(k->state, to));
    k->state = to;
}

int kernel_begin(struct kernel *k, struct err *e)
{
    if (!kernel_is_alive(k))
        return err_set(e, ERR_CONFLICT, "the kernel has ended; start another");
    if (k->state != KERNEL_IDLE)
        return err_set(e, ERR_CONFLICT, "the kernel is %s",
                       k->state == KERNEL_PARKED ? "parked" : "busy with another run");
    kernel_enter(k, KERNEL_BUSY);
    return 0;
}

static int request(struct kernel *k, const struct jail_request *request, const int *fds,
                   size_t fd_count, struct err *e)
{
    uint8_t bytes[JAIL_REQUEST_SIZE];
    jail_request_put(request, bytes);
    if (k->handle < 0)
        return err_set(e, ERR_UNAVAILABLE, "the jail has ended");
    return fd_send(k->handle, bytes, sizeof bytes, fds, fd_count, e);
}

void kernel_request(struct kernel *k, enum jail_request_kind kind)
{
    struct err ignored = {0};
    (void)request(k, &(struct jail_request){.kind = kind}, NULL, 0, &ignored);
}

int kernel_wish(struct kernel *k, const struct jail_request *what, const int *fds, size_t fd_count,
                struct err *e)
{
    k->answer = (struct jail_event){0};
    return request(k, what, fds, fd_count, e);
}

int kernel_await(struct kernel *k, enum jail_event_kind wanted, struct err *e)
{
    int64_t deadline_us =
        clock_us() + (wanted == JAIL_BROUGHT ? BRING_TIMEOUT_MS : DEMAND_TIMEOUT_MS) * 1000;
    while (k->answer.kind != wanted && k->end.kind == 0) {
        if (pump(k, deadline_us, &pump_discard, e))
            return -1;
        if (k->answer.kind != wanted && clock_us() >= deadline_us)
            return err_set(e, ERR_UNAVAILABLE, "the spawner did not answer in time");
    }
    return k->answer.kind == wanted ? 0 : err_set(e, ERR_UNAVAILABLE, "the jail has ended");
}

int kernel_demand(struct kernel *k, const struct jail_request *what, enum jail_event_kind wanted,
                  struct err *e)
{
    return kernel_wish(k, what, NULL, 0, e) || kernel_await(k, wanted, e) ? -1 : 0;
}

void kernel_kill(struct kernel *k, const struct pump_user *user)
{
    struct err ignored = {0};
    int64_t deadline_us = clock_us() + KILL_TIMEOUT_MS * 1000;
    kernel_request(k, JAIL_KILL);
    kernel_enter(k, KERNEL_DEAD);
    fd_closep(&k->control);
    k->control = -1;
    while (k->end.kind == 0 && clock_us() < deadline_us)
        if (pump(k, deadline_us, user, &ignored))
            break; /* out of memory, say: it dies all the same */
}

static void let_go(struct kernel *k)
{
    fd_closep(&k->handle);
    fd_closep(&k->control);
    fd_closep(&k->stream[STREAM_OUT]);
    fd_closep(&k->stream[STREAM_ERR]);
    fd_closep(&k->wake);
    fd_closep(&k->out_fd);
    counters_done(&k->counters);
    frame_reader_done(&k->in);
    buf_done(&k->out);
    snapshot_done(&k->files);
    names_done(&k->lost);
    free(k);
}

void kernel_free(struct kernel *k)
{
    if (!k)
        return;
    if (k->handle >= 0 && k->end.kind == 0)
        kernel_kill(k, &pump_discard);
    /* The spawner closes the handle when the last trace of the jail is gone. */
    int64_t deadline_us = clock_us() + KILL_TIMEOUT_MS * 1000;
    while (k->handle >= 0 && clock_us() < deadline_us) {
        struct pollfd ready = {.fd = k->handle, .events = POLLIN};
        (void)poll(&ready, 1, clock_poll_ms(deadline_us));
        kernel_listen(k);
    }
    let_go(k);
}

void kernel_cancel(struct kernel *k)
{
    uint64_t one = 1;
    atomic_store_explicit(&k->is_cancelled, true, memory_order_release);
    (void)!write(k->wake, &one, sizeof one); /* full: then it is readable already */
}

bool kernel_is_alive(struct kernel *k)
{
    kernel_listen(k);
    if (k->end.kind && (k->state == KERNEL_IDLE || k->state == KERNEL_PARKED))
        kernel_enter(k, KERNEL_DEAD);
    return k->state != KERNEL_DEAD && k->state != KERNEL_STARTING;
}

bool kernel_is_baked(const struct kernel *k)
{
    return k->is_baked;
}

int kernel_set_zone(struct kernel *k, const char *tz, struct err *e)
{
    char pair[ZONE_SIZE + 4];
    int len = snprintf(pair, sizeof pair, "TZ=%s", *tz ? tz : "UTC");
    size_t mark = frame_begin(&k->out, FRAME_ENTER);
    field_put(&k->out, FIELD_ENV, pair, (size_t)len);
    frame_end(&k->out, mark);
    return pump_send(k, e);
}

uint64_t kernel_memory(const struct kernel *k)
{
    return k->used.memory_now;
}

int kernel_reseed(struct kernel *k, struct err *e)
{
    frame_end(&k->out, frame_begin(&k->out, FRAME_RESEED));
    return pump_send(k, e);
}

void kernel_foretell(struct kernel *k, enum run_state state, struct names *lost)
{
    k->next_state = state;
    names_done(&k->lost);
    k->lost = *lost;
    *lost = (struct names){0};
}

const struct names *kernel_lost(const struct kernel *k)
{
    return &k->lost;
}

struct asking {
    struct kernel *k;
    char *reply;
    bool is_done;
};

static int asking_frame(void *arg, const struct frame *frame, struct err *e)
{
    static const char failed[] = "{\"error\": \"the question failed\"}";
    struct asking *a = arg;
    struct field text;
    if (frame->kind != FRAME_REPLY)
        return pump_acknowledge(a->k, frame, e);
    if (a->reply)
        return err_set(e, ERR_PROTOCOL, "a reply nobody asked for");
    if (field_find(frame, FIELD_DATA, &text))
        a->reply = strndup((const char *)text.bytes, text.len);
    else
        a->reply = strdup(failed); /* it had no memory for more, or more than fits into a frame */
    a->is_done = true;
    return a->reply ? 0 : err_set(e, ERR_NO_MEMORY, "keep the reply");
}

/* What the kernel may take for looking: it must not come near the limit. */
static void put_memory(struct kernel *k)
{
    uint64_t limit = k->limits.memory_bytes;
    uint64_t room = k->used.memory_now < limit ? limit - k->used.memory_now : 0;
    field_put_u32(&k->out, FIELD_ROOM, (uint32_t)(room >> 10));
    field_put_u32(&k->out, FIELD_LIMIT, (uint32_t)(limit >> 10));
}

/* What the session uses now; where nobody says so in time, it is what was heard last. */
static void measure(struct kernel *k, const struct pump_user *user)
{
    struct err ignored = {0};
    int64_t deadline_us = clock_us() + MEASURE_TIMEOUT_MS * 1000;
    if (counters_read(&k->counters, &k->used) == 0)
        return;
    k->has_usage = false;
    kernel_request(k, JAIL_USAGE);
    while (!k->has_usage && k->handle >= 0 && clock_us() < deadline_us)
        if (pump(k, deadline_us, user, &ignored))
            break; /* the question will find out */
}

static int no_answer(struct err *e)
{
    return err_set(e, ERR_BUSY,
                   "the session does not answer: something it has started, a thread perhaps, keeps "
                   "Python to itself. It goes on undisturbed; ask again later, or restart it");
}

int kernel_ask(struct kernel *k, const char *topic, const char *code, uint32_t cursor, char **ret,
               struct err *e)
{
    struct asking asking = {.k = k};
    const struct pump_user user = {.on_frame = asking_frame, .arg = &asking};
    if (kernel_begin(k, e))
        return -1;
    if (k->replies_owed > 0 && pump(k, /* deadline_us= */ 0, &user, e))
        goto fail;
    if (k->replies_owed > 0) {
        kernel_enter(k, KERNEL_IDLE);
        return no_answer(e);
    }
    measure(k, &user);
    size_t mark = frame_begin(&k->out, FRAME_ASK);
    field_put(&k->out, FIELD_TOPIC, topic, strlen(topic));
    field_put(&k->out, FIELD_CODE, code, strlen(code));
    field_put_u32(&k->out, FIELD_CURSOR, cursor);
    put_memory(k);
    frame_end(&k->out, mark);
    int64_t deadline_us = clock_us() + ASK_TIMEOUT_MS * 1000;
    if (pump_send(k, e) || pump_until(k, &asking.is_done, deadline_us, &user, "answer", e)) {
        if (e->code != ERR_UNAVAILABLE || k->end.kind || k->control < 0)
            goto fail;
        k->replies_owed++; /* looking ends no kernel; what it says later is dropped */
        kernel_enter(k, KERNEL_IDLE);
        return no_answer(e);
    }
    kernel_enter(k, KERNEL_IDLE);
    *ret = asking.reply;
    return 0;

fail:
    free(asking.reply);
    kernel_kill(k, &pump_discard);
    return -1;
}
