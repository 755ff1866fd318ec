#include "cli/stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/ending.h"
#include "cli/exit.h"
#include "cli/follow.h"
#include "cli/note.h"
#include "cli/outlet.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/run_int.h"
#include "cli/run_read.h"
#include "cli/sixel.h"
#include "json/write.h"

enum {
    LISTED_MAX = 20, /* files that are named one by one */
    SIXEL_REQUEST_MAX = 32 << 20,
};

void stage_init(struct stage *s, struct remote *remote, struct stop *stop, enum image_way images,
                bool is_json)
{
    struct err ignored = {0};
    *s = (struct stage){.remote = remote, .stop = stop, .is_json = is_json};
    s->show = show_new(&remote->notes, stop, images, LIMITS_DEFAULT.output_bytes);
    (void)delivery_open(&s->delivery, /* dir= */ NULL, is_json, &remote->notes, &ignored);
}

int stage_out(struct stage *s, const char *dir, struct err *e)
{
    delivery_close(&s->delivery);
    return delivery_open(&s->delivery, dir, s->is_json, &s->remote->notes, e);
}

void stage_done(struct stage *s)
{
    delivery_close(&s->delivery);
}

int stage_print(struct stop *stop, const struct json_t *value)
{
    scoped(freep) char *text =
        json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    if (!text)
        return ENOMEM;
    int failed = outlet_write(STDOUT_FILENO, stop, text, strlen(text));
    return failed ? failed : outlet_write(STDOUT_FILENO, stop, "\n", 1);
}

/* Whether the server keeps what the run left: then each file has an address. */
static bool is_kept(const json_t *object)
{
    return *pick_text(json_array_get(json_object_get(object, "files"), 0), "url");
}

static void list_files(struct stage *s, const json_t *object, const struct capture *c)
{
    struct notes *notes = &s->remote->notes;
    char size[SIZE_TEXT];
    if (c->count == 0)
        return;
    note(notes, "%zu file%s changed in /mnt/data%s", c->count, c->count == 1 ? "" : "s",
         is_kept(object)  ? " and kept in the workspace:"
         : s->keeps_files ? ":"
                          : " and gone with the session; --direct -o DIR keeps files:");
    for (size_t i = 0; i < c->count && i < LISTED_MAX; i++) {
        const struct captured_file *f = &c->files[i];
        note(notes, "  %s (%s, %s)", f->path, file_change_name(f->change),
             size_text(f->size, size));
    }
    if (c->count > LISTED_MAX)
        note(notes, "  and %zu more", c->count - LISTED_MAX);
}

static void list_missed(struct stage *s, const json_t *object)
{
    const json_t *missed = json_object_get(object, "not_saved");
    for (size_t i = 0; i < json_array_size(missed) && i < LISTED_MAX; i++) {
        const json_t *one = json_array_get(missed, i);
        note(&s->remote->notes, "not looked at: %s (%s)", pick_text(one, "path"),
             pick_text(one, "reason"));
    }
}

static void list_unbrought(struct stage *s, const json_t *object)
{
    const json_t *unbrought = json_object_get(object, "not_brought");
    for (size_t i = 0; i < json_array_size(unbrought) && i < LISTED_MAX; i++) {
        const json_t *one = json_array_get(unbrought, i);
        note(&s->remote->notes, "changed by others, but not brought: %s (%s)",
             pick_text(one, "path"), pick_text(one, "reason"));
    }
}

static void list_lost(struct stage *s, const json_t *object)
{
    const json_t *lost = json_object_get(object, "lost");
    for (size_t i = 0; i < json_array_size(lost) && i < LISTED_MAX; i++)
        note(&s->remote->notes, "did not survive sleeping: %s",
             json_string_value(json_array_get(lost, i)));
    if (strcmp(pick_text(object, "state"), "lost") == 0)
        note(&s->remote->notes, "the variables of this session are gone");
}

/* A one-shot run of its own makes the sixels: images are not decoded out here. */
static int sixel_by_server(struct stage *s, const struct mime *image, struct err *e)
{
    scoped(buf_done) struct buf input = BUF_INIT(STDIN_MAX), body = BUF_INIT(SIXEL_REQUEST_MAX);
    scoped(json_decrefp) json_t *run = NULL;
    struct json_writer w = JSON_WRITER(&body);
    base64_add(&input, image->bytes, image->len);
    if (buf_check(&input, e))
        return err_wrap(e, "the image is too large to be shown");
    jw_object(&w);
    jw_key(&w, "code");
    jw_text(&w, sixel_program);
    jw_key(&w, "name");
    jw_text(&w, "<image>");
    jw_key(&w, "stdin");
    jw_str(&w, input.bytes, input.len);
    jw_end_object(&w);
    jw_finish(&w);
    if (remote_post(s->remote, shelf_runs.path, &body, &run, e))
        return -1;
    const char *sequence = pick_text(run, "stdout");
    if (strcmp(pick_text(run, "end"), "ok") != 0 || !*sequence)
        return err_set(e, ERR_UNAVAILABLE, "the server could not turn it into sixels");
    (void)outlet_write(STDOUT_FILENO, s->stop, sequence,
                       strlen(sequence)); /* it is a file as well */
    return 0;
}

static void show_sixels(struct stage *s, const struct run *run)
{
    for (size_t i = 0; i <= run->display_count; i++) {
        const struct display *d = i < run->display_count ? &run->displays[i] : &run->result;
        const struct mime *image = display_image(d);
        struct err e = {0};
        if (image && sixel_by_server(s, image, &e)) {
            note(&s->remote->notes, "cannot show a figure: %s", e.text);
            return;
        }
    }
}

/* Everything about a run but its live output and how it ended. */
static int conclude(struct stage *s, const json_t *object, const struct run *run)
{
    struct notes *notes = &s->remote->notes;
    if (!s->is_json)
        show_rest(&s->show, run);
    int code = run_output_exit(notes, s->is_json ? stage_print(s->stop, object) : s->show.failed);
    bool is_unheard = code == EXIT_NO_READER;
    s->delivery.is_quiet = s->is_json || is_unheard;
    delivery_figures(&s->delivery, run);
    if (s->delivery.dir)
        delivery_fetch(&s->delivery, s->remote, s->stop, object);
    if (s->show.images == IMAGE_SIXEL && !is_unheard)
        show_sixels(s, run);
    if (!s->is_json && !is_unheard) {
        if (!s->delivery.dir)
            list_files(s, object, &run->files);
        list_missed(s, object);
        list_unbrought(s, object);
        list_lost(s, object);
        run_tell_end(notes, run);
    }
    return code;
}

int stage_end(struct stage *s, const struct follow *f)
{
    struct err e = {0};
    struct run run;
    if (run_read(f->object, &run, &e))
        return remote_failure(s->remote, &e);
    int code = conclude(s, f->object, &run);
    if (code == EXIT_DONE)
        code = ending_exit_code(&run);
    if (code == EXIT_DONE && s->delivery.failures > 0)
        code = EXIT_NO_JAIL;
    run_done(&run);
    return code;
}
