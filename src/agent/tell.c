#include "agent/tell.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "agent/tell_int.h"
#include "agent/text.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

enum {
    PLAIN_MAX = 64 << 20,
    LOGS_WAIT_MAX = 16 << 20,         /* bytes of logs that wait to be shown */
    LOGS_CUT_MAX = 2 * TELL_LOGS_MAX, /* and what is left of what is too long */
};

/* ---- the run object ---- */

struct str tell_str(const struct json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return str_of("");
    return (struct str){json_string_value(value), json_string_length(value)};
}

double tell_number(const struct json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

struct str tell_bundle_text(const struct json_t *bundle)
{
    static const char *const types[] = {"text/plain", "text/markdown", "text/latex", "text/html"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct str text = tell_str(bundle, types[i]);
        if (text.len > 0)
            return text;
    }
    return STR_NONE;
}

struct str tell_bundle_image(const struct json_t *bundle, const char **ret_mime)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/webp", "image/gif",
                                        "image/svg+xml"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        struct str content = tell_str(bundle, types[i]);
        *ret_mime = types[i];
        if (content.len > 0)
            return content;
    }
    return STR_NONE;
}

static struct str trace_of(const json_t *run)
{
    const json_t *error = json_object_get(run, "error");
    struct str trace = tell_str(error, "traceback");
    return trace.len > 0 ? trace : tell_str(error, "message");
}

/* ---- in words ---- */

static void end_line(struct buf *out)
{
    if (out->len > 0 && out->bytes[out->len - 1] != '\n')
        buf_str(out, "\n");
}

/* As a terminal shows it, and not too much of it; `head` before if there is any. */
static void put(struct buf *out, const char *head, struct str text, size_t max)
{
    scoped(buf_done) struct buf plain = BUF_INIT(PLAIN_MAX);
    if (text.len == 0)
        return;
    text_plain(&plain, text);
    end_line(out);
    buf_str(out, head);
    if (plain.failed)
        buf_fmt(out, "[%zu bytes of output, too many to be shown]\n", text.len);
    else
        (void)text_shorten(out, (struct str){plain.bytes, plain.len}, max,
                           "print less, or write it to a file in /mnt/data");
}

static void put_bundle(struct buf *out, const json_t *bundle, size_t max, size_t *figures)
{
    const char *mime;
    if (tell_bundle_image(bundle, &mime).len == 0) {
        put(out, "", tell_bundle_text(bundle), max);
        return;
    }
    end_line(out);
    buf_fmt(out, "[figure %zu: %s, shown to the user]\n", ++*figures, mime);
}

static void put_displays(struct buf *out, const json_t *run, size_t *figures)
{
    size_t i, begin = out->len;
    json_t *bundle;
    json_array_foreach(json_object_get(run, "displays"), i, bundle)
    {
        size_t used = out->len - begin;
        if (used >= TELL_SHOWN_MAX) {
            buf_fmt(out, "[and %zu more displays]\n",
                    json_array_size(json_object_get(run, "displays")) - i);
            break;
        }
        put_bundle(out, bundle, TELL_SHOWN_MAX - used, figures);
    }
}

void tell_words(const struct json_t *run, bool has_past, struct buf *out)
{
    size_t begin = out->len, figures = 0;
    put(out, "", tell_str(run, "stdout"), TELL_STDOUT_MAX);
    put(out, "[stderr]\n", tell_str(run, "stderr"), TELL_STDERR_MAX);
    put_displays(out, run, &figures);
    put_bundle(out, json_object_get(run, "result"), TELL_RESULT_MAX, &figures);
    put(out, "", trace_of(run), TELL_TRACE_MAX);
    if (out->len == begin && str_is(tell_str(run, "end"), "ok"))
        buf_str(out, "[The code ran and printed nothing.]\n");
    tell_end(run, out);
    tell_rest(run, has_past, out);
}

/* What is the server's own fault is nothing for others to read. */
static bool is_fault(enum err_code code)
{
    return code == ERR_INTERNAL || code == ERR_PROTOCOL || code == ERR_DAMAGED || code == ERR_NONE;
}

void tell_not_run(const struct err *why, struct buf *out)
{
    buf_fmt(out,
            "[The code was not run: %s. Nothing is wrong with the code itself; it can be "
            "tried again.]\n",
            is_fault(why->code) ? "something went wrong on the server" : why->text);
}

/* ---- outputs ---- */

struct outputs {
    json_t *all;
    struct buf logs; /* not yet among them */
    size_t images;   /* bytes of those that are */
    bool is_failed;
    bool is_cut; /* the logs had more than may wait here: their middle is not in them any more */
};

static void append(struct outputs *o, json_t *one)
{
    if (!one || json_array_append_new(o->all, one))
        o->is_failed = true;
}

static void flush(struct outputs *o)
{
    scoped(buf_done) struct buf text = BUF_INIT(TELL_LOGS_MAX + TEXT_NOTICE_MAX + 1);
    if (o->logs.len == 0)
        return;
    bool is_whole = o->logs.len <= TELL_LOGS_MAX;
    if (!is_whole)
        (void)text_shorten(&text, (struct str){o->logs.bytes, o->logs.len}, TELL_LOGS_MAX,
                           o->is_cut ? "and more, that was too much to be counted" : NULL);
    const struct buf *from = is_whole ? &o->logs : &text;
    append(o, json_pack("{s:s, s:o}", "type", "logs", "logs",
                        text_json((struct str){from->bytes, from->len})));
    buf_done(&o->logs);
    o->is_cut = false;
}

