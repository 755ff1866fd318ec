/* run_structured.c -- the structured content of a run: what programs read, and models whose client shows
 * them nothing else. Within REPLY_STRUCTURED_MAX whatever the run did. */
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "mcp/uri.h"

enum { /* bytes as JSON; together with ids and numbers they leave room for files */
       STDOUT_MAX = 4000,
       RESULT_MAX = 3000,
       STDERR_MAX = 1000,
       DISPLAYED_MAX = 1200,
       MESSAGE_MAX = 800,
       NOTE_MAX = 600,
       FILE_MAX = 1200, /* of one file; what has a longer path is counted only */
       ROOM = 64,       /* for what ends the object */
       UNBROUGHT_MAX = 4,
};

struct cut {
    bool out, err, result;
};

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

/* The key, and a text cut to the size; true: it was. */
static bool put_short(struct json_writer *w, const char *key, struct str text, size_t max)
{
    scoped(buf_done) struct buf less = BUF_INIT(max + TEXT_NOTICE_MAX);
    bool is_cut = text_shorten_json(&less, text, max);
    jw_key(w, key);
    jw_str(w, less.bytes ? less.bytes : "", less.len);
    return is_cut;
}

static struct str view(const struct buf *b)
{
    return (struct str){b->bytes, b->len};
}

static void put_error(struct json_writer *w, const json_t *error)
{
    if (!json_is_object(error))
        return;
    jw_key(w, "error");
    jw_object(w);
    put_short(w, "type", run_str(error, "name"), 200);
    put_short(w, "message", run_str(error, "message"), MESSAGE_MAX);
    if (json_is_integer(json_object_get(error, "line"))) {
        jw_key(w, "line");
        jw_u64(w, (uint64_t)run_number(error, "line"));
    }
    jw_end_object(w);
}

static void put_truncated(struct json_writer *w, const struct cut *cut)
{
    jw_key(w, "truncated");
    jw_object(w);
    jw_key(w, "stdout");
    jw_bool(w, cut->out);
    jw_key(w, "stderr");
    jw_bool(w, cut->err);
    jw_key(w, "result");
    jw_bool(w, cut->result);
    jw_end_object(w);
}

static void put_output(struct json_writer *w, const struct run_facts *f)
{
    const struct run_output *o = f->output;
    struct cut cut = {0};
    if (!o) {
        cut.out = put_short(w, "stdout", f->so_far, STDOUT_MAX);
        put_truncated(w, &cut);
        return;
    }
    cut.out = put_short(w, "stdout", view(&o->out), STDOUT_MAX);
    cut.err = put_short(w, "stderr", view(&o->err), STDERR_MAX);
    if (o->result.len > 0)
        cut.result = put_short(w, "result", view(&o->result), RESULT_MAX);
    if (o->shown.len > 0)
        (void)put_short(w, "displayed", view(&o->shown), DISPLAYED_MAX);
    put_error(w, json_object_get(f->run, "error"));
    put_truncated(w, &cut);
    if (*o->path)
        put_text(w, "full_output_path", o->path);
}

static void put_numbers(struct json_writer *w, const json_t *run)
{
    static const char *const keys[] = {"duration_ms", "cpu_ms", "peak_memory_bytes"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!json_object_get(run, keys[i]))
            continue;
        jw_key(w, keys[i]);
        jw_decimal(w, (uint64_t)(run_number(run, keys[i]) * 1000 + 0.5), 3);
    }
}

/* ---- files ---- */

static void write_file(struct json_writer *w, const json_t *run, const json_t *file)
{
    const char *kept = run_text(file, "kept_as"), *path = run_text(file, "path");
    uint64_t version = (uint64_t)run_number(file, "version");
    bool is_there = version > 0 && !run_is(file, "change", "deleted");
    scoped(buf_done) struct buf uri = BUF_INIT(URI_LEN_MAX);
    uri_write_file(&uri, run_text(run, "workspace_id"), *kept ? kept : path, 0);
    jw_object(w);
    put_text(w, "path", path);
    put_text(w, "change", run_text(file, "change"));
    jw_key(w, "size");
    jw_u64(w, (uint64_t)run_number(file, "size"));
    if (version > 0) {
        jw_key(w, "version");
        jw_u64(w, version);
    }
    if (*kept)
        put_text(w, "kept_as", kept);
    if (is_there && !uri.failed && uri.bytes)
        put_text(w, "uri", uri.bytes);
    jw_end_object(w);
}

/* As many as there is room for. */
static void put_files(struct json_writer *w, const json_t *run)
{
    const json_t *files = json_object_get(run, "files");
    size_t i, left = 0;
    json_t *file;
    jw_key(w, "files");
    jw_array(w);
    json_array_foreach(files, i, file)
    {
        scoped(buf_done) struct buf one = BUF_INIT(FILE_MAX);
        struct json_writer inner = JSON_WRITER(&one);
        write_file(&inner, run, file);
        if (one.failed || w->out->len + one.len + ROOM > REPLY_STRUCTURED_MAX)
            left++;
        else
            jw_raw(w, one.bytes, one.len);
    }
    jw_end_array(w);
    if (left > 0) {
        jw_key(w, "files_left_out");
        jw_u64(w, left);
    }
}

/* Nothing when all came. */
static void put_unbrought(struct json_writer *w, const json_t *run)
{
    const json_t *unbrought = json_object_get(run, "not_brought"), *file;
    size_t i;
    if (json_array_size(unbrought) == 0)
        return;
    jw_key(w, "not_brought");
    jw_array(w);
    json_array_foreach(unbrought, i, file)
    {
        if (i == UNBROUGHT_MAX)
            break;
        jw_object(w);
        put_text(w, "path", run_text(file, "path"));
        put_text(w, "reason", run_text(file, "reason"));
        jw_end_object(w);
    }
    jw_end_array(w);
}

void run_structure(struct mcp_call *m, const struct run_facts *f)
{
    struct json_writer *w = &m->reply.w;
    bool is_done = run_is(f->run, "status", "done");
    if (f->has_session)
        put_text(w, "session_id", run_text(f->run, "session_id"));
    put_text(w, "execution_id", run_text(f->run, "id"));
    put_text(w, "status", run_text(f->run, is_done ? "end" : "status"));
    put_output(w, f);
    if (is_done) {
        jw_key(w, "image_count");
        jw_u64(w, f->images);
    }
    put_numbers(w, f->run);
    if (run_str(f->run, "hint").len > 0)
        (void)put_short(w, "note", run_str(f->run, "hint"), NOTE_MAX);
    if (*f->next)
        put_text(w, "next", f->next);
    if (!is_done)
        return;
    put_unbrought(w, f->run);
    put_files(w, f->run);
}
