/* mcp_int.h -- what the files of mcp/ share: a request from its message to its answer. */
#ifndef MCP_MCP_INT_H
#define MCP_MCP_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/id.h"
#include "mcp/mcp.h"
#include "mcp/native.h"
#include "mcp/rpc.h"
#include "mcp/tool.h"
#include "mcp/turnstile.h"

struct call;
struct mcp_hub;
struct mcp_fixtures;
struct mcp_session;
struct mcp_sessions;
struct mcp_stream;

#define MCP_VERSION_MODERN "2026-07-28"
#define MCP_VERSION_LEGACY "2025-11-25" /* the newest of them */
#define MCP_META "io.modelcontextprotocol/"
#define MCP_TASKS "io.modelcontextprotocol/tasks"

enum {
    MCP_MESSAGE_MAX = 16 << 20, /* bytes of a message that comes */
    MCP_RESULT_MAX = 96 << 20,  /* and that goes: a resource may be a file */
    MCP_PAGE = 100,             /* items of a list */
};

struct mcp {
    struct mcp_options o;
    struct mcp_sessions *sessions; /* sessions.c */
    struct mcp_hub *hub;           /* hub.c: who wants to hear of changes */
    struct json_t *outputs;        /* outputs.json: name of a tool -> its outputSchema */
    struct mcp_fixtures *fixtures; /* fixtures_clock.c; NULL: this is the product */
    struct turnstile turnstile;    /* calls of tools that go on */
    atomic_bool is_stopping;
};

extern const char mcp_outputs[]; /* outputs.json, compiled in */

/* One request. On the worker's thread, but for what is said to be otherwise. */
struct mcp_call {
    struct mcp *mcp;
    struct call *c; /* the HTTP request: c->who is who asks */
    const struct rpc_message *rpc;
    const char *version;         /* of the protocol */
    const char *workspace;       /* that the address names as the default one; NULL: their own */
    struct json_t *params;       /* an object, or NULL; borrowed */
    struct json_t *client;       /* capabilities of the client, an object; borrowed */
    struct mcp_session *session; /* of the era that has them; held */
    const struct mcp_method *method;
    const struct mcp_tool *tool; /* tools/call */
    void *in;                    /* decoded arguments */
    struct mcp_stream *stream;   /* stream.c: the answer, once it is a stream */
    struct mcp_flight *flight;   /* cancel.c: how it is cancelled */

    /* what it becomes: one of the two */
    struct buf result; /* members of the result object, through w */
    struct json_writer w;
    const char *result_type; /* "complete", "input_required", "task" */
    struct mcp_reply reply;  /* tools/call */
    struct buf error_data;   /* JSON; empty: none */
    int64_t ttl_ms;          /* METHOD_CACHED: how long it may be kept; 0: as usual */
    double progress;         /* the last that was sent */
    int error;               /* JSON-RPC code; 0: none */
    int http_status;         /* of an error that is about the message itself; 0: 200 */
    enum scope missing;      /* what the key has not; 0: nothing */
    bool is_modern;
    bool is_core;             /* only the tools of the core profile */
    bool is_parked, is_later; /* the answer comes from elsewhere */
    bool has_progress;
    char error_text[300];
    char seat[ID_SIZE]; /* mcp_default_session */
    char hint[256];     /* of the native operation that failed last */
};

enum { MCP_LEVEL_DEFAULT = 1 };        /* info */
extern const char *const mcp_levels[]; /* "debug", "info", ... NULL at the end */

int mcp_level(const char *name); /* -1: there is no such */

