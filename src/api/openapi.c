/* openapi.c -- /openapi.json, written from the table of operations. What they answer with is in
 * schemas.json. */
#include <stdio.h>
#include <string.h>

#include "api/api_int.h"
#include "api/schemas.h"
#include "base/buf.h"
#include "base/scope.h"
#include "json/fields.h"
#include "json/write.h"

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_ref(struct json_writer *w, const char *schema)
{
    char ref[96];
    (void)snprintf(ref, sizeof ref, "#/components/schemas/%s", schema);
    jw_object(w);
    put_text(w, "$ref", ref);
    jw_end_object(w);
}

/* "content": {type: {"schema": ...}} */
static void put_content(struct json_writer *w, const char *type, const char *schema)
{
    jw_key(w, type);
    jw_object(w);
    jw_key(w, "schema");
    if (schema)
        put_ref(w, schema);
    else {
        jw_object(w);
        put_text(w, "type", "string");
        jw_end_object(w);
    }
    jw_end_object(w);
}

static void put_answer(struct json_writer *w, const char *status, const char *text,
                       const struct op *op, const char *schema)
{
    jw_key(w, status);
    jw_object(w);
    put_text(w, "description", text);
    bool has_events = op->flags & OP_STREAMS && *status == '2';
    const char *gives = *status == '2' ? op->gives : op->tell ? "text/html" : NULL;
    bool is_plain = !schema && !has_events && !gives && *status == '2' && op->status != 204;
    if (schema || has_events || is_plain || gives) {
        jw_key(w, "content");
        jw_object(w);
        if (schema)
            put_content(w, "application/json", schema);
        if (has_events)
            put_content(w, "text/event-stream", NULL);
        if (is_plain)
            put_content(w, "text/plain", NULL);
        if (gives)
            put_content(w, gives, NULL);
        jw_end_object(w);
    }
    jw_end_object(w);
}

static void put_answers(struct json_writer *w, const struct op *op)
{
    char status[8];
    (void)snprintf(status, sizeof status, "%d", op->status);
    jw_key(w, "responses");
    jw_object(w);
    put_answer(w, status, "done", op, op->answer);
    for (size_t i = 0; i < sizeof op->also / sizeof *op->also && op->also[i]; i++) {
        (void)snprintf(status, sizeof status, "%d", op->also[i]);
        put_answer(w, status, op->also[i] == 304 ? "you have it" : "done", op,
                   op->also[i] == 206 || op->also[i] == 304 ? NULL : op->answer);
    }
    if (op->flags & OP_RUNS)
        put_answer(w, "202", "it goes on in the background", op, op->answer);
    put_answer(w, "default", "it failed; error.hint says what to do", op, "Error");
    jw_end_object(w);
}

/* One parameter for every {piece} of the path. */
static void put_path_parameters(struct json_writer *w, const char *path)
{
    for (const char *at = path; (at = strchr(at, '{')); at++) {
        size_t len = strcspn(at + 1, ".}");
        jw_object(w);
        jw_key(w, "name");
        jw_str(w, at + 1, len);
        put_text(w, "in", "path");
        jw_key(w, "required");
        jw_bool(w, true);
        jw_key(w, "schema");
        jw_object(w);
        put_text(w, "type", "string");
        jw_end_object(w);
        jw_end_object(w);
    }
}

static void put_header(struct json_writer *w, const char *name, const char *text)
{
    jw_object(w);
    put_text(w, "name", name);
    put_text(w, "in", "header");
    put_text(w, "description", text);
    jw_key(w, "schema");
    jw_object(w);
    put_text(w, "type", "string");
    jw_end_object(w);
    jw_end_object(w);
}

static void put_parameters(struct json_writer *w, const struct op *op)
{
    jw_key(w, "parameters");
    jw_array(w);
    put_path_parameters(w, op->path);
    if (op->query)
        fields_parameters(op->query, "query", w);
    if (op->flags & OP_CREATES)
        put_header(w, "Idempotency-Key", "the same key makes the same thing once");
    for (const char *const *at = op->headers; at && *at; at += 2)
        put_header(w, at[0], at[1]);
    if (op->flags & OP_STREAMS && strcmp(op->method, "GET") == 0)
        put_header(w, "Last-Event-ID", "events after that one");
    jw_end_array(w);
}

