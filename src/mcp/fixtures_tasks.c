#include <jansson.h>

#include "base/err.h"
#include "mcp/fixtures.h"

enum { SECONDS_MAX = 3600 };

static int slow_compute(struct mcp_call *m, struct err *e)
{
    char text[FIXTURE_TEXT_MAX];
    double seconds = json_number_value(json_object_get(m->in, "seconds"));
    if (!(seconds >= 0 && seconds <= SECONDS_MAX))
        return err_set(e, ERR_INVALID, "seconds has to be between 0 and %d", SECONDS_MAX);
    struct fixture_job job = {.work_ms = (int64_t)(seconds * 1000), .text = text};
    (void)snprintf(text, sizeof text, "computed %.100s", fixture_text(m, "label"));
    if (mcp_takes_tasks(m))
        return fixture_begin(m, &job, e);
    mcp_progress(m, 0, seconds, "begun");
    if (fixture_wait(m, job.work_ms, e))
        return -1;
    buf_str(&m->reply.text, text);
    return 0;
}

static int failing_job(struct mcp_call *m, struct err *e)
{
    const struct fixture_job job = {
        .work_ms = 500, .ending = ENDS_IN_TOOL_ERROR, .text = "this job always fails"};
    return fixture_begin(m, &job, e);
}

static int protocol_error_job(struct mcp_call *m, struct err *e)
{
    const struct fixture_job job = {
        .work_ms = 200, .ending = ENDS_IN_PROTOCOL_ERROR, .text = "this job always breaks"};
    return fixture_begin(m, &job, e);
}

#define YES_OR_NO(message)                                                                   \
    "{\"message\":\"" message "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" \
    "\"confirm\":{\"type\":\"boolean\"}},\"required\":[\"confirm\"]}}"

static int confirm_delete(struct mcp_call *m, struct err *e)
{
    static const struct mcp_question questions[] = {
        {"confirm", "elicitation/create", YES_OR_NO("Delete the file?")}};
    const struct fixture_job job = {
        .questions = questions, .question_count = 1, .text = "the question was answered"};
    return fixture_begin(m, &job, e);
}

static int multi_input(struct mcp_call *m, struct err *e)
{
    static const struct mcp_question questions[] = {
        {"first", "elicitation/create", YES_OR_NO("The first?")},
        {"second", "elicitation/create", YES_OR_NO("The second?")}};
    const struct fixture_job job = {
        .questions = questions, .question_count = 2, .text = "both questions were answered"};
    return fixture_begin(m, &job, e);
}

/* Asks before there is a task, then becomes one. */
static int ask_then_task(struct mcp_call *m, struct err *e)
{
    char name[FIXTURE_TEXT_MAX], text[FIXTURE_TEXT_MAX];
    bool is_answered;
    if (fixture_ask_name(m, name, &is_answered, e))
        return -1;
    if (!is_answered)
        return 0;
    (void)snprintf(text, sizeof text, "Hello, %.100s!", name);
    const struct fixture_job job = {.work_ms = 100, .text = text};
    if (mcp_takes_tasks(m))
        return fixture_begin(m, &job, e);
    buf_str(&m->reply.text, text);
    return 0;
}

static const char slow_schema[] = "{\"type\":\"object\",\"properties\":{\"seconds\":{\"type\":"
                                  "\"number\",\"minimum\":0},\"label\":{\"type\":\"string\"}},"
                                  "\"required\":[\"seconds\"]}";
static const char file_schema[] = "{\"type\":\"object\",\"properties\":{\"filename\":{\"type\":"
                                  "\"string\"}},\"required\":[\"filename\"]}";

#define TASKING(name_, schema_, flags_, run_, description_)                                    \
    {                                                                                          \
        .name = (name_), .title = (name_), .description = (description_), .schema = (schema_), \
        .flags = TOOL_CORE | (flags_), .run = (run_),                                          \
    }

static const struct mcp_tool tools[] = {
    TASKING("slow_compute", slow_schema, TOOL_READS, slow_compute, "Takes so many seconds."),
    TASKING("failing_job", FIXTURE_NO_ARGUMENTS, TOOL_TASK, failing_job,
            "A task that ends with an error of the tool."),
    TASKING("protocol_error_job", FIXTURE_NO_ARGUMENTS, TOOL_TASK, protocol_error_job,
            "A task that ends with an error of the protocol."),
    TASKING("confirm_delete", file_schema, TOOL_TASK | TOOL_DESTROYS, confirm_delete,
            "A task that asks one question."),
    TASKING("multi_input", FIXTURE_NO_ARGUMENTS, TOOL_TASK, multi_input,
            "A task that asks two questions at once."),
    TASKING("test_tool_with_task", FIXTURE_NO_ARGUMENTS, TOOL_READS, ask_then_task,
            "Asks, then answers with a task."),
};

const struct fixture_tools fixtures_tasking = {tools, sizeof tools / sizeof *tools};
