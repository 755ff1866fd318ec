/* names.h -- a list of names or reasons that a stranger gave: bounded in number and in length.
 *
 *     scoped(names_done) struct names lost = {0};
 *     names_from_frame(&lost, frame, FIELD_LOST, e)
 *
 * The bytes are not checked to be UTF-8. A NUL in them was made '?'.
 */
#ifndef SESSION_NAMES_H
#define SESSION_NAMES_H

#include <stddef.h>

#include "wire/frame.h"

struct err;

enum {
    NAMES_MAX = 1000,     /* kept of one list; later ones are counted only */
    NAMES_LEN_MAX = 256,  /* bytes of one; the rest is cut off */
    NAMES_MORE_SIZE = 64, /* room for names_text's "and 12 more" */
};

struct names {
    char **list; /* each NUL-terminated */
    size_t count;
    size_t more; /* that were left out */
};

void names_done(struct names *n); /* back to empty, usable again */

/* Fails with ERR_NO_MEMORY. */
int names_add(struct names *n, const void *bytes, size_t len, struct err *e);

/* Adds every field of that tag. Fails with ERR_NO_MEMORY; those before are added then. */
int names_from_frame(struct names *n, const struct frame *frame, enum field_tag tag, struct err *e);

/* Moves all of `from` to the end of `to`. Fails with ERR_NO_MEMORY, and nothing has moved. */
int names_append(struct names *to, struct names *from, struct err *e);

/* How many bytes they are, each with its NUL. */
size_t names_bytes(const struct names *n);

/* Appends them with ", " between them, and "and 12 more" where `out` would become longer than `len`
 * without NAMES_MORE_SIZE. */
void names_text(const struct names *n, size_t len, struct buf *out);

#endif
