/* bake.h -- making an image: a kernel with its libraries imported and used once, written down.
 *
 *     preload.py   imports
 *     warm.py      cells, run like any other but mute; then their traces are removed
 *     bake.py      caches, descriptors, garbage; the list of files it all came from
 *     rest_bake    writes, and returns again in every process that is started from the image
 */
#ifndef KERNEL_BAKE_H
#define KERNEL_BAKE_H

struct err;
struct kernel;

enum baked { BAKE_FAILED = -1, BAKE_WRITTEN, BAKE_BORN };

/* BAKE_BORN: in a process started from the image, which the loader has sealed; HELLO has been said. */
enum baked bake(struct kernel *k, int image_fd, struct err *e);

#endif
