/* job_notes.c -- what watchers of a run are told, and how they follow it. */
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "service/job_int.h"
#include "service/object.h"
#include "json/write.h"

void job_tell(struct job *j)
{
    for (struct job_watch *w = j->watches; w; w = w->next)
        if (!w->is_for_end || j->phase == JOB_OVER)
            w->more(w->arg);
    pthread_cond_broadcast(&j->changed);
}

static void note(struct job *j, enum note_kind kind, const void *text, size_t len)
{
    struct err ignored = {0}; /* a watcher misses a note; the run object has everything */
    pthread_mutex_lock(&j->lock);
    (void)journal_add(&j->journal, kind, text, len, &ignored);
    job_tell(j);
    pthread_mutex_unlock(&j->lock);
}

void job_note(struct job *j, enum note_kind kind, const struct buf *json)
{
    if (!json->failed)
        note(j, kind, json->bytes, json->len);
}

/* Output. A character whose end has not come yet waits for it. */
static void note_output(struct job *j, bool is_err, const char *bytes, size_t len)
{
    size_t kept = j->torn[is_err].len;
    scoped(buf_done) struct buf all = BUF_INIT(len + sizeof j->torn[0].bytes);
    scoped(buf_done) struct buf json = BUF_INIT(6 * (len + sizeof j->torn[0].bytes) + 64);
    buf_add(&all, j->torn[is_err].bytes, kept);
    buf_add(&all, bytes, len);
    if (all.failed)
        return;
    size_t cut = len > 0 ? utf8_cut(all.bytes, all.len) : all.len; /* nothing more comes */
    j->torn[is_err].len = all.len - cut;
    if (cut < all.len)
        memcpy(j->torn[is_err].bytes, all.bytes + cut, all.len - cut);
    if (cut == 0)
        return;
    struct json_writer w = JSON_WRITER(&json);
    jw_object(&w);
    jw_key(&w, "text");
    jw_str(&w, all.bytes, cut);
    jw_end_object(&w);
    job_note(j, is_err ? NOTE_STDERR : NOTE_STDOUT, &json);
}

static void note_display(struct job *j, enum note_kind kind, const struct display *d)
{
    scoped(buf_done) struct buf json = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&json);
    jw_object(&w);
    jw_key(&w, "data");
    object_bundle(&w, d);
    if (d->id) {
        jw_key(&w, "display_id");
        jw_text(&w, d->id);
    }
    jw_end_object(&w);
    job_note(j, kind, &json);
}

static void note_error(struct job *j, const struct run_error *error)
{
    scoped(buf_done) struct buf json = BUF_INIT(RUN_OBJECT_TEXT_MAX);
    struct json_writer w = JSON_WRITER(&json);
    object_error(&w, error);
    job_note(j, NOTE_ERROR, &json);
}

int job_on_event(void *arg, const struct run_event *event)
{
    struct job *j = arg;
    switch (event->kind) {
    case RUN_STDOUT: note_output(j, /* is_err= */ false, event->bytes, event->len); break;
    case RUN_STDERR: note_output(j, /* is_err= */ true, event->bytes, event->len); break;
    case RUN_DISPLAY: note_display(j, NOTE_DISPLAY, event->display); break;
    case RUN_CLEAR: note(j, NOTE_CLEAR, "{}", 2); break;
    case RUN_RESULT: note_display(j, NOTE_RESULT, event->display); break;
    case RUN_ERROR: note_error(j, event->error); break;
    }
    return 0;
}

void job_note_end(struct job *j, const struct capture *files)
{
    note_output(j, /* is_err= */ false, NULL, 0);
    note_output(j, /* is_err= */ true, NULL, 0);
    const char *ws = j->seat->workspace;
    for (size_t i = 0; i < files->count; i++) {
        scoped(buf_done) struct buf json = BUF_INIT(1 << 20);
        struct json_writer w = JSON_WRITER(&json);
        object_file(&w, ws, &files->files[i]);
        job_note(j, NOTE_FILE, &json);
    }
}

bool job_read(struct job *j, uint64_t seen, bool (*put)(void *arg, const struct note *n), void *arg)
{
    const struct note *n;
    bool goes_on = true;
    pthread_mutex_lock(&j->lock);
    for (; goes_on && (n = journal_after(&j->journal, seen)); seen = n->id)
        goes_on = put(arg, n);
    bool is_all = goes_on && j->phase == JOB_OVER;
    pthread_mutex_unlock(&j->lock);
    return is_all;
}

void job_watch(struct job *j, struct job_watch *w)
{
    pthread_mutex_lock(&j->lock);
    w->next = j->watches;
    j->watches = w;
    pthread_mutex_unlock(&j->lock);
}

void job_unwatch(struct job *j, struct job_watch *w)
{
    pthread_mutex_lock(&j->lock);
    for (struct job_watch **at = &j->watches; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    pthread_mutex_unlock(&j->lock);
}
