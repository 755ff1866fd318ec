/* tell_notes.c -- what is said of a run besides what it printed. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "agent/tell_int.h"
#include "base/buf.h"

enum { LINES_MAX = 20, PATH_SHOWN = 300 };

static void line(struct buf *out)
{
    if (out->len > 0 && out->bytes[out->len - 1] != '\n')
        buf_str(out, "\n");
}

static const char *text(const json_t *object, const char *key)
{
    return tell_str(object, key).ptr;
}

/* ---- how it ended ---- */

/* clang-format off */
static const struct {
    const char *end, *words;
} endings[] = {
    {"timeout",      "The code took too long and was stopped. Do less at once: take a part of the data, a faster way, or several steps"},
    {"memory",       "The code needed more memory than there is and was ended; variables are gone, files in /mnt/data are there. "
                     "Work on smaller pieces, and define again what you need"},
    {"output_limit", "The code printed too much and was stopped. Print a summary, or write to a file in /mnt/data"},
    {"disk",         "There is no room left for files. Delete what is not needed in /mnt/data, or write less"},
    {"cancelled",    "The code was stopped from outside before it ended"},
    {"crashed",      "The interpreter died; variables are gone, files in /mnt/data are there. Define again what you need, and leave out "
                     "what made it die"},
    {"killed",       "The interpreter was ended from outside; variables may be gone, files in /mnt/data are there. Define again what "
                     "you need and run the code again"},
};
/* clang-format on */

static const char server_is_full[] =
    "The server's disk is nearly full, which is no limit of this session. Write less, or say that room has to be made";

void tell_end(const struct json_t *run, struct buf *out)
{
    bool is_servers = json_is_true(json_object_get(run, "server_disk_full"));
    struct str end = tell_str(run, "end");
    const char *died_of = text(run, "signal");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (!str_is(end, endings[i].end))
            continue;
        line(out);
        buf_fmt(out, "[%s: %s", endings[i].end, is_servers ? server_is_full : endings[i].words);
        if (*died_of)
            buf_fmt(out, " (%.32s)", died_of);
        buf_fmt(out, ". It ran for %.1f s.]\n", tell_number(run, "duration_ms") / 1000);
    }
}

/* ---- files ---- */

static void put_file(struct buf *out, const json_t *file)
{
    const char *kept = text(file, "kept_as"), *why = text(file, "reason");
    buf_fmt(out, "[file %.10s: /mnt/data/%.*s", text(file, "change"), PATH_SHOWN,
            text(file, "path"));
    if (!str_is(tell_str(file, "change"), "deleted"))
        buf_fmt(out, ", %" PRIu64 " bytes", (uint64_t)tell_number(file, "size"));
    if (*kept)
        buf_fmt(out, ", kept as /mnt/data/%.*s: %.*s", PATH_SHOWN, kept, PATH_SHOWN,
                *why ? why : "others changed the file too");
    buf_str(out, "]\n");
}

static void put_files(struct buf *out, const json_t *run)
{
    const json_t *files = json_object_get(run, "files");
    size_t i;
    json_t *file;
    json_array_foreach(files, i, file)
    {
        if (i == LINES_MAX) {
            buf_fmt(out, "[and %zu more files]\n", json_array_size(files) - i);
            break;
        }
        put_file(out, file);
    }
}

static void put_missed(struct buf *out, const json_t *run)
{
    const json_t *missed = json_object_get(run, "not_saved");
    size_t i;
    json_t *file;
    json_array_foreach(missed, i, file)
    {
        if (i == LINES_MAX) {
            buf_fmt(out, "[and %zu more that were not saved]\n", json_array_size(missed) - i);
            break;
        }
        buf_fmt(out, "[not saved: /mnt/data/%.*s: %.*s]\n", PATH_SHOWN, text(file, "path"),
                PATH_SHOWN, text(file, "reason"));
    }
}

/* What others changed, and this run was the first to find. */
static void put_brought(struct buf *out, const json_t *run)
{
    const json_t *updated = json_object_get(run, "updated");
    size_t i;
    json_t *file;
    json_array_foreach(updated, i, file)
    {
        if (i == LINES_MAX) {
            buf_fmt(out, "[and %zu more]\n", json_array_size(updated) - i);
            break;
        }
        buf_fmt(out, "[%.10s by others since the last run: /mnt/data/%.*s]\n", text(file, "change"),
                PATH_SHOWN, text(file, "path"));
    }
}

/* What others changed and is not in /mnt/data: the code worked with older files. */
static void put_unbrought(struct buf *out, const json_t *run)
{
    const json_t *unbrought = json_object_get(run, "not_brought");
    size_t i;
    json_t *file;
    json_array_foreach(unbrought, i, file)
    {
        if (i == LINES_MAX) {
            buf_fmt(out, "[and %zu more]\n", json_array_size(unbrought) - i);
            break;
        }
        buf_fmt(out, "[changed by others, but not brought: /mnt/data/%.*s: %.*s]\n", PATH_SHOWN,
                text(file, "path"), PATH_SHOWN, text(file, "reason"));
    }
}

/* ---- the rest ---- */

static void put_dropped(struct buf *out, const json_t *run)
{
    static const char *const streams[] = {"stdout", "stderr", "displays"};
    const json_t *dropped = json_object_get(run, "truncated");
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++)
        if (tell_number(dropped, streams[i]) > 0)
            buf_fmt(out, "[%.0f %s of %s were not kept at all]\n", tell_number(dropped, streams[i]),
                    i == 2 ? "more" : "bytes", streams[i]);
}

/* Whether variables are those of the run before. */
static void put_state(struct buf *out, const json_t *run, bool has_past)
{
    struct str state = tell_str(run, "state");
    const json_t *lost = json_object_get(run, "lost");
    size_t i;
    json_t *one;
    if (str_is(state, "lost") || (has_past && str_is(state, "fresh")))
        buf_str(out,
                "[This run began in a new interpreter: variables and imports of earlier runs are "
                "gone, files in /mnt/data are there. Define again what you need.]\n");
    json_array_foreach(lost, i, one)
    {
        if (i == LINES_MAX)
            break;
        buf_fmt(out, "[lost while the interpreter slept: %.*s]\n", PATH_SHOWN,
                json_is_string(one) ? json_string_value(one) : "");
    }
}

void tell_rest(const struct json_t *run, bool has_past, struct buf *out)
{
    const char *hint = text(run, "hint");
    line(out);
    put_files(out, run);
    put_missed(out, run);
    put_brought(out, run);
    put_unbrought(out, run);
    put_dropped(out, run);
    put_state(out, run, has_past);
    if (*hint)
        buf_fmt(out, "[hint: %.1000s]\n", hint);
}
