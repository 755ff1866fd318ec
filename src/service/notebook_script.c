/* notebook_script.c -- the code of a session as a script. */
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "service/notebook_int.h"
#include "store/rows.h"

void script_begin(struct buf *out, const char *session)
{
    buf_fmt(out,
            "#!/usr/bin/env python3\n# The code of session %s, in the order in which it ran.\n",
            session);
}

/* A line that only IPython understands. */
static bool is_magic(const char *line, size_t len)
{
    while (len > 0 && (*line == ' ' || *line == '\t')) {
        line++;
        len--;
    }
    return len > 1 && (*line == '%' || *line == '!') && line[1] != '=';
}

static bool is_cell_magic(const struct run_row *run)
{
    return run->code_len > 2 && memcmp(run->code, "%%", 2) == 0;
}

static void put_moment(struct buf *out, int64_t wall_us)
{
    char text[32];
    struct tm utc;
    time_t seconds = (time_t)(wall_us / 1000000);
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
    buf_str(out, text);
}

void script_run(struct buf *out, const struct run_row *run, const char *session, size_t number)
{
    bool is_python = !run->language || strcmp(run->language, "python") == 0;
    bool is_foreign = !is_python || is_cell_magic(run);
    buf_fmt(out, "\n# %%%% [%zu] %s, ", number, run->id);
    put_moment(out, run->started_us);
    if (strcmp(run->session, session) != 0)
        buf_fmt(out, ", of %s", run->session);
    if (!is_python)
        buf_fmt(out, ", in %s", run->language);
    if (run->end && strcmp(run->end, "ok") != 0)
        buf_fmt(out, "; it ended with %s", run->end);
    buf_str(out, "\n");
    for (size_t at = 0; at < run->code_len;) {
        const char *line = run->code + at, *end = memchr(line, '\n', run->code_len - at);
        size_t len = end ? (size_t)(end - line) : run->code_len - at;
        if (is_foreign || is_magic(line, len))
            buf_str(out, len ? "# " : "#");
        buf_add(out, line, len);
        buf_str(out, "\n");
        at += len + 1;
    }
}
