/* kernel_int.h -- the inside of a kernel, shared by those who work on it: birth.c, kernel.c (its
 * life), pump.c (its talk), exec.c (its runs), rest.c and twin.c. */
#ifndef SESSION_KERNEL_INT_H
#define SESSION_KERNEL_INT_H

#include <stdatomic.h>

#include "session/capture.h"
#include "session/counters.h"
#include "session/kernel.h"
#include "session/names.h"
#include "wire/frame.h"
#include "wire/jail.h"

enum kernel_state {
    KERNEL_STARTING,
    KERNEL_PARKED,
    KERNEL_IDLE,
    KERNEL_BUSY,
    KERNEL_DEAD,
    KERNEL_STATES
};

enum kernel_stream { STREAM_OUT, STREAM_ERR, STREAM_COUNT };

struct kernel {
    enum kernel_state state;
    struct limits limits;
    struct jail_data data;    /* borrowed; dir_fd -1: parked */
    uint64_t reserve_bytes;   /* of the disk that is on */
    int handle;               /* the jail's; -1 once it has ended and is cleaned up */
    int control;              /* frames; -1: closed by the kernel */
    int stream[STREAM_COUNT]; /* read ends of its stdout and stderr */
    int wake;                 /* eventfd: kernel_cancel was called */
    atomic_bool is_cancelled;
    bool has_started;          /* the spawner said so */
    bool has_usage;            /* `used` is the answer to the last request */
    bool is_full;              /* JAIL_FULL came: it writes where the disk is down to its reserve */
    bool is_baked;             /* came from an image */
    enum run_state next_state; /* what the next run will say, and */
    struct names lost;         /* what it will call lost */
    uint32_t replies_owed;     /* answers to questions that nobody waits for any more */
    struct frame_reader in;
    struct buf out; /* frames on their way to the kernel */
    size_t out_sent;
    int out_fd; /* owned: goes with the byte of `out` at out_fd_at; -1: none */
    size_t out_fd_at;
    struct counters counters; /* of its cgroup */
    struct jail_event used;   /* the newest USED or ENDED, or read from the counters */
    struct jail_event answer; /* the newest ATTACHED, SWITCHED, BROUGHT; kind 0: none since asked */
    struct jail_event end;    /* kind JAIL_ENDED or JAIL_FAILED once it is over */
    bool is_orphaned;         /* over because the spawner died, whose end takes the jail with it */
    uint64_t cpu_before_us;   /* up to the end of the previous run */
    struct snapshot files;    /* /mnt/data at the end of the previous run */
};

/* The only way to change the state, along the arrows in kernel.h; another one would be our bug and
 * is asserted not to happen. Dying twice is no step and allowed. */
void kernel_enter(struct kernel *k, enum kernel_state to);
bool kernel_may_enter(enum kernel_state from, enum kernel_state to);

/* What happens while we wait, told to whoever waits. Each returns non-zero with *e set to give
 * up. */
struct pump_user {
    /* NULL: output stays in the pipes, for the next run. */
    int (*on_stream)(void *arg, enum kernel_stream stream, const char *bytes, size_t len,
                     struct err *e);
    int (*on_frame)(void *arg, const struct frame *frame, struct err *e);
    void *arg;
    /* Something else the kernel writes to: called when there is something to read. NULL:
     * nothing. */
    int (*on_side)(void *arg, struct err *e);
    const int *side_fd; /* the caller's; -1 once it is over */
};

extern const struct pump_user pump_discard; /* whatever comes: nobody wants it any more */

/* Waits once, until something happens or `deadline_us`, and passes on all that happened: streams
 * before the frame that followed them. A kernel whose jail ended has k->end.kind set and all its
 * output passed on. Fails with what the user failed with, or ERR_PROTOCOL. */
int pump(struct kernel *k, int64_t deadline_us, const struct pump_user *user, struct err *e);

/* Queues the frame that was just completed in k->out and sends what can be sent now. Fails with
 * ERR_PROTOCOL when the kernel does not read. */
int pump_send(struct kernel *k, struct err *e);

/* The same for a frame with a descriptor, which is taken, also on failure; `at` is what k->out.len
 * was before the frame. */
int pump_send_fd(struct kernel *k, size_t at, int fd, struct err *e);

/* Answers what a kernel may say at any time: SYNC, DISPLAY and CLEAR. ERR_PROTOCOL for other
 * frames. */
int pump_acknowledge(struct kernel *k, const struct frame *frame, struct err *e);

/* Pumps until *is_done. Fails with ERR_UNAVAILABLE when the jail ends first, or `deadline_us`
 * comes; `what` is what the kernel was to do: "sleep". */
int pump_until(struct kernel *k, const bool *is_done, int64_t deadline_us,
               const struct pump_user *user, const char *what, struct err *e);

/* Asks for a jail and is its kernel's owner; *ret is STARTING. `data` may be NULL. `image_fd` and `delta_fd` as the
 * spec says. */
int kernel_open(struct spawner *s, const struct jail_spec *spec, const struct jail_data *data,
                const struct kernel_origin *origin, struct kernel **ret, struct err *e);

/* IDLE to BUSY, or ERR_CONFLICT. */
int kernel_begin(struct kernel *k, struct err *e);

/* Asks the spawner. Failing to is not noticed here: the handle will close. */
void kernel_request(struct kernel *k, enum jail_request_kind kind);

/* Asks the spawner for something that it answers by an event of kind `wanted` and waits for it: then
 * it is in k->answer. Fails with ERR_UNAVAILABLE when the jail ends. */
int kernel_demand(struct kernel *k, const struct jail_request *request, enum jail_event_kind wanted,
                  struct err *e);

/* The same in two steps, with descriptors, for who has something to do meanwhile. */
int kernel_wish(struct kernel *k, const struct jail_request *request, const int *fds,
                size_t fd_count, struct err *e);
int kernel_await(struct kernel *k, enum jail_event_kind wanted, struct err *e);

/* Reads what the spawner said without waiting. */
void kernel_listen(struct kernel *k);

/* Kills the jail and waits for its end; then k->end is set and the state DEAD. */
void kernel_kill(struct kernel *k, const struct pump_user *user);

#endif
