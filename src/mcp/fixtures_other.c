#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/fixtures.h"

/* One red pixel. */
const uint8_t fixture_png[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48,
    0x44, 0x52, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00,
    0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49, 0x44, 0x41, 0x54, 0x78,
    0xda, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xf7, 0x03, 0x41,
    0x43, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};
const size_t fixture_png_len = sizeof fixture_png;

static void dropp(json_t **json)
{
    json_decref(*json);
}

/* ---- resources ---- */

static const struct resource {
    const char *uri, *name, *description, *mime;
    const char *text; /* NULL: the picture */
} resources[] = {
    {"test://static-text", "static-text", "A text.", "text/plain",
     "This is the content of the static text resource."},
    {"test://static-binary", "static-binary", "A picture.", "image/png", NULL},
    {"test://watched-resource", "watched-resource", "A text to subscribe to.", "text/plain",
     "This is the content of the watched resource."},
};
enum { RESOURCES = sizeof resources / sizeof *resources };

static const char template_uri[] = "test://template/{id}/data";
static const char template_before[] = "test://template/", template_after[] = "/data";

static void member(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

int fixture_resources_list(struct mcp_call *m, struct err *e)
{
    (void)e;
    jw_key(&m->w, "resources");
    jw_array(&m->w);
    for (size_t i = 0; i < RESOURCES; i++) {
        jw_object(&m->w);
        member(&m->w, "uri", resources[i].uri);
        member(&m->w, "name", resources[i].name);
        member(&m->w, "description", resources[i].description);
        member(&m->w, "mimeType", resources[i].mime);
        jw_end_object(&m->w);
    }
    jw_end_array(&m->w);
    return 0;
}

int fixture_templates_list(struct mcp_call *m, struct err *e)
{
    (void)e;
    jw_key(&m->w, "resourceTemplates");
    jw_array(&m->w);
    jw_object(&m->w);
    member(&m->w, "uriTemplate", template_uri);
    member(&m->w, "name", "template");
    member(&m->w, "description", "A text with the id in it.");
    member(&m->w, "mimeType", "application/json");
    jw_end_object(&m->w);
    jw_end_array(&m->w);
    return 0;
}

/* text NULL: the picture. */
static void write_content(struct json_writer *w, const char *uri, const char *mime,
                          const char *text)
{
    member(w, "uri", uri);
    member(w, "mimeType", mime);
    jw_key(w, text ? "text" : "blob");
    if (text)
        jw_text(w, text);
    else
        jw_base64(w, fixture_png, sizeof fixture_png);
}

static void write_contents(struct mcp_call *m, const char *uri, const char *mime, const char *text)
{
    jw_key(&m->w, "contents");
    jw_array(&m->w);
    jw_object(&m->w);
    write_content(&m->w, uri, mime, text);
    jw_end_object(&m->w);
    jw_end_array(&m->w);
}

/* {"id":"123",...} for an address that the template fits. */
static bool fill_template(const char *uri, struct buf *out)
{
    size_t len = strlen(uri), before = strlen(template_before), after = strlen(template_after);
    if (len <= before + after || strncmp(uri, template_before, before) != 0 ||
        strcmp(uri + len - after, template_after) != 0)
        return false;
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "id");
    jw_str(&w, uri + before, len - before - after);
    jw_end_object(&w);
    return !out->failed;
}

int fixture_resources_read(struct mcp_call *m, const char *uri, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(16 << 10);
    for (size_t i = 0; i < RESOURCES; i++)
        if (strcmp(resources[i].uri, uri) == 0) {
            write_contents(m, uri, resources[i].mime, resources[i].text);
            return 0;
        }
    if (fill_template(uri, &text)) {
        write_contents(m, uri, "application/json", text.bytes);
        return 0;
    }
    struct json_writer w = JSON_WRITER(&m->error_data);
    jw_object(&w);
    member(&w, "uri", uri);
    jw_end_object(&w);
    return mcp_fail(m, m->is_modern ? RPC_PARAMS : RPC_NO_RESOURCE, e,
                    "there is no resource %.100s", uri);
}

/* ---- prompts ---- */

static const struct mcp_question ask_context = {
    "user_context", "elicitation/create",
    "{\"message\":\"What context should the prompt use?\",\"requestedSchema\":{\"type\":\"object\","
    "\"properties\":{\"context\":{\"type\":\"string\"}},\"required\":[\"context\"]}}"};

static const char *argument(const struct mcp_call *m, const char *name)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(m->params, "arguments"), name));
    return text ? text : "";
}

static void begin_message(struct json_writer *w, const char *type)
{
    jw_object(w);
    member(w, "role", "user");
    jw_key(w, "content");
    jw_object(w);
    member(w, "type", type);
}

static void end_message(struct json_writer *w)
{
    jw_end_object(w);
    jw_end_object(w);
}

static void write_message(struct json_writer *w, const char *text)
{
    begin_message(w, "text");
    member(w, "text", text);
    end_message(w);
}

