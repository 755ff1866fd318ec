/* completion.c -- completion/complete: what an argument of a template or a prompt may be. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/prompts.h"
#include "mcp/resources.h"
#include "json/write.h"

enum {
    VALUES_MAX = 100, /* the protocol's limit */
    RUNS_MAX = 20,    /* they are listed with all they showed */
};

/* What is asked, and what was found so far. */
struct wish {
    const char *name, *value; /* of the argument */
    const json_t *others;     /* arguments that are known already; or NULL */
    json_t *values;           /* strings */
    size_t total;             /* of all that fit */
    bool is_open;             /* there are more, and nobody counted them */
};

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static const char *known(const struct wish *q, const char *name)
{
    const char *text = q->others ? text_of(q->others, name) : NULL;
    return text && *text ? text : NULL;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void add(struct wish *q, const char *text)
{
    q->total++;
    if (json_array_size(q->values) < VALUES_MAX)
        (void)json_array_append_new(q->values, json_string(text)); /* one less when out of memory */
}

/* Nothing that they may see is no mistake. */
static int forgive(struct err *e)
{
    bool is_none = e->code == ERR_NOT_FOUND || e->code == ERR_DENIED || e->code == ERR_INVALID ||
                   e->code == ERR_TOO_LARGE;
    if (is_none)
        *e = (struct err){0};
    return is_none ? 0 : -1;
}

/* ---- what there is ---- */

static int complete_workspace(struct mcp_call *m, struct wish *q, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_text(&n, "/api/v1/workspaces");
    native_query_u64(&n, "limit", 1000);
    if (native_call(m, &n, e))
        return forgive(e);
    const json_t *list = json_object_get(n.json, "data");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *ws = json_array_get(list, i);
        if (begins(text_of(ws, "id"), q->value) || begins(text_of(ws, "name"), q->value))
            add(q, text_of(ws, "id"));
    }
    q->is_open = json_is_true(json_object_get(n.json, "has_more"));
    return 0;
}

/* Paths that go on where `typed` ends; `before` is put in front of each. */
static int complete_path_after(struct mcp_call *m, struct wish *q, const char *before,
                               int before_len, const char *typed, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_workspace(&n, known(q, "workspace_id"));
    native_text(&n, "/files");
    native_query(&n, "prefix", native_clean(typed));
    native_query_u64(&n, "limit", VALUES_MAX);
    if (native_call(m, &n, e))
        return forgive(e);
    const json_t *list = json_object_get(n.json, "data");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *file = json_array_get(list, i);
        scoped(buf_done) struct buf value = BUF_INIT(64 << 10);
        bool is_file = strcmp(text_of(file, "kind"), "file") == 0;
        buf_fmt(&value, "%.*s%s%s", before_len, before, text_of(file, "path"), is_file ? "" : "/");
        if (!value.failed)
            add(q, value.bytes);
    }
    q->is_open = json_is_true(json_object_get(n.json, "has_more"));
    return 0;
}

static int complete_path(struct mcp_call *m, struct wish *q, struct err *e)
{
    return complete_path_after(m, q, "", 0, q->value, e);
}

/* The last of those that are separated by commas. */
static int complete_paths(struct mcp_call *m, struct wish *q, struct err *e)
{
    const char *comma = strrchr(q->value, ',');
    const char *typed = comma ? comma + 1 : q->value;
    while (*typed == ' ')
        typed++;
    return complete_path_after(m, q, q->value, (int)(typed - q->value), typed, e);
}

static int complete_version(struct mcp_call *m, struct wish *q, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    const char *path = known(q, "path");
    if (!path)
        return 0;
    native_workspace(&n, known(q, "workspace_id"));
    native_text(&n, "/files/");
    native_path(&n, native_clean(path));
    native_query(&n, "versions", "true");
    native_query_u64(&n, "limit", 1000);
    if (native_call(m, &n, e))
        return forgive(e);
    const json_t *list = json_object_get(n.json, "data");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *version = json_array_get(list, i);
        char text[24];
        (void)snprintf(text, sizeof text, "%" PRIi64,
                       (int64_t)json_integer_value(json_object_get(version, "version")));
        if (begins(text, q->value))
            add(q, text);
    }
    q->is_open = json_is_true(json_object_get(n.json, "has_more"));
    return 0;
}

/* Recent runs, newest first; for fix_error those that failed come before the others. */
static int complete_run(struct mcp_call *m, struct wish *q, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    native_text(&n, "/api/v1/runs");
    native_query_u64(&n, "limit", RUNS_MAX);
    if (native_call(m, &n, e))
        return forgive(e);
    const json_t *runs = json_object_get(n.json, "data");
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < json_array_size(runs); i++) {
            const json_t *run = json_array_get(runs, i);
            const char *end = text_of(run, "end");
            bool is_fine = !end || strcmp(end, "ok") == 0;
            if (is_fine == (pass == 1) && begins(text_of(run, "id"), q->value))
                add(q, text_of(run, "id"));
        }
    }
    q->is_open = json_is_true(json_object_get(n.json, "has_more"));
    return 0;
}