/* An error of the protocol: sets m->error and returns -1 (e gets ERR_INVALID). */
int mcp_fail(struct mcp_call *m, int code, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- methods ---- */

enum {
    METHOD_LEGACY = 1,
    METHOD_MODERN = 2,
    METHOD_BOTH = 3,
    METHOD_CACHED = 4, /* its result says how long it may be kept: ttlMs and cacheScope */
    METHOD_PUBLIC = 8, /* and by everybody */
    METHOD_TASKS = 16, /* the client has to know the extension */
};

struct mcp_method {
    const char *name;
    unsigned flags;
    const char *named_by; /* the param that Mcp-Name repeats; NULL: none */
    /* Writes members of the result to m->w; or fails, with mcp_fail if it is the protocol's business,
     * otherwise as an internal error. */
    int (*run)(struct mcp_call *m, struct err *e);
};

struct mcp_methods {
    const struct mcp_method *items;
    size_t count;
};
extern const struct mcp_methods methods_life, methods_tools, methods_resources, methods_prompts,
    methods_completion, methods_listen, methods_tasks;

void mcp_write_versions(struct json_writer *w); /* life.c: those that are spoken, as an array */
void mcp_write_info(struct json_writer *w);     /* {"name", "version"} */
/* Fails with -32021 unless the client takes tasks. */
int mcp_need_tasks(struct mcp_call *m, struct err *e);

/* A string in params; NULL when it is not there or not a string. */
const char *mcp_param(const struct mcp_call *m, const char *name);

/* tools.c: what is listed for them. NULL at the end. */
const struct mcp_tool *mcp_tool_at(const struct mcp_call *m, size_t index);

/* ---- pages: an opaque cursor that says where the next one begins ---- */

/* *ret_from stays 0 without one. Fails with -32602. */
int mcp_cursor_read(struct mcp_call *m, uint64_t *ret_from, struct err *e);
void mcp_cursor_write(struct mcp_call *m, uint64_t next); /* nextCursor, into m->w */

/* ---- tasks: the runs of run_code, and those of the fixtures ---- */

/* tool_run.c: the reply of run_code for a run object: text, images, links, structured content. */
int run_reply(struct mcp_call *m, struct json_t *run, struct err *e);
/* tasks.c: the members of a DetailedTask (taskId, status, ..., result) into the object that is open in w.
 * Also for the hub, from a thread of its own: m has mcp, c (api, who, id) and version then, no request
 * and no stream. Fails with ERR_NOT_FOUND, also for those of others. */
int task_write(struct mcp_call *m, const char *id, struct json_writer *w, struct err *e);
void mcp_write_task(struct json_writer *w, const struct mcp_task *task); /* members */
void reply_begin(struct mcp_call *m);
void reply_done(struct mcp_call *m);
void reply_error(struct mcp_call *m, const struct err *e);
/* Writes m->reply as members of a CallToolResult into w. */
void mcp_write_reply(struct mcp_call *m, struct json_writer *w);

/* ---- the hub: who wants to hear of changes (hub.c, listen.c) ---- */

int hub_open(struct mcp *mcp, struct mcp_hub **ret, struct err *e);
void hub_stop(struct mcp_hub *h);
void hub_close(struct mcp_hub *h);

enum hub_kind { HUB_TOOLS, HUB_PROMPTS, HUB_RESOURCES };
/* Tells whoever listens that a list has changed. Any thread. */
void hub_list_changed(struct mcp_hub *h, enum hub_kind kind);
/* And that a task has: `task` is the DetailedTask as JSON. */
void hub_task_changed(struct mcp_hub *h, const char *task_id, struct str task);
/* GET /mcp of a session: parks the exchange as the stream of what is not an answer. */
int hub_legacy_stream(struct mcp_call *m, struct err *e);
/* The session has gone: so have its subscriptions and streams. */
void hub_forget_session(struct mcp_hub *h, const char *session_id);

/* ---- fixtures_*.c: what the conformance suite looks for; only with o.has_fixtures ---- */

int fixtures_open(struct mcp_hub *hub, struct mcp_fixtures **ret, struct err *e);
void fixtures_stop(struct mcp_fixtures *f); /* ends whatever waits; NULL: nothing */
void fixtures_close(struct mcp_fixtures *f);
const struct mcp_tool *fixture_tool_at(size_t index);
int fixture_resources_list(struct mcp_call *m, struct err *e);
int fixture_resources_read(struct mcp_call *m, const char *uri, struct err *e);
int fixture_templates_list(struct mcp_call *m, struct err *e);
int fixture_prompts_list(struct mcp_call *m, struct err *e);
int fixture_prompts_get(struct mcp_call *m, const char *name, struct err *e);
int fixture_complete(struct mcp_call *m, struct err *e);
int fixture_task_get(struct mcp_call *m, const char *id, struct err *e);
int fixture_task_update(struct mcp_call *m, const char *id, struct err *e);
int fixture_task_cancel(struct mcp_call *m, const char *id, struct err *e);

/* ---- asking the client (ask.c) ---- */

/* One question to the client: an elicitation, a sampling, its roots. */
struct mcp_question {
    const char *key;    /* what its answer is called */
    const char *method; /* "elicitation/create", ... */
    const char *params; /* JSON */
};

/* What the client answered, or NULL: then m->result is the question (era without sessions: return 0
 * with it; the client comes again with the answers), or -1: it does not answer. In the era with
 * sessions it asks over the stream and blocks until the answers are there. `state` is kept by the
 * client and comes back signed (mcp_state); NULL: none. *ret is owned: key -> result. */
int mcp_ask(struct mcp_call *m, const struct mcp_question *questions, size_t count,
            const char *state, struct json_t **ret, struct err *e);
/* The state that came back, checked: of this principal, method and arguments, and not too old. NULL and
 * 0: none came. Fails with -32602 when it was changed. *ret is owned. */
int mcp_state(struct mcp_call *m, char **ret, struct err *e);
/* Whether the client says that it can be asked so: "elicitation", "sampling", "roots". */
bool mcp_client_has(const struct mcp_call *m, const char *capability);

#endif