static int simple(struct mcp_call *m, struct err *e)
{
    (void)e;
    write_message(&m->w, "This is a simple prompt for testing.");
    return 0;
}

static int with_arguments(struct mcp_call *m, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    buf_fmt(&text, "Prompt with arguments: arg1='%s', arg2='%s'", argument(m, "arg1"),
            argument(m, "arg2"));
    if (buf_check(&text, e))
        return -1;
    write_message(&m->w, text.bytes);
    return 0;
}

static int with_resource(struct mcp_call *m, struct err *e)
{
    (void)e;
    begin_message(&m->w, "resource");
    jw_key(&m->w, "resource");
    jw_object(&m->w);
    write_content(&m->w, argument(m, "resourceUri"), "text/plain", "Embedded content.");
    jw_end_object(&m->w);
    end_message(&m->w);
    write_message(&m->w, "Please process the embedded resource above.");
    return 0;
}

static int with_image(struct mcp_call *m, struct err *e)
{
    (void)e;
    begin_message(&m->w, "image");
    jw_key(&m->w, "data");
    jw_base64(&m->w, fixture_png, sizeof fixture_png);
    member(&m->w, "mimeType", "image/png");
    end_message(&m->w);
    write_message(&m->w, "Please analyze the image above.");
    return 0;
}

static const struct prompt {
    const char *name, *description;
    const char *arguments[2]; /* all required */
    int (*write)(struct mcp_call *m, struct err *e);
} prompts[] = {
    {"test_simple_prompt", "A text.", {NULL}, simple},
    {"test_prompt_with_arguments", "A text with arguments.", {"arg1", "arg2"}, with_arguments},
    {"test_prompt_with_embedded_resource", "A resource.", {"resourceUri"}, with_resource},
    {"test_prompt_with_image", "An image.", {NULL}, with_image},
    {"test_input_required_result_prompt", "Asks for a context.", {NULL}, NULL},
};
enum { PROMPTS = sizeof prompts / sizeof *prompts };

static void write_prompt(struct json_writer *w, const struct prompt *p)
{
    jw_object(w);
    member(w, "name", p->name);
    member(w, "description", p->description);
    jw_key(w, "arguments");
    jw_array(w);
    for (size_t i = 0; i < 2 && p->arguments[i]; i++) {
        jw_object(w);
        member(w, "name", p->arguments[i]);
        member(w, "description", "A text.");
        jw_key(w, "required");
        jw_bool(w, true);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}

int fixture_prompts_list(struct mcp_call *m, struct err *e)
{
    (void)e;
    jw_key(&m->w, "prompts");
    jw_array(&m->w);
    for (size_t i = 0; i < PROMPTS; i++)
        write_prompt(&m->w, &prompts[i]);
    jw_end_array(&m->w);
    return 0;
}

/* The prompt that asks first. */
static int ask_for_context(struct mcp_call *m, struct err *e)
{
    scoped(dropp) json_t *answers = NULL;
    if (mcp_ask(m, &ask_context, 1, NULL, &answers, e))
        return -1;
    if (!answers)
        return 0;
    json_t *content = json_object_get(json_object_get(answers, ask_context.key), "content");
    const char *context = json_string_value(json_object_get(content, "context"));
    jw_key(&m->w, "messages");
    jw_array(&m->w);
    write_message(&m->w, context ? context : "There is no context.");
    jw_end_array(&m->w);
    return 0;
}

int fixture_prompts_get(struct mcp_call *m, const char *name, struct err *e)
{
    const struct prompt *p = prompts;
    while (p < prompts + PROMPTS && strcmp(p->name, name) != 0)
        p++;
    if (p == prompts + PROMPTS)
        return mcp_fail(m, RPC_PARAMS, e, "there is no prompt %.100s", name);
    for (size_t i = 0; i < 2 && p->arguments[i]; i++)
        if (!*argument(m, p->arguments[i]))
            return mcp_fail(m, RPC_PARAMS, e, "the argument %s is missing", p->arguments[i]);
    if (!p->write)
        return ask_for_context(m, e);
    jw_key(&m->w, "messages");
    jw_array(&m->w);
    int failed = p->write(m, e);
    jw_end_array(&m->w);
    return failed;
}

/* ---- completion ---- */

int fixture_complete(struct mcp_call *m, struct err *e)
{
    static const char *const words[] = {"paris", "park", "party"};
    const char *begun =
        json_string_value(json_object_get(json_object_get(m->params, "argument"), "value"));
    if (!begun)
        return mcp_fail(m, RPC_PARAMS, e, "argument.value has to be a text");
    jw_key(&m->w, "completion");
    jw_object(&m->w);
    jw_key(&m->w, "values");
    jw_array(&m->w);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(words[i], begun, strlen(begun)) == 0)
            jw_text(&m->w, words[i]);
    jw_end_array(&m->w);
    jw_key(&m->w, "hasMore");
    jw_bool(&m->w, false);
    jw_end_object(&m->w);
    return 0;
}
