/* What there is to say about an answer once it is whole. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/ask_int.h"
#include "cli/ask_options.h"
#include "cli/cites.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/run_int.h"
#include "cli/run_read.h"
#include "cli/stage.h"
#include "cli/words.h"

enum { LISTED_MAX = 20, FIGURES_MAX = 10, CITES_MAX = 1 << 20 };

/* ---- where it is from ---- */

static bool is_made(const json_t *answer, const json_t *cite)
{
    const json_t *files = json_object_get(answer, "files");
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(pick_text(json_array_get(files, i), "path"), pick_text(cite, "path")) == 0)
            return true;
    return false;
}

static void add_source(const json_t *cite, struct buf *to)
{
    const char *path = pick_text(cite, "path"), *where = pick_text(cite, "where");
    printable(path, strlen(path), to);
    if (pick_count(cite, "version") > 0)
        buf_fmt(to, ", version %" PRIu64, pick_count(cite, "version"));
    cite_add(to, cite);
    if (!*where || pick_count(cite, "page") > 0)
        return;
    buf_str(to, ", ");
    printable(where, strlen(where), to);
}

/* Whether the same place was cited before. */
static bool is_repeated(const json_t *cites, size_t index, const char *source)
{
    for (size_t i = 0; i < index; i++) {
        scoped(buf_done) struct buf other = BUF_INIT(CITES_MAX);
        add_source(json_array_get(cites, i), &other);
        if (other.bytes && strcmp(other.bytes, source) == 0)
            return true;
    }
    return false;
}

/* Each place once, with the number that stands for it in the answer. Files that were made now are listed for
 * themselves. */
static int print_sources(struct query *q, const json_t *answer)
{
    const json_t *cites = json_object_get(answer, "citations");
    scoped(buf_done) struct buf text = BUF_INIT(CITES_MAX);
    uint64_t number = 0;
    for (size_t i = 0; i < json_array_size(cites); i++) {
        const json_t *cite = json_array_get(cites, i);
        uint64_t mark = pick_count(cite, "mark");
        scoped(buf_done) struct buf source = BUF_INIT(CITES_MAX);
        add_source(cite, &source);
        if (!source.bytes || !*pick_text(cite, "path") || (mark == 0 && is_made(answer, cite)) ||
            is_repeated(cites, i, source.bytes))
            continue;
        number = mark > 0 ? mark : number + 1;
        buf_fmt(&text, "%s[%" PRIu64 "] %s\n", text.len == 0 ? "\n" : "", number, source.bytes);
    }
    return text.bytes ? ask_print(q->stop, text.bytes) : 0;
}

/* ---- files ---- */

/* What is fetched needs its size; an answer may leave it out. */
static void complete_files(struct query *q, json_t *answer)
{
    json_t *files = json_object_get(answer, "files");
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        struct err ignored = {0}; /* fetching it fails, too, and tells why */
        json_t *whole = NULL;
        if (json_is_integer(json_object_get(file, "size")))
            continue;
        if (verb_file_stat(&q->remote, pick_text(answer, "workspace_id"), pick_text(file, "path"),
                           pick_count(file, "version"), &whole, &ignored) == 0)
            (void)json_array_set_new(files, i, whole);
    }
}

static void list_files(struct query *q, const json_t *answer)
{
    const json_t *files = json_object_get(answer, "files");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        bool is_deleted = strcmp(pick_text(file, "change"), "deleted") == 0;
        if (!is_deleted && count++ < LISTED_MAX)
            note(&q->remote.notes, "kept in the workspace: %s (version %" PRIu64 ")",
                 pick_text(file, "path"), pick_count(file, "version"));
    }
    if (count > LISTED_MAX)
        note(&q->remote.notes, "and %zu more files", count - LISTED_MAX);
}

