/* responses_int.h -- what the files about /v1/responses share. */
#ifndef OPENAI_RESPONSES_INT_H
#define OPENAI_RESPONSES_INT_H

#include "openai/openai_int.h"
#include "openai/request.h"

struct json_t;
struct oa_stored;

/* Reads the body of a request that wants a response. */
int responses_read(struct oa_call *o, struct oa_request *ret, struct err *e);
/* The one that the address names, or 404. */
int responses_find(struct oa_call *o, struct oa_stored *ret, struct err *e);
/* Answers with it. */
int responses_shown(struct oa_call *o, const struct json_t *object, bool has_outputs,
                    struct err *e);
/* Whether outputs are to be shown: always here, or `include` of the query asks for them. */
int responses_include(struct oa_call *o, bool *ret_has_outputs, struct err *e);
/* Answers with a page of `items`, which are in the order of their making. */
int responses_page(struct oa_call *o, const struct json_t *items, bool has_outputs, struct err *e);

/* responses_read.c */
int responses_retrieve(struct oa_call *o, struct err *e);
int responses_input_items(struct oa_call *o, struct err *e);
int responses_input_tokens(struct oa_call *o, struct err *e);

#endif
