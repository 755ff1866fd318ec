/* op.h -- what can be asked of the server, as one table, and the state of one request.
 *
 * An operation says where it is found, who may use it, what it takes and what it answers with. The
 * pipeline (pipeline.c) does everything that is the same for all of them: routing, who is asking,
 * whether they may, how often, decoding, errors, the log line. A handler gets checked structs and
 * writes JSON. /openapi.json is written from the same table, so it cannot say anything else.
 *
 * A dialect is a file of handlers and a table; table.c joins the tables.
 */
#ifndef API_OP_H
#define API_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/id.h"
#include "base/str.h"
#include "service/once.h"
#include "workspace/people.h"

struct api;
struct err;
struct json_field;
struct http_exchange;
struct http_request;
struct json_t;

enum {
    OP_PARAMS_MAX = 2,
    OP_PARAM_SIZE = 256, /* of one decoded piece of a path; longer ones are nothing we have */
    OP_REST_SIZE = 4097, /* of the decoded rest of a path: "{path...}" */
    OP_BODY_MAX = 32 << 20,
    OP_ANSWER_MAX = 256 << 20,
};

enum op_flag {
    OP_PUBLIC = 1,    /* needs no key */
    OP_RUNS = 2,      /* counts as a run towards the key's rate */
    OP_CREATES = 4,   /* takes an Idempotency-Key */
    OP_STREAMS = 8,   /* can answer with text/event-stream */
    OP_HIDDEN = 16,   /* not in /openapi.json */
    OP_RAW_BODY = 32, /* the handler reads the body itself; op->takes says what it is */
};

struct call {
    struct api *api;
    struct http_exchange *x;
    const struct http_request *request;
    const struct op *op;
    char id[ID_SIZE]; /* of the request: "req_..." */
    struct who who;
    char param[OP_PARAMS_MAX][OP_PARAM_SIZE];
    char rest[OP_REST_SIZE]; /* of the path, for "{path...}" */
    bool is_signed;          /* op->admit let them in */
    void *in;                /* the decoded body, of op->body_size bytes */
    void *query;             /* the decoded query, of op->query_size bytes */
    struct json_t *json;
    struct str body;  /* as it came */
    struct once once; /* Idempotency-Key */
    bool is_answered; /* the handler sent the answer itself, or parked the exchange */
    bool is_parked;   /* x must not be touched any more */
    int status;       /* of the answer; 0: the operation's own */
    struct buf out;   /* its body */
    uint32_t retry_after_s;
    const char *hint; /* for an error: what to do next; static, or the next */
    char hint_text[96];
    void (*after)(struct call *c); /* what can wait until the answer is out; NULL: nothing */
    void *arg;                     /* for it */
};

struct op {
    const char *method, *path; /* "/api/v1/sessions/{id}"; "{path...}" is all that follows */
    const char *name;          /* "createSession": operationId, and what the audit calls it */
    const char *summary;
    enum scope scope; /* that the key must have */
    unsigned flags;
    const struct json_field *body, *query; /* NULL: none is taken */
    size_t body_size, query_size;
    const char *takes, *form;   /* OP_RAW_BODY: the media type, and a schema; NULL: any bytes */
    const char *const *headers; /* of the request that it heeds: name, text, ..., NULL; or NULL */
    bool body_is_optional;
    int status;         /* of success */
    int also[2];        /* other statuses of success; 0: none */
    const char *answer; /* name of its schema; NULL: no body */
    const char *gives; /* media type of an answer that is not (or not always) JSON; NULL: is JSON */
    /* Says who asks by the `signature` in the address, where there is one; then no key is needed.
     * Sets c->who. NULL: always by a key. */
    int (*admit)(struct call *c, struct err *e);
    int (*run)(struct call *c, struct err *e);
};

struct op_table {
    const struct op *ops;
    size_t count;
};

extern const struct op_table native_sessions, native_runs, native_keys, native_other;
extern const struct op_table native_workspaces, native_files, native_edits, native_uploads,
    native_archives, native_blob, native_sign, native_store, native_trash;

/* Finds the operation for method and path, and decodes the path's pieces into c->param and c->rest. Fails with
 * ERR_NOT_FOUND, or ERR_METHOD when the path is known, and then `allow` lists its methods. */
int op_find(struct call *c, struct buf *allow, struct err *e);

/* Every operation, in the order of the tables. NULL at the end. */
const struct op *op_at(size_t index);

#endif
