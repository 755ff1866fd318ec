/* outlet.h -- writing to somebody who may be slow, gone, or never reading again.
 *
 * Whoever reads our output may stop doing so while we write. Ctrl-C must end the program then too,
 * so nothing here waits for a reader once it is asked to stop.
 */
#ifndef CLI_OUTLET_H
#define CLI_OUTLET_H

#include <stddef.h>

struct stop;

/* Writes all of it. Returns 0, or the errno; ECANCELED when it was asked to stop while the reader
 * did not read. `stop` may be NULL. Blocks. */
int outlet_write(int fd, struct stop *stop, const char *bytes, size_t len);

#endif
