/* multipart.h -- multipart/form-data (RFC 7578) as it arrives: nothing is kept but one buffer.
 *
 *     multipart_new(content_type, read, x, &m, e)
 *     while (multipart_next(m, &part, e) == 0 && part)         what is left of a part is skipped
 *         while (multipart_read(m, bytes, size, &len, e) == 0 && len)
 *             ...
 *     multipart_free(m)
 *
 * Bytes are pulled through `read`, as http_read gives them, only when the caller asks for some: a
 * slow caller slows the client down. Fields come in the order of the body. After a failure nothing
 * more can be read.
 */
#ifndef HTTP_MULTIPART_H
#define HTTP_MULTIPART_H

#include <stddef.h>

#include "base/str.h"

struct err;
struct multipart;

enum {
    MULTIPART_BOUNDARY_MAX = 70,
    MULTIPART_PARTS_MAX = 256,
    MULTIPART_HEAD_MAX = 8 << 10,
    MULTIPART_NAME_MAX = 255,
};

struct multipart_part {
    char name[MULTIPART_NAME_MAX + 1];
    const char *filename; /* as the client said, perhaps with slashes; NULL: a plain field */
    char type[MULTIPART_NAME_MAX + 1]; /* "text/plain" when the client said nothing */
};

/* Like http_read. */
typedef int multipart_read_fn(void *arg, void *to, size_t size, size_t *ret_len, struct err *e);

/* `content_type` is the header's value. Fails with ERR_UNSUPPORTED when it is another type, with
 * ERR_INVALID when its boundary is malformed. */
int multipart_new(struct str content_type, multipart_read_fn *read, void *arg,
                  struct multipart **ret, struct err *e);
void multipart_free(struct multipart *m);
void multipart_freep(struct multipart **m);

/* The next part; *ret is NULL after the last and is good until the next call. Blocks in `read`. Fails
 * with what that failed with, with ERR_INVALID when the body is malformed or ends early, with
 * ERR_TOO_LARGE when there are too many parts or one has too large a head. */
int multipart_next(struct multipart *m, const struct multipart_part **ret, struct err *e);

/* Bytes of the present part; *ret_len is 0 at its end. Blocks and fails likewise. */
int multipart_read(struct multipart *m, void *to, size_t size, size_t *ret_len, struct err *e);

#endif
