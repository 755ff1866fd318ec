/* openai.h -- OpenAI's API at /v1 and /openai/v1: containers, their files, files, uploads, models, responses with
 * code_interpreter, conversations, chat completions.
 *
 *     openai_open(&options, &openai, e)
 *     api_options.openai = openai_handle
 *
 * A dialect: it translates to operations of the native API (api/native_call.h), keeps what has no place there on cards
 * (workspace/cards.h), and lets agent/ do the thinking. It decides nothing about rights.
 */
#ifndef OPENAI_OPENAI_H
#define OPENAI_OPENAI_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/agent.h"

struct call;
struct cards;
struct err;
struct files;
struct flights;
struct log;
struct model;
struct openai;
struct service;

struct openai_options {
    struct cards *cards; /* borrowed, as all of these */
    struct files *files;
    struct service *service; /* for the most memory a session may have; NULL: not known */
    struct flights *flights;
    struct model *model; /* NULL: none is configured */
    struct log *log;
    struct agent_limits limits;
    enum agent_code code;
    bool is_strict;   /* containers expire for good, as they do elsewhere */
    bool has_outputs; /* outputs of code are there without being asked for by `include` */
    int spool_fd;     /* as in api_options */
};

int openai_open(const struct openai_options *options, struct openai **ret, struct err *e);
/* api_options.openai: answers c, whatever its method and address below /v1. */
int openai_handle(void *openai, struct call *c, struct err *e);
void openai_close(struct openai *o); /* NULL is fine */

/* api_options.openai_tell: writes what somebody is told of a failure at this door, in the form that its clients know. May
 * choose another status than the error's own. */
void openai_tell(struct call *c, const struct err *e, const char *hint);

/* What time brings: files and containers that have expired, uploads nobody completed. Called now and then. */
void openai_tidy(struct openai *o, int64_t now_us);

#endif