/* Charts that its runs displayed are saved as those of `cicada run` are. */
static void save_figures(struct query *q, const json_t *answer)
{
    const json_t *runs = json_object_get(answer, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++) {
        scoped(json_decrefp) json_t *object = NULL;
        const char *id = pick_text(json_array_get(runs, i), "id");
        struct err e = {0};
        struct run run;
        if (remote_get(&q->remote, &shelf_runs, id, &object, &e) || run_read(object, &run, &e)) {
            note_problem(&q->remote.notes, "figures of a run cannot be had: %s", e.text);
            continue;
        }
        delivery_figures(&q->delivery, &run);
        run_done(&run);
    }
}

static void deliver(struct query *q, json_t *answer)
{
    if (q->delivery.dir || !q->options->is_json)
        save_figures(q, answer);
    if (q->delivery.dir) {
        complete_files(q, answer);
        delivery_fetch(&q->delivery, &q->remote, q->stop, answer);
    } else if (!q->options->is_json) {
        list_files(q, answer);
    }
}

/* ---- how far it can be trusted ---- */

/* Numbers that no run printed: the model may have made them up. */
static void warn_of_figures(struct query *q, const json_t *answer)
{
    const json_t *figures = json_object_get(answer, "figures");
    scoped(buf_done) struct buf text = BUF_INIT(1024);
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(figures); i++) {
        const json_t *figure = json_array_get(figures, i);
        const char *shown = pick_text(figure, "text");
        if (*pick_text(figure, "run_id") || *pick_text(figure, "line")) /* computed, or read */
            continue;
        if (count++ < FIGURES_MAX)
            buf_fmt(&text, "%s%.40s", count > 1 ? ", " : "", shown);
    }
    if (count > FIGURES_MAX)
        buf_fmt(&text, " and %zu more", count - FIGURES_MAX);
    if (count > 0)
        note_problem(&q->remote.notes, "in no output of the code, so better checked: %s",
                     text.bytes ? text.bytes : "");
}

/* What came out otherwise: of each run the first line, and each file. */
static void tell_differences(struct query *q, const json_t *verification)
{
    const json_t *runs = json_object_get(verification, "runs");
    const json_t *files = json_object_get(verification, "files");
    for (size_t i = 0; i < json_array_size(runs) && i < LISTED_MAX; i++) {
        const json_t *run = json_array_get(runs, i);
        const json_t *first = json_array_get(json_object_get(run, "differences"), 0);
        if (first)
            note(&q->remote.notes, "  %s of %s was '%.200s' and is '%.200s'",
                 pick_text(first, "what"), pick_text(run, "run_id"), pick_text(first, "was"),
                 pick_text(first, "is"));
    }
    for (size_t i = 0; i < json_array_size(files) && i < LISTED_MAX; i++) {
        const json_t *file = json_array_get(files, i);
        if (strcmp(pick_text(file, "status"), "same") != 0)
            note(&q->remote.notes, "  %s: %s", pick_text(file, "path"), pick_text(file, "detail"));
    }
}

/* Whether there is code whose outcome can be compared. */
static bool has_good_run(const json_t *answer)
{
    const json_t *runs = json_object_get(answer, "runs");
    for (size_t i = 0; i < json_array_size(runs); i++)
        if (strcmp(pick_text(json_array_get(runs, i), "end"), "ok") == 0)
            return true;
    return false;
}

static void tell_verdict(struct query *q, const json_t *answer)
{
    const json_t *verification = json_object_get(answer, "verification");
    struct notes *notes = &q->remote.notes;
    const char *status = pick_text(verification, "status");
    const char *detail = pick_text(verification, "detail");
    if (!q->options->wish.is_verified)
        return;
    if (!*status && has_good_run(answer))
        note_problem(notes, "not verified: the server could not run the code again");
    else if (!*status)
        note(notes, "nothing was verified: there is no run that ended well");
    if (!*status)
        return;
    if (strcmp(status, "same") == 0) {
        note(notes, "verified: run again in a fresh session, the code gave the same");
        return;
    }
    note_problem(notes, "not verified: run again in a fresh session, the code %s",
                 strcmp(status, "failed") == 0 ? "failed" : "gave something else");
    tell_differences(q, verification);
    if (*detail)
        note(notes, "%s", detail);
}

