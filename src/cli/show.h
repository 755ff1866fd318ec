/* show.h -- a run as a person sees it: output as it comes, on the stream it was written to.
 *
 * Standard output and standard error of the code go to ours, byte by byte unchanged. The value of
 * the last expression goes to standard output as in a Python prompt, tracebacks to standard error.
 * Of a stream that is longer than what is kept, the beginning is shown live and the end afterwards.
 *
 *     struct show s = ...;
 *     const struct run_sink sink = {show_event, &s};
 *     kernel_run(k, &spec, &sink, &run, e);
 *     show_rest(&s, &run);
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/image.h"
#include "session/run.h"

struct notes;
struct stop;

struct show_stream {
    int fd;
    uint64_t seen;        /* bytes of the code's stream that came by */
    uint64_t shown;       /* of those, how many were written here: all of them, up to live_max */
    bool is_beside_notes; /* notes appear in the same place, so they must not begin mid-line */
};

struct show {
    struct notes *notes;
    struct stop *stop;     /* a writer does not wait any longer when this is asked */
    enum image_way images; /* how to show them here; IMAGE_NOT: only as files */
    uint64_t live_max;     /* bytes of each stream shown while they come */
    struct show_stream out, err;
    int failed;                   /* errno: standard output cannot be written any more; 0: it can */
    bool owes_result, owes_error; /* they came after the part that is shown later */
};

/* `output_bytes` is the limit the run will have. */
struct show show_new(struct notes *notes, struct stop *stop, enum image_way images,
                     uint64_t output_bytes);

/* A run_sink's put, with a struct show as arg: shows one event. Non-zero when standard output has
 * failed, which cancels the run. Blocks while the reader is slow. */
int show_event(void *arg, const struct run_event *event);

/* What show_event left for later; then the show is ready for the next run. */
void show_rest(struct show *s, const struct run *run);

/* The entry of a bundle that says most in a terminal, NULL if none is text. Images are better. */
const struct mime *display_text(const struct display *display);

/* The image of a bundle, NULL if it has none. */
const struct mime *display_image(const struct display *display);

#endif
