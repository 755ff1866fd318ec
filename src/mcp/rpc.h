/* rpc.h -- a JSON-RPC message from a stranger: what it is, which era it belongs to, and whether its
 * headers say the same. No I/O; the fuzz target is tests/fuzz/rpc.c.
 */
#ifndef MCP_RPC_H
#define MCP_RPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;
struct err;
struct http_request;
struct json_t;

enum { /* codes of errors */
       RPC_PARSE = -32700,
       RPC_INVALID = -32600,
       RPC_NO_METHOD = -32601,
       RPC_PARAMS = -32602,
       RPC_INTERNAL = -32603,
       RPC_NO_RESOURCE = -32002, /* legacy only */
       RPC_HEADER = -32020,
       RPC_CAPABILITY = -32021,
       RPC_VERSION = -32022,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
    struct json_t *json; /* owned */
    enum rpc_kind kind;
    const char *method;    /* borrowed, as all that follow; NULL: a response */
    struct json_t *id;     /* string or integer; NULL: a notification */
    struct json_t *params; /* an object; NULL: none */
    struct json_t *meta;   /* params._meta; NULL: none */
    bool is_modern;        /* by what it claims, or by its header */
    const char *claim;     /* _meta protocolVersion; NULL: none */
};

struct rpc_fault {
    int code;   /* JSON-RPC */
    int status; /* HTTP */
    char text[200];
    bool tells_versions; /* data: supported and requested */
};

/* `header_version`: the value of MCP-Protocol-Version, or {NULL, 0}. On failure m->id may be set, to
 * answer to. rpc_done is due in any case. */
int rpc_read(struct str text, struct str header_version, struct rpc_message *ret,
             struct rpc_fault *fault);
void rpc_done(struct rpc_message *m);

/* What the stateless era wants of a request: the header of the version, _meta complete, the version one
 * we speak. */
int rpc_check_modern(const struct rpc_message *m, struct str header_version,
                     struct rpc_fault *fault);

/* Whether the header repeats `value` (RFC 9110 OWS trimmed; =?base64?...?= decoded). */
bool rpc_header_is(struct str header, const char *value);
/* The decoded value of a header. False: its base64 is broken. */
bool rpc_header_decode(struct str header, struct buf *ret);

extern const char *const rpc_legacy_versions[];  /* newest first, NULL at the end */
bool rpc_is_legacy_version(const char *version); /* one that we speak */
void rpc_write_id(struct buf *out, const struct json_t *id);

#endif
