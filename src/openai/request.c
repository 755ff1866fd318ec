#include "openai/request.h"

#include <string.h>

#include <jansson.h>

#include "openai/shape.h"

static const char *const truncations[] = {"auto", "disabled", NULL};
static const char *const verbosities[] = {"low", "medium", "high", NULL};
static const char *const formats[] = {"text", "json_object", "json_schema", NULL};
static const char *const efforts[] = {"none", "minimal", "low", "medium",
                                      "high", "xhigh",   "max", NULL};
static const char *const summaries[] = {"auto", "concise", "detailed", NULL};
static const char *const retentions[] = {"in_memory", "in-memory", "24h", NULL};
static const char *const includes[] = {"code_interpreter_call.outputs",
                                       "file_search_call.results",
                                       "web_search_call.results",
                                       "web_search_call.action.sources",
                                       "message.input_image.image_url",
                                       "computer_call_output.output.image_url",
                                       "reasoning.encrypted_content",
                                       "message.output_text.logprobs",
                                       NULL};

/* clang-format off */
static const struct shape_field fields[] = {
    {"model", .type = SHAPE_TEXT, .is_nullable = true, .max = 256},
    {"input", .type = SHAPE_TEXT_OR_ARRAY, .is_nullable = true},
    {"instructions", .type = SHAPE_TEXT, .is_nullable = true},
    {"tools", .type = SHAPE_ARRAY, .is_nullable = true, .max = 128},
    {"tool_choice", .type = SHAPE_TEXT_OR_OBJECT, .is_nullable = true},
    {"include", .type = SHAPE_ARRAY, .is_nullable = true, .max = 16},
    {"max_tool_calls", .type = SHAPE_INT, .is_nullable = true, .min = 1, .max = 1e9},
    {"parallel_tool_calls", .type = SHAPE_BOOL, .is_nullable = true},
    {"previous_response_id", .type = SHAPE_TEXT, .is_nullable = true, .max = 64},
    {"conversation", .type = SHAPE_TEXT_OR_OBJECT, .is_nullable = true},
    {"store", .type = SHAPE_BOOL, .is_nullable = true},
    {"background", .type = SHAPE_BOOL, .is_nullable = true},
    {"stream", .type = SHAPE_BOOL, .is_nullable = true},
    {"stream_options", .type = SHAPE_OBJECT, .is_nullable = true},
    {"max_output_tokens", .type = SHAPE_INT, .is_nullable = true, .min = 1, .max = 1e9},
    {"temperature", .type = SHAPE_NUMBER, .is_nullable = true, .max = 2},
    {"top_p", .type = SHAPE_NUMBER, .is_nullable = true, .max = 1},
    {"top_logprobs", .type = SHAPE_INT, .is_nullable = true, .max = 20},
    {"truncation", .type = SHAPE_TEXT, .is_nullable = true, .choices = truncations},
    {"text", .type = SHAPE_OBJECT, .is_nullable = true},
    {"reasoning", .type = SHAPE_OBJECT, .is_nullable = true},
    {"metadata", .type = SHAPE_OBJECT, .is_nullable = true},
    {"user", .type = SHAPE_TEXT, .is_nullable = true, .max = 512},
    {"safety_identifier", .type = SHAPE_TEXT, .is_nullable = true, .max = 512},
    {"prompt_cache_key", .type = SHAPE_TEXT, .is_nullable = true, .max = 512},
    {"prompt_cache_retention", .type = SHAPE_TEXT, .is_nullable = true, .choices = retentions},
    {"prompt_cache_options", .type = SHAPE_OBJECT, .is_nullable = true},
    {"service_tier", .type = SHAPE_TEXT, .is_nullable = true, .max = 64},
    {"prompt", .type = SHAPE_OBJECT, .is_nullable = true},
    {"context_management", .type = SHAPE_ARRAY, .is_nullable = true},
    {"moderation", .type = SHAPE_ANY},
    {"image", .type = SHAPE_OBJECT, .is_nullable = true},
    {"access_programs", .type = SHAPE_ANY},
    {0},
};
static const struct shape_field stream_fields[] = {
    {"include_obfuscation", .type = SHAPE_BOOL, .is_nullable = true},
    {0},
};
static const struct shape_field text_fields[] = {
    {"format", .type = SHAPE_OBJECT, .is_nullable = true},
    {"verbosity", .type = SHAPE_TEXT, .is_nullable = true, .choices = verbosities},
    {0},
};
static const struct shape_field format_fields[] = {
    {"type", .type = SHAPE_TEXT, .choices = formats},
    {"name", .type = SHAPE_TEXT, .max = 64},
    {"description", .type = SHAPE_TEXT, .is_nullable = true},
    {"schema", .type = SHAPE_OBJECT},
    {"strict", .type = SHAPE_BOOL, .is_nullable = true},
    {0},
};
static const struct shape_field reasoning_fields[] = {
    {"effort", .type = SHAPE_TEXT, .is_nullable = true, .choices = efforts},
    {"summary", .type = SHAPE_TEXT, .is_nullable = true, .choices = summaries},
    {"generate_summary", .type = SHAPE_TEXT, .is_nullable = true, .choices = summaries},
    {"context", .type = SHAPE_TEXT, .is_nullable = true},
    {"mode", .type = SHAPE_TEXT, .is_nullable = true},
    {0},
};
static const struct shape_field conversation_fields[] = {
    {"id", .type = SHAPE_TEXT, .max = 64},
    {0},
};
/* clang-format on */

