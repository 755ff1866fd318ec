#include "cli/ask_show.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/note.h"
#include "cli/outlet.h"
#include "cli/pick.h"
#include "cli/words.h"

enum {
    SAID_MAX = 8 << 20,
    STEP_MAX = 4 << 20,
    LINES_FEW = 6, /* of what a run printed */
    LINES_MANY = 40,
    LINE_MAX = 400, /* bytes of one of them */
};

void ask_show_init(struct ask_show *s, struct notes *notes, struct stop *stop, bool shows_code)
{
    *s = (struct ask_show){.notes = notes,
                           .stop = stop,
                           .shows_code = shows_code,
                           .is_live = isatty(STDOUT_FILENO),
                           .said = BUF_INIT(SAID_MAX)};
}

void ask_show_done(struct ask_show *s)
{
    buf_done(&s->said);
}

/* ---- the two streams ---- */

static void put_out(struct ask_show *s, const char *text, size_t len)
{
    scoped(buf_done) struct buf clean = BUF_INIT(3 * len + 1);
    if (s->failed || len == 0)
        return;
    if (s->is_live) {
        printable_lines(text, len, &clean);
        text = clean.bytes;
        len = clean.len;
    }
    s->failed = outlet_write(STDOUT_FILENO, s->stop, text, len);
    s->is_out_mid_line = text[len - 1] != '\n';
}

/* A step: one write to standard error. Nothing waits for who does not read it. */
static void put_step(struct ask_show *s, const struct buf *text)
{
    scoped(buf_done) struct buf line = BUF_INIT(STEP_MAX + 64);
    if (text->len == 0)
        return;
    buf_str(&line, s->notes->is_coloured ? "\033[2m" : "");
    buf_add(&line, text->bytes, text->len);
    buf_str(&line, s->notes->is_coloured ? "\033[0m" : "");
    (void)outlet_write(s->notes->fd, s->stop, line.bytes, line.len);
    s->notes->is_mid_line = text->bytes[text->len - 1] != '\n';
}

static void put_step_text(struct ask_show *s, const char *text, size_t len)
{
    scoped(buf_done) struct buf clean = BUF_INIT(STEP_MAX);
    printable_lines(text, len, &clean);
    put_step(s, &clean);
}

static void end_lines(struct ask_show *s)
{
    const struct buf feed = {.bytes = (char[]){'\n'}, .len = 1};
    if (s->is_live && s->is_out_mid_line)
        put_out(s, "\n", 1);
    if (s->notes->is_mid_line)
        put_step(s, &feed);
}

/* Something of another kind begins: what was said before it was a step, then. */
static void begin(struct ask_show *s, enum ask_part part)
{
    if (s->part == part && part != PART_RUN)
        return;
    end_lines(s);
    if (s->part == PART_TEXT && !s->is_live) {
        put_step_text(s, s->said.bytes ? s->said.bytes : "", s->said.len);
        end_lines(s);
    }
    if (part == PART_TEXT)
        buf_done(&s->said);
    s->part = part;
}

/* ---- what happens ---- */

static void on_thinking(struct ask_show *s, const char *text)
{
    begin(s, PART_THINKING);
    put_step_text(s, text, strlen(text));
}

static void on_text(struct ask_show *s, const char *text)
{
    if (!*text)
        return;
    begin(s, PART_TEXT);
    buf_str(&s->said, text);
    if (s->is_live)
        put_out(s, text, strlen(text));
}

/* Indented, so that it can be told from what is said. A line that has begun is gone on with. */
static void put_code(struct ask_show *s, const char *text)
{
    scoped(buf_done) struct buf shown = BUF_INIT(STEP_MAX);
    bool is_mid_line = s->notes->is_mid_line;
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (!is_mid_line && len > 0)
            buf_str(&shown, "    ");
        printable_lines(text, len, &shown);
        is_mid_line = text[len] != '\n';
        buf_str(&shown, is_mid_line ? "" : "\n");
        text += len + !is_mid_line;
    }
    put_step(s, &shown);
}

static void on_code(struct ask_show *s, const char *text)
{
    if (!*text)
        return;
    begin(s, PART_CODE);
    if (!s->shows_code)
        return;
    s->is_code_shown = true;
    put_code(s, text);
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        count++;
    return count;
}

