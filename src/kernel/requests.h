/* requests.h -- what the engine asks for beside running code: ENTER RESEED WARM SAVE RESTORE.
 *
 * SLEEP and COPY are in sleep.h. The work itself is done in Python, by the modules named below.
 */
#ifndef KERNEL_REQUESTS_H
#define KERNEL_REQUESTS_H

#include <limits.h>
#include <stdbool.h>

#include "kernel/run.h"

struct frame;

/* The kernel as a whole: what its main loop knows. */
struct kernel {
    struct shell shell;
    bool is_newborn;    /* from an image, and no code has come yet */
    char cwd[PATH_MAX]; /* where the image was baked */
};

/* All need the GIL and always answer, if there is an answer at all. They own the descriptor. */
void request_enter(struct kernel *k, const struct frame *frame); /* birth.py */
void request_reseed(void);                                       /* birth.py */
void request_warm(struct kernel *k);                             /* warm.py */
void request_save(int fd);                                       /* save.py */
void request_restore(int fd);

/* Runs the cells of that kind ("bake", "touch") that warm.py has, with the engine hearing nothing.
 * 0, or -1 with an exception. */
int request_run_cells(struct kernel *k, const char *kind);

#endif
