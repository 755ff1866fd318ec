/* memory.h -- how much memory and CPU time a session uses, where no cgroup counts it.
 *
 * Memory is that of init and all its descendants: anonymous and shared pages, each shared page
 * divided by its users (PSS). Pages of a mapped file count once they are changed, not before: an
 * image costs a session nothing, unless it lies in a tmpfs, whose pages are all memory. Asking for
 * it makes the kernel walk page tables, tens of milliseconds for a big process, so a scan goes
 * process by process and the caller decides when to go on:
 *
 *     memory_begin(&m, init);
 *     while (!memory_step(&m)) ...            each step is one process
 *     m.bytes, m.cpu_us, m.is_there
 */
#ifndef SANDBOX_MEMORY_H
#define SANDBOX_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "sandbox/procs.h"

struct memory_scan {
    struct procs procs;
    uint64_t bytes;
    uint64_t cpu_us; /* reaped children included */
    bool is_there;   /* init was alive */
};

void memory_begin(struct memory_scan *m, pid_t init); /* also begins anew */
bool memory_step(struct memory_scan *m);              /* true: complete */
void memory_done(struct memory_scan *m);

#endif
