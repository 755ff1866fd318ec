/* native_ask.c -- questions in plain words, and their answers: the table; ask/ does the rest. */
#include "api/native_ask.h"

#include "api/api_int.h"
#include "base/err.h"

enum {
    QUESTION_MAX = 1 << 20,
    INSTRUCTIONS_MAX = 256 << 10,
    FILES_MAX = 100,
    RUNS_MAX = 200,
    TIMEOUT_MAX_MS = 86400 * 1000,
};

/* ---- what they take ---- */

static const struct json_field question_fields[] = {
    {JF_TEXT(struct question_args, question), .required = true, .min = 1, .max = QUESTION_MAX,
     .doc = "in plain words"},
    {JF_TEXT(struct question_args, workspace), .min = 1, .max = 256,
     .doc = "whose files it is about, by id or name; your default one if left out"},
    {JF_TEXT(struct question_args, session), .min = 1, .max = 256,
     .doc =
         "go on there: with its variables, and the questions and answers before in it. An answer's id goes on from that "
         "answer"},
    {JF_TEXTS(struct question_args, files), .max = FILES_MAX, .item_max = 1024,
     .doc = "paths of the workspace that matter"},
    {JF_TEXT(struct question_args, model), .min = 1, .max = 128, .doc = "the server's if left out"},
    {JF_TEXT(struct question_args, instructions), .max = INSTRUCTIONS_MAX,
     .doc = "how to go about it"},
    {JF_BOOL(struct question_args, search),
     .doc =
         "answer from what the files of the workspace say: the model may search and read them, and cites where it found it"},
    {JF_BOOL(struct question_args, verify),
     .doc = "repeat the code in a fresh session afterwards, and compare what comes out"},
    {JF_INT(struct question_args, max_runs), .min = 1, .max = RUNS_MAX, .is_open = true,
     .doc = "how often the model may run code or search; the server's limit if left out or larger"},
    {JF_INT(struct question_args, max_tokens), .min = 1, .max = INT64_MAX, .is_open = true,
     .doc = "of all that is said to the model and by it"},
    {JF_MILLI(struct question_args, timeout_s, "timeout_s"), .min = 100, .max = TIMEOUT_MAX_MS,
     .is_open = true, .doc = "seconds for all of it"},
    {JF_BOOL(struct question_args, background),
     .doc = "answer at once, with status running; it goes on without you"},
    {0},
};

static const struct json_field answers_fields[] = {
    {JF_TEXT(struct answers_args, session), .max = 256, .doc = "only those given in it"},
    {JF_TEXT(struct answers_args, cursor), .max = 64},
    {JF_INT(struct answers_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

static const char *const formats[] = {"markdown", "notebook", "json", NULL};

static const struct json_field transcript_fields[] = {
    {JF_CHOICE(struct transcript_args, format, formats), .preset = TRANSCRIPT_MARKDOWN,
     .doc = "a text to read, a Jupyter notebook, or everything that is kept"},
    {0},
};

/* ---- who answers ---- */

static int pass(struct call *c, enum ask_op op, struct err *e)
{
    if (!c->api->o.ask)
        return err_set(e, ERR_UNAVAILABLE, "this server answers no questions");
    return c->api->o.ask(c->api->o.ask_arg, (int)op, c, e);
}

static int ask(struct call *c, struct err *e)
{
    return pass(c, ASK_CREATE, e);
}

static int list(struct call *c, struct err *e)
{
    return pass(c, ASK_LIST, e);
}

static int get(struct call *c, struct err *e)
{
    return pass(c, ASK_GET, e);
}

static int delete (struct call *c, struct err *e)
{
    return pass(c, ASK_DELETE, e);
}

static int cancel(struct call *c, struct err *e)
{
    return pass(c, ASK_CANCEL, e);
}

static int follow(struct call *c, struct err *e)
{
    return pass(c, ASK_EVENTS, e);
}

static int export(struct call *c, struct err *e)
{
    return pass(c, ASK_TRANSCRIPT, e);
}

static int verify(struct call *c, struct err *e)
{
    return pass(c, ASK_VERIFY, e);
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define ANSWER "/api/v1/answers/{id}"

static const struct op ops[] = {
    {.method = "POST",
     .path = "/api/v1/ask",
     .name = "ask",
     .summary =
         "Ask a question in plain words: a model answers it, running code where it needs to.",
     .needs = NEEDS_NAMED,
     .scope = SCOPE_RUN,
     .flags = OP_CREATES | OP_STREAMS,
     BODY(question_args, question_fields),
     .status = 200,
     .also = {202},
     .answer = "Answer",
     .run = ask},
    {.method = "GET",
     .path = "/api/v1/answers",
     .name = "listAnswers",
     .summary = "List the answers you were given, newest first.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_RUN,
     QUERY(answers_args, answers_fields),
     .status = 200,
     .answer = "AnswerList",
     .run = list},
    {.method = "GET",
     .path = ANSWER,
     .name = "getAnswer",
     .summary = "Show an answer, also one that is still being found.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Answer",
     .run = get},
    {.method = "DELETE",
     .path = ANSWER,
     .name = "deleteAnswer",
     .summary = "Forget an answer and its transcript; files and runs stay.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 204,
     .run = delete},
    {.method = "POST",
     .path = ANSWER "/cancel",
     .name = "cancelAnswer",
     .summary = "Stop answering a question: its model and its run.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Answer",
     .run = cancel},
    {.method = "GET",
     .path = ANSWER "/events",
     .name = "followAnswer",
     .summary =
         "What happens while a question is answered, from the beginning or after Last-Event-ID.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .flags = OP_STREAMS,
     .status = 200,
     .answer = NULL,
     .run = follow},
    {.method = "GET",
     .path = ANSWER "/transcript",
     .name = "exportAnswer",
     .summary = "How an answer was found: question, code, outputs, answer, figures, citations.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     QUERY(transcript_args, transcript_fields),
     .status = 200,
     .gives = "*/*",
     .run = export},
    {.method = "POST",
     .path = ANSWER "/verify",
     .name = "verifyAnswer",
     .summary =
         "Repeat the code of an answer in a fresh session, elsewhere, and say whether the same comes out.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .flags = OP_RUNS,
     .status = 200,
     .answer = "Answer",
     .run = verify},
};

const struct op_table native_ask = {ops, sizeof ops / sizeof *ops};
