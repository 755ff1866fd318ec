/* openai_door.c -- /v1 and /openai/v1: where OpenAI's API comes in. What is behind it is openai/'s. */
#include "api/api_int.h"
#include "base/err.h"

static int open_door(struct call *c, struct err *e)
{
    const struct api_options *o = &c->api->o;
    return o->openai ? o->openai(o->openai_arg, c, e)
                     : err_set(e, ERR_NOT_FOUND, "there is no OpenAI API here");
}

static void tell(struct call *c, const struct err *e, const char *hint)
{
    if (c->api->o.openai_tell)
        c->api->o.openai_tell(c, e, hint);
    else
        write_error(&c->out, e->code, e->text, hint, c->id);
}

#define DOOR(method_, path_, name_, summary_)                                                  \
    {                                                                                          \
        .method = (method_), .path = (path_), .name = (name_), .summary = (summary_),          \
        .needs = NEEDS_NOTHING,                                                                \
        .flags = OP_DOOR | OP_RAW_BODY | OP_RAW_QUERY | OP_STREAMS | OP_HIDDEN, .status = 200, \
        .run = open_door, .tell = tell,                                                        \
    }

/* Also methods that nothing has there: their refusal is told as all others. */
static const struct op ops[] = {
    DOOR("GET", "/v1/{path...}", "getOpenai", "OpenAI's API."),
    DOOR("POST", "/v1/{path...}", "postOpenai", "OpenAI's API."),
    DOOR("PUT", "/v1/{path...}", "putOpenai", "OpenAI's API."),
    DOOR("PATCH", "/v1/{path...}", "patchOpenai", "OpenAI's API."),
    DOOR("DELETE", "/v1/{path...}", "deleteOpenai", "OpenAI's API."),
    DOOR("GET", "/openai/v1/{path...}", "getOpenaiAlias", "OpenAI's API, as others serve it."),
    DOOR("POST", "/openai/v1/{path...}", "postOpenaiAlias", "OpenAI's API, as others serve it."),
    DOOR("PUT", "/openai/v1/{path...}", "putOpenaiAlias", "OpenAI's API, as others serve it."),
    DOOR("PATCH", "/openai/v1/{path...}", "patchOpenaiAlias", "OpenAI's API, as others serve it."),
    DOOR("DELETE", "/openai/v1/{path...}", "deleteOpenaiAlias",
         "OpenAI's API, as others serve it."),
};

const struct op_table openai_door = {ops, sizeof ops / sizeof *ops};
