/* request.h -- what POST /v1/responses asks for, checked.
 *
 *     struct oa_request q;
 *     if (oa_request_read(body, &q, &refusal))
 *         400 with refusal.param, refusal.code, refusal.message
 *     oa_request_done(&q)
 *
 * Every field of the API is known: those that something depends on are read, those that cannot be honoured here and do no harm are
 * taken and told back in the response; what would be misunderstood (tools that are not offered, a network for the code) is
 * refused, as is every field the API does not have. `input` is read by items.h. Pure.
 */
#ifndef OPENAI_REQUEST_H
#define OPENAI_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

struct json_t;
struct refusal;

struct oa_request {
    struct json_t *body; /* owned; everything else points into it unless it says otherwise */
    const char *model, *instructions, *previous, *conversation; /* NULL: not given */
    const struct json_t *input;                                 /* text or array; NULL: none */
    bool is_stored, is_background, is_stream, is_parallel;
    bool wants_outputs; /* `include` asks for the outputs of code */
    bool has_code;      /* code_interpreter is offered, and may be used */
    const struct json_t
        *container; /* of it: a text or {"type":"auto",...}; NULL: code_interpreter is not there */
    struct json_t *functions;    /* owned; for agent_wishes.functions; an array, perhaps empty */
    const struct json_t *choice; /* for agent_wishes.choice; NULL: auto */
    struct json_t *made_choice;  /* owned; `choice`, where it had to be made */
    struct json_t *params;       /* owned; for agent_wishes.params */
    uint32_t calls_max;          /* 0: as many as the server lets */
};

/* `body` is any JSON; it is kept until oa_request_done, also after a refusal. */
int oa_request_read(struct json_t *body, struct oa_request *ret, struct refusal *r);
void oa_request_done(struct oa_request *q);

/* Whether it is one of the API, and whether it is that for outputs. `at` is its place. */
int oa_include_check(const struct json_t *include, const char *at, bool *ret_wants_outputs,
                     struct refusal *r);

/* request_tools.c: `tools` and `tool_choice` of q->body. */
int oa_request_tools(struct oa_request *q, struct refusal *r);

#endif
