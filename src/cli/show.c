#include "cli/show.h"

#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/scope.h"
#include "cli/note.h"
#include "cli/outlet.h"

enum { IMAGE_TEXT_MAX = 96 << 20 }; /* of one image as a terminal sequence */

struct show show_new(struct notes *notes, struct stop *stop, enum image_way images,
                     uint64_t output_bytes)
{
    return (struct show){.notes = notes,
                         .stop = stop,
                         .images = images,
                         .live_max = (output_bytes + 1) / 2,
                         .out = {.fd = STDOUT_FILENO,
                                 .is_beside_notes = isatty(STDOUT_FILENO) && isatty(STDERR_FILENO)},
                         .err = {.fd = STDERR_FILENO, .is_beside_notes = true}};
}

/* Failing to write errors is not worth ending a run for; failing to write output is. */
static void put(struct show *s, struct show_stream *stream, const char *bytes, size_t len)
{
    bool is_out = stream == &s->out;
    if (len == 0 || (is_out && s->failed))
        return;
    int failed = outlet_write(stream->fd, s->stop, bytes, len);
    if (is_out)
        s->failed = failed;
    if (stream->is_beside_notes)
        s->notes->is_mid_line = bytes[len - 1] != '\n';
}

static void put_line(struct show *s, struct show_stream *stream, const char *bytes, size_t len)
{
    put(s, stream, bytes, len);
    if (len == 0 || bytes[len - 1] != '\n')
        put(s, stream, "\n", 1);
}

/* What the code wrote, as far as it is shown live. */
static void pass(struct show *s, struct show_stream *stream, const char *bytes, size_t len)
{
    uint64_t room = s->live_max - stream->shown;
    size_t now = len < room ? len : (size_t)room;
    if (stream->seen == stream->shown) {
        put(s, stream, bytes, now);
        stream->shown += now;
    }
    stream->seen += len;
}

static bool is_cut(const struct show_stream *stream)
{
    return stream->seen > stream->shown;
}

const struct mime *display_text(const struct display *display)
{
    static const char *const order[] = {"text/plain", "text/markdown", "text/latex",
                                        "application/json", "text/html"};
    for (size_t wanted = 0; wanted < sizeof order / sizeof *order; wanted++)
        for (size_t i = 0; i < display->count; i++)
            if (display->entries[i].form != FORM_BINARY &&
                strcmp(display->entries[i].type, order[wanted]) == 0)
                return &display->entries[i];
    return NULL;
}

const struct mime *display_image(const struct display *display)
{
    for (size_t i = 0; i < display->count; i++)
        if (image_ending(display->entries[i].type))
            return &display->entries[i];
    return NULL;
}

/* An image is saved later; here it is only shown where the terminal can. */
static void put_display(struct show *s, const struct display *display)
{
    const struct mime *image = display_image(display), *text = display_text(display);
    if (!image && text) {
        put_line(s, &s->out, text->bytes, text->len);
    } else if (image && s->images != IMAGE_NOT) {
        scoped(buf_done) struct buf sequence = BUF_INIT(IMAGE_TEXT_MAX);
        image_sequence(s->images, image->type, image->bytes, image->len, &sequence);
        if (!sequence.failed)
            put(s, &s->out, sequence.bytes, sequence.len);
    }
}

/* What is no exception of Python has no traceback. */
static void put_error(struct show *s, const struct run_error *error)
{
    scoped(buf_done) struct buf text =
        BUF_INIT(ERROR_NAME_MAX + ERROR_MESSAGE_MAX + 2 * KEEP_NOTICE_MAX);
    if (error->traceback && *error->traceback) {
        put_line(s, &s->err, error->traceback, strlen(error->traceback));
    } else if (error->name) {
        buf_str(&text, error->name);
        if (error->message && *error->message)
            buf_fmt(&text, ": %s", error->message);
        put_line(s, &s->err, text.bytes, text.len);
    }
}

int show_event(void *arg, const struct run_event *event)
{
    struct show *s = arg;
    if (s->failed)
        return s->failed; /* the run is being cancelled; nobody asked for its last words */
    switch (event->kind) {
    case RUN_STDOUT: pass(s, &s->out, event->bytes, event->len); break;
    case RUN_STDERR: pass(s, &s->err, event->bytes, event->len); break;
    case RUN_DISPLAY: put_display(s, event->display); break;
    case RUN_RESULT:
        s->owes_result = is_cut(&s->out);
        if (!s->owes_result)
            put_display(s, event->display);
        break;
    case RUN_ERROR:
        s->owes_error = is_cut(&s->err);
        if (!s->owes_error)
            put_error(s, event->error);
        break;
    case RUN_CLEAR: break; /* what is printed stays printed */
    }
    return s->failed;
}

/* What a stream held from its byte `from` on; all of that is in the ring. */
static void put_ring(struct show *s, struct show_stream *stream, const struct keep *k,
                     uint64_t from)
{
    size_t size = k->max / 2, len = (size_t)(k->total - from);
    size_t start = (k->ring_at + size - len) % size;
    size_t first = len < size - start ? len : size - start;
    put(s, stream, k->ring + start, first);
    put(s, stream, k->ring, len - first);
}

/* The part of a stream that was not shown live: the rest of the head, and the tail. */
static void put_rest(struct show *s, struct show_stream *stream, const struct keep *k,
                     const char *name)
{
    uint64_t tail_start = k->total - k->ring_len;
    if (stream->shown < k->head.len) {
        put(s, stream, k->head.bytes + stream->shown, (size_t)(k->head.len - stream->shown));
        stream->shown = k->head.len;
    }
    uint64_t left_out = stream->shown < tail_start ? tail_start - stream->shown : 0;
    if (left_out > 0) {
        char size[SIZE_TEXT];
        note(s->notes, "%s left out of the middle of %s; --output SIZE keeps more",
             size_text(left_out, size), name);
    }
    if (k->ring_len > 0 && stream->shown < k->total)
        put_ring(s, stream, k, stream->shown + left_out);
}

void show_rest(struct show *s, const struct run *run)
{
    if (s->failed)
        return;
    put_rest(s, &s->out, &run->out, "standard output");
    put_rest(s, &s->err, &run->err, "standard error");
    if (s->owes_result)
        put_display(s, &run->result);
    if (s->owes_error)
        put_error(s, &run->error);
    s->owes_result = s->owes_error = false;
    s->out.seen = s->out.shown = s->err.seen = s->err.shown = 0;
}
