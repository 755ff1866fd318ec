/* tool.h -- what a tool is, and what it has at hand while it runs.
 *
 * A tool is a row: names, what it takes (a table of json/fields.h, from which its inputSchema is
 * written), what it gives (its entry in outputs.json), and a function. The function gets checked
 * arguments in m->in, calls operations of the native API (native.h), and fills m->reply:
 *
 *     static int run(struct mcp_call *m, struct err *e)
 *     {
 *         const struct list_args *in = m->in;
 *         scoped(native_done) struct native n = NATIVE("GET");
 *         native_workspace(&n, in->workspace_id);
 *         native_text(&n, "/files");
 *         native_query(&n, "prefix", in->path);
 *         if (native_call(m, &n, e))
 *             return -1;                          an isError result, with the hint of the API
 *         buf_fmt(&m->reply.text, "3 files\n");
 *         jw_key(&m->reply.w, "files"); ...       members of structuredContent
 *         return 0;
 *     }
 *
 * A tool never decides who may do what: the operations it calls do. It never puts base64 into text or
 * structured content: reply_image and reply_link are for what is not text.
 */
#ifndef MCP_TOOL_H
#define MCP_TOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "workspace/people.h"
#include "json/write.h"

struct err;
struct json_field;
struct json_t;
struct mcp_call;

enum tool_flag {
    TOOL_CORE = 1,     /* also in the small profile */
    TOOL_READS = 2,    /* readOnlyHint */
    TOOL_DESTROYS = 4, /* destructiveHint */
    TOOL_REPEATS = 8,  /* idempotentHint */
    TOOL_OPEN = 16,    /* openWorldHint */
    TOOL_TASK = 32,    /* answers with a task, or not at all: the client has to know tasks */
};

struct mcp_tool {
    const char *name, *title, *description;
    const struct json_field *fields; /* of the arguments */
    size_t size;                     /* of the struct they become: m->in */
    const char *schema; /* instead of fields: the inputSchema as it is; then m->in is the json_t */
    enum scope scope;   /* a key without it neither sees nor calls it; 0: any */
    unsigned flags;
    int (*run)(struct mcp_call *m, struct err *e);
};

enum {
    REPLY_TEXT_MAX =
        48 << 10, /* bytes of all text blocks: readable, and below 64 KB with the rest */
    REPLY_STRUCTURED_MAX = 12 << 10, /* bytes of the structured content */
    REPLY_IMAGES_MAX = 4,            /* in one reply; further ones are links */
    REPLY_IMAGE_BYTES = 150 << 10,   /* of each, before base64 */
    REPLY_IMAGE_EDGE = 1024,         /* pixels */
};

/* What tools/call answers with. The text comes first, then the blocks in order. */
struct mcp_reply {
    struct buf text;
    struct buf blocks;     /* the others, as JSON with commas between */
    struct buf structured; /* begun as an object */
    struct json_writer w;  /* into it: jw_key, value, ... */
    unsigned images;
    bool is_error;
    bool is_old; /* the client is of before 2025-06-18: no links, no structured content */
};

/* `bytes` as an image block. The caller sees to the limits above (service/shrink.h). */
void reply_image(struct mcp_reply *r, const char *mime, const void *bytes, size_t len);

struct reply_link {
    const char *uri, *name, *title, *mime; /* title and mime may be NULL */
    int64_t size;                          /* -1: not known */
};
void reply_link(struct mcp_reply *r, const struct reply_link *link);

/* A small file as it is, for whoever asked for its bytes. */
void reply_resource(struct mcp_reply *r, const char *uri, const char *mime, const void *bytes,
                    size_t len);

/* ---- while it runs ---- */

/* Sends notifications/progress, if the client asked for it; `message` may be NULL. Numbers that do not
 * grow are not sent. total 0: not known. */
void mcp_progress(struct mcp_call *m, double progress, double total, const char *message);
bool mcp_hears_progress(const struct mcp_call *m); /* it asked for it */

/* notifications/message with `data` (a string), if the client wants that level. */
void mcp_log(struct mcp_call *m, const char *level, const char *text);

/* Lets the client and what is between know that something still goes on. Call it every 5 s or so: the
 * first time it makes the answer a stream. */
void mcp_keep_alive(struct mcp_call *m);

/* fn(arg) is called once, from another thread, when the client cancels; at once if it has. fn must not
 * block. NULL takes it back, and afterwards it is not running. One at a time. */
void mcp_on_cancel(struct mcp_call *m, void (*fn)(void *arg), void *arg);
bool mcp_is_cancelled(const struct mcp_call *m);

/* Asks the person in front of the client whether to go on with what cannot be undone, if `said` (the
 * argument confirm) does not say so and the client can ask; the question is `fmt`. *ret_go_on: do it.
 * Not, and 0 is returned: the reply is the question; return 0. -1: they do not want to, or confirm has
 * to be given; e says so. */
int mcp_confirm(struct mcp_call *m, bool said, bool *ret_go_on, struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Whether the client takes a task instead of an answer (extension io.modelcontextprotocol/tasks). */
bool mcp_takes_tasks(const struct mcp_call *m);

/* The answer is a task under this id; its state is asked for with tasks/get. */
struct mcp_task {
    const char *id, *status; /* "working", ... */
    const char *message;     /* NULL: none */
    int64_t created_us, updated_us;
    int64_t ttl_ms; /* 0: no end */
    uint32_t poll_ms;
};
void mcp_answer_task(struct mcp_call *m, const struct mcp_task *task);

/* The code interpreter's session to go on in when none is named: that of this client's MCP session. ""
 * when there is none (always in the era without sessions). */
const char *mcp_default_session(struct mcp_call *m);
void mcp_set_default_session(struct mcp_call *m, const char *id);

/* ---- the tools, in the order of the list (tools.c) ---- */

extern const struct mcp_tool tool_run_code, tool_get_execution, tool_manage_session;
extern const struct mcp_tool tool_list_files, tool_read_file, tool_write_file, tool_edit_file,
    tool_search_files, tool_transfer_url;
extern const struct mcp_tool tool_manage_file, tool_file_versions, tool_lock_file, tool_share,
    tool_workspace, tool_audit_log;

#endif
