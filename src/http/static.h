/* static.h -- files that do not change while the server runs: embedded in the program or open on
 * disk, as they are and compressed beforehand.
 *
 *     static_open(dir_fd, "app.js", "text/javascript", &file, e)     also app.js.zst, .br, .gz
 *     static_send(x, &file, e)
 *
 * The client's Accept-Encoding chooses among what is there, the smallest that it likes best. Every
 * form has an ETag of its own; If-None-Match, HEAD and methods other than GET are dealt with.
 */
#ifndef HTTP_STATIC_H
#define HTTP_STATIC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct err;
struct http_exchange;

enum static_coding { STATIC_PLAIN, STATIC_ZSTD, STATIC_BR, STATIC_GZIP, STATIC_CODINGS };

struct static_form {
    const void *bytes; /* NULL: in the file `fd`, or, with is_there false, nowhere */
    uint64_t len;
    int fd;
    bool is_there;
};

struct static_file {
    const char *type;
    char tag[20];      /* of the plain content; without quotes */
    bool is_immutable; /* its name changes when its content does: may be kept for a year */
    struct static_form forms[STATIC_CODINGS];
};

/* Opens a file and its compressed siblings. Fails with what open(2) failed with when the file itself
 * is missing. Blocks on disk. Close with static_close. */
int static_open(int dir_fd, const char *name, const char *type, struct static_file *ret,
                struct err *e);

/* A file whose plain form is in memory; compressed ones are set in ret->forms by the caller. */
int static_embed(const void *bytes, uint64_t len, const char *type, struct static_file *ret,
                 struct err *e);
void static_close(struct static_file *f);

/* The whole answer: 200, 304 or 405. Blocks. */
int static_send(struct http_exchange *x, const struct static_file *f, struct err *e);

/* Which form suits an Accept-Encoding header (STR_NONE: none was sent). */
enum static_coding static_choose(const struct static_file *f, struct str accept);

#endif
