/* kernel_int.h -- the inside of a kernel, shared by kernel.c (its life) and pump.c (its talk). */
#ifndef SESSION_KERNEL_INT_H
#define SESSION_KERNEL_INT_H

#include <stdatomic.h>

#include "session/capture.h"
#include "session/kernel.h"
#include "wire/frame.h"
#include "wire/jail.h"

enum kernel_state { KERNEL_STARTING, KERNEL_IDLE, KERNEL_BUSY, KERNEL_DEAD, KERNEL_STATES };

enum kernel_stream { STREAM_OUT, STREAM_ERR, STREAM_COUNT };

struct kernel {
    enum kernel_state state;
    struct limits limits;
    int data_fd;              /* borrowed */
    int handle;               /* the jail's; -1 once it has ended and is cleaned up */
    int control;              /* frames; -1: closed by the kernel */
    int stream[STREAM_COUNT]; /* read ends of its stdout and stderr */
    int wake;                 /* eventfd: kernel_cancel was called */
    atomic_bool is_cancelled;
    bool has_started; /* the spawner said so */
    bool has_run;     /* at least one run: the next finds its variables */
    bool has_usage;   /* `used` is the answer to the last request */
    struct frame_reader in;
    struct buf out; /* frames on their way to the kernel */
    size_t out_sent;
    struct jail_event used; /* the newest USED or ENDED */
    struct jail_event end;  /* kind JAIL_ENDED or JAIL_FAILED once it is over */
    uint64_t cpu_before_us; /* up to the end of the previous run */
    struct snapshot files;  /* /mnt/data at the end of the previous run */
};

/* The only way to change the state, along the arrows in kernel.h; another one would be our bug and
 * is asserted not to happen. Dying twice is no step and allowed. */
void kernel_enter(struct kernel *k, enum kernel_state to);
bool kernel_may_enter(enum kernel_state from, enum kernel_state to);

/* What happens while we wait, told to whoever waits. Each returns non-zero with *e set to give up. */
struct pump_user {
    int (*on_stream)(void *arg, enum kernel_stream stream, const char *bytes, size_t len,
                     struct err *e);
    int (*on_frame)(void *arg, const struct frame *frame, struct err *e);
    void *arg;
};

/* Waits once, until something happens or `deadline_us`, and passes on all that happened: streams
 * before the frame that followed them. A kernel whose jail ended has k->end.kind set and all its
 * output passed on. Fails with what the user failed with, or ERR_PROTOCOL. */
int pump(struct kernel *k, int64_t deadline_us, const struct pump_user *user, struct err *e);

/* Queues the frame that was just completed in k->out and sends what can be sent now. Fails with
 * ERR_PROTOCOL when the kernel does not read. */
int pump_send(struct kernel *k, struct err *e);

/* Answers what a kernel may say at any time: SYNC, DISPLAY and CLEAR. ERR_PROTOCOL for other frames. */
int pump_acknowledge(struct kernel *k, const struct frame *frame, struct err *e);

/* Asks the spawner. Failing to is not noticed here: the handle will close. */
void kernel_request(struct kernel *k, enum jail_request_kind kind);

/* Reads what the spawner said without waiting. */
void kernel_listen(struct kernel *k);

/* Kills the jail and waits for its end; then k->end is set and the state DEAD. */
void kernel_kill(struct kernel *k, const struct pump_user *user);

#endif
