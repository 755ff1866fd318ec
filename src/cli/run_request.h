/* run_request.h -- what is asked of a server: a run and a session, as JSON. */
#ifndef CLI_RUN_REQUEST_H
#define CLI_RUN_REQUEST_H

#include "wire/limits.h"

struct buf;
struct err;
struct notes;
struct piece;
struct run_options;

/* All of it together: code, input, files, each byte escaped. */
#define RUN_REQUEST_MAX ((size_t)128 << 20)
enum {
    RUN_FILES_MAX = 16 << 20, /* bytes of all files that travel inside a request */
    RUN_FILES_COUNT_MAX = 64,
};

/* A run of `piece` in a session that exists: limits are the session's, but for the timeout. */
int run_request(const struct run_options *o, const struct piece *piece, struct buf *out,
                struct err *e);

/* A run in a session of its own, with limits and files. Links and the like inside directories are
 * left out and told. Fails with ERR_TOO_LARGE, ERR_INVALID. Blocks on disk. */
int run_request_alone(const struct run_options *o, const struct piece *piece, struct notes *notes,
                      struct buf *out, struct err *e);

/* A session with the limits that were asked for. `name` and `workspace` may be NULL. */
void session_request(const char *name, const char *workspace, const struct limits *limits,
                     unsigned limits_given, struct buf *out);

#endif
