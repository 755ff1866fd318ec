/* chat.h -- Chat Completions and Models: what models.c, chat.c and its parts share. */
#ifndef OPENAI_CHAT_H
#define OPENAI_CHAT_H

struct buf;
struct err;
struct json_t;
struct oa_call;
struct refusal;

/* 503 and what to set, unless there is a model. */
int oa_needs_model(struct oa_call *o, struct err *e);

/* {"error":{...}}, for who is told of it in a stream. */
void oa_chat_error(const struct err *why, struct buf *out);

/* chat_code.c: answers by the agent, which runs code in a container. `wish` is the field `code_interpreter`. */
int oa_chat_code(struct oa_call *o, const struct json_t *wish, struct err *e);

/* chat_ask.c: a request for Chat Completions as one for Responses, with the tool in it. *ret is the caller's. Pure. */
int oa_chat_translate(const struct json_t *body, const struct json_t *wish, struct json_t **ret,
                      struct refusal *r);

#endif
