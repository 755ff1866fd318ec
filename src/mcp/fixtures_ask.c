#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/fixtures.h"

enum { PARAMS_MAX = 16 << 10 };

static void dropp(json_t **json)
{
    json_decref(*json);
}

/* ---- the questions ---- */

#define FORM(message, properties, required)                                   \
    "{\"message\":\"" message                                                 \
    "\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties \
    "},\"required\":[" required "]}}"
#define SAMPLE(text, tokens)                                                            \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text \
    "\"}}],\"maxTokens\":" tokens "}"

static const struct mcp_question ask_name = {
    "user_name", "elicitation/create",
    FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")};
static const struct mcp_question ask_capital = {"capital_question", "sampling/createMessage",
                                                SAMPLE("What is the capital of France?", "100")};
static const struct mcp_question ask_greeting = {"greeting", "sampling/createMessage",
                                                 SAMPLE("Generate a greeting", "50")};
static const struct mcp_question ask_roots = {"client_roots", "roots/list", "{}"};
static const struct mcp_question ask_confirm = {
    "confirm", "elicitation/create",
    FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")};
static const struct mcp_question ask_step1 = {
    "step1", "elicitation/create",
    FORM("Step 1: What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")};
static const struct mcp_question ask_step2 = {
    "step2", "elicitation/create",
    FORM("Step 2: What is your favorite color?", "\"color\":{\"type\":\"string\"}", "\"color\"")};
static const struct mcp_question ask_defaults = {
    "defaults", "elicitation/create",
    FORM("Please review the values",
         "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
         "\"age\":{\"type\":\"integer\",\"default\":30},"
         "\"score\":{\"type\":\"number\",\"default\":95.5},"
         "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\",\"pending\"],"
         "\"default\":\"active\"},"
         "\"verified\":{\"type\":\"boolean\",\"default\":true}",
         "")};
static const struct mcp_question ask_enums = {
    "enums", "elicitation/create",
    FORM("Please choose",
         "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\",\"option3\"]},"
         "\"titledSingle\":{\"type\":\"string\",\"oneOf\":["
         "{\"const\":\"value1\",\"title\":\"First Option\"},"
         "{\"const\":\"value2\",\"title\":\"Second Option\"},"
         "{\"const\":\"value3\",\"title\":\"Third Option\"}]},"
         "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
         "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
         "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
         "\"enum\":[\"option1\",\"option2\",\"option3\"]}},"
         "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":["
         "{\"const\":\"value1\",\"title\":\"First Choice\"},"
         "{\"const\":\"value2\",\"title\":\"Second Choice\"},"
         "{\"const\":\"value3\",\"title\":\"Third Choice\"}]}}",
         "")};

/* ---- asking ---- */

/* The text `name` of what was filled into the form `key`; "" when they did not want to. */
static const char *filled(const json_t *answers, const char *key, const char *name)
{
    json_t *content = json_object_get(json_object_get(answers, key), "content");
    const char *text = json_string_value(json_object_get(content, name));
    return text ? text : "";
}

/* Answers with what the client answered. */
static void tell(struct mcp_call *m, const json_t *answers)
{
    char *text = json_dumps(answers, JSON_COMPACT);
    buf_fmt(&m->reply.text, "The client answered: %s", text ? text : "{}");
    free(text);
}

static int ask_and_tell(struct mcp_call *m, const struct mcp_question *questions, size_t count,
                        const char *state, struct err *e)
{
    scoped(dropp) json_t *answers = NULL;
    if (mcp_ask(m, questions, count, state, &answers, e))
        return -1;
    if (answers)
        tell(m, answers);
    return 0;
}

int fixture_ask_name(struct mcp_call *m, char ret[FIXTURE_TEXT_MAX], bool *ret_is_answered,
                     struct err *e)
{
    scoped(dropp) json_t *answers = NULL;
    if (mcp_ask(m, &ask_name, 1, NULL, &answers, e))
        return -1;
    *ret_is_answered = answers != NULL;
    if (answers)
        (void)snprintf(ret, FIXTURE_TEXT_MAX, "%s", filled(answers, "user_name", "name"));
    return 0;
}

/* ---- the tools ---- */

static int name(struct mcp_call *m, struct err *e)
{
    char who[FIXTURE_TEXT_MAX];
    bool is_answered;
    if (fixture_ask_name(m, who, &is_answered, e))
        return -1;
    if (is_answered)
        buf_fmt(&m->reply.text, "Hello, %s!", who);
    return 0;
}

static int capital(struct mcp_call *m, struct err *e)
{
    return ask_and_tell(m, &ask_capital, 1, NULL, e);
}

static int roots(struct mcp_call *m, struct err *e)
{
    return ask_and_tell(m, &ask_roots, 1, NULL, e);
}

static int defaults(struct mcp_call *m, struct err *e)
{
    return ask_and_tell(m, &ask_defaults, 1, NULL, e);
}

static int enums(struct mcp_call *m, struct err *e)
{
    return ask_and_tell(m, &ask_enums, 1, NULL, e);
}

static int several(struct mcp_call *m, struct err *e)
{
    const struct mcp_question questions[] = {ask_name, ask_greeting, ask_roots};
    scoped(freep) char *state = NULL;
    return mcp_state(m, &state, e) || ask_and_tell(m, questions, 3, "several", e) ? -1 : 0;
}

/* Only what the client says it can answer. */
static int capabilities(struct mcp_call *m, struct err *e)
{
    struct mcp_question questions[3];
    size_t count = 0;
    if (mcp_client_has(m, "elicitation"))
        questions[count++] = ask_name;
    if (mcp_client_has(m, "sampling"))
        questions[count++] = ask_greeting;
    if (mcp_client_has(m, "roots"))
        questions[count++] = ask_roots;
    if (count)
        return ask_and_tell(m, questions, count, NULL, e);
    buf_str(&m->reply.text, "The client answers no questions.");
    return 0;
}

/* The state has to come back as it was given. */
static int state(struct mcp_call *m, struct err *e)
{
    scoped(freep) char *kept = NULL;
    scoped(dropp) json_t *answers = NULL;
    if (mcp_state(m, &kept, e) || mcp_ask(m, &ask_confirm, 1, "confirm-1", &answers, e))
        return -1;
    if (!answers)
        return 0;
    if (m->is_modern && (!kept || strcmp(kept, "confirm-1") != 0))
        return mcp_fail(m, RPC_PARAMS, e, "requestState is missing");
    buf_str(&m->reply.text, "state-ok");
    return 0;
}

/* Two questions, one after the other; the state carries the first answer to the second. */
static int rounds(struct mcp_call *m, struct err *e)
{
    scoped(freep) char *kept = NULL;
    scoped(dropp) json_t *first = NULL;
    scoped(dropp) json_t *second = NULL;
    char who[FIXTURE_TEXT_MAX + 8] = "";
    if (mcp_state(m, &kept, e))
        return -1;
    if (kept && strncmp(kept, "name=", 5) == 0) {
        (void)snprintf(who, sizeof who, "%s", kept);
    } else {
        if (mcp_ask(m, &ask_step1, 1, "step-1", &first, e))
            return -1;
        if (!first)
            return 0;
        (void)snprintf(who, sizeof who, "name=%.*s", FIXTURE_TEXT_MAX - 1,
                       filled(first, "step1", "name"));
    }
    if (mcp_ask(m, &ask_step2, 1, who, &second, e))
        return -1;
    if (second)
        buf_fmt(&m->reply.text, "%s likes %s.", who + 5, filled(second, "step2", "color"));
    return 0;
}

/* `before` the argument as a JSON string `after`: the params of the only question. */
static int ask_with(struct mcp_call *m, const struct mcp_question *like, const char *before,
                    const char *argument, const char *after, struct err *e)
{
    scoped(buf_done) struct buf params = BUF_INIT(PARAMS_MAX);
    struct json_writer w = JSON_WRITER(&params);
    buf_str(&params, before);
    jw_text(&w, argument);
    buf_str(&params, after);
    if (buf_check(&params, e))
        return -1;
    const struct mcp_question question = {like->key, like->method, params.bytes};
    return ask_and_tell(m, &question, 1, NULL, e);
}

static int sampling(struct mcp_call *m, struct err *e)
{
    return ask_with(m, &ask_greeting,
                    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":",
                    fixture_text(m, "prompt"), "}}],\"maxTokens\":100}", e);
}

static int elicitation(struct mcp_call *m, struct err *e)
{
    return ask_with(m, &ask_name, "{\"message\":", fixture_text(m, "message"),
                    ",\"requestedSchema\":{\"type\":\"object\",\"properties\":{"
                    "\"username\":{\"type\":\"string\"},"
                    "\"email\":{\"type\":\"string\",\"format\":\"email\"}},"
                    "\"required\":[\"username\",\"email\"]}}",
                    e);
}

/* Needs a client that can be asked for a sample, and says so before anything else. */
static int missing_capability(struct mcp_call *m, struct err *e)
{
    if (mcp_client_has(m, "sampling"))
        return capital(m, e);
    buf_str(&m->error_data, "{\"requiredCapabilities\":{\"sampling\":{}}}");
    m->http_status = 400;
    return mcp_fail(m, RPC_CAPABILITY, e, "this tool needs a client that declares sampling");
}

/* ---- the table ---- */

static const char prompt_schema[] = "{\"type\":\"object\",\"properties\":{\"prompt\":{\"type\":"
                                    "\"string\"}},\"required\":[\"prompt\"]}";
static const char message_schema[] = "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":"
                                     "\"string\"}},\"required\":[\"message\"]}";

#define ASKING(name_, schema_, run_, description_)                                             \
    {                                                                                          \
        .name = (name_), .title = (name_), .description = (description_), .schema = (schema_), \
        .flags = TOOL_CORE | TOOL_READS, .run = (run_),                                        \
    }

static const struct mcp_tool tools[] = {
    ASKING("test_sampling", prompt_schema, sampling, "Asks the client's model."),
    ASKING("test_elicitation", message_schema, elicitation, "Asks for a name and an address."),
    ASKING("test_elicitation_sep1034_defaults", FIXTURE_NO_ARGUMENTS, defaults,
           "Asks with a form that has defaults."),
    ASKING("test_elicitation_sep1330_enums", FIXTURE_NO_ARGUMENTS, enums,
           "Asks with a form that has choices of all kinds."),
    ASKING("test_streaming_elicitation", FIXTURE_NO_ARGUMENTS, name, "Asks for a name."),
    ASKING("test_missing_capability", FIXTURE_NO_ARGUMENTS, missing_capability,
           "Needs a client that declares sampling."),
    ASKING("test_input_required_result_elicitation", FIXTURE_NO_ARGUMENTS, name,
           "Asks for a name."),
    ASKING("test_input_required_result_sampling", FIXTURE_NO_ARGUMENTS, capital,
           "Asks the client's model."),
    ASKING("test_input_required_result_list_roots", FIXTURE_NO_ARGUMENTS, roots,
           "Asks for the client's roots."),
    ASKING("test_input_required_result_request_state", FIXTURE_NO_ARGUMENTS, state,
           "Asks, and wants its state back."),
    ASKING("test_input_required_result_tampered_state", FIXTURE_NO_ARGUMENTS, state,
           "Asks, and wants its state back unchanged."),
    ASKING("test_input_required_result_multiple_inputs", FIXTURE_NO_ARGUMENTS, several,
           "Asks three questions at once."),
    ASKING("test_input_required_result_multi_round", FIXTURE_NO_ARGUMENTS, rounds,
           "Asks two questions, one after the other."),
    ASKING("test_input_required_result_capabilities", FIXTURE_NO_ARGUMENTS, capabilities,
           "Asks only what the client says it can answer."),
};

const struct fixture_tools fixtures_asking = {tools, sizeof tools / sizeof *tools};