int oa_include_check(const struct json_t *include, const char *at, bool *ret_wants_outputs,
                     struct refusal *r)
{
    static const struct shape_field field = {"", .type = SHAPE_TEXT, .choices = includes};
    size_t i;
    json_t *value;
    json_array_foreach((json_t *)include, i, value)
    {
        char place[SHAPE_PARAM_SIZE];
        shape_index(place, at, i);
        if (shape_value(value, place, &field, r))
            return -1;
        if (strcmp(json_string_value(value), includes[0]) == 0)
            *ret_wants_outputs = true;
    }
    return 0;
}

/* A part of the body that is an object, if it is there. */
static int check_part(const json_t *body, const char *key, const struct shape_field *shape,
                      struct refusal *r)
{
    const json_t *part = json_object_get(body, key);
    return json_is_object(part) ? shape_check(part, key, shape, r) : 0;
}

static int check_text(const json_t *text, struct refusal *r)
{
    const json_t *format = json_object_get(text, "format");
    if (!json_is_object(format))
        return 0;
    if (shape_check(format, "text.format", format_fields, r) ||
        shape_missing(format, "text.format", "type", r))
        return -1;
    if (!shape_is(format, "type", "json_schema"))
        return 0;
    return shape_missing(format, "text.format", "name", r) ||
                   shape_missing(format, "text.format", "schema", r)
               ? -1
               : 0;
}

static int check_body(const json_t *body, struct refusal *r)
{
    if (!json_is_object(body))
        return refuse(r, "", "invalid_type", "The body has to be a JSON object.");
    if (shape_check(body, "", fields, r) || check_part(body, "stream_options", stream_fields, r) ||
        check_part(body, "text", text_fields, r) ||
        check_part(body, "reasoning", reasoning_fields, r) ||
        check_part(body, "conversation", conversation_fields, r) ||
        check_text(json_object_get(body, "text"), r) ||
        shape_metadata(json_object_get(body, "metadata"), r))
        return -1;
    if (json_is_object(json_object_get(body, "prompt")))
        return refuse(r, "prompt", "unsupported_parameter",
                      "Unsupported parameter: 'prompt'. No prompts are kept on this server: send "
                      "'instructions' and 'input' instead.");
    return 0;
}

static const char *text_or_null(const json_t *body, const char *key)
{
    return json_string_value(json_object_get(body, key));
}

static bool flag(const json_t *body, const char *key, bool preset)
{
    const json_t *v = json_object_get(body, key);
    return json_is_boolean(v) ? json_is_true(v) : preset;
}

static int read_conversation(struct oa_request *q, struct refusal *r)
{
    const json_t *conversation = json_object_get(q->body, "conversation");
    if (json_is_string(conversation)) {
        q->conversation = json_string_value(conversation);
    } else if (json_is_object(conversation)) {
        if (shape_missing(conversation, "conversation", "id", r))
            return -1;
        q->conversation = text_or_null(conversation, "id");
    }
    if (q->conversation && q->previous)
        return refuse(r, "previous_response_id", "mutually_exclusive_parameters",
                      "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. "
                      "Ensure you are only providing one of them.");
    return 0;
}

/* What is sent on to the model. */
static int make_params(struct oa_request *q, struct refusal *r)
{
    static const char *const passed[] = {"temperature", "top_p", "max_output_tokens", "reasoning",
                                         "text"};
    q->params = json_object();
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        json_t *v = json_object_get(q->body, passed[i]);
        if (v && !json_is_null(v) && json_object_set(q->params, passed[i], v))
            return refuse(r, "", NULL, "There is no memory left; try again.");
    }
    return q->params ? 0 : refuse(r, "", NULL, "There is no memory left; try again.");
}

static int check_together(const struct oa_request *q, struct refusal *r)
{
    if (!q->input && !q->previous && !q->conversation)
        return refuse(r, "input", "missing_required_parameter",
                      "One of 'input', 'previous_response_id' or 'conversation' must be provided.");
    if (q->is_background && !q->is_stored)
        return refuse(r, "background", "invalid_value",
                      "A response in the background has to be stored: leave 'store' out, or set it "
                      "to true.");
    return 0;
}

int oa_request_read(struct json_t *body, struct oa_request *ret, struct refusal *r)
{
    *ret = (struct oa_request){.body = json_incref(body)};
    if (check_body(body, r) ||
        oa_include_check(json_object_get(body, "include"), "include", &ret->wants_outputs, r))
        return -1;
    const json_t *input = json_object_get(body, "input");
    ret->input = json_is_null(input) ? NULL : input;
    ret->model = *shape_text(body, "model") ? shape_text(body, "model") : NULL;
    ret->instructions = text_or_null(body, "instructions");
    ret->previous = text_or_null(body, "previous_response_id");
    ret->is_stored = flag(body, "store", true);
    ret->is_background = flag(body, "background", false);
    ret->is_stream = flag(body, "stream", false);
    ret->is_parallel = flag(body, "parallel_tool_calls", true);
    ret->calls_max = (uint32_t)json_integer_value(json_object_get(body, "max_tool_calls"));
    return read_conversation(ret, r) || check_together(ret, r) || oa_request_tools(ret, r) ||
                   make_params(ret, r)
               ? -1
               : 0;
}

void oa_request_done(struct oa_request *q)
{
    json_decref(q->functions);
    json_decref(q->made_choice);
    json_decref(q->params);
    json_decref(q->body);
    *q = (struct oa_request){0};
}
