/* answer_run.c -- runs, as they are kept in a record and told in events. What is in a run comes from a stranger's code: it is
 * bounded here. */
#include <string.h>

#include "agent/text.h"
#include "ask/answer.h"
#include "base/scope.h"
#include "base/utf8.h"

enum {
    TELL_TEXT_MAX = 20 << 10, /* of one text in an event */
    HEAD_MAX = 2000,          /* of stdout_head */
    CODE_MAX = 256 << 10,
    BRIEF_ERROR_MAX = 400,
};

/* A text of at most `max` bytes: its beginning and its end. */
static json_t *shortened(const json_t *text, size_t max)
{
    struct str all = {json_string_value(text), json_string_length(text)};
    if (!all.ptr)
        return json_string("");
    if (all.len <= max)
        return json_stringn(all.ptr, all.len);
    scoped(buf_done) struct buf out = BUF_INIT(max + 1024);
    (void)text_shorten(&out, all, max, NULL);
    return text_json((struct str){out.bytes ? out.bytes : "", out.len});
}

/* ---- bundles ---- */

static bool is_picture(const char *mime)
{
    return strncmp(mime, "image/", 6) == 0;
}

static json_t *bound_form(const char *mime, json_t *form, size_t text_max, size_t image_max)
{
    if (!json_is_string(form))
        return json_is_object(form) || json_is_array(form) ? NULL : json_incref(form);
    if (strcmp(mime, "text/plain") == 0)
        return shortened(form, text_max);
    size_t max = is_picture(mime) ? image_max : text_max;
    return json_string_length(form) <= max ? json_incref(form) : NULL;
}

/* A bundle with what is small enough of it. */
static json_t *bound_bundle(const json_t *bundle, size_t text_max, size_t image_max)
{
    const char *mime;
    json_t *form, *out = json_object();
    if (!json_is_object(bundle)) {
        json_decref(out);
        return json_null();
    }
    json_object_foreach((json_t *)(uintptr_t)bundle, mime, form)
    {
        json_t *kept = bound_form(mime, form, text_max, image_max);
        if (kept)
            (void)json_object_set_new(out, mime, kept);
    }
    return out;
}

static json_t *bound_bundles(const json_t *all, size_t text_max, size_t image_max)
{
    size_t i;
    json_t *one, *out = json_array();
    json_array_foreach(all, i, one)
    {
        (void)json_array_append_new(out, bound_bundle(one, text_max, image_max));
    }
    return out;
}

static json_t *bound_error(const json_t *error, size_t max)
{
    if (!json_is_object(error))
        return json_null();
    json_t *out = json_copy((json_t *)(uintptr_t)error);
    (void)json_object_set_new(out, "traceback",
                              shortened(json_object_get(error, "traceback"), max));
    (void)json_object_set_new(out, "message", shortened(json_object_get(error, "message"), max));
    return out;
}

/* ---- runs ---- */

/* A value as it is, of a list the first RUN_FILES_MAX. */
static json_t *bound_list(json_t *value)
{
    if (json_array_size(value) <= RUN_FILES_MAX)
        return json_incref(value);
    json_t *out = json_array();
    for (size_t i = 0; i < RUN_FILES_MAX; i++)
        (void)json_array_append(out, json_array_get(value, i));
    return out;
}

