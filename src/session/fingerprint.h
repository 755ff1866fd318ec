/* fingerprint.h -- what a baked image depends on, beside the files it was made of.
 *
 * An image is a process: it fits the loader that maps it, was made by one build of the kernel
 * program, and has chosen its code paths by the features of one CPU. The operating system's version
 * is not among them: an image knows no vDSO.
 */
#ifndef SESSION_FINGERPRINT_H
#define SESSION_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"

struct err;

enum { BUILD_ID_SIZE = 65 }; /* up to 32 bytes in hex, and the NUL */

struct fingerprint {
    uint32_t format;            /* version of the image file */
    char kernel[BUILD_ID_SIZE]; /* build ids */
    char loader[BUILD_ID_SIZE];
    char cpu[HASH_HEX_SIZE]; /* hash of the feature bits */
};

/* Of this host and these two programs. Fails with what the files fail with, or ERR_INVALID for one
 * without a build id. Blocks on disk. */
int fingerprint_take(const char *kernel_path, const char *load_path, struct fingerprint *ret,
                     struct err *e);

bool fingerprint_equal(const struct fingerprint *a, const struct fingerprint *b);

/* The build id of an ELF program, in hex (the note .note.gnu.build-id). Fails like the above. */
int build_id_read(const char *path, char ret[BUILD_ID_SIZE], struct err *e);

#endif