static void put_raw_body(struct json_writer *w, const struct op *op)
{
    jw_key(w, "requestBody");
    jw_object(w);
    jw_key(w, "required");
    jw_bool(w, true);
    jw_key(w, "content");
    jw_object(w);
    put_content(w, op->takes ? op->takes : "application/octet-stream", op->form);
    jw_end_object(w);
    jw_end_object(w);
}

static void put_body(struct json_writer *w, const struct op *op)
{
    if (op->flags & OP_RAW_BODY)
        put_raw_body(w, op);
    if (!op->body)
        return;
    jw_key(w, "requestBody");
    jw_object(w);
    jw_key(w, "required");
    jw_bool(w, !op->body_is_optional);
    jw_key(w, "content");
    jw_object(w);
    jw_key(w, "application/json");
    jw_object(w);
    jw_key(w, "schema");
    fields_schema(op->body, w);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
}

static void put_op(struct json_writer *w, const struct op *op)
{
    char method[8] = "";
    for (size_t i = 0; op->method[i] && i + 1 < sizeof method; i++)
        method[i] = (char)(op->method[i] | 32); /* lower case */
    jw_key(w, method);
    jw_object(w);
    put_text(w, "operationId", op->name);
    put_text(w, "summary", op->summary);
    scoped(buf_done) struct buf scope = BUF_INIT(128);
    scopes_print(op->scope, &scope);
    put_text(w, "x-cicada-scope", scope.bytes ? scope.bytes : "");
    put_text(w, "x-cicada-needs", op_needs_names[op->needs]);
    if (op->flags & (OP_PUBLIC | OP_SHARE)) {
        jw_key(w, "security");
        jw_array(w);
        jw_end_array(w);
    }
    put_parameters(w, op);
    put_body(w, op);
    put_answers(w, op);
    jw_end_object(w);
}

/* "{path...}" is "{path}" there; that it may hold slashes is known to whoever reads what it is. */
static void put_path(struct json_writer *w, const char *path)
{
    const char *dots = strstr(path, "...}");
    scoped(buf_done) struct buf text = BUF_INIT(256);
    buf_add(&text, path, dots ? (size_t)(dots - path) : strlen(path));
    buf_str(&text, dots ? "}" : "");
    jw_key(w, text.bytes);
}

static bool is_first_of_path(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (strcmp(op_at(i)->path, op_at(index)->path) == 0)
            return false;
    return true;
}

static void put_paths(struct json_writer *w)
{
    jw_object(w);
    for (size_t i = 0; op_at(i); i++) {
        if (op_at(i)->flags & OP_HIDDEN || !is_first_of_path(i))
            continue;
        put_path(w, op_at(i)->path);
        jw_object(w);
        for (size_t k = i; op_at(k); k++)
            if (strcmp(op_at(k)->path, op_at(i)->path) == 0)
                put_op(w, op_at(k));
        jw_end_object(w);
    }
    jw_end_object(w);
}

void openapi_write(struct buf *out)
{
    static const char info[] =
        "{\"title\":\"cicada\",\"version\":\"" CICADA_VERSION "\",\"description\":"
        "\"A code interpreter you own: sessions, runs, files, keys.\",\"license\":"
        "{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}}";
    static const char security[] = "{\"key\":{\"type\":\"http\",\"scheme\":\"bearer\"}}";
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_text(&w, "openapi", "3.1.0");
    jw_key(&w, "info");
    jw_raw(&w, info, sizeof info - 1);
    jw_key(&w, "security");
    jw_raw(&w, "[{\"key\":[]}]", 12);
    jw_key(&w, "paths");
    put_paths(&w);
    jw_key(&w, "components");
    jw_object(&w);
    jw_key(&w, "schemas");
    jw_raw(&w, api_schemas, strlen(api_schemas));
    jw_key(&w, "securitySchemes");
    jw_raw(&w, security, sizeof security - 1);
    jw_end_object(&w);
    jw_end_object(&w);
    jw_finish(&w);
}
