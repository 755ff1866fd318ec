/* kernel.h -- the program inside the jail: Python, and a socket that says what to run.
 *
 *     start Python (python.c)            nothing of a session has been read yet
 *     seal: the last seccomp filter
 *     HELLO
 *     for ever: RUN -> run.c, ASK -> ask.py
 *
 * Once the first RUN has been read, this process does whatever that code likes. Nothing in here is
 * a protection against it; the jail around it is. What is promised is only that ordinary code,
 * however clumsy, finds a Python that behaves like Python and gets faithful answers.
 *
 * One thread, no descriptors but 0, 1, 2 and the control socket while no code of a session has run.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

struct err;

/* Serves the engine on `control_fd`, which becomes this module's. Returns only when the start
 * failed; when the engine hangs up, the process ends with 0. */
int kernel_serve(int control_fd, struct err *e);

#endif
