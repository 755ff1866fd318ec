/* sixel.h -- an image for terminals that speak sixel.
 *
 * Sixel needs pixels, and decoding an image that hostile code has made is nothing to do outside the
 * jail. So the session that made it is asked to: it runs a few lines of Python that print the
 * sequence. The worst it can print is what it could have printed anyway.
 */
#ifndef CLI_SIXEL_H
#define CLI_SIXEL_H

#include <stddef.h>

struct buf;
struct err;
struct kernel;

/* The lines of Python: they read the image as base64 with input() and print the sequence. */
extern const char sixel_program[];

/* Appends the sequence for the image. Fails with ERR_UNAVAILABLE when the session cannot do it:
 * dead, without PIL and numpy, or not willing. Runs code in the session. Blocks for seconds at
 * most. */
int sixel_image(struct kernel *k, const char *bytes, size_t len, struct buf *out, struct err *e);

#endif
