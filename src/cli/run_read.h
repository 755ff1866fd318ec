/* run_read.h -- the run object, read back: what a server says about a run, as the record that show.h,
 * delivery.h and ending.h know.
 *
 * Whatever is missing or of another type is left empty. Bytes that are not UTF-8 were replaced by the
 * server. Of a stream that was too long, the object has head and tail around a line that says how
 * much is missing; they become head and tail again.
 */
#ifndef CLI_RUN_READ_H
#define CLI_RUN_READ_H

#include "session/run.h"

struct err;
struct json_t;

/* The caller frees *ret with run_done. Fails with ERR_NO_MEMORY, or with ERR_PROTOCOL if it is no run
 * that has ended. */
int run_read(const struct json_t *object, struct run *ret, struct err *e);

/* A bundle {MIME type: content}; display_done frees it. Fails with ERR_NO_MEMORY. */
int display_read(const struct json_t *bundle, struct display *ret, struct err *e);

/* {name, message, line, traceback}; run_error_done frees it. Fails with ERR_NO_MEMORY. */
int run_error_read(const struct json_t *object, struct run_error *ret, struct err *e);

#endif
