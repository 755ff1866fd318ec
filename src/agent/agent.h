/* agent.h -- ask the model, run the code it writes, show it what came of it, again, until it answers.
 *
 *     agent_run(model, &wishes, &sink, halt, &outcome, e)
 *     agent_outcome_done(&outcome)
 *
 * Straight-line code on the caller's thread. What the model says becomes *items* (model.h), one after the other; the sink
 * hears of each while it is made. It ends when the model answers without calling anything, when it calls a function of
 * the caller (their turn then), or at a limit: then the outcome says which, and the model was told beforehand that this is its
 * last chance to answer with what it has.
 *
 * Code. The model is offered a function "python" {code}; a call of it becomes an item "code_interpreter_call". Arguments that
 * are no JSON are taken as the code itself. With a model that cannot call functions (`code` AGENT_FENCED, or found out by
 * asking), blocks fenced as python are its calls (fence.h), and it is told so.
 *
 * In such blocks it can call functions too (```tool_call). With AGENT_AUTO a block of Python is run also for a model that does call
 * functions, but has not done so yet, when it is the end of what it said.
 *
 * A call of a tool of ours becomes two items, "function_call" and "function_call_output". Python and these come before the calls of the
 * caller's functions, which are the last items. A call of what does not exist is told to the model and to nobody else, but it counts.
 *
 * What the model is told of a run is its output, or the whole traceback, bounded (tell.h), and stays in the item as x_text;
 * the item carries x_run: {"id","end","duration_ms","state","error"} too.
 *
 * Context. When what is asked would be larger than `context_tokens`, old outputs are shortened, then images left out, then the oldest
 * exchanges, each replaced by a line that says so (context.h). The items themselves stay whole.
 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/model.h"
#include "base/id.h"
#include "base/str.h"

struct err;
struct halt;
struct json_t;

enum agent_code { AGENT_AUTO, AGENT_TOOL, AGENT_FENCED };

/* Who runs code. `open` is called before the first run and says in what; `run` gives a run object of the native API
 * (docs/api.md), owned by the caller, also for code that failed; it fails only when it could not be run at all. */
struct agent_hands {
    int (*open)(void *arg, char ret_container[ID_SIZE], struct err *e);
    int (*run)(void *arg, struct str code, struct halt *halt, struct json_t **ret_run,
               struct err *e);
    void *arg;
};

/* A function of ours, besides python. Its text goes to the model; a failure too, as text. */
struct agent_tool {
    const char *name, *description;
    const char *parameters; /* a JSON schema */
    int (*call)(void *arg, const struct json_t *arguments, struct halt *halt, struct buf *ret,
                struct err *e);
    void *arg;
};

struct agent_limits {
    uint32_t calls_max;           /* runs of code and calls of our tools; 0: AGENT_CALLS */
    uint64_t tokens_max;          /* of all answers and questions together; 0: any */
    uint64_t context_tokens;      /* of one question; 0: AGENT_CONTEXT */
    uint64_t cost_max;            /* in millionths; 0: any */
    uint64_t price_in, price_out; /* of a million tokens, in millionths */
};

enum { AGENT_CALLS = 20, AGENT_CONTEXT = 100000 };

struct agent_wishes {
    const char *model;          /* NULL: the configured one */
    const char *instructions;   /* of the caller; NULL: none. Ours come before (prompt.h) */
    const struct json_t *items; /* the conversation up to now, an array */
    const struct json_t
        *functions; /* of the caller: [{"name","description","parameters","strict"?}]; NULL: none */
    const struct json_t *
        choice; /* as the Responses API has it; NULL: auto. {"type":"code_interpreter"} is python */
    const struct json_t *params; /* for the model (model_question) */
    bool is_parallel;
    const struct agent_hands *hands; /* NULL: no code is run */
    enum agent_code code;
    const struct agent_tool *tools;
    size_t tool_count;
    struct agent_limits limits;
};

/* What happens, as it happens. Items are borrowed and as they are at that moment; `index` counts them from 0. Each may be
 * NULL. They come in the order of the Responses API: item, its deltas, (running, ran), item_done. */
struct agent_sink {
    void (*item)(void *arg, size_t index,
                 const struct json_t *item); /* begun: it has id, type and what is known */
    void (*text)(void *arg, size_t index, struct str delta); /* of a message */
    void (*reasoning)(void *arg, size_t index, struct str delta);
    void (*refusal)(void *arg, size_t index, struct str delta);
    void (*code)(void *arg, size_t index, struct str delta);
    void (*arguments)(void *arg, size_t index, struct str delta); /* of a function_call */
    void (*running)(void *arg, size_t index,
                    const struct json_t *item); /* its code is whole and is being run */
    void (*ran)(void *arg, size_t index, const struct json_t *run);
    void (*item_done)(void *arg, size_t index, const struct json_t *item);
    /* A message is whole: its annotations are to be made now; *ret is an array, owned by the loop. NULL: none. */
    void (*annotate)(void *arg, const char *text, struct json_t **ret);
    void *arg;
};

enum agent_end {
    AGENT_ANSWERED,     /* the last item is a message */
    AGENT_FUNCTION,     /* the last items are calls of the caller's functions */
    AGENT_OUTPUT_LIMIT, /* the model stopped for length */
    AGENT_FILTERED,
    AGENT_CALLS_LIMIT,  /* it answered, but only because calls_max were used up */
    AGENT_TOKENS_LIMIT, /* so with tokens_max or cost_max; there may be no answer */
};

struct agent_outcome {
    enum agent_end end;
    struct json_t *items; /* what was added, an array; owned. Also after a failure: what there is */
    struct model_usage usage; /* of all questions; estimated where the endpoint is silent */
    uint64_t cost;            /* in millionths */
    unsigned questions, calls, failed_calls;
    char model[128]; /* as the endpoint calls it */
    int status;      /* after a failure of the endpoint: what it said (model_answer) */
    char code[64];
};

/* Fails as model_ask does, or ERR_GONE when halted; *ret is to be freed in any case. */
int agent_run(struct model *m, const struct agent_wishes *w, const struct agent_sink *sink,
              struct halt *halt, struct agent_outcome *ret, struct err *e);
void agent_outcome_done(struct agent_outcome *o);

#endif
