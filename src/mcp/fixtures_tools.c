#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "mcp/fixtures.h"
#include "mcp/stream.h"

enum { RECONNECT_MS = 300 }; /* longer than a client needs to come back */

/* A WAV file of four silent samples. */
static const uint8_t wav[] = {
    'R', 'I', 'F', 'F', 40,  0,   0,   0,   'W',  'A',  'V', 'E', 'f',  'm',  't', ' ',
    16,  0,   0,   0,   1,   0,   1,   0,   0x40, 0x1f, 0,   0,   0x40, 0x1f, 0,   0,
    1,   0,   8,   0,   'd', 'a', 't', 'a', 4,    0,    0,   0,   128,  128,  128, 128,
};

const char *fixture_text(const struct mcp_call *m, const char *name)
{
    const char *text = json_string_value(json_object_get(m->in, name));
    return text ? text : "";
}

/* The writer of one more block of the reply. */
static struct json_writer begin_block(struct mcp_call *m, const char *type)
{
    struct json_writer w = JSON_WRITER(&m->reply.blocks);
    if (m->reply.blocks.len)
        buf_str(&m->reply.blocks, ",");
    jw_object(&w);
    jw_key(&w, "type");
    jw_text(&w, type);
    return w;
}

static void add_resource(struct mcp_call *m, const char *uri, const char *mime, const char *text)
{
    struct json_writer w = begin_block(m, "resource");
    jw_key(&w, "resource");
    jw_object(&w);
    jw_key(&w, "uri");
    jw_text(&w, uri);
    jw_key(&w, "mimeType");
    jw_text(&w, mime);
    jw_key(&w, "text");
    jw_text(&w, text);
    jw_end_object(&w);
    jw_end_object(&w);
}

/* ---- what they answer with ---- */

static int simple_text(struct mcp_call *m, struct err *e)
{
    (void)e;
    buf_str(&m->reply.text, "This is a simple text response for testing.");
    return 0;
}

static int image(struct mcp_call *m, struct err *e)
{
    (void)e;
    reply_image(&m->reply, "image/png", fixture_png, fixture_png_len);
    return 0;
}

static int audio(struct mcp_call *m, struct err *e)
{
    (void)e;
    struct json_writer w = begin_block(m, "audio");
    jw_key(&w, "data");
    jw_base64(&w, wav, sizeof wav);
    jw_key(&w, "mimeType");
    jw_text(&w, "audio/wav");
    jw_end_object(&w);
    return 0;
}

static int embedded_resource(struct mcp_call *m, struct err *e)
{
    (void)e;
    add_resource(m, "test://embedded-resource", "text/plain", "This is an embedded resource.");
    return 0;
}

static int several_kinds(struct mcp_call *m, struct err *e)
{
    (void)e;
    buf_str(&m->reply.text, "Several kinds of content:");
    reply_image(&m->reply, "image/png", fixture_png, fixture_png_len);
    add_resource(m, "test://mixed-content-resource", "application/json", "{\"test\":\"data\"}");
    return 0;
}

static int failure(struct mcp_call *m, struct err *e)
{
    (void)m;
    return err_set(e, ERR_INVALID, "this tool always fails, for the tests");
}

static int greet(struct mcp_call *m, struct err *e)
{
    (void)e;
    buf_fmt(&m->reply.text, "Hello, %s!", fixture_text(m, "name"));
    return 0;
}

static int echo_arguments(struct mcp_call *m, struct err *e)
{
    (void)e;
    char *text = m->in ? json_dumps(m->in, JSON_COMPACT) : NULL;
    buf_str(&m->reply.text, text ? text : "{}");
    free(text);
    return 0;
}

/* ---- what they do meanwhile ---- */

static int progress(struct mcp_call *m, struct err *e)
{
    for (int percent = 0; percent <= 100; percent += 50) {
        mcp_progress(m, percent, 100, "working");
        if (fixture_wait(m, 5, e))
            return -1;
    }
    buf_str(&m->reply.text, "done");
    return 0;
}

static int logging(struct mcp_call *m, struct err *e)
{
    static const char *const texts[] = {"begun", "half of it", "done"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mcp_log(m, "info", texts[i]);
        if (fixture_wait(m, 5, e))
            return -1;
    }
    buf_str(&m->reply.text, "Three messages were logged, if anybody wanted them.");
    return 0;
}

