/* tell.h -- what came of a run: in words for a model, and as the outputs of a code_interpreter_call.
 *
 * A run is an object of the native API (docs/api.md). Nothing in it is trusted to be short or to be there.
 */
#ifndef AGENT_TELL_H
#define AGENT_TELL_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct json_t;

enum {
    TELL_TEXT_MAX = 128 << 10, /* bytes of all that a model is told of one run, at most */
    TELL_STDOUT_MAX = 20000,   /* of each; of what is longer head and tail */
    TELL_STDERR_MAX = 5000,
    TELL_RESULT_MAX = 10000,
    TELL_SHOWN_MAX = 5000,
    TELL_TRACE_MAX = 20000,

    TELL_LOGS_MAX = 1 << 20,   /* of one "logs" */
    TELL_IMAGE_MAX = 12 << 20, /* of one "image", as base64: what the kernel gives as 8 MiB fits */
    TELL_IMAGES_MAX = 24 << 20,

    TELL_SHOWN_TO_MODEL = 4, /* images of one question */
};

/* What it printed, its result, the whole traceback; what was shown, which files it made, how it ended if it did not end well and
 * what to do then. `has_past`: code was run before in this conversation, so that variables are missed. */
void tell_words(const struct json_t *run, bool has_past, struct buf *out);

/* [{"type":"logs","logs"}, {"type":"image","url":"data:..."}] in the order in which it is shown. *ret is owned, as below. */
int tell_outputs(const struct json_t *run, struct json_t **ret, struct err *e);

/* {"id","end","duration_ms","state","error":{"name","message","line"} or null} */
int tell_facts(const struct json_t *run, struct json_t **ret, struct err *e);

/* [{"path","change","size","mime"}] of files that it made or changed and that are there, where they are kept. */
int tell_files(const struct json_t *run, struct json_t **ret, struct err *e);

/* Appends the images among `outputs` to the content of a message, the last TELL_SHOWN_TO_MODEL of them; how many. */
size_t tell_images(const struct json_t *outputs, struct json_t *content);

/* Code that could not be run at all. */
void tell_not_run(const struct err *why, struct buf *out);

#endif
