/* loader.h -- cicada-load: what is executed in a jail to put a process together.
 *
 * A static program without a C library, at addresses no image uses. It is started as
 *
 *     python3 CONTROL image      maps the image at descriptor CONTROL+1 and goes on in it
 *     python3 CONTROL delta N    the same with the delta at CONTROL+2 laid over it; from then on, the process may
 *                                have N bytes of data, or a little more than it had
 *     python3 CONTROL bake       starts the kernel program so that it can bake itself
 *
 * inside the finished jail, behind all its fences. Before it reads the delta, which is a session's
 * data and hostile, it seals itself; so nothing a delta says can do more than the session could.
 */
#ifndef IMAGE_LOADER_LOADER_H
#define IMAGE_LOADER_LOADER_H

#include <stdbool.h>
#include <stdint.h>

/* The stack as the kernel of the OS prepares it: argc, argv, NULL, environment, NULL, auxv. */
struct start {
    uint64_t count;
    const char *const *argv;
    const char *const *env;
    const uint64_t *auxv; /* pairs */
};

/* Says why on stderr, where the engine reads it, and ends the process. */
_Noreturn void loader_fail(const char *why, long number);

/* Loads the image, and the delta if there is one, and jumps. With a delta, `data_max` is RLIMIT_DATA
 * from then on. */
_Noreturn void loader_load(int control, bool has_delta, uint64_t data_max);

/* Starts the dynamic linker with the kernel program. */
_Noreturn void loader_bake(const struct start *start);

#endif