static int change_tools(struct mcp_call *m, struct err *e)
{
    (void)e;
    hub_list_changed(m->mcp->hub, HUB_TOOLS);
    buf_str(&m->reply.text, "Whoever listens was told that the list of tools changed.");
    return 0;
}

static int change_prompts(struct mcp_call *m, struct err *e)
{
    (void)e;
    hub_list_changed(m->mcp->hub, HUB_PROMPTS);
    buf_str(&m->reply.text, "Whoever listens was told that the list of prompts changed.");
    return 0;
}

/* Ends the stream before the answer, which then waits for the client to come back. */
static int reconnection(struct mcp_call *m, struct err *e)
{
    (void)e;
    struct mcp_stream *s = mcp_stream_begin(m) ? mcp_stream_leave(m) : NULL;
    if (!s) {
        buf_str(&m->reply.text, "There is no stream to come back to.");
        return 0;
    }
    m->is_later = true;
    fixture_answer_after(m->mcp->fixtures, s, RECONNECT_MS,
                         "{\"content\":[{\"type\":\"text\",\"text\":\"You came back.\"}]}");
    return 0;
}

/* ---- the table ---- */

static const char greet_schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":[\"name\"]}";

static const char header_schema[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"},"
    "\"count\":{\"type\":\"integer\",\"x-mcp-header\":\"Count\"}},\"required\":[\"region\"]}";

static const char dialect_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{"
    "\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"
    "\"properties\":{\"name\":{\"type\":\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

#define PLAIN(name_, schema_, run_, description_)                                              \
    {                                                                                          \
        .name = (name_), .title = (name_), .description = (description_), .schema = (schema_), \
        .flags = TOOL_CORE | TOOL_READS, .run = (run_),                                        \
    }

/* The first one has to take {}: a scenario calls whichever is first. */
static const struct mcp_tool tools[] = {
    PLAIN("test_simple_text", FIXTURE_NO_ARGUMENTS, simple_text, "Answers with a text."),
    PLAIN("test_image_content", FIXTURE_NO_ARGUMENTS, image, "Answers with an image."),
    PLAIN("test_audio_content", FIXTURE_NO_ARGUMENTS, audio, "Answers with a sound."),
    PLAIN("test_embedded_resource", FIXTURE_NO_ARGUMENTS, embedded_resource,
          "Answers with a resource."),
    PLAIN("test_multiple_content_types", FIXTURE_NO_ARGUMENTS, several_kinds,
          "Answers with a text, an image and a resource."),
    PLAIN("test_error_handling", FIXTURE_NO_ARGUMENTS, failure, "Fails."),
    PLAIN("test_tool_with_progress", FIXTURE_NO_ARGUMENTS, progress, "Tells how far it is."),
    PLAIN("test_tool_with_logging", FIXTURE_NO_ARGUMENTS, logging, "Logs three messages."),
    PLAIN("test_logging_tool", FIXTURE_NO_ARGUMENTS, logging, "Logs three messages, if asked to."),
    PLAIN("test_trigger_tool_change", FIXTURE_NO_ARGUMENTS, change_tools,
          "Tells that the list of tools changed."),
    PLAIN("test_trigger_prompt_change", FIXTURE_NO_ARGUMENTS, change_prompts,
          "Tells that the list of prompts changed."),
    PLAIN("test_reconnection", FIXTURE_NO_ARGUMENTS, reconnection,
          "Ends the stream before the answer; the client has to come back for it."),
    PLAIN("json_schema_2020_12_tool", dialect_schema, echo_arguments,
          "Has a schema with keywords of the 2020-12 dialect."),
    PLAIN("test_header_parameters", header_schema, echo_arguments,
          "Has arguments that headers repeat."),
    PLAIN("greet", greet_schema, greet, "Says hello."),
};

const struct fixture_tools fixtures_plain = {tools, sizeof tools / sizeof *tools};

const struct mcp_tool *fixture_tool_at(size_t index)
{
    const struct fixture_tools all[] = {fixtures_plain, fixtures_asking, fixtures_tasking};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (index < all[i].count)
            return &all[i].items[index];
        index -= all[i].count;
    }
    return NULL;
}
