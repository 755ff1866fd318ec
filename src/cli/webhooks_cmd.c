/* `cicada webhooks`: events of a workspace, sent to another server. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "json/write.h"

enum { OPT_EVENTS = VERB_OWN, OPT_SECRET };

enum { LIST_MAX = 1000, BODY_MAX = 16384, TEST_TIMEOUT_S = 60 };

/* clang-format off */
static const struct option plain_options[] = {VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct option add_options[] = {
    {OPT_EVENTS, 'e', "events", "LIST", "only these, separated by commas, such as putFile or\n"
                                        "'*File*' (all)"},
    {OPT_SECRET, 0, "secret", "TEXT", "that signs what is sent; anybody on this machine can see it\n"
                                      "while the command runs (one that is made up)"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};

static const struct column columns[] = {
    {"ID", false, false}, {"URL", false, true}, {"EVENTS", false, true}, {"STATE", false, false},
    {"FAILURES", true, false}, {"LAST", false, false}, {"ERROR", false, true}};
/* clang-format on */

/* The address of webhooks, of one, or of what can be done with it. */
static int put_path(const struct verb_input *in, const char *id, const char *action,
                    struct buf *out, struct err *e)
{
    workspace_url(verb_workspace(in), "webhooks", out);
    if (id) {
        buf_str(out, "/");
        client_encode(out, id);
    }
    if (action)
        buf_fmt(out, "/%s", action);
    return buf_check(out, e);
}

static void put_events(struct json_writer *w, const char *list)
{
    jw_key(w, "events");
    jw_array(w);
    for (const char *at = list; *at;) {
        size_t len = strcspn(at, ",");
        if (len)
            jw_str(w, at, len);
        at += len + (at[len] == ',');
    }
    jw_end_array(w);
}

static int add(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    scoped(buf_done) struct buf text = BUF_INIT(1024);
    scoped(json_decrefp) json_t *made = NULL;
    struct json_writer w = JSON_WRITER(&body);
    jw_object(&w);
    jw_key(&w, "url");
    jw_text(&w, in->operands[0]);
    if (in->values[OPT_EVENTS])
        put_events(&w, in->values[OPT_EVENTS]);
    if (in->values[OPT_SECRET]) {
        jw_key(&w, "secret");
        jw_text(&w, in->values[OPT_SECRET]);
    }
    jw_end_object(&w);
    jw_finish(&w);
    if (buf_check(&body, e) || put_path(in, NULL, NULL, &path, e) ||
        remote_post(r, path.bytes, &body, &made, e))
        return -1;
    if (verb_is_json(in))
        return verb_print(in, made);
    note(&r->notes, "made %s; its secret is shown only this once:", pick_text(made, "id"));
    buf_fmt(&text, "%s\n", pick_text(made, "secret"));
    return verb_print_text(&text);
}

static void put_list(const json_t *list, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        buf_fmt(out, "%s%s", i ? "," : "", word ? word : "");
    }
}

static void add_row(struct table *t, const json_t *hook)
{
    scoped(buf_done) struct buf events = BUF_INIT(4096);
    put_list(json_object_get(hook, "events"), &events);
    const char *state = *pick_text(hook, "paused_at")  ? "paused"
                        : pick_count(hook, "failures") ? "failing"
                                                       : "ok";
    table_add(t, pick_text(hook, "id"), NULL);
    table_add(t, pick_text(hook, "url"), NULL);
    table_add(t, events.len ? events.bytes : "all", NULL);
    table_add(t, state, NULL);
    verb_add_count(t, pick_count(hook, "failures"));
    verb_add_moment(t, hook, "last_attempt_at", "never");
    table_add(t, pick_text(hook, "last_error"), NULL);
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *answer = NULL;
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    if (put_path(in, NULL, NULL, &path, e) ||
        client_call(r->client, &(struct call){.path = path.bytes}, &answer, e))
        return -1;
    const json_t *all = json_object_get(answer, "data");
    int code = verb_print_list(in, all, &t, add_row, e);
    if (code >= 0 && json_array_size(all) == 0)
        note(&r->notes, "no webhooks");
    return code;
}

static int show(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *hook = NULL;
    if (put_path(in, in->operands[0], NULL, &path, e) ||
        client_call(r->client, &(struct call){.path = path.bytes}, &hook, e))
        return -1;
    return verb_print(in, hook);
}

/* PATCH: paused, or going again. */
static int set_paused(struct remote *r, const struct verb_input *in, bool is_paused, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(64);
        scoped(json_decrefp) json_t *hook = NULL;
        buf_fmt(&body, "{\"paused\":%s}", is_paused ? "true" : "false");
        if (put_path(in, in->operands[i], NULL, &path, e))
            return -1;
        const struct call call = {.method = "PATCH", .path = path.bytes, .body = &body};
        if (client_call(r->client, &call, &hook, e))
            return -1;
        note(&r->notes, "%s: %s", in->operands[i], is_paused ? "paused" : "goes on");
    }
    return EXIT_DONE;
}

