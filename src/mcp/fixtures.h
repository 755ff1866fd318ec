/* fixtures.h -- what the conformance suite looks for: tools, prompts, resources and tasks with the names
 * and manners it asks for. They are served instead of the product, by `cicada serve
 * --conformance-fixtures`, and go through the same code as the product's own.
 *
 *     fixtures_tools.c   tools that answer by themselves
 *     fixtures_ask.c     tools that ask the client first
 *     fixtures_tasks.c   tools that answer with a task
 *     fixtures_other.c   resources, prompts, completion
 *     fixtures_clock.c   the thread that lets the time of tasks pass
 *     fixtures_show.c    tasks as the client sees them: tasks/get, tasks/update, tasks/cancel
 */
#ifndef MCP_FIXTURES_H
#define MCP_FIXTURES_H

#include <stddef.h>
#include <stdint.h>

#include "mcp/mcp_int.h"

struct json_t;

struct fixture_tools {
    const struct mcp_tool *items;
    size_t count;
};
extern const struct fixture_tools fixtures_plain, fixtures_asking, fixtures_tasking;

#define FIXTURE_NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"

enum { FIXTURE_TEXT_MAX = 200 }; /* bytes of an argument that is used */

/* An argument of tools/call that is a text; "" when there is none. */
const char *fixture_text(const struct mcp_call *m, const char *name);

/* A picture of one pixel. */
extern const uint8_t fixture_png[];
extern const size_t fixture_png_len;

/* Asks for the name of whoever is in front of the client, as mcp_ask does; "Alice" in *ret, cut to
 * FIXTURE_TEXT_MAX. *ret_is_answered false and 0: the reply is the question. */
int fixture_ask_name(struct mcp_call *m, char ret[FIXTURE_TEXT_MAX], bool *ret_is_answered,
                     struct err *e);

/* ---- time (fixtures_clock.c) ---- */

enum fixture_ending { ENDS_WELL, ENDS_IN_TOOL_ERROR, ENDS_IN_PROTOCOL_ERROR };

/* What a task does: works for so long, asks what there is to ask, ends. */
struct fixture_job {
    int64_t work_ms;
    const struct mcp_question *questions; /* static */
    size_t question_count;                /* at most 8 */
    enum fixture_ending ending;
    const char *text; /* of its result; copied, cut to FIXTURE_TEXT_MAX */
};

/* Begins a task; it is the reply. */
int fixture_begin(struct mcp_call *m, const struct fixture_job *job, struct err *e);

/* Blocks for so long. Fails with ERR_GONE when the client cancels or the server stops before. */
int fixture_wait(struct mcp_call *m, int64_t ms, struct err *e);

/* Answers on a stream that was left (stream.h) after so long; `result` is static. */
void fixture_answer_after(struct mcp_fixtures *f, struct mcp_stream *s, int64_t ms,
                          const char *result);

#endif