/* Marks such as [7] that stand for nothing the model was shown. */
static void warn_of_marks(struct query *q, const json_t *answer)
{
    const json_t *unknown = json_object_get(answer, "unknown_marks");
    for (size_t i = 0; i < json_array_size(unknown) && i < LISTED_MAX; i++)
        note_problem(&q->remote.notes, "[%lld] of the answer stands for nothing that was found",
                     (long long)json_integer_value(json_array_get(unknown, i)));
}

static void tell_end(struct query *q, const json_t *answer)
{
    struct notes *notes = &q->remote.notes;
    const char *end = pick_text(answer, "end");
    const char *message = pick_text(json_object_get(answer, "error"), "message");
    if (strcmp(end, "ok") == 0)
        return;
    note_problem(notes, "%s", *message ? message : "there is no answer, and nobody said why");
    if (strcmp(end, "limit") == 0)
        note(notes,
             "--max-runs, --max-tokens and --timeout set limits, within those of the server");
}

static void tell_usage(struct query *q, const json_t *answer)
{
    const json_t *usage = json_object_get(answer, "usage");
    size_t runs = json_array_size(json_object_get(answer, "runs"));
    char time[TIME_TEXT];
    note(&q->remote.notes, "%zu run%s, %" PRIu64 " tokens, %s", runs, runs == 1 ? "" : "s",
         pick_count(usage, "total_tokens"), time_text(pick_number(answer, "duration_ms"), time));
    const char *session = pick_text(answer, "session_id"); /* none if no code was run */
    if (!q->options->wish.session && isatty(STDERR_FILENO))
        note(&q->remote.notes, "to go on: cicada ask --session %s ...",
             *session ? session : pick_text(answer, "id"));
}

/* ---- all of it ---- */

/* An endpoint that fails is like a server that does; what it holds back is the model's doing. */
static int failed_code(const json_t *answer)
{
    const char *code = pick_text(json_object_get(answer, "error"), "code");
    return strcmp(code, "filtered") == 0 ? EXIT_ERROR : EXIT_NO_JAIL;
}

static int exit_code(const struct query *q, const json_t *answer)
{
    const char *end = pick_text(answer, "end");
    const char *verdict = pick_text(json_object_get(answer, "verification"), "status");
    if (strcmp(end, "cancelled") == 0)
        return EXIT_CANCELLED;
    if (strcmp(end, "failed") == 0)
        return failed_code(answer);
    if (strcmp(end, "ok") != 0)
        return EXIT_ERROR;
    bool is_confirmed = *verdict ? strcmp(verdict, "same") == 0 : !has_good_run(answer);
    if (q->options->wish.is_verified && !is_confirmed)
        return EXIT_DIFFERENT;
    return q->delivery.failures > 0 ? EXIT_NO_JAIL : EXIT_DONE;
}

static int show_all(struct query *q, json_t *answer)
{
    const char *text = pick_text(answer, "answer");
    int failed = 0;
    if (*text)
        failed = ask_show_answer(&q->show, text);
    if (!failed)
        failed = print_sources(q, answer);
    q->delivery.is_quiet = failed != 0;
    deliver(q, answer);
    if (failed)
        return failed;
    warn_of_figures(q, answer);
    warn_of_marks(q, answer);
    tell_verdict(q, answer);
    tell_end(q, answer);
    tell_usage(q, answer);
    return 0;
}

int ask_end(struct query *q, struct json_t *answer)
{
    int failed = 0;
    if (q->options->is_json) {
        failed = stage_print(q->stop, answer);
        deliver(q, answer);
    } else {
        failed = show_all(q, answer);
    }
    int code = run_output_exit(&q->remote.notes, failed);
    return code != EXIT_DONE ? code : exit_code(q, answer);
}
