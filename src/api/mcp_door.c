/* mcp_door.c -- /mcp: where the Model Context Protocol comes in. What is behind it is mcp/'s. */
#include "api/mcp_door.h"
#include "api/api_int.h"
#include "base/err.h"
#include "json/fields.h"

static const char *const profiles[] = {"full", "core", NULL};

static const struct json_field fields[] = {
    {JF_CHOICE(struct mcp_query, profile, profiles),
     .doc = "which tools; core: the nine that matter most"},
    {JF_TEXT(struct mcp_query, workspace), .min = 1, .max = 64,
     .doc = "which one is meant when a tool is not told"},
    {0},
};

static int open_door(struct call *c, struct err *e)
{
    const struct api_options *o = &c->api->o;
    return o->mcp ? o->mcp(o->mcp_arg, c, e) : err_set(e, ERR_NOT_FOUND, "there is no MCP here");
}

#define DOOR(method_, name_, summary_)                                                            \
    {                                                                                             \
        .method = (method_), .path = "/mcp", .name = (name_), .summary = (summary_),              \
        .needs = NEEDS_NOTHING, .flags = OP_DOOR | OP_RAW_BODY | OP_STREAMS | OP_HIDDEN,          \
        .query = fields, .query_size = sizeof(struct mcp_query), .status = 200, .run = open_door, \
    }

static const struct op ops[] = {
    DOOR("POST", "sendMcp", "A message of the Model Context Protocol."),
    DOOR("GET", "listenMcp", "What the server has to say by itself, in the era with sessions."),
    DOOR("DELETE", "endMcp", "The end of a session of that protocol."),
};

const struct op_table mcp_door = {ops, sizeof ops / sizeof *ops};
