/* filter_int.h -- words of BPF that filter.c and seal.c share. */
#ifndef SANDBOX_FILTER_INT_H
#define SANDBOX_FILTER_INT_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#ifndef __x86_64__
#error \
    "syscalls.def and its table are written for x86-64; another architecture needs its own review"
#endif

#define FILTER_ARCH AUDIT_ARCH_X86_64

#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (offset))
#define JUMP_IF(test, k, yes, no) BPF_JUMP(BPF_JMP | (test) | BPF_K, (k), (yes), (no))
#define RETURN(what) BPF_STMT(BPF_RET | BPF_K, (what))

#define DENY(errnum) (SECCOMP_RET_ERRNO | ((errnum)&SECCOMP_RET_DATA))

enum {
    OFFSET_NR = offsetof(struct seccomp_data, nr),
    OFFSET_ARCH = offsetof(struct seccomp_data, arch),
    OFFSET_ARG0 = offsetof(struct seccomp_data, args), /* its low half, which comes first */
};

#endif
