/* condition.h -- If-Match and If-None-Match of a change, as what the change expects.
 *
 * They are looked at twice: before the body is read, so that a change that cannot be made costs nothing,
 * and by the commit, in its transaction, so that of two changes with the same etag one is made.
 */
#ifndef API_CONDITION_H
#define API_CONDITION_H

#include "base/id.h"
#include "base/str.h"
#include "workspace/files.h"

struct http_request;

struct condition {
    struct str if_match, if_none_match; /* as in the headers; STR_NONE: not given */
    struct how how;                     /* what the commit is to expect */
    char file[ID_SIZE];                 /* how.expected_file */
};

/* What the request's headers say. */
struct condition condition_of(const struct http_request *r);

/* The same from members of a body, which may be without quotes; NULL: not given. `text` is where
 * they go. */
struct condition condition_from(const char *if_match, const char *if_none_match, struct buf *text);

/* Compares with what is at `path`, which is clean, and fills the rest. Fails with ERR_PRECONDITION.
 * Blocks on disk. */
int condition_check(struct condition *c, struct files *files, const struct workspace_row *ws,
                    const char *path, struct err *e);

#endif
