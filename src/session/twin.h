/* twin.h -- copies of a kernel that wait in its jail, to go back to.
 *
 *     kernel_copy(k, &twin, &report, e)      the kernel forks: its memory as it is, copy-on-write
 *     ... more runs ...
 *     kernel_switch(k, &twin, e)             k goes on as that copy; what it was since is killed
 *
 * A twin is a process of the same jail and ends with it. It costs the pages that differ, and counts
 * against the session's memory and processes. It is not told apart from its original by what it
 * knows, so it keeps its random numbers; /mnt/data is not part of it.
 */
#ifndef SESSION_TWIN_H
#define SESSION_TWIN_H

#include <stdint.h>

struct err;
struct kernel;
struct rest_report;

struct twin {
    int control; /* its socket; when it closes, the twin exits. -1: none */
    int32_t pid; /* as we number it; known to the spawner */
};

#define TWIN_NONE ((struct twin){.control = -1})

/* Makes one. Returns 0 also when the kernel refused (live threads, say): then report->is_refused
 * and *ret is untouched. Fails with ERR_CONFLICT (not idle), ERR_UNAVAILABLE, ERR_PROTOCOL; after
 * the latter two the kernel is dead. Blocks for the fork: about a millisecond. */
int kernel_copy(struct kernel *k, struct twin *ret, struct rest_report *report, struct err *e);

/* Lets the twin go on as the kernel, and takes it over. Everything else in the jail is killed but
 * other twins. Fails with ERR_NOT_FOUND when the twin has died meanwhile and nothing was changed,
 * ERR_CONFLICT (not idle), or ERR_UNAVAILABLE, and then the kernel is dead. Blocks. */
int kernel_switch(struct kernel *k, struct twin *to, struct err *e);

void twin_done(struct twin *t); /* it exits by itself */

#endif
