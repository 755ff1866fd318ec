#include "sandbox/filter.h"

#include <errno.h>
#include <linux/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/filter_int.h"

/* The programs are written with labels: one enumerator per instruction, in order. */
#define TO(from, to) ((to) - (from)-1)

/* Denies what the outer program still allowed for SETUP. prctl's option has 32 bits, so only its
 * low half may be looked at: this is a list of refusals, and a set upper half would slip through. */
enum {
    SEAL_ARCH,
    SEAL_IS_NATIVE,
    SEAL_NR,
#define SETUP(name) SEAL_IS_##name,
#include "sandbox/syscalls.def"
    SEAL_IS_prctl,
    SEAL_OPTION,
#define SETUP_PRCTL(option) SEAL_IS_##option,
#include "sandbox/syscalls.def"
    SEAL_ALLOW,
    SEAL_DENY,
    SEAL_KILL,
    SEAL_COUNT
};

static const struct sock_filter seal[SEAL_COUNT] = {
    [SEAL_ARCH] = LOAD(OFFSET_ARCH),
    [SEAL_IS_NATIVE] = JUMP_IF(BPF_JEQ, FILTER_ARCH, 0, TO(SEAL_IS_NATIVE, SEAL_KILL)),
    [SEAL_NR] = LOAD(OFFSET_NR),
#define SETUP(name) \
    [SEAL_IS_##name] = JUMP_IF(BPF_JEQ, SYS_##name, TO(SEAL_IS_##name, SEAL_DENY), 0),
#include "sandbox/syscalls.def"
    [SEAL_IS_prctl] = JUMP_IF(BPF_JEQ, SYS_prctl, 0, TO(SEAL_IS_prctl, SEAL_ALLOW)),
    [SEAL_OPTION] = LOAD(OFFSET_ARG0),
#define SETUP_PRCTL(option) \
    [SEAL_IS_##option] = JUMP_IF(BPF_JEQ, option, TO(SEAL_IS_##option, SEAL_DENY), 0),
#include "sandbox/syscalls.def"
    [SEAL_ALLOW] = RETURN(SECCOMP_RET_ALLOW),
    [SEAL_DENY] = RETURN(DENY(EPERM)),
    [SEAL_KILL] = RETURN(SECCOMP_RET_KILL_PROCESS),
};

enum {
    INIT_ARCH,
    INIT_IS_NATIVE,
    INIT_NR,
    INIT_WAITID,
    INIT_EXIT,
    INIT_SIGRETURN,
    INIT_CLOSE,
    INIT_SIGNAL,
    INIT_WHOM,
    INIT_IS_GROUP,
    INIT_KILL,
    INIT_ALLOW,
    INIT_COUNT
};

static const struct sock_filter init[INIT_COUNT] = {
    [INIT_ARCH] = LOAD(OFFSET_ARCH),
    [INIT_IS_NATIVE] = JUMP_IF(BPF_JEQ, FILTER_ARCH, 0, TO(INIT_IS_NATIVE, INIT_KILL)),
    [INIT_NR] = LOAD(OFFSET_NR),
    [INIT_WAITID] = JUMP_IF(BPF_JEQ, SYS_waitid, TO(INIT_WAITID, INIT_ALLOW), 0),
    [INIT_EXIT] = JUMP_IF(BPF_JEQ, SYS_exit_group, TO(INIT_EXIT, INIT_ALLOW), 0),
    [INIT_SIGRETURN] = JUMP_IF(BPF_JEQ, SYS_rt_sigreturn, TO(INIT_SIGRETURN, INIT_ALLOW), 0),
    /* Its last descriptor is closed when nothing else is left to do: that tells the spawner. */
    [INIT_CLOSE] = JUMP_IF(BPF_JEQ, SYS_close_range, TO(INIT_CLOSE, INIT_ALLOW), 0),
    /* kill(0, ...): its own process group, which it takes along where there is no pid namespace. */
    [INIT_SIGNAL] = JUMP_IF(BPF_JEQ, SYS_kill, 0, TO(INIT_SIGNAL, INIT_KILL)),
    [INIT_WHOM] = LOAD(OFFSET_ARG0),
    [INIT_IS_GROUP] = JUMP_IF(BPF_JEQ, 0, TO(INIT_IS_GROUP, INIT_ALLOW), 0),
    [INIT_KILL] = RETURN(SECCOMP_RET_KILL_PROCESS),
    [INIT_ALLOW] = RETURN(SECCOMP_RET_ALLOW),
};

/* What pid 1 still has to do when its data directory comes (spawn/inside.c). */
/* clang-format off */
#define PARKED_CALLS                                                                           \
    CALL(poll) CALL(recvmsg) CALL(move_mount) CALL(sendto) CALL(capset) CALL(capget)           \
    CALL(prctl) CALL(close_range) CALL(seccomp) CALL(waitid) CALL(exit_group) CALL(rt_sigreturn)

enum {
    PARKED_ARCH,
    PARKED_IS_NATIVE,
    PARKED_NR,
#define CALL(name) PARKED_IS_##name,
    PARKED_CALLS
#undef CALL
    PARKED_KILL,
    PARKED_ALLOW,
    PARKED_COUNT
};

static const struct sock_filter parked[PARKED_COUNT] = {
    [PARKED_ARCH] = LOAD(OFFSET_ARCH),
    [PARKED_IS_NATIVE] = JUMP_IF(BPF_JEQ, FILTER_ARCH, 0, TO(PARKED_IS_NATIVE, PARKED_KILL)),
    [PARKED_NR] = LOAD(OFFSET_NR),
#define CALL(name) \
    [PARKED_IS_##name] = JUMP_IF(BPF_JEQ, SYS_##name, TO(PARKED_IS_##name, PARKED_ALLOW), 0),
    PARKED_CALLS
#undef CALL
    [PARKED_KILL] = RETURN(SECCOMP_RET_KILL_PROCESS),
    [PARKED_ALLOW] = RETURN(SECCOMP_RET_ALLOW),
};
/* clang-format on */

/* For all threads or not at all: a thread that some library started and that kept the old policy
 * would be a way around the new one. */
static int load(const struct filter *f)
{
    struct sock_fprog program = {.len = f->count, .filter = f->insns};
    long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    if (r < 0)
        return errno;
    return r > 0 ? EBUSY : 0; /* the id of a thread that could not follow */
}

int filter_load(const struct filter *f)
{
    return load(f);
}

int filter_load_seal(void)
{
    struct filter f = filter_seal();
    return load(&f);
}

int filter_load_parked(void)
{
    struct filter f = filter_parked();
    return load(&f);
}

int filter_load_init(void)
{
    struct filter f = filter_init();
    return load(&f);
}

struct filter filter_seal(void)
{
    return (struct filter){.insns = (struct sock_filter *)seal, .count = SEAL_COUNT};
}

struct filter filter_parked(void)
{
    return (struct filter){.insns = (struct sock_filter *)parked, .count = PARKED_COUNT};
}

struct filter filter_init(void)
{
    return (struct filter){.insns = (struct sock_filter *)init, .count = INIT_COUNT};
}
