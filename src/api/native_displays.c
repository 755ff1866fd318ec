/* native_displays.c -- what a run displayed, as bytes: a chart as an image and not as base64 in JSON. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/api_int.h"
#include "api/disposition.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/job.h"
#include "json/fields.h"

struct display_args {
    const char *mime;
};

static const struct json_field display_fields[] = {
    {JF_TEXT(struct display_args, mime), .min = 1, .max = 128,
     .doc = "which of its forms, such as text/html; an image if left out and there is one"},
    {0},
};

/* The record, as it was written here: its size is bounded by what runs may display. */
static int load_run(struct call *c, json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(OP_ANSWER_MAX);
    if (job_show(c->api->o.service, &c->who, c->param[0], &text, e) || buf_check(&text, e))
        return -1;
    *ret = json_loadb(text.bytes, text.len, JSON_ALLOW_NUL, NULL);
    return *ret ? 0 : err_set(e, ERR_DAMAGED, "the record of run %s", c->param[0]);
}

/* {MIME type: content} of the display that the address names. */
static int find_bundle(struct call *c, const json_t *run, json_t **ret, struct err *e)
{
    uint64_t index;
    struct err ignored = {0}; /* what is no number is no display */
    const json_t *displays = json_object_get(run, "displays");
    const char *status = json_string_value(json_object_get(run, "status"));
    json_t *found = NULL;
    if (strcmp(c->param[1], "result") == 0)
        found = json_object_get(run, "result");
    else if (parse_u64(c->param[1], 0, UINT32_MAX, &index, &ignored) == 0)
        found = json_array_get(displays, index);
    *ret = found;
    if (json_is_object(found))
        return 0;
    c->hint = status && strcmp(status, "done") == 0
                  ? "Displays are numbered from 0; \"result\" is the value of the last line."
                  : "The run has not ended: its displays are there when it has.";
    return err_set(e, ERR_NOT_FOUND, "run %s has no display %.32s; it has %zu", c->param[0],
                   c->param[1], json_array_size(displays));
}

/* The form that is asked for, or the one that shows most. */
static int find_form(struct call *c, json_t *bundle, const char **ret_type, json_t **ret,
                     struct err *e)
{
    static const char *const best[] = {"image/png", "image/jpeg",    "image/webp",
                                       "image/gif", "image/svg+xml", "application/pdf",
                                       "text/html", "text/markdown", "text/plain"};
    const struct display_args *in = c->query;
    *ret_type = in->mime;
    for (size_t i = 0; !*ret_type && i < sizeof best / sizeof *best; i++)
        if (json_object_get(bundle, best[i]))
            *ret_type = best[i];
    if (!*ret_type)
        *ret_type = json_object_iter_key(json_object_iter(bundle));
    *ret = *ret_type ? json_object_get(bundle, *ret_type) : NULL;
    if (*ret)
        return 0;
    c->hint = "Leave out mime to get the form that shows most.";
    return err_set(e, ERR_NOT_FOUND, "display %.32s has no form %.128s", c->param[1],
                   *ret_type ? *ret_type : "at all");
}

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Whether a string of that type is the content itself, and not base64 of it. */
static bool is_text(const char *type)
{
    return strncmp(type, "text/", 5) == 0 || ends_with(type, "json") || ends_with(type, "xml") ||
           ends_with(type, "javascript");
}

static int read_content(const char *type, const json_t *content, struct buf *ret, struct err *e)
{
    struct err ignored = {0};
    if (!json_is_string(content)) {
        scoped(freep) char *text = json_dumps(content, JSON_COMPACT | JSON_ENCODE_ANY);
        if (!text)
            return err_set(e, ERR_NO_MEMORY, "read a display");
        buf_str(ret, text);
    } else {
        const char *text = json_string_value(content);
        size_t len = json_string_length(content);
        if (is_text(type) || base64_decode(text, len, ret, &ignored)) {
            buf_done(ret);
            buf_add(ret, text, len);
        }
    }
    return buf_check(ret, e);
}

/* What a browser shows without running anything of it. */
static bool is_picture(const char *type)
{
    return strcmp(type, "image/png") == 0 || strcmp(type, "image/jpeg") == 0 ||
           strcmp(type, "image/gif") == 0 || strcmp(type, "image/webp") == 0;
}

static void add_headers(struct call *c, const char *type)
{
    const char *end = strpbrk(type, "/") ? strpbrk(type, "/") + 1 : "bin";
    scoped(buf_done) struct buf name = BUF_INIT(OP_PARAM_SIZE * 3), value = BUF_INIT(4 << 10);
    buf_fmt(&name, "%s-%s.%.*s", c->param[0], c->param[1], (int)strcspn(end, "+;"), end);
    disposition_write(&value, name.bytes ? name.bytes : "display", is_picture(type));
    http_add_header(c->x, "Content-Disposition", "%s", value.bytes ? value.bytes : "attachment");
    http_add_header(c->x, "Content-Security-Policy", "sandbox; default-src 'none'");
    http_add_header(c->x, "Cache-Control", "private, max-age=31536000, immutable");
}

static int show(struct call *c, struct err *e)
{
    scoped(json_decrefp) json_t *run = NULL;
    scoped(buf_done) struct buf bytes = BUF_INIT(OP_ANSWER_MAX);
    json_t *bundle = NULL, *content;
    const char *type;
    if (load_run(c, &run, e) || find_bundle(c, run, &bundle, e) ||
        find_form(c, bundle, &type, &content, e) || read_content(type, content, &bytes, e))
        return -1;
    add_headers(c, type);
    c->status = 200;
    c->is_answered = true;
    return http_send(c->x, 200, type, bytes.bytes ? bytes.bytes : "", bytes.len, e);
}

static const struct op ops[] = {
    {.method = "GET",
     .path = "/api/v1/runs/{id}/displays/{n}",
     .name = "getDisplay",
     .summary = "The bytes of what a run displayed: a chart as an image. n is a number from 0, or "
                "\"result\".",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .query = display_fields,
     .query_size = sizeof(struct display_args),
     .status = 200,
     .gives = "*/*",
     .run = show},
};

const struct op_table native_displays = {ops, sizeof ops / sizeof *ops};
