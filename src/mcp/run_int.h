/* run_int.h -- what run_code, get_execution, manage_session and the methods of tasks share: a run from
 * when it is asked for until its reply. */
#ifndef MCP_RUN_INT_H
#define MCP_RUN_INT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct err;
struct job;
struct json_t;
struct json_writer;
struct mcp_call;

enum {
    RUN_TIMEOUT_MAX_S = 600,
    RUN_TASK_AFTER_US = 10 * 1000000, /* then it becomes a task, for who takes them */
    /* Then who hears of no progress is told that it goes on: clients give up after a minute. */
    RUN_OPEN_AFTER_US = 50 * 1000000,
    RUN_OPEN_TAIL = 4000,     /* bytes of output that are shown then */
    RUN_JSON_MAX = 512 << 20, /* bytes of a run object */

    RUN_STDOUT_MAX = 20000, /* bytes shown of each; of what is longer head and tail */
    RUN_STDERR_MAX = 5000,
    RUN_RESULT_MAX = 5000,
    RUN_DISPLAY_MAX = 5000, /* of all displays together */
    RUN_TRACE_MAX = 8000,
};

enum run_images { IMAGES_INLINE, IMAGES_LINK, IMAGES_NONE };
extern const char *const run_images_names[]; /* NULL at the end */

/* What run_code takes. */
struct run_args {
    struct str code;
    const char *session_id, *workspace_id;
    int64_t timeout_s;
    int language, images;
    bool stateless;
};

/* What get_execution takes. */
struct get_args {
    const char *execution_id;
    int64_t wait_s, tail, offset;
    int images;
};

/* ---- run_wait.c ---- */

/* Blocks until the run is over (true) or the deadline has come (false); the client hears of its output
 * meanwhile, and that it goes on. `ends_it`: the run is ended when the client cancels; otherwise only the
 * wait is. */
bool run_wait(struct mcp_call *m, struct job *job, int64_t deadline_us, bool ends_it);

/* ---- run_read.c: the run object ---- */

/* Of any run that the caller may see. *ret is owned. */
int run_load(struct mcp_call *m, const char *id, struct json_t **ret, struct err *e);
/* The same of one that is in memory and was found for them (job_find). */
int run_load_job(struct job *job, struct json_t **ret, struct err *e);

const char *run_text(const struct json_t *object, const char *key); /* "": there is none */
struct str run_str(const struct json_t *object, const char *key);
double run_number(const struct json_t *object, const char *key); /* 0: there is none */
bool run_is(const struct json_t *object, const char *key, const char *value);

/* What stands for a bundle {MIME type: content} where only text can: its text/plain, or what is most like
 * it. {NULL, 0}: nothing. */
struct str run_bundle_text(const struct json_t *bundle);
/* The image of a bundle: its type (borrowed), content in base64, or {NULL, 0}. image/svg+xml is text. */
struct str run_bundle_image(const struct json_t *bundle, const char **ret_mime);

/* ---- run_session.c ---- */

/* -1; what to do when a session is not there any more. */
int run_session_gone(struct mcp_call *m, const char *id, struct err *e);

/* ---- run_output.c: the texts of a run ---- */

struct run_output {
    struct buf out, err, result, trace, shown; /* plain; `shown` is of displays that are text */
    bool is_cut;                               /* some of it is too long */
    char path[96];   /* of the file that has it whole; "": there is none */
    char where[200]; /* where it is, in words */
};

/* Reads them, and writes what is too long for a reply to a file of the workspace. */
int run_output_make(struct mcp_call *m, const struct json_t *run, struct run_output *ret,
                    struct err *e);
void run_output_done(struct run_output *o);

/* ---- run_images.c ---- */

/* Adds images and links to the reply. Returns how many there are. */
size_t run_show_images(struct mcp_call *m, const struct json_t *run, enum run_images how);

/* ---- run_notes.c: what is said besides the output ---- */

void run_note_files(struct buf *out, const struct json_t *run); /* made, changed, deleted */
void run_note_rest(struct buf *out,
                   const struct json_t *run); /* not saved, changed by others, hint */
const char *run_next(const struct json_t *run,
                     bool is_cut); /* what to do now; "": nothing special */

/* ---- run_structured.c ---- */

struct run_facts {
    const struct json_t *run;
    const struct run_output *output; /* NULL: it goes on */
    struct str so_far;               /* then: the end of what it printed */
    bool has_session;                /* that can be gone on with */
    size_t images;
    const char *next;
};
void run_structure(struct mcp_call *m, const struct run_facts *f);

/* ---- run_reply.c: run_reply (mcp_int.h), and the same for what goes on ---- */

/* `job` NULL: what it printed is not known. `tail`: how many bytes of it are shown. */
int run_reply_open(struct mcp_call *m, const struct json_t *run, struct job *job, size_t tail,
                   struct err *e);

#endif