/* Only the beginning and the end of the logs will be shown: nothing else has to wait for that. */
static void cut_logs(struct outputs *o)
{
    struct buf cut = BUF_INIT(PLAIN_MAX);
    (void)text_shorten(&cut, (struct str){o->logs.bytes, o->logs.len}, LOGS_CUT_MAX, NULL);
    buf_done(&o->logs);
    o->logs = cut;
    o->is_cut = true;
}

static void log_text(struct outputs *o, struct str text)
{
    scoped(buf_done) struct buf cut = BUF_INIT(PLAIN_MAX);
    if (text.len == 0)
        return;
    if (text.len > LOGS_CUT_MAX) {
        o->is_cut = text_shorten(&cut, text, LOGS_CUT_MAX, NULL);
        text = (struct str){cut.bytes, cut.len};
    }
    end_line(&o->logs);
    text_plain(&o->logs, text);
    if (!o->logs.failed && o->logs.len > LOGS_WAIT_MAX)
        cut_logs(o);
}

static void log_image(struct outputs *o, const char *mime, struct str content)
{
    scoped(buf_done) struct buf url = BUF_INIT(TELL_IMAGE_MAX + 64);
    buf_fmt(&url, "data:%s;base64,", mime);
    if (strcmp(mime, "image/svg+xml") == 0)
        base64_add(&url, content.ptr, content.len);
    else
        buf_add(&url, content.ptr, content.len);
    if (url.failed || url.len > TELL_IMAGES_MAX - o->images) {
        end_line(&o->logs);
        buf_fmt(&o->logs, "[a figure (%s) is too large to be here; save it to a file]\n", mime);
        return;
    }
    flush(o);
    o->images += url.len;
    append(o, json_pack("{s:s, s:o}", "type", "image", "url",
                        text_json((struct str){url.bytes, url.len})));
}

static void log_bundle(struct outputs *o, const json_t *bundle)
{
    const char *mime;
    struct str image = tell_bundle_image(bundle, &mime);
    if (image.len > 0)
        log_image(o, mime, image);
    else
        log_text(o, tell_bundle_text(bundle));
}

int tell_outputs(const struct json_t *run, struct json_t **ret, struct err *e)
{
    struct outputs o = {.all = json_array(), .logs = BUF_INIT(PLAIN_MAX)};
    size_t i;
    json_t *bundle;
    log_text(&o, tell_str(run, "stdout"));
    log_text(&o, tell_str(run, "stderr"));
    json_array_foreach(json_object_get(run, "displays"), i, bundle) log_bundle(&o, bundle);
    log_bundle(&o, json_object_get(run, "result"));
    log_text(&o, trace_of(run));
    tell_end(run, &o.logs);
    if (!o.logs.failed)
        flush(&o);
    bool is_failed = o.is_failed || o.logs.failed || !o.all;
    buf_done(&o.logs);
    if (is_failed) {
        json_decref(o.all);
        return err_set(e, ERR_NO_MEMORY, "the outputs of a run");
    }
    *ret = o.all;
    return 0;
}

size_t tell_images(const struct json_t *outputs, struct json_t *content)
{
    size_t i, count = 0, seen = 0;
    json_t *one;
    json_array_foreach(outputs, i, one) count += str_is(tell_str(one, "type"), "image");
    json_array_foreach(outputs, i, one)
    {
        if (!str_is(tell_str(one, "type"), "image") || seen++ + TELL_SHOWN_TO_MODEL < count ||
            strncmp(tell_str(one, "url").ptr, "data:image/svg", 14) == 0)
            continue;
        (void)json_array_append_new(content, /* without it there is one image less */
                                    json_pack("{s:s, s:O, s:s}", "type", "input_image", "image_url",
                                              json_object_get(one, "url"), "detail", "auto"));
    }
    return count < TELL_SHOWN_TO_MODEL ? count : TELL_SHOWN_TO_MODEL;
}

/* ---- the rest of it ---- */

int tell_facts(const struct json_t *run, struct json_t **ret, struct err *e)
{
    const json_t *error = json_object_get(run, "error");
    scoped(json_decrefp) json_t *why =
        json_is_object(error)
            ? json_pack("{s:O?, s:O?, s:O?}", "name", json_object_get(error, "name"), "message",
                        json_object_get(error, "message"), "line", json_object_get(error, "line"))
            : json_null();
    *ret =
        json_pack("{s:O?, s:O?, s:O?, s:O?, s:O}", "id", json_object_get(run, "id"), "end",
                  json_object_get(run, "end"), "duration_ms", json_object_get(run, "duration_ms"),
                  "state", json_object_get(run, "state"), "error", why);
    return *ret ? 0 : err_set(e, ERR_NO_MEMORY, "the facts of a run");
}

int tell_files(const struct json_t *run, struct json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *all = json_array();
    size_t i;
    json_t *file;
    json_array_foreach(json_object_get(run, "files"), i, file)
    {
        const json_t *kept = json_object_get(file, "kept_as");
        const json_t *path = json_is_string(kept) ? kept : json_object_get(file, "path");
        if (!json_is_string(path) || str_is(tell_str(file, "change"), "deleted"))
            continue;
        json_t *one = json_pack(
            "{s:O, s:O?, s:O?, s:O?}", "path", path, "change", json_object_get(file, "change"),
            "size", json_object_get(file, "size"), "mime", json_object_get(file, "mime"));
        if (!one || json_array_append_new(all, one))
            return err_set(e, ERR_NO_MEMORY, "the files of a run");
    }
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "the files of a run");
    *ret = take(all);
    return 0;
}