static json_t *bound_run(const json_t *run, size_t text_max, size_t image_max)
{
    static const char *const same[] = {"id",
                                       "session_id",
                                       "language",
                                       "end",
                                       "state",
                                       "lost",
                                       "files",
                                       "not_saved",
                                       "reads",
                                       "reads_complete",
                                       "updated",
                                       "not_brought",
                                       "signal",
                                       "exit_code",
                                       "started_at",
                                       "duration_ms",
                                       "peak_memory_bytes",
                                       "limits",
                                       "hint",
                                       "server_disk_full"};
    json_t *out = json_object(), *value;
    if (!out)
        return NULL;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if ((value = json_object_get(run, same[i])))
            (void)json_object_set_new(out, same[i], bound_list(value));
    if (json_array_size(json_object_get(run, "reads")) > RUN_FILES_MAX)
        (void)json_object_set_new(out, "reads_complete", json_false());
    (void)json_object_set_new(out, "code", shortened(json_object_get(run, "code"), CODE_MAX));
    (void)json_object_set_new(out, "stdout", shortened(json_object_get(run, "stdout"), text_max));
    (void)json_object_set_new(out, "stderr", shortened(json_object_get(run, "stderr"), text_max));
    (void)json_object_set_new(out, "error", bound_error(json_object_get(run, "error"), text_max));
    (void)json_object_set_new(out, "result",
                              bound_bundle(json_object_get(run, "result"), text_max, image_max));
    (void)json_object_set_new(out, "displays",
                              bound_bundles(json_object_get(run, "displays"), text_max, image_max));
    return out;
}

json_t *run_keep(struct answer *a, const json_t *run)
{
    json_t *kept = bound_run(run, KEEP_TEXT_MAX, KEEP_IMAGE_MAX);
    size_t size = kept ? json_dumpb(kept, NULL, 0, JSON_COMPACT) : 0;
    if (kept && a->kept + size > KEEP_MAX) { /* too much already: only how it began */
        json_decref(kept);
        kept = bound_run(run, HEAD_MAX, 0);
        size = kept ? json_dumpb(kept, NULL, 0, JSON_COMPACT) : 0;
    }
    a->kept += size;
    return kept;
}

json_t *run_tell(const json_t *run)
{
    return bound_run(run, TELL_TEXT_MAX, 0);
}

static json_t *head_of(const json_t *text)
{
    const char *all = json_string_value(text);
    size_t len = json_string_length(text);
    if (len > HEAD_MAX)
        len = utf8_cut(all, HEAD_MAX);
    return json_stringn(all ? all : "", len);
}

static json_t *brief_error(const json_t *error)
{
    scoped(buf_done) struct buf text = BUF_INIT(4 * BRIEF_ERROR_MAX);
    if (!json_is_object(error))
        return json_null();
    const char *message = text_at(error, "message");
    size_t len = strlen(message);
    buf_fmt(&text, "%.100s: ", text_at(error, "name"));
    buf_add(&text, message, len > BRIEF_ERROR_MAX ? utf8_cut(message, BRIEF_ERROR_MAX) : len);
    return text_json((struct str){text.bytes ? text.bytes : "", text.len});
}

json_t *run_brief(const json_t *run)
{
    json_t *end = json_object_get(run, "end"), *took = json_object_get(run, "duration_ms");
    json_t *out = json_object();
    (void)json_object_set(out, "id", json_object_get(run, "id"));
    (void)json_object_set_new(out, "code", shortened(json_object_get(run, "code"), CODE_MAX));
    (void)json_object_set_new(out, "end", end ? json_incref(end) : json_null());
    (void)json_object_set_new(out, "stdout_head", head_of(json_object_get(run, "stdout")));
    (void)json_object_set_new(out, "duration_ms", took ? json_incref(took) : json_null());
    (void)json_object_set_new(out, "error", brief_error(json_object_get(run, "error")));
    return out;
}

static void add_plain(const json_t *bundle, struct buf *out)
{
    const json_t *text = json_object_get(bundle, "text/plain");
    if (!json_is_string(text))
        return;
    if (out->len > 0 && out->bytes[out->len - 1] != '\n')
        buf_str(out, "\n");
    buf_add(out, json_string_value(text), json_string_length(text));
}

void run_output(const json_t *run, struct buf *out)
{
    const json_t *printed = json_object_get(run, "stdout");
    size_t i;
    json_t *one;
    if (json_is_string(printed))
        buf_add(out, json_string_value(printed), json_string_length(printed));
    json_array_foreach(json_object_get(run, "displays"), i, one)
    {
        add_plain(one, out);
    }
    add_plain(json_object_get(run, "result"), out);
}