static void on_run_started(struct ask_show *s, const json_t *value)
{
    const char *code = pick_text(value, "code");
    size_t lines = count_lines(code);
    scoped(buf_done) struct buf line = BUF_INIT(STEP_MAX);
    begin(s, PART_RUN);
    if (s->shows_code && !s->is_code_shown)
        put_code(s, code);
    end_lines(s);
    s->is_code_shown = false;
    s->run_started_us = clock_us();
    buf_fmt(&line, "running %zu line%s of Python ... ", lines, lines == 1 ? "" : "s");
    put_step(s, &line);
}

/* How it ended, in a few words: "ok", "ZeroDivisionError: division by zero", "timeout". */
static void add_ending(const json_t *run, struct buf *to)
{
    const json_t *error = json_object_get(run, "error");
    const char *end = pick_text(run, "end"), *name = pick_text(error, "name");
    const char *message = pick_text(error, "message");
    size_t len = strcspn(message, "\n");
    if (strcmp(end, "error") != 0 || !*name) {
        printable(end, strlen(end), to);
        return;
    }
    printable(name, strlen(name), to);
    buf_str(to, len > 0 ? ": " : "");
    printable(message, len < LINE_MAX ? len : LINE_MAX, to);
}

/* The first lines of what it printed, and how many there are besides. */
static void add_output(const char *text, size_t lines_max, struct buf *to)
{
    size_t total = count_lines(text), count = 0;
    for (; *text && count < lines_max; count++) {
        size_t len = strcspn(text, "\n");
        buf_str(to, "    ");
        printable_lines(text, len < LINE_MAX ? len : LINE_MAX, to);
        buf_str(to, len > LINE_MAX ? "...\n" : "\n");
        text += len + (text[len] == '\n');
    }
    if (total > count)
        buf_fmt(to, "    ... and %zu more line%s\n", total - count, total - count == 1 ? "" : "s");
}

static void on_run_done(struct ask_show *s, const json_t *value)
{
    scoped(buf_done) struct buf text = BUF_INIT(STEP_MAX);
    char time[TIME_TEXT];
    const json_t *spent = json_object_get(value, "duration_ms");
    size_t lines_max = s->shows_code ? LINES_MANY : LINES_FEW;
    double ms = json_is_number(spent) ? json_number_value(spent)
                                      : (double)(clock_us() - s->run_started_us) / 1000;
    if (s->part != PART_RUN)
        begin(s, PART_RUN);
    add_ending(value, &text);
    buf_fmt(&text, ", %s\n", time_text(ms, time));
    s->run_started_us = 0;
    add_output(pick_text(value, "stdout"), lines_max, &text);
    add_output(pick_text(value, "stderr"), lines_max, &text);
    add_output(pick_text(json_object_get(value, "result"), "text/plain"), lines_max, &text);
    if (s->shows_code)
        add_output(pick_text(json_object_get(value, "error"), "traceback"), lines_max, &text);
    put_step(s, &text);
}

int ask_show_event(void *arg, const char *event, const struct json_t *value, struct err *e)
{
    struct ask_show *s = arg;
    if (strcmp(event, "thinking") == 0)
        on_thinking(s, pick_text(value, "text"));
    else if (strcmp(event, "text") == 0)
        on_text(s, pick_text(value, "text"));
    else if (strcmp(event, "code") == 0)
        on_code(s, pick_text(value, "text"));
    else if (strcmp(event, "run.started") == 0)
        on_run_started(s, value);
    else if (strcmp(event, "run.done") == 0)
        on_run_done(s, value);
    return s->failed ? err_sys(e, s->failed, "write the answer") : 0;
}

/* ---- the end ---- */

int ask_print(struct stop *stop, const char *text)
{
    size_t len = strlen(text);
    scoped(buf_done) struct buf clean = BUF_INIT(3 * len + 1);
    if (!isatty(STDOUT_FILENO))
        return outlet_write(STDOUT_FILENO, stop, text, len);
    printable_lines(text, len, &clean);
    return outlet_write(STDOUT_FILENO, stop, clean.bytes ? clean.bytes : "", clean.len);
}

int ask_show_answer(struct ask_show *s, const char *answer)
{
    bool is_seen = s->is_live && s->part == PART_TEXT && s->said.len == strlen(answer) &&
                   memcmp(s->said.bytes ? s->said.bytes : "", answer, s->said.len) == 0;
    end_lines(s);
    if (!is_seen)
        put_out(s, answer, strlen(answer));
    if (s->is_out_mid_line)
        put_out(s, "\n", 1);
    return s->failed;
}
