#include "sandbox/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MEMLOCK_BYTES = 64 << 10,
    STACK_BYTES = 16 << 20,
    SIGNALS_PENDING = 256,
    KERNEL_SIGSET_SIZE = 8,
};

/* Soft and hard. Raising may not be permitted and is never wanted. */
static int lower(int resource, uint64_t wanted)
{
    struct rlimit now;
    if (syscall(SYS_prlimit64, 0, resource, NULL, &now))
        return errno;
    rlim_t value = now.rlim_max < wanted ? now.rlim_max : wanted;
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};
    if (syscall(SYS_prlimit64, 0, resource, &limit, NULL) ||
        syscall(SYS_prlimit64, 0, resource, NULL, &now))
        return errno;
    return now.rlim_cur == value && now.rlim_max == value ? 0 : EPERM;
}

int confine_rlimits(const struct confine_limits *limits)
{
    const struct {
        int resource;
        bool is_set;
        uint64_t value;
    } all[] = {
        {RLIMIT_CORE, true, 0},
        {RLIMIT_MSGQUEUE, true, 0},
        {RLIMIT_RTPRIO, true, 0},
        {RLIMIT_NICE, true, 0},
        {RLIMIT_MEMLOCK, true, MEMLOCK_BYTES},
        {RLIMIT_STACK, true, STACK_BYTES},
        {RLIMIT_SIGPENDING, true, SIGNALS_PENDING},
        {RLIMIT_FSIZE, true, limits->file_bytes},
        {RLIMIT_NOFILE, true, limits->open_files},
        {RLIMIT_NPROC, limits->pids != 0, limits->pids},
        {RLIMIT_DATA, limits->data_bytes != 0, limits->data_bytes},
        {RLIMIT_CPU, limits->cpu_s != 0, limits->cpu_s},
    };
    int why = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all && !why; i++)
        if (all[i].is_set)
            why = lower(all[i].resource, all[i].value);
    return why;
}

struct capabilities {
    struct __user_cap_data_struct words[_LINUX_CAPABILITY_U32S_3];
};

static int get_capabilities(struct capabilities *ret)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &head, ret->words) ? errno : 0;
}

static bool is_empty(const struct capabilities *c)
{
    static const struct capabilities none;
    return memcmp(c, &none, sizeof none) == 0;
}

/* Up to the last capability this kernel has: beyond it PR_CAPBSET_READ says EINVAL. */
static int drop_bounding_set(void)
{
    for (unsigned long cap = 0;; cap++) {
        int has = prctl(PR_CAPBSET_READ, cap, 0, 0, 0);
        if (has < 0)
            return errno == EINVAL && cap > CAP_AUDIT_READ ? 0 : errno;
        if (has > 0 && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0))
            return errno;
        if (has > 0 && prctl(PR_CAPBSET_READ, cap, 0, 0, 0) != 0)
            return EPERM;
    }
}

int confine_bounding_set(void)
{
    const int bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                     SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                     SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
    struct capabilities have;
    int why = get_capabilities(&have);
    if (why)
        return why;
    if (is_empty(&have))
        return 0;
    why = drop_bounding_set();
    if (why)
        return why;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0))
        return errno;
    return prctl(PR_GET_SECUREBITS, 0, 0, 0, 0) == bits ? 0 : EPERM;
}

int confine_identity(uid_t uid, gid_t gid)
{
    if (syscall(SYS_setgroups, 0, NULL) || syscall(SYS_setresgid, gid, gid, gid) ||
        syscall(SYS_setresuid, uid, uid, uid))
        return errno;
    uid_t ruid, euid, suid;
    gid_t rgid, egid, sgid;
    if (syscall(SYS_getresuid, &ruid, &euid, &suid) || syscall(SYS_getresgid, &rgid, &egid, &sgid))
        return errno;
    bool took = ruid == uid && euid == uid && suid == uid && rgid == gid && egid == gid &&
                sgid == gid && syscall(SYS_getgroups, 0, NULL) == 0;
    return took ? 0 : EPERM;
}

static int set_capabilities(const struct capabilities *wanted)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct capabilities now;
    if (syscall(SYS_capset, &head, wanted->words))
        return errno;
    int why = get_capabilities(&now);
    if (why)
        return why;
    /* The ambient set is a subset of the inheritable one, so it went with it; asked for all the
     * same, by clearing what must be clear already. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0))
        return errno;
    return memcmp(&now, wanted, sizeof now) == 0 ? 0 : EPERM;
}

int confine_capabilities(void)
{
    const struct capabilities none = {0};
    return set_capabilities(&none);
}

int confine_to_mounting(void)
{
    struct capabilities one = {0};
    one.words[CAP_TO_INDEX(CAP_SYS_ADMIN)].permitted = CAP_TO_MASK(CAP_SYS_ADMIN);
    one.words[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective = CAP_TO_MASK(CAP_SYS_ADMIN);
    return set_capabilities(&one);
}

int confine_parent_death(void)
{
    int sig = 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || prctl(PR_GET_PDEATHSIG, &sig, 0, 0, 0))
        return errno;
    return sig == SIGKILL ? 0 : EPERM;
}

int confine_no_new_privs(void)
{
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        return errno;
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : EPERM;
}

/* The kernel's own struct: libc's wrappers hide two signals it keeps for itself. */
struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

int confine_signals(void)
{
    const struct kernel_sigaction by_default = {.handler = SIG_DFL};
    for (int sig = 1; sig < _NSIG; sig++)
        if (sig != SIGKILL && sig != SIGSTOP &&
            syscall(SYS_rt_sigaction, sig, &by_default, NULL, KERNEL_SIGSET_SIZE))
            return errno;
    const uint64_t none = 0;
    uint64_t mask = ~none;
    if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, KERNEL_SIGSET_SIZE) ||
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, KERNEL_SIGSET_SIZE))
        return errno;
    return mask == none ? 0 : EPERM;
}

int confine_fixed_layout(void)
{
    const unsigned long ask = 0xffffffff;
    if (syscall(SYS_personality, ADDR_NO_RANDOMIZE) < 0)
        return errno;
    return syscall(SYS_personality, ask) == ADDR_NO_RANDOMIZE ? 0 : EPERM;
}

int confine_descriptors(const int *keep, unsigned count)
{
    unsigned first = 0; /* not looked at yet */
    for (unsigned i = 0; i < count; i++) {
        unsigned kept = (unsigned)keep[i];
        if (keep[i] < 0 || kept < first || fcntl(keep[i], F_GETFD) < 0)
            return EBADF;
        if (kept > first && syscall(SYS_close_range, first, kept - 1, 0))
            return errno;
        first = kept + 1;
    }
    return syscall(SYS_close_range, first, UINT_MAX, 0) ? errno : 0;
}