static int pause_hooks(struct remote *r, const struct verb_input *in, struct err *e)
{
    return set_paused(r, in, /* is_paused= */ true, e);
}

static int resume(struct remote *r, const struct verb_input *in, struct err *e)
{
    return set_paused(r, in, /* is_paused= */ false, e);
}

static int rm(struct remote *r, const struct verb_input *in, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
        scoped(json_decrefp) json_t *nothing = NULL;
        if (put_path(in, in->operands[i], NULL, &path, e))
            return -1;
        const struct call call = {.method = "DELETE", .path = path.bytes};
        if (client_call(r->client, &call, &nothing, e))
            return -1;
        note(&r->notes, "%s: removed", in->operands[i]);
    }
    return EXIT_DONE;
}

static int test(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *answer = NULL;
    if (put_path(in, in->operands[0], "test", &path, e))
        return -1;
    const struct call call = {.method = "POST", .path = path.bytes, .timeout_s = TEST_TIMEOUT_S};
    if (client_call(r->client, &call, &answer, e))
        return -1;
    bool is_delivered = pick_is_true(answer, "delivered");
    if (verb_is_json(in)) {
        int code = verb_print(in, answer);
        return code ? code : is_delivered ? EXIT_DONE : EXIT_ERROR;
    }
    if (is_delivered)
        note(&r->notes, "delivered: it answered %llu",
             (unsigned long long)pick_count(answer, "status"));
    else
        note_problem(&r->notes, "not delivered: %s", pick_text(answer, "error"));
    return is_delivered ? EXIT_DONE : EXIT_ERROR;
}

/* clang-format off */
static const struct verb verbs[] = {
    {"add", "URL", 1, 1, add_options, "send events there from now on; prints the secret, once", add},
    {"ls", "", 0, 0, plain_options, "list webhooks and how they go", ls},
    {"show", "WEBHOOK", 1, 1, plain_options, "everything about one but its secret", show},
    {"test", "WEBHOOK", 1, 1, plain_options, "send an event now and say how that went", test},
    {"pause", "WEBHOOK...", 1, VERB_OPERANDS_MAX, plain_options, "send nothing; what happens is not lost", pause_hooks},
    {"resume", "WEBHOOK...", 1, VERB_OPERANDS_MAX, plain_options, "go on with what was not sent", resume},
    {"rm", "WEBHOOK...", 1, VERB_OPERANDS_MAX, plain_options, "send nothing there any more", rm},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "webhooks",
    .about =
        "A webhook is an address to which the events of a workspace are sent, signed, in order,\n"
        "until it has answered. WEBHOOK is an id (whk_...). docs/events.md says how a receiver\n"
        "checks the signature.",
    .verbs = verbs,
    .preset = "ls",
    .examples = "  cicada webhooks add https://example.org/hook --events 'putFile,saveFiles'\n"
                "  cicada webhooks test whk_4f2k8h1p0q9x7c3v5b6n2m8d\n"};

int webhooks_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void webhooks_help(struct buf *out)
{
    verbs_help(&command, out);
}
