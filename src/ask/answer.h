/* answer.h -- one question on its way to an answer, and what is kept of it. Of this folder only.
 *
 * An answer is a card (workspace/cards.h) whose body is its *record*:
 *
 *     {"answer": what the API shows (schemas.json: Answer), "items": what the model said and did (agent/model.h),
 *      "runs": the runs, bounded, "marks": what reference marks stand for (marks.h), "asked": instructions and files,
 *      "events": how many there were}
 *
 * The card's name is the session, once there is one; its parent is the answer it goes on from.
 *
 *     answer_make.c    from the request to a card and a flight          answer_past.c     the conversation so far
 *     answer_fly.c     the flight: asks, tells, keeps                   answer_end.c      what came of it
 *     answer_run.c     runs, as they are kept and told                  answer_tools.c    search_workspace, read_file
 *     answer_ops.c     get, list, delete, cancel, events, transcript    answer_verify.c   once more, elsewhere
 *     record.c         cards and their records
 */
#ifndef ASK_ANSWER_H
#define ASK_ANSWER_H

#include <jansson.h>

#include "ask/alarm.h"
#include "ask/ask.h"
#include "ask/hands.h"
#include "ask/marks.h"
#include "base/buf.h"
#include "workspace/cards.h"

struct agent_tool;
struct caller;
struct flight;
struct who;

enum {
    ANSWERS_MAX = 100000,      /* of one principal */
    RECORD_MAX = 64 << 20,     /* bytes of a record */
    PAST_MAX = 30,             /* answers that a conversation goes back */
    KEEP_MAX = 8 << 20,        /* bytes of all outputs that are kept of one answer */
    KEEP_TEXT_MAX = 256 << 10, /* of one text of a run */
    KEEP_IMAGE_MAX = 1 << 20,  /* of one picture */
    RUN_FILES_MAX = 500,       /* files that are told of one run */
    FILES_MAX = 2000,          /* and of an answer: the last */
};

struct ask {
    struct ask_options o;
    struct alarms *alarms;
};

struct answer {
    struct ask *ask;
    struct caller *caller; /* owned */
    struct card card;      /* id, principal, parent, created_us; without a body */
    struct hands hands;
    struct marks marks;
    struct agent_limits limits;
    char *model, *instructions,
        *said; /* owned; NULL: none. said: the question as the model is asked it */
    bool searches, verifies, is_background;
    int64_t timeout_ms; /* 0: none */
    json_t *object;     /* what the API shows */
    json_t *asked;      /* what else was asked for, for the record */
    json_t *past;       /* items of the conversation so far */
    json_t *items;      /* what was added */
    json_t *runs;       /* as they are kept */
    size_t kept;        /* bytes of them */
    int64_t begun_us;
    struct alarm alarm;
    struct flight *flight; /* while it flies; borrowed */
};

void answer_free(void *answer);
/* All that nobody asks for once it is kept goes: only what the API shows stays, for as long as the flight can be found. */
void answer_lighten(struct answer *a);

static inline void json_freep(json_t **o)
{
    json_decref(*o);
}

/* ---- record.c ---- */

struct record {
    struct card card; /* its body is as stored */
    json_t *body;
};
void record_done(struct record *r);
/* One that they may see; admins of the server see all. */
int record_load(struct ask *a, const struct who *who, const char *id, struct record *ret,
                struct err *e);
/* What is told of one that the server did not live to answer. */
extern const char answer_stopped[];
/* The same; one that nobody answers any more though nothing says that it ended is told as failed. */
int record_load_settled(struct ask *a, const struct who *who, const char *id, struct record *ret,
                        struct err *e);
int record_read(const struct card *card, json_t **ret, struct err *e);
/* Writes body, name and time of use. */
int record_save(struct ask *a, const struct card *card, json_t *body, struct err *e);

const char *text_at(const json_t *object, const char *key); /* "": there is none */
uint64_t number_at(const json_t *object, const char *key);
void put_json(struct buf *out, const json_t *value); /* on one line */
json_t *time_json(int64_t wall_us);

/* ---- answer_past.c ---- */

/* Fills in the workspace, the session, the past and the marks. `session` is a session's or an answer's id, or NULL; `workspace` NULL: any. */
int past_load(struct answer *a, struct call *c, const char *workspace, const char *session,
              struct err *e);

/* ---- answer_run.c ---- */

/* A run object as it is kept. NULL: no memory. */
json_t *run_keep(struct answer *a, const json_t *run);
/* The same for an event: less of it. */
json_t *run_tell(const json_t *run);
json_t *run_brief(const json_t *run); /* of answer.runs */
/* What the run printed and what it evaluated to, one after the other. */
void run_output(const json_t *run, struct buf *out);

/* ---- answer_tools.c ---- */

enum { TOOLS_COUNT = 2 };
void tools_fill(struct answer *a, struct agent_tool ret[TOOLS_COUNT]);
extern const char tools_instructions[];

/* ---- answer_fly.c, answer_end.c ---- */

void answer_fly(struct flight *f, void *answer);
/* Fills in the object. `failed`: agent_run did, and e says why. */
void answer_end(struct answer *a, const struct agent_outcome *o, int failed, const struct err *e);
json_t *answer_record(struct answer *a); /* owned; NULL: no memory */

/* ---- answer_verify.c ---- */

struct verify_from {
    const struct who *who;
    const char *request;
    struct halt *halt; /* NULL: nothing ends it */
};
/* Whether any of its runs ended well. */
bool can_verify(const json_t *object);
/* The object's "verification" is set. Fails with ERR_CONFLICT when there is nothing to repeat. */
int answer_verify(struct ask *a, const struct verify_from *from, json_t *object, json_t *runs,
                  struct err *e);

/* ---- the operations ---- */

int answer_make(struct ask *a, struct call *c, struct err *e);
int answer_op(struct ask *a, int op, struct call *c, struct err *e);
/* Answers with the last event of one that has ended, for who has seen the events up to number `seen`. */
int answer_tell_last(struct call *c, const struct record *r, uint64_t seen, struct err *e);

#endif
