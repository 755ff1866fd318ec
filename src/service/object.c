#include "service/object.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "service/desk.h"
#include "service/file_object.h"
#include "session/run.h"
#include "json/read.h"
#include "json/write.h"

static void put_field(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_number(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

/* JSON as JSON if it is, as text if it only claims to be. */
static void put_json(struct json_writer *w, const struct mime *m)
{
    struct err ignored = {0};
    scoped(buf_done) struct buf compact = BUF_INIT(6 * m->len + 1);
    if (json_compact(m->bytes, m->len, &compact, &ignored) || compact.failed)
        jw_str(w, m->bytes, m->len);
    else
        jw_raw(w, compact.bytes, compact.len);
}

void object_bundle(struct json_writer *w, const struct display *d)
{
    jw_object(w);
    for (size_t i = 0; i < d->count; i++) {
        const struct mime *m = &d->entries[i];
        jw_key(w, m->type);
        switch (m->form) {
        case FORM_TEXT: jw_str(w, m->bytes, m->len); break;
        case FORM_BINARY: jw_base64(w, m->bytes, m->len); break;
        case FORM_JSON: put_json(w, m); break;
        }
    }
    jw_end_object(w);
}

static void put_output(struct json_writer *w, const char *key, const struct keep *k)
{
    scoped(buf_done) struct buf text = BUF_INIT(k->max + KEEP_NOTICE_MAX);
    keep_text(k, &text);
    jw_key(w, key);
    jw_str(w, text.bytes, text.len);
}

static void put_outputs(struct json_writer *w, const struct run *run)
{
    put_output(w, "stdout", &run->out);
    put_output(w, "stderr", &run->err);
    jw_key(w, "result");
    if (run->result.count > 0)
        object_bundle(w, &run->result);
    else
        jw_null(w);
    jw_key(w, "displays");
    jw_array(w);
    for (size_t i = 0; i < run->display_count; i++)
        object_bundle(w, &run->displays[i]);
    jw_end_array(w);
}

void object_error(struct json_writer *w, const struct run_error *error)
{
    if (!error->name) {
        jw_null(w);
        return;
    }
    jw_object(w);
    put_field(w, "name", error->name);
    put_field(w, "message", error->message ? error->message : "");
    jw_key(w, "line");
    if (error->line)
        jw_u64(w, error->line);
    else
        jw_null(w);
    put_field(w, "traceback", error->traceback ? error->traceback : "");
    jw_end_object(w);
}

/* Which version it is, and where that can be fetched. */
static void put_kept(struct json_writer *w, const char *workspace, const struct captured_file *f)
{
    const char *path = f->aside ? f->aside : f->path;
    scoped(buf_done) struct buf url = BUF_INIT(8 << 10);
    file_url(&url, workspace, path, f->change == FILE_DELETED ? 0 : f->version);
    put_number(w, "version", f->version);
    if (f->change != FILE_DELETED && url.bytes)
        put_field(w, "url", url.bytes);
    if (f->aside)
        put_field(w, "kept_as", f->aside);
    if (f->why)
        put_field(w, "reason", f->why);
    if (f->is_torn) {
        jw_key(w, "unstable");
        jw_bool(w, true);
    }
}

/* What others changed and this run found. */
static void put_brought(struct json_writer *w, const struct capture *c)
{
    jw_key(w, "updated");
    jw_array(w);
    for (size_t i = 0; i < c->brought_count; i++) {
        jw_object(w);
        put_field(w, "path", c->brought[i].path);
        put_field(w, "change", file_change_name(c->brought[i].change));
        jw_end_object(w);
    }
    jw_end_array(w);
}

void object_file(struct json_writer *w, const char *workspace, const struct captured_file *f)
{
    jw_object(w);
    put_field(w, "path", f->path);
    put_number(w, "size", f->size);
    jw_key(w, "sha256");
    if (f->has_sha256) {
        char hex[HASH_HEX_SIZE];
        hash_hex(f->sha256, hex);
        jw_text(w, hex);
    } else {
        jw_null(w);
    }
    put_field(w, "mime", f->mime);
    put_field(w, "change", file_change_name(f->change));
    if (workspace && f->version > 0)
        put_kept(w, workspace, f);
    jw_end_object(w);
}

static void put_reason(struct json_writer *w, const struct not_captured *missed)
{
    scoped(buf_done) struct buf text = BUF_INIT(1024);
    buf_fmt(&text, "%s%s", missed->reason, missed->more ? missed->more : "");
    put_field(w, "reason", text.failed ? missed->reason : text.bytes);
}

static void put_unbrought(struct json_writer *w, const struct capture *c)
{
    jw_key(w, "not_brought");
    jw_array(w);
    for (size_t i = 0; i < c->unbrought_count; i++) {
        jw_object(w);
        put_field(w, "path", c->unbrought[i].path);
        put_reason(w, &c->unbrought[i]);
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void put_files(struct json_writer *w, const char *workspace, const struct capture *c)
{
    jw_key(w, "files");
    jw_array(w);
    for (size_t i = 0; i < c->count; i++)
        object_file(w, workspace, &c->files[i]);
    jw_end_array(w);
    jw_key(w, "not_saved");
    jw_array(w);
    for (size_t i = 0; i < c->missed_count; i++) {
        jw_object(w);
        put_field(w, "path", c->missed[i].path);
        put_reason(w, &c->missed[i]);
        jw_end_object(w);
    }
    jw_end_array(w);
    if (workspace) {
        put_brought(w, c);
        put_unbrought(w, c);
    }
}

/* Versions that the run had before it. */
static void put_reads(struct json_writer *w, const struct desk_inputs *inputs)
{
    jw_key(w, "reads");
    jw_array(w);
    for (size_t i = 0; i < inputs->count; i++) {
        jw_object(w);
        put_field(w, "path", inputs->paths[i]);
        put_number(w, "version", inputs->items[i].version);
        jw_key(w, "guessed");
        jw_bool(w, inputs->items[i].is_guessed);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_key(w, "reads_complete");
    jw_bool(w, !inputs->is_partial);
}

static void put_truncated(struct json_writer *w, const struct run *run)
{
    jw_key(w, "truncated");
    jw_object(w);
    put_number(w, "stdout", keep_dropped(&run->out));
    put_number(w, "stderr", keep_dropped(&run->err));
    put_number(w, "displays", run->displays_dropped);
    put_number(w, "not_saved", run->files.missed_more);
    put_number(w, "not_brought", run->files.unbrought_more);
    jw_end_object(w);
}

static void put_mib(struct json_writer *w, const char *key, uint64_t bytes)
{
    jw_key(w, key);
    jw_decimal(w, bytes / MIB * 1000 + bytes % MIB * 1000 / MIB, 3);
}

void object_limits(struct json_writer *w, const struct limits *l)
{
    jw_object(w);
    put_mib(w, "memory_mb", l->memory_bytes);
    jw_key(w, "cpu");
    jw_decimal(w, l->cpu_milli, 3);
    jw_key(w, "wall_s");
    jw_decimal(w, l->wall_ms, 3);
    put_number(w, "pids", l->pids);
    put_number(w, "output_bytes", l->output_bytes);
    put_mib(w, "disk_mb", l->disk_bytes);
    jw_end_object(w);
}

enum { TIME_SIZE = 48 };

static void write_time(int64_t wall_us, char ret[TIME_SIZE])
{
    char day[32];
    time_t seconds = (time_t)(wall_us / 1000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &utc);
    (void)snprintf(ret, TIME_SIZE, "%s.%03dZ", day, (int)(wall_us / 1000 % 1000));
}

void object_time(struct json_writer *w, const char *key, int64_t wall_us)
{
    char text[TIME_SIZE];
    if (wall_us)
        write_time(wall_us, text);
    put_field(w, key, wall_us ? text : NULL);
}

void object_undone(struct buf *out, int64_t undone_us)
{
    char text[TIME_SIZE];
    if (undone_us == 0 || out->failed || out->len < 3 || out->bytes[out->len - 1] != '}')
        return;
    write_time(undone_us, text);
    out->bytes[--out->len] = '\0';
    buf_fmt(out, ",\"undone_at\":\"%s\"}", text);
}

/* What the end was, more closely, of runs that ended so: what killed the interpreter, or which limit it
 * was that the files came to. */
static void put_cause(struct json_writer *w, const struct run *run)
{
    if (run->end == END_DISK && run->is_disk_full) {
        jw_key(w, "server_disk_full");
        jw_bool(w, true);
    }
    if (run->end != END_CRASHED)
        return;
    if (run->crash_signal) {
        char name[32];
        const char *known = sigabbrev_np(run->crash_signal);
        (void)snprintf(name, sizeof name, known ? "SIG%s" : "%s", known ? known : "unknown");
        put_field(w, "signal", name);
    } else {
        jw_key(w, "exit_code");
        jw_i64(w, run->crash_code);
    }
}

/* What was lost is told as "name: why"; here only the names count. */
static void put_lost(struct json_writer *w, const struct names *lost)
{
    jw_key(w, "lost");
    jw_array(w);
    for (size_t i = 0; i < lost->count; i++) {
        const char *why = strstr(lost->list[i], ": ");
        jw_str(w, lost->list[i], why ? (size_t)(why - lost->list[i]) : strlen(lost->list[i]));
    }
    jw_end_array(w);
}

static void put_card(struct json_writer *w, const struct run_card *card, const char *status)
{
    put_field(w, "id", card->id);
    put_field(w, "session_id", card->session_id);
    put_field(w, "workspace_id", card->workspace_id);
    put_field(w, "status", status);
    put_field(w, "language", card->language);
    if (card->created_us)
        object_time(w, "created_at", card->created_us);
    if (!card->code)
        return;
    put_field(w, "name", card->name);
    jw_key(w, "code");
    jw_str(w, card->code, card->code_len);
}

void object_run(struct json_writer *w, const struct run_card *card, const struct run *run)
{
    jw_object(w);
    put_card(w, card, "done");
    put_field(w, "end", run_end_name(run->end));
    put_field(w, "state", run_state_name(run->state));
    put_lost(w, &run->lost);
    put_outputs(w, run);
    jw_key(w, "error");
    object_error(w, &run->error);
    put_cause(w, run);
    put_files(w, card->workspace_id, &run->files);
    if (card->inputs)
        put_reads(w, card->inputs);
    put_truncated(w, run);
    object_time(w, "started_at", run->started_wall_us);
    jw_key(w, "duration_ms");
    jw_decimal(w, run->duration_us, 3);
    jw_key(w, "cpu_ms");
    jw_decimal(w, run->cpu_us, 3);
    put_number(w, "peak_memory_bytes", run->memory_peak);
    jw_key(w, "limits");
    object_limits(w, &run->limits);
    put_field(w, "tier", card->tier);
    if (*run->hint)
        put_field(w, "hint", run->hint);
    jw_end_object(w);
}

/* The fields that only an ended run fills. */
static void put_nothing(struct json_writer *w)
{
    static const char *const lists[] = {"lost", "displays", "files", "not_saved"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        jw_key(w, lists[i]);
        jw_array(w);
        jw_end_array(w);
    }
    put_field(w, "stdout", "");
    put_field(w, "stderr", "");
    put_field(w, "result", NULL);
    put_field(w, "error", NULL);
}

void object_open_run(struct json_writer *w, const struct run_card *card, const char *status,
                     int64_t started_us, const struct limits *limits)
{
    jw_object(w);
    put_card(w, card, status);
    put_field(w, "end", NULL);
    put_field(w, "state", NULL);
    put_nothing(w);
    object_time(w, "started_at", started_us);
    jw_key(w, "limits");
    object_limits(w, limits);
    put_field(w, "tier", card->tier);
    jw_end_object(w);
}

void object_lost_run(struct json_writer *w, const struct run_card *card, int64_t started_us,
                     const char *hint)
{
    jw_object(w);
    put_card(w, card, "done");
    put_field(w, "end", run_end_name(END_KILLED));
    put_field(w, "state", run_state_name(STATE_LOST));
    put_nothing(w);
    object_time(w, "started_at", started_us);
    put_field(w, "tier", card->tier);
    put_field(w, "hint", hint);
    jw_end_object(w);
}
