/* native_call.h -- writing the request for an operation of the native API that a dialect calls (inner.h).
 *
 *     scoped(native_done) struct native n = NATIVE("PUT");
 *     native_workspace(&n, "ws_...");              "/api/v1/workspaces/ID", or the default one
 *     native_text(&n, "/files/");
 *     native_path(&n, "plots/a b.png");            escaped, the slashes stay
 *     native_query(&n, "version", "3");
 *     n.body = str_of("...");                      JSON, unless n.type says otherwise
 *     native_header(&n, "If-Match", etag);
 *     if (native_perform(&n, c, NULL, "openai", e))
 *         return -1;
 *     n.status, n.json, n.answer.out, native_answer_header(&n, "ETag")
 *
 * It is the same operation that a request would reach, with the same checks, limits and entry in the
 * audit; there is no request, so it costs microseconds. On failure e is what the API would answer, and
 * n.answer.hint what it would hint at.
 *
 * native_perform may be called once for each struct native.
 */
#ifndef API_NATIVE_CALL_H
#define API_NATIVE_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/inner.h"
#include "base/buf.h"
#include "base/str.h"

struct call;
struct caller;
struct err;
struct json_t;

enum { NATIVE_TARGET_MAX = 24 << 10, NATIVE_ANSWER_MAX = 224 << 20, NATIVE_HEADERS_MAX = 6 };

struct native {
    const char *method;
    struct buf target;
    bool has_query, names_default;
    struct str body;                            /* borrowed */
    const char *type;                           /* of the body; NULL: application/json */
    void (*on_run)(void *arg, struct job *job); /* as in struct inner; NULL: nobody */
    void *on_run_arg;
    const struct inner_body *stream; /* instead of `body`; only with a call; NULL: none */
    struct http_header headers[NATIVE_HEADERS_MAX];
    size_t header_count;
    size_t max; /* bytes of the answer; more: ERR_TOO_LARGE */
    bool
        is_raw; /* the bytes of a file are wanted: they are not read as JSON, even if they could be */

    int status;                 /* of the answer */
    struct json_t *json;        /* it, if it is JSON; owned */
    struct inner_answer answer; /* answer.out: its bytes */
};

#define NATIVE(method_) \
    ((struct native){   \
        .method = (method_), .target = BUF_INIT(NATIVE_TARGET_MAX), .max = NATIVE_ANSWER_MAX})

void native_done(struct native *n);

void native_text(struct native *n, const char *text);    /* as it is */
void native_piece(struct native *n, const char *text);   /* escaped, slashes too */
void native_path(struct native *n, const char *path);    /* escaped; a leading slash is left out */
void native_workspace(struct native *n, const char *id); /* NULL: the default one */
void native_query(struct native *n, const char *name, const char *value); /* NULL: nothing */
void native_query_u64(struct native *n, const char *name, uint64_t value);
void native_header(struct native *n, const char *name,
                   const char *value); /* NULL: nothing; borrowed */

/* Where it says "default", that workspace is meant from here on. */
void native_default(struct native *n, const char *workspace);

/* For the one whose request c is, or whoever k is; one of the two. `via` is for the audit, static. */
int native_perform(struct native *n, struct call *c, struct caller *k, const char *via,
                   struct err *e);

/* A header of the answer, or {NULL, 0}. */
struct str native_answer_header(const struct native *n, const char *name);

/* A path as models write it ("/mnt/data/a.csv", "./a.csv", "sandbox:/mnt/data/a.csv", "a.csv") as the
 * workspace knows it ("a.csv"); "" is the root. Never fails: what is wrong with it, the API says. */
const char *native_clean(const char *path);

#endif
