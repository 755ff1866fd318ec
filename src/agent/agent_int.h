/* agent_int.h -- what the files of the loop share.
 *
 *     agent.c            asks until there is an answer
 *     agent_question.c   what is asked: tools, choice, the conversation as it fits
 *     agent_choice.c     what the caller wants to be called
 *     agent_hear.c       one answer while it comes: items and deltas
 *     agent_act.c        what it calls is done; agent_python.c, agent_tools.c: each kind of it
 *     agent_items.c      items from begin to end
 *     agent_budget.c     tokens and what they cost
 *
 * One item is open at a time. What the model sees is `history`: the given items, those that were made, and a few that nobody
 * else sees (calls of functions that do not exist).
 */
#ifndef AGENT_AGENT_INT_H
#define AGENT_AGENT_INT_H

#include "agent/agent.h"
#include "agent/code_stream.h"
#include "agent/fence.h"
#include "agent/think.h"
#include "base/err.h"

enum { AGENT_NOT_RUN_MAX = 3 }; /* in a row, then the loop fails with the reason */

enum agent_item { ITEM_NONE, ITEM_REASONING, ITEM_MESSAGE, ITEM_CODE, ITEM_CALL };

/* The item that is being made. */
struct agent_open {
    enum agent_item kind;
    struct json_t *json; /* owned */
    size_t index;
    struct buf text, refusal; /* of a message, or what was reasoned, or code, or arguments */
    bool is_refused_first;    /* the refusal began before the text, and so it comes first */
};

enum agent_mode { MODE_AUTO, MODE_NONE, MODE_REQUIRED, MODE_NAMED };

struct agent_choice {
    enum agent_mode mode;
    const char *name;             /* of MODE_NAMED; "python": code is to be run */
    const struct json_t *allowed; /* [{"type","name"?}]; NULL: all */
};

struct loop {
    struct model *m;
    const struct agent_wishes *w;
    const struct agent_sink *sink;
    struct halt *halt;
    struct agent_outcome *o;
    struct json_t *history; /* owned */
    struct agent_open open;
    struct agent_choice choice;
    char container[ID_SIZE]; /* "": not opened yet */
    bool is_fenced;          /* code comes in blocks */
    bool has_called;         /* the model knows how to call functions */
    bool has_past;           /* code was run in this conversation */
    bool is_over;
    bool was_empty;       /* an answer was */
    bool is_asked_again;  /* because of that */
    unsigned not_run;     /* how often in a row */
    uint64_t spent;       /* tokens, of which some may be estimated */
    enum agent_end limit; /* why this question is the last; AGENT_ANSWERED: it is not */
};

/* ---- agent_items.c ---- */

int item_begin(struct loop *l, enum agent_item kind, struct err *e);
int item_begin_call(struct loop *l, const char *call_id, const char *name, struct err *e);
void item_delta(struct loop *l, struct str delta); /* of whatever it consists of */
void item_refuse(struct loop *l, struct str delta);
/* The open one, if there is one, is whole; `status` as the Responses API has it. */
int item_end(struct loop *l, const char *status, struct err *e);
/* Adds one that is whole at once: to the outcome and the history, and the sink hears of it. `item` is stolen. */
int item_add(struct loop *l, struct json_t *item, struct err *e);
/* Sets a member of the open one; `value` is stolen, NULL: no memory. */
int item_set(struct loop *l, const char *key, struct json_t *value, struct err *e);
int history_add(struct loop *l, struct json_t *item, struct err *e); /* stolen */

/* ---- agent_choice.c ---- */

int choice_read(const struct agent_wishes *w, struct agent_choice *ret, struct err *e);
bool choice_has_python(const struct loop *l); /* it is there and may be called */
bool choice_allows(const struct loop *l, const char *function);

enum agent_target { TARGET_PYTHON, TARGET_OURS, TARGET_FUNCTION, TARGET_UNKNOWN };
/* Who is meant by a name. *ret_tool: of TARGET_OURS. */
enum agent_target choice_target(const struct loop *l, const char *name,
                                const struct agent_tool **ret_tool);

/* ---- agent_question.c ---- */

struct question {
    struct model_question q;
    struct buf instructions;
    struct json_t *items, *tools, *choice; /* owned */
    uint64_t tokens;                       /* about so many */
};

int question_make(struct loop *l, struct question *ret, struct err *e);
void question_done(struct question *q);

/* ---- agent_hear.c ---- */

struct hearing {
    struct loop *l;
    struct err e; /* why it failed here; code ERR_NONE: it did not */
    struct think think;
    struct fence fence;
    struct code_stream code; /* of the call that is streamed, or of a block */
    struct buf held;         /* a block that may be a call, as it came */
    struct buf late;         /* what was said after a call began */
    bool is_watching;        /* blocks are looked for */
    bool is_holding;
    bool has_block;   /* code has one, which is to be run */
    bool is_call;     /* it is no Python but a call of a function */
    bool has_newline; /* of the block, not yet passed on */
    bool is_live;     /* the first call is the open item */
    size_t text_seen, calls_seen;
    size_t bytes; /* of all that came */
};

void hearing_init(struct hearing *t, struct loop *l);
void hearing_done(struct hearing *t);
/* Asks. Everything that streams has streamed when it returns, and t->has_block is known. Fails as model_ask does. */
int hearing_ask(struct hearing *t, const struct question *q, struct model_answer *a, struct err *e);

/* ---- agent_python.c ---- */

/* Runs code and tells what came of it, as an item: of the call that was streamed, of one that was not, of a block. Code that fails is no
 * failure. */
int code_run_live(struct loop *l, struct hearing *t, struct err *e);
int code_run_call(struct loop *l, const struct model_call *call, struct err *e);
int code_run_block(struct loop *l, struct hearing *t, struct err *e);

/* ---- agent_tools.c ---- */

/* A function of the caller, as an item that stays open; one of ours, with its output; one that does not exist. */
int tool_begin(struct loop *l, const struct model_call *call, struct err *e);
int tool_call(struct loop *l, const struct agent_tool *tool, const struct model_call *call,
              struct err *e);
int tool_unknown(struct loop *l, const struct model_call *call, struct err *e);

/* ---- agent_act.c ---- */

bool loop_is_halted(const struct loop *l);

/* Does what the answer wants, and says in l whether that was all. */
int act(struct loop *l, struct hearing *t, struct model_answer *a, struct err *e);
/* Adds a message that says why there is no answer. */
int act_say_why(struct loop *l, struct err *e);

/* ---- agent_budget.c ---- */

/* Counts what an answer took; where the endpoint does not say, what is estimated. */
void budget_add(struct loop *l, const struct question *q, const struct hearing *t,
                const struct model_answer *a);
/* Sets l->limit if no further question is affordable after this one. False: not even this one is. */
bool budget_check(struct loop *l, const struct question *q);

#endif
