/* run_notes.c -- what a reply says besides what a run printed: files, warnings, what to do now. */
#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "agent/text.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"

enum { FILES_BYTES_MAX = 4000, LINES_MAX = 10, PATH_SHOWN = 300 };

static bool is_own(const char *path)
{
    return strncmp(path, ".outputs/", 9) == 0;
}

static void put_file(struct buf *out, const json_t *file)
{
    const char *kept = run_text(file, "kept_as"), *why = run_text(file, "reason");
    uint64_t version = (uint64_t)run_number(file, "version");
    buf_fmt(out, "- %s %.*s", run_text(file, "change"), PATH_SHOWN, run_text(file, "path"));
    if (!run_is(file, "change", "deleted"))
        buf_fmt(out, " (%" PRIu64 " bytes", (uint64_t)run_number(file, "size"));
    else if (version > 0)
        buf_str(out, " (in the trash");
    if (version > 0)
        buf_fmt(out, ", version %" PRIu64, version);
    if (version > 0 || !run_is(file, "change", "deleted"))
        buf_str(out, ")");
    if (*kept)
        buf_fmt(out, ", kept as \"%.*s\": %.*s", PATH_SHOWN, kept, PATH_SHOWN,
                *why ? why : "others changed it too");
    if (json_is_true(json_object_get(file, "unstable")))
        buf_str(out, ", was still being written to");
    buf_str(out, "\n");
}

void run_note_files(struct buf *out, const struct json_t *run)
{
    const json_t *files = json_object_get(run, "files");
    size_t i, count = json_array_size(files), begin = out->len;
    json_t *file;
    if (count > 0)
        buf_str(out, "files in /mnt/data:\n");
    json_array_foreach(files, i, file)
    {
        if (out->len - begin > FILES_BYTES_MAX) {
            buf_fmt(out, "- and %zu more: list_files shows them\n", count - i);
            break;
        }
        put_file(out, file);
    }
}

static void note_missed(struct buf *out, const json_t *run)
{
    const json_t *missed = json_object_get(run, "not_saved");
    size_t i, count = json_array_size(missed);
    json_t *file;
    json_array_foreach(missed, i, file)
    {
        if (i == LINES_MAX) {
            buf_fmt(out, "note: %zu more files were not saved\n", count - i);
            break;
        }
        buf_fmt(out, "note: not saved: %.*s: %.*s\n", PATH_SHOWN, run_text(file, "path"),
                PATH_SHOWN, run_text(file, "reason"));
    }
}

/* What others changed and is not in /mnt/data: the code worked with older files. */
static void note_unbrought(struct buf *out, const json_t *run)
{
    const json_t *unbrought = json_object_get(run, "not_brought");
    size_t i, count = json_array_size(unbrought);
    json_t *file;
    json_array_foreach(unbrought, i, file)
    {
        if (i == LINES_MAX) {
            buf_fmt(out, "note: %zu more files of others are not as they are in the workspace\n",
                    count - i);
            break;
        }
        buf_fmt(out, "note: changed by others, but not brought to /mnt/data: %.*s: %.*s\n",
                PATH_SHOWN, run_text(file, "path"), PATH_SHOWN, run_text(file, "reason"));
    }
}

/* What others changed since, and this run was the first to find. */
static void note_brought(struct buf *out, const json_t *run)
{
    size_t i, told = 0, others = 0;
    json_t *file;
    json_array_foreach(json_object_get(run, "updated"), i, file)
    {
        const char *path = run_text(file, "path");
        if (is_own(path))
            continue;
        if (++others > LINES_MAX)
            continue;
        buf_fmt(out, "%s%.*s (%s)",
                told++ ? ", " : "note: changed by others since your last run: ", PATH_SHOWN, path,
                run_text(file, "change"));
    }
    if (others > LINES_MAX)
        buf_fmt(out, " and %zu more", others - LINES_MAX);
    if (told)
        buf_str(out, "\n");
}

static void note_dropped(struct buf *out, const json_t *run)
{
    const json_t *dropped = json_object_get(run, "truncated");
    static const char *const streams[] = {"stdout", "stderr"};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        uint64_t bytes = (uint64_t)run_number(dropped, streams[i]);
        if (bytes > 0)
            buf_fmt(out,
                    "note: %" PRIu64 " bytes of %s were not kept at all, from its middle; write "
                    "long output to a file in /mnt/data\n",
                    bytes, streams[i]);
    }
    if (run_number(dropped, "displays") > 0)
        buf_fmt(out, "note: %.0f displays too many were not kept; save images as files\n",
                run_number(dropped, "displays"));
}

static void note_crash(struct buf *out, const json_t *run)
{
    const char *signal_name = run_text(run, "signal");
    const json_t *code = json_object_get(run, "exit_code");
    if (*signal_name)
        buf_fmt(out, "note: the interpreter died of %.32s\n", signal_name);
    else if (json_is_integer(code))
        buf_fmt(out, "note: the interpreter ended with exit code %lld\n",
                (long long)json_integer_value(code));
}

void run_note_rest(struct buf *out, const struct json_t *run)
{
    const char *hint = run_text(run, "hint");
    note_crash(out, run);
    note_dropped(out, run);
    note_missed(out, run);
    note_brought(out, run);
    note_unbrought(out, run);
    if (*hint)
        buf_fmt(out, "note: %.1000s\n", hint);
    else if (run_is(run, "state", "lost"))
        buf_str(out, "note: the variables of this session are gone; files in /mnt/data are kept\n");
}

static bool run_is_out_of_memory(const json_t *run)
{
    const json_t *error = json_object_get(run, "error");
    return run_is(run, "end", "error") && run_is(error, "name", "MemoryError");
}

const char *run_next(const struct json_t *run, bool is_cut)
{
    static const struct {
        const char *end, *next;
    } table[] = {
        {"error", "Fix the code and run it again in this session: variables set before the error "
                  "are kept."},
        {"timeout", "Pass a larger timeout_s (at most 600), or do less at once."},
        {"memory", "Work on smaller pieces, then define again what you need: the session began "
                   "anew."},
        {"output_limit", "Print a summary, or write to a file in /mnt/data."},
        {"disk", "Delete files in /mnt/data that are not needed, or write less."},
        {"cancelled", "Run it again if it is still wanted."},
        {"crashed", "Define again what you need, and leave out what made the interpreter die."},
        {"killed", "Run it again; define first what you need, for variables may be gone."},
    };
    if (json_is_true(json_object_get(run, "server_disk_full")))
        return "Write less: the server's disk is nearly full, and its operator has to make room.";
    if (run_is_out_of_memory(run))
        return "Work on smaller pieces, in this session: variables set before the error are kept.";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (run_is(run, "end", table[i].end))
            return table[i].next;
    return is_cut ? "Read what was left out with read_file, or print less." : "";
}