static int complete_index(struct mcp_call *m, struct wish *q, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    if (!known(q, "execution_id"))
        return 0;
    native_text(&n, "/api/v1/runs/");
    native_piece(&n, known(q, "execution_id"));
    if (native_call(m, &n, e))
        return forgive(e);
    size_t count = json_array_size(json_object_get(n.json, "displays"));
    for (size_t i = 0; i < count; i++) {
        char text[24];
        (void)snprintf(text, sizeof text, "%zu", i);
        if (begins(text, q->value))
            add(q, text);
    }
    return 0;
}

static const struct {
    const char *name;
    int (*complete)(struct mcp_call *m, struct wish *q, struct err *e);
} arguments[] = {
    {"workspace_id", complete_workspace}, {"path", complete_path},        {"paths", complete_paths},
    {"version", complete_version},        {"execution_id", complete_run}, {"index", complete_index},
};

/* ---- what is asked ---- */

static bool template_has(const char *uri, const char *name)
{
    for (const struct resource_template *t = resource_templates; t->uri; t++) {
        const char *found = strcmp(t->uri, uri) == 0 ? strstr(t->uri, name) : NULL;
        if (found && strchr("{+?", found[-1]) && found[strlen(name)] == '}')
            return true;
    }
    return false;
}

static bool prompt_has(const char *prompt, const char *name)
{
    const struct prompt *p = prompt_find(prompt);
    for (int i = 0; p && i < PROMPT_ARGUMENTS_MAX && p->arguments[i].name; i++)
        if (strcmp(p->arguments[i].name, name) == 0)
            return true;
    return false;
}

/* Whether what is referred to has such an argument. */
static int check_ref(struct mcp_call *m, const struct wish *q, struct err *e)
{
    const json_t *ref = json_object_get(m->params, "ref");
    const char *type = text_of(ref, "type"), *name = text_of(ref, "name"),
               *uri = text_of(ref, "uri");
    if (type && strcmp(type, "ref/prompt") == 0 && name)
        return prompt_has(name, q->name)
                   ? 0
                   : mcp_fail(m, RPC_PARAMS, e,
                              "there is no prompt %.80s with an argument %.80s; see prompts/list",
                              name, q->name);
    if (type && strcmp(type, "ref/resource") == 0 && uri)
        return template_has(uri, q->name)
                   ? 0
                   : mcp_fail(
                         m, RPC_PARAMS, e,
                         "there is no template %.80s with a variable %.80s; see resources/templates/list",
                         uri, q->name);
    return mcp_fail(
        m, RPC_PARAMS, e,
        "ref: {\"type\":\"ref/prompt\",\"name\":...} or {\"type\":\"ref/resource\",\"uri\":...}");
}

static void write_found(struct json_writer *w, const struct wish *q)
{
    jw_key(w, "completion");
    jw_object(w);
    jw_key(w, "values");
    jw_array(w);
    for (size_t i = 0; i < json_array_size(q->values); i++)
        jw_text(w, json_string_value(json_array_get(q->values, i)));
    jw_end_array(w);
    if (!q->is_open) {
        jw_key(w, "total");
        jw_u64(w, q->total);
    }
    jw_key(w, "hasMore");
    jw_bool(w, q->is_open || q->total > json_array_size(q->values));
    jw_end_object(w);
}

static int complete(struct mcp_call *m, struct err *e)
{
    const json_t *argument = json_object_get(m->params, "argument");
    struct wish q = {.name = text_of(argument, "name"),
                     .value = text_of(argument, "value"),
                     .others = json_object_get(json_object_get(m->params, "context"), "arguments")};
    if (!q.name || !q.value)
        return mcp_fail(m, RPC_PARAMS, e, "argument: its name and value are needed");
    if (m->mcp->o.has_fixtures)
        return fixture_complete(m, e);
    if (check_ref(m, &q, e))
        return -1;
    scoped(json_decrefp) json_t *values = json_array();
    if (!values)
        return err_set(e, ERR_NO_MEMORY, "complete an argument");
    q.values = values;
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments; i++)
        if (strcmp(arguments[i].name, q.name) == 0 && arguments[i].complete(m, &q, e))
            return -1;
    write_found(&m->w, &q);
    return 0;
}

static const struct mcp_method items[] = {
    {"completion/complete", METHOD_BOTH, NULL, complete},
};
const struct mcp_methods methods_completion = {items, sizeof items / sizeof *items};
