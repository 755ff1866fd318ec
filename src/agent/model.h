/* model.h -- a language model somewhere else, asked over HTTP.
 *
 *     model_open(&options, &model, e)
 *     model_ask(model, &question, &sink, halt, &answer, e)
 *     model_answer_done(&answer)
 *
 * Any endpoint that speaks OpenAI's Chat Completions or Responses, by its base URL (".../v1"): hosted ones, vLLM,
 * llama.cpp, Ollama, LiteLLM. Which of the two is MODEL_CHAT or MODEL_RESPONSES; who asks does not notice.
 *
 * A conversation is an array of *items* in the form of the Responses API, whatever the endpoint speaks:
 *     {"type":"message","role":"user|assistant|system|developer","content":"..." or [{"type":"input_text"|"output_text"
 *      |"input_image"|"input_file"|"refusal",...}]}
 *     {"type":"function_call","call_id","name","arguments"}      {"type":"function_call_output","call_id","output"}
 *     {"type":"code_interpreter_call","id","code","outputs":[...],"x_text":"what the model was told"}
 *     {"type":"reasoning",...}                                   left out for endpoints that do not know it
 * A code_interpreter_call is to the endpoint a call of the function "python" and its output, which is x_text, or if that is
 * not there, made of the outputs.
 * It may have "x_call_id", what the endpoint called it, and "x_turn", any value that the calls of one turn have in common: then they
 * are shown as calls of one turn.
 *
 * The answer is streamed where the endpoint can. A try that failed before anything was passed on (cannot be reached, 408,
 * 409, 429, 5xx, cut off) is repeated with growing pauses, or those that Retry-After asks for, up to `retries` times.
 *
 * The key goes nowhere but to the endpoint: no redirects are followed, and it is in no message. Errors of an endpoint and what
 * model_forward passes on are without it; what a model says in its answer is not searched for it.
 *
 * Any number of threads.
 */
#ifndef AGENT_MODEL_H
#define AGENT_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct err;
struct halt;
struct json_t;
struct log;
struct model;

enum model_api { MODEL_CHAT, MODEL_RESPONSES };

struct model_options {
    const char *url, *key, *name; /* key "": none is sent; copied */
    enum model_api api;
    uint32_t timeout_ms; /* of silence; also until the first byte */
    uint32_t retries;
    bool has_images; /* it takes images; otherwise they are told in words */
};

/* Does not use the network. Fails with ERR_INVALID. */
int model_open(const struct model_options *options, struct model **ret, struct err *e);
void model_close(struct model *m); /* NULL is fine; nobody may be asking */

const char *model_name(const struct model *m); /* the configured one */
bool model_has_images(const struct model *m);  /* as the options said */

struct model_question {
    const char *model;           /* NULL: the configured one */
    const char *instructions;    /* NULL: none */
    const struct json_t *items;  /* an array; borrowed, as all of these */
    const struct json_t *tools;  /* [{"name","description","parameters","strict"?}]; NULL: none */
    const struct json_t *choice; /* "auto", "none", "required", {"name":...}; NULL: auto */
    bool is_parallel;            /* several calls at once are welcome */
    const struct json_t *
        params; /* temperature, top_p, max_output_tokens, reasoning, text, ... as a Responses request has
                                       them; translated where the endpoint calls them otherwise; NULL: none */
};

/* What comes while it comes; each may be NULL. `index` counts the calls of this answer from 0. A call's name is known
 * before its arguments. What is not 0 ends it with ERR_GONE. */
struct model_sink {
    int (*text)(void *arg, struct str delta);
    int (*reasoning)(void *arg, struct str delta);
    int (*refusal)(void *arg, struct str delta);
    int (*call)(void *arg, size_t index, const char *id, const char *name);
    int (*arguments)(void *arg, size_t index, struct str delta);
    void *arg;
};

enum { MODEL_CALLS_MAX = 64, MODEL_TEXT_MAX = 8 << 20 }; /* of an answer; more is ERR_PROTOCOL */

struct model_call {
    char *id, *name;      /* id is made up if the endpoint gave none */
    struct buf arguments; /* as they came: JSON, as a rule */
};

enum model_finish { MODEL_STOP, MODEL_LENGTH, MODEL_FILTER, MODEL_CALLS };

struct model_usage {
    uint64_t input, cached, output, reasoning; /* tokens; 0: it did not say */
};

struct model_answer {
    struct buf text, reasoning, refusal;
    struct model_call *calls;
    size_t call_count;
    enum model_finish finish;
    struct model_usage usage;
    char name[128]; /* of the model, as it says */
    unsigned tries;
    /* After a failure, what the endpoint said, for who wants to pass it on: */
    int status;              /* of HTTP; 0: none */
    char code[64], type[64]; /* "" : none */
    bool lacks_tools;        /* it refused because of the tools: ask again without */
};

/* Fails with ERR_UNAVAILABLE (cannot be reached, refuses, silent), ERR_PROTOCOL (does not speak it), ERR_LIMIT (429 to the
 * end), ERR_INVALID (400: it says what is wrong), ERR_GONE (halted). *ret is to be freed in any case. Blocks. */
int model_ask(struct model *m, const struct model_question *q, const struct model_sink *sink,
              struct halt *halt, struct model_answer *ret, struct err *e);
void model_answer_done(struct model_answer *a);

/* What was asked since the start. */
struct model_info {
    uint64_t answered, failed, tries; /* questions; tries of them */
    uint64_t input, output;           /* tokens, as far as it says */
};
void model_look(struct model *m, struct model_info *ret);

/* GET {url}/models: its "data", owned by the caller. */
int model_list(struct model *m, struct halt *halt, struct json_t **ret, struct err *e);

/* Sends `body` to {url}/{path} as it is and passes on what comes back as it comes. `begin` is called once, with its status
 * (200 to 599) and type; -1 from either ends it (ERR_GONE). Not repeated. Fails before `begin` as model_ask does. */
struct model_pipe {
    int (*begin)(void *arg, int status, const char *type);
    int (*bytes)(void *arg, struct str bytes);
    void *arg;
};
int model_forward(struct model *m, const char *path, struct str body, const struct model_pipe *pipe,
                  struct halt *halt, struct err *e);

#endif
