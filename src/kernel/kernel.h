/* kernel.h -- the program inside the jail: Python, and a socket that says what to run.
 *
 * It comes into the world in two ways. Cold:
 *
 *     start Python (python.c)            nothing of a session has been read yet
 *     seal: the last seccomp filter
 *     HELLO
 *     for ever: RUN -> run.c, ASK -> ask.py, everything else -> requests.c
 *
 * Or from an image, which a kernel that was started to bake has written (bake.c): then Python and its
 * libraries are there, and it begins with the seal. A session that slept goes on where it was
 * (sleep.c).
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

/* Writes an image of a kernel that is ready into `image_fd`, an empty file, telling the engine on
 * `control_fd` how far it is (PROGRESS). Returns 0 when that is done. In a process that is started
 * from the image it does not return but serves, like kernel_serve. */
int kernel_bake(int control_fd, int image_fd, struct err *e);

#endif
