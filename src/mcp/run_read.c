/* run_read.c -- the run object, and what is in it. */
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "service/job.h"

/* It was written here, and may be larger than what is taken from strangers. */
static int parse(const struct buf *text, struct json_t **ret, struct err *e)
{
    if (buf_check(text, e))
        return err_wrap(e, "read the run");
    *ret = json_loadb(text->bytes, text->len, JSON_ALLOW_NUL, NULL);
    return *ret ? 0 : err_set(e, ERR_INTERNAL, "the record of the run cannot be read");
}

int run_load_job(struct job *job, struct json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(RUN_JSON_MAX);
    job_object(job, &text);
    return parse(&text, ret, e);
}

int run_load(struct mcp_call *m, const char *id, struct json_t **ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    n.max = RUN_JSON_MAX;
    native_text(&n, "/api/v1/runs/");
    native_piece(&n, id);
    if (native_call(m, &n, e))
        return -1;
    if (!n.json)
        return parse(&n.answer.out, ret, e);
    *ret = take(n.json);
    return 0;
}

struct str run_str(const struct json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return str_of("");
    return (struct str){json_string_value(value), json_string_length(value)};
}

const char *run_text(const struct json_t *object, const char *key)
{
    return run_str(object, key).ptr;
}

double run_number(const struct json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

bool run_is(const struct json_t *object, const char *key, const char *value)
{
    return strcmp(run_text(object, key), value) == 0;
}

struct str run_bundle_text(const struct json_t *bundle)
{
    static const char *const types[] = {"text/plain", "text/markdown", "text/latex", "text/html"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct str text = run_str(bundle, types[i]);
        if (text.len > 0)
            return text;
    }
    return STR_NONE;
}

struct str run_bundle_image(const struct json_t *bundle, const char **ret_mime)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/webp", "image/gif",
                                        "image/svg+xml"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct str content = run_str(bundle, types[i]);
        *ret_mime = types[i];
        if (content.len > 0)
            return content;
    }
    return STR_NONE;
}
