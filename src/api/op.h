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
#include "workspace/acts.h"
#include "workspace/locks.h"
#include "workspace/people.h"
#include "workspace/rights.h"

struct api;
struct err;
struct job;
struct json_field;
struct http_exchange;
struct http_request;
struct json_t;
struct share_visit;

enum {
    OP_PARAMS_MAX = 2,
    OP_PARAM_SIZE = 256, /* of one decoded piece of a path; longer ones are nothing we have */
    OP_REST_SIZE = 4097, /* of the decoded rest of a path: "{path...}" */
    OP_BODY_MAX = 32 << 20,
    OP_ANSWER_MAX = 256 << 20,
};

enum op_flag {
    OP_PUBLIC = 1,      /* needs no key */
    OP_RUNS = 2,        /* counts as a run towards the key's rate */
    OP_CREATES = 4,     /* takes an Idempotency-Key */
    OP_STREAMS = 8,     /* can answer with text/event-stream */
    OP_HIDDEN = 16,     /* not in /openapi.json */
    OP_RAW_BODY = 32,   /* the handler reads the body itself; op->takes says what it is */
    OP_SHARE = 64,      /* needs no key: the link in its address says what they may (op->admit) */
    OP_RAW_QUERY = 256, /* the handler reads the query itself */
    OP_DOOR = 128,      /* a dialect's: what it does is in the audit by the operations it calls */
};

/* What is needed besides the scope. The pipeline sees to it before the handler runs. */
enum op_needs {
    NEEDS_NOT_SAID,          /* no operation may leave it out: table_test.c */
    NEEDS_READ = RIGHT_READ, /* of the workspace that the address names first: c->ws */
    NEEDS_WRITE = RIGHT_WRITE,
    NEEDS_ADMIN = RIGHT_ADMIN,
    NEEDS_OWN = RIGHT_OWN,
    NEEDS_NOTHING, /* public; or what it gives is only what the caller's key is for */
    NEEDS_OWNER,   /* of the session, run or key that the address names; its service looks */
    NEEDS_NAMED,   /* RIGHT_WRITE to the workspace that the body names, or to one's own */
    NEEDS_SERVER,  /* what belongs to the server: its scope is SCOPE_ADMIN */
};

extern const char *const op_needs_names[]; /* for /openapi.json */

/* What a dialect says of a failure besides its message, for op->tell. "": nothing. */
struct call_told {
    char type[32], param[160], code[64];
    bool is_whole;    /* the message says all there is to say: no hint is needed */
    int64_t begun_us; /* when the dialect got it; 0: it did not */
};

struct call {
    struct api *api;
    struct http_exchange *x;
    const struct http_request *request;
    const struct op *op;
    char id[ID_SIZE]; /* of the request: "req_..." */
    struct who who;
    struct workspace_row ws; /* NEEDS_READ to NEEDS_OWN: the workspace, and they may */
    struct lock_pass pass;   /* what came as Lock-Token; and which lock was in the way */
    char param[OP_PARAMS_MAX][OP_PARAM_SIZE];
    char rest[OP_REST_SIZE];   /* of the path, for "{path...}" */
    bool is_admitted;          /* op->admit let them in */
    struct share_visit *share; /* OP_SHARE: the link they came by, and its workspace; NULL: none */
    void *in;                  /* the decoded body, of op->body_size bytes */
    void *query;               /* the decoded query, of op->query_size bytes */
    struct json_t *json;
    struct str body;  /* as it came */
    struct once once; /* Idempotency-Key */
    struct act act;   /* its entry in the audit, while the handler runs (acts.c) */
    bool is_answered; /* the handler sent the answer itself, or parked the exchange */
    bool is_parked;   /* x must not be touched any more */
    int status;       /* of the answer; 0: the operation's own */
    const char *type; /* of its body; NULL: JSON */
    struct buf out;   /* its body */
    uint32_t retry_after_s;
    const char *via; /* the door it came through, if it was called from inside (inner.h) */
    void (*on_run)(void *arg, struct job *job); /* the same: told of the run; NULL: nobody */
    void *on_run_arg;
    const char *hint; /* for an error: what to do next; static, or the next */
    char hint_text[96];
    struct call_told told;
    void (*after)(struct call *c); /* what can wait until the answer is out; NULL: nothing */
    void *arg;                     /* for it */
};

struct op {
    const char *method, *path; /* "/api/v1/sessions/{id}"; "{path...}" is all that follows */
    const char *name;          /* "createSession": operationId, and what the audit calls it */
    const char *summary;
    enum scope scope; /* that the key must have */
    enum op_needs needs;
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
    /* What this very request needs more than scope and needs say, known once it is decoded; NULL: nothing.
     * *ret_needs is one of the rights. */
    void (*demand)(const struct call *c, enum scope *ret_scope, enum op_needs *ret_needs);
    int (*run)(struct call *c, struct err *e);
    /* Writes c->out for who is to be told of a failure in another form, and sets c->type; NULL: JSON. */
    void (*tell)(struct call *c, const struct err *e, const char *hint);
};

struct op_table {
    const struct op *ops;
    size_t count;
};

extern const struct op_table native_audit;
extern const struct op_table native_sessions, native_runs, native_keys, native_other;
extern const struct op_table native_lineage;
extern const struct op_table native_tickets, native_usage, join_doors;
extern const struct op_table native_members, native_workspaces, native_files, native_edits,
    native_uploads, native_archives, native_blob, native_sign, native_store, native_trash,
    native_locks;
extern const struct op_table native_shares, share_doors;
extern const struct op_table native_events, native_webhooks;
extern const struct op_table native_search, native_displays;
extern const struct op_table native_ask;
extern const struct op_table mcp_door, openai_door, well_known;

/* Finds the operation for method and path, and decodes the path's pieces into c->param and c->rest. Fails with
 * ERR_NOT_FOUND, or ERR_METHOD when the path is known, and then `allow` lists its methods. */
int op_find(struct call *c, struct buf *allow, struct err *e);

/* Every operation, in the order of the tables. NULL at the end. */
const struct op *op_at(size_t index);

#endif
