#include "sandbox/filter.h"

#include <asm/ioctls.h>
#include <asm/prctl.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "sandbox/filter_int.h"

#define LOW32 0xffffffffu
#define SOCK_TYPE_BITS 0xfu /* the kernel's SOCK_TYPE_MASK; flags are above */
#define CLONE_NEW_ANY                                                                         \
    ((uint64_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
                CLONE_NEWPID | CLONE_NEWNET | 0x80 /* CLONE_NEWTIME */))

/* Newer than the headers of Debian 12. */
#ifndef ARCH_GET_XCOMP_SUPP
#define ARCH_GET_XCOMP_SUPP 0x1021
#define ARCH_GET_XCOMP_PERM 0x1022
#define ARCH_REQ_XCOMP_PERM 0x1023
#endif

/* When a rule holds; a policy is a set of these. */
enum {
    ALWAYS = 1 << 0,
    SOCKETS = 1 << 1,
    NO_SOCKETS = 1 << 2,
    GROUPS = 1 << 3,
    MEMFD = 1 << 4,
    AFFINITY = 1 << 5,
};

struct rule {
    unsigned when;
    int nr;
    unsigned arg_count;
    struct scmp_arg_cmp args[2];
};

#define ARG(i, mask, value)                                                         \
    {                                                                               \
        .arg = (i), .op = SCMP_CMP_MASKED_EQ, .datum_a = (mask), .datum_b = (value) \
    }

static const struct rule rules[] = {
#define CALL(w, name) {.when = (w), .nr = SCMP_SYS(name)},
#define CALL1(w, name, a) {.when = (w), .nr = SCMP_SYS(name), .arg_count = 1, .args = {a}},
#define CALL2(w, name, a, b) {.when = (w), .nr = SCMP_SYS(name), .arg_count = 2, .args = {a, b}},
#define SETUP(name) CALL(ALWAYS, name)
#define SETUP_PRCTL(option) CALL1(ALWAYS, prctl, ARG(0, LOW32, option))
#include "sandbox/syscalls.def"
};

static unsigned conditions(const struct filter_policy *policy)
{
    return ALWAYS | (policy->sockets ? SOCKETS : NO_SOCKETS) | (policy->new_groups ? GROUPS : 0u) |
           (policy->memfd ? MEMFD : 0u) | (policy->affinity ? AFFINITY : 0u);
}

static void release(scmp_filter_ctx *context)
{
    if (*context)
        seccomp_release(*context);
}

/* libseccomp returns negative errnos. */
static int fill(scmp_filter_ctx context, unsigned when)
{
    int r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (!r)
        r = seccomp_attr_set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2); /* a tree: loads 3x faster */
    if (!r)
        r = seccomp_rule_add(context, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    /* Takes a gigabyte of disk between two looks at it. libc writes zeros instead. */
    if (!r)
        r = seccomp_rule_add(context, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(fallocate), 0);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !r; i++)
        if (rules[i].when & when)
            r = seccomp_rule_add_exact_array(context, SCMP_ACT_ALLOW, rules[i].nr,
                                             rules[i].arg_count, rules[i].args);
    return r;
}

/* What libseccomp cannot say goes in front of its program: numbers above the list do not exist, the
 * x32 entry kills. -1 is what a debugger writes to skip a call; it is no call at all. */
static const struct sock_filter front[] = {
    LOAD(OFFSET_ARCH),
    JUMP_IF(BPF_JEQ, FILTER_ARCH, 1, 0),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    LOAD(OFFSET_NR),
    JUMP_IF(BPF_JGT, FILTER_NR_MAX, 0, 4), /* to the end: libseccomp's part */
    JUMP_IF(BPF_JEQ, UINT32_MAX, 2, 0),
    JUMP_IF(BPF_JSET, 0x40000000u, 0, 1),
    RETURN(SECCOMP_RET_KILL_PROCESS),
    RETURN(DENY(ENOSYS)),
};

/* libseccomp exports into a descriptor only. */
static int join(scmp_filter_ctx context, struct filter *ret, struct err *e)
{
    scoped(fd_closep) int fd = memfd_create("filter", MFD_CLOEXEC);
    int r = fd < 0 ? -errno : seccomp_export_bpf(context, fd);
    struct stat st;
    if (r || fstat(fd, &st) || lseek(fd, 0, SEEK_SET) < 0)
        return err_set(e, ERR_UNAVAILABLE, "export seccomp filter: errno %d", r ? -r : errno);

    size_t len = (size_t)st.st_size, got;
    size_t count = sizeof front / sizeof *front + len / sizeof *ret->insns;
    if (len == 0 || len % sizeof *ret->insns != 0 || count > BPF_MAXINSNS)
        return err_set(e, ERR_UNAVAILABLE, "seccomp filter of %zu bytes", len);
    scoped(freep) struct sock_filter *insns = malloc(count * sizeof *insns);
    if (!insns)
        return err_set(e, ERR_NO_MEMORY, "seccomp filter");
    memcpy(insns, front, sizeof front);
    if (fd_read_all(fd, insns + sizeof front / sizeof *front, len, &got, e))
        return err_wrap(e, "seccomp filter");
    if (got != len)
        return err_set(e, ERR_UNAVAILABLE, "seccomp filter cut short");
    *ret = (struct filter){.insns = take(insns), .count = (unsigned short)count};
    return 0;
}

int filter_build(const struct filter_policy *policy, struct filter *ret, struct err *e)
{
    scoped(release) scmp_filter_ctx context = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    if (!context)
        return err_set(e, ERR_UNAVAILABLE, "libseccomp does not start");
    int r = fill(context, conditions(policy));
    if (r)
        return err_set(e, ERR_UNAVAILABLE, "seccomp rules: errno %d", -r);
    return join(context, ret, e);
}

void filter_done(struct filter *f)
{
    free(f->insns);
    *f = (struct filter){0};
}
