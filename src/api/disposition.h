/* disposition.h -- Content-Disposition: under which name a browser keeps what it gets (RFC 6266).
 *
 * A name that is not plain ASCII is given twice: `filename` with an underscore for every character that
 * some browser would take for something else, and `filename*` as it is, in UTF-8 (RFC 8187).
 */
#ifndef API_DISPOSITION_H
#define API_DISPOSITION_H

#include <stdbool.h>

struct buf;

/* Appends the header's value for the last component of `path`. */
void disposition_write(struct buf *out, const char *path, bool is_inline);

#endif
