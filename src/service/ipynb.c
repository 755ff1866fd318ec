/* ipynb.c -- see ipynb.h. */
#include "service/ipynb.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/service_int.h"
#include "json/read.h"
#include "json/write.h"

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

/* ---- outputs ---- */

static bool is_json_type(const char *mime)
{
    size_t len = strlen(mime);
    return strcmp(mime, "application/json") == 0 ||
           (len > 5 && strcmp(mime + len - 5, "+json") == 0);
}

/* A value of jansson's. What is not JSON by its type has to be text in a notebook. */
static void put_value(struct json_writer *w, const char *mime, const json_t *value)
{
    struct err ignored = {0};
    if (json_is_string(value)) {
        jw_str(w, json_string_value(value), json_string_length(value));
        return;
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    scoped(buf_done) struct buf compact = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    if (text && is_json_type(mime) && json_compact(text, strlen(text), &compact, &ignored) == 0 &&
        !compact.failed)
        jw_raw(w, compact.bytes, compact.len);
    else
        jw_str(w, text ? text : "", text ? strlen(text) : 0);
    free(text);
}

static void put_bundle(struct json_writer *w, const json_t *bundle)
{
    void *at = json_object_iter((json_t *)(uintptr_t)bundle);
    jw_key(w, "data");
    jw_object(w);
    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)bundle, at)) {
        jw_key(w, json_object_iter_key(at));
        put_value(w, json_object_iter_key(at), json_object_iter_value(at));
    }
    jw_end_object(w);
    jw_key(w, "metadata");
    jw_object(w);
    jw_end_object(w);
}

static void put_stream(struct json_writer *w, const json_t *run, const char *name)
{
    const json_t *text = json_object_get(run, name);
    if (json_string_length(text) == 0)
        return;
    jw_object(w);
    put_text(w, "output_type", "stream");
    put_text(w, "name", name);
    jw_key(w, "text");
    jw_str(w, json_string_value(text), json_string_length(text));
    jw_end_object(w);
}

static void put_displays(struct json_writer *w, const json_t *displays)
{
    for (size_t i = 0; i < json_array_size(displays); i++) {
        jw_object(w);
        put_text(w, "output_type", "display_data");
        put_bundle(w, json_array_get(displays, i));
        jw_end_object(w);
    }
}

static void put_result(struct json_writer *w, const json_t *result, size_t number)
{
    if (!json_is_object(result))
        return;
    jw_object(w);
    put_text(w, "output_type", "execute_result");
    jw_key(w, "execution_count");
    jw_u64(w, number);
    put_bundle(w, result);
    jw_end_object(w);
}

static const char *text_of(const json_t *o, const char *key)
{
    const char *text = json_string_value(json_object_get(o, key));
    return text ? text : "";
}

static void put_error(struct json_writer *w, const json_t *error)
{
    if (!json_is_object(error))
        return;
    jw_object(w);
    put_text(w, "output_type", "error");
    put_text(w, "ename", text_of(error, "name"));
    put_text(w, "evalue", text_of(error, "message"));
    jw_key(w, "traceback");
    jw_array(w);
    for (const char *at = text_of(error, "traceback"); *at;) {
        size_t len = strcspn(at, "\n");
        jw_str(w, at, len);
        at += len + (at[len] == '\n');
    }
    jw_end_array(w);
    jw_end_object(w);
}

void ipynb_outputs(struct json_writer *w, const json_t *run, size_t number)
{
    jw_key(w, "outputs");
    jw_array(w);
    put_stream(w, run, "stdout");
    put_stream(w, run, "stderr");
    put_displays(w, json_object_get(run, "displays"));
    put_result(w, json_object_get(run, "result"), number);
    put_error(w, json_object_get(run, "error"));
    jw_end_array(w);
}

/* ---- around the cells ---- */

void ipynb_begin(struct json_writer *w)
{
    jw_object(w);
    jw_key(w, "nbformat");
    jw_u64(w, 4);
    jw_key(w, "nbformat_minor");
    jw_u64(w, 5);
    jw_key(w, "metadata");
    jw_object(w);
    jw_key(w, "kernelspec");
    jw_object(w);
    put_text(w, "name", "python3");
    put_text(w, "display_name", "Python 3");
    put_text(w, "language", "python");
    jw_end_object(w);
    jw_key(w, "language_info");
    jw_object(w);
    put_text(w, "name", "python");
    jw_end_object(w);
    jw_end_object(w);
    jw_key(w, "cells");
    jw_array(w);
}

void ipynb_end(struct json_writer *w)
{
    jw_end_array(w);
    jw_end_object(w);
}
