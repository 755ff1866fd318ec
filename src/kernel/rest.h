/* rest.h -- a kernel at rest: written down as an image or a delta, copied, trimmed.
 *
 * The mechanism, on top of image/. Whether the process may rest, and what has to be done before and
 * after, is decided elsewhere (sleep.c): here it has one thread and nothing that memory does not hold.
 *
 * rest_bake and rest_sleep return more than once: where they were called, and in every process that is
 * later put together from what they wrote.
 */
#ifndef KERNEL_REST_H
#define KERNEL_REST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* Writes the image to `image_fd`. 0 in the process that wrote it, 1 in one that was started from it,
 * -1 with *e. `deps` as in image/format.h. */
int rest_bake(int image_fd, const char *deps, size_t deps_len, struct err *e);

/* Writes the delta to `fd`. 0 in the process that wrote it, which may go on; 1 in one that has woken;
 * -1 and *ret_why, a sentence, when it cannot be done. */
int rest_sleep(int fd, const char **ret_why);

/* A copy of this process beside it, a child of its parent. 0 in the original, 1 in the copy, -1 with
 * errno. The caller tells Python, before and after. */
int rest_copy(void);

/* Gives back pages that are equal to the image's. How many; 0 also when that cannot be told. Only with
 * one thread: another could write to a page just then. */
long rest_trim(void);

/* About the process as it is now: started from an image, or woken; -1 or 0 in a cold one. */
bool rest_is_image(void);
int rest_control(void);          /* descriptor of the control socket */
uint64_t rest_image_bytes(void); /* of the image it came from, all of it mapped */
int rest_lost_files(void);       /* mapped files that were gone when it woke */

#endif
