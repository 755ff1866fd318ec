/* prompts_text.c -- what prompts there are: tasks that people choose from a menu, in words that a model
 * works well from. */
#include "mcp/prompts.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "base/utf8.h"
#include "mcp/mcp_int.h"

enum {
    CODE_MAX = 20 << 10, /* bytes of a run that are shown */
    TRACE_MAX = 8 << 10, /* the end of each of these: it says what went wrong */
    REPORT_PATHS_MAX = 20,
    LISTED_MAX = 200, /* files of a workspace */
    SAID_MAX = 128 << 10,
};

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* ---- analyze_file ---- */

static int analyze_file(struct mcp_call *m, const char *const *values, struct err *e)
{
    const char *path = native_clean(values[0]);
    scoped(buf_done) struct buf text = BUF_INIT(SAID_MAX);
    buf_fmt(&text, "Analyze the file `%s`; code finds it at `/mnt/data/%s`.\n", path, path);
    if (values[1])
        buf_fmt(&text, "The question is: %s\n", values[1]);
    buf_str(
        &text,
        "\n1. Look at it first: read_file shows the beginning. For a table say what the columns are, "
        "how many rows there are, and what is missing or odd.\n"
        "2. Compute with run_code rather than by eye. Keep the session_id, so that what was loaded "
        "stays.\n");
    buf_str(&text,
            values[1]
                ? "3. Answer the question with the numbers that show it, and a chart if it helps.\n"
                : "3. Tell the most important findings with the numbers that show them, and make a "
                  "chart of the clearest.\n");
    buf_str(&text,
            "4. Say what the data cannot tell. Save what is worth keeping under /mnt/data and name "
            "the files.\n");
    prompt_say(m, &text);
    return prompt_show_file(m, NULL, path, e) ? prompt_wrong(m, "path", path, e) : 0;
}

/* ---- fix_error ---- */

/* At most `max` bytes of it, from its end, as a block. */
static void add_block(struct buf *out, const char *title, const char *language, const char *body,
                      size_t max)
{
    size_t len = strlen(body);
    if (len == 0)
        return;
    const char *from = body;
    if (len > max) {
        from = body + (len - max);
        from += utf8_skip(from, max);
    }
    buf_fmt(out, "\n%s%s\n~~~%s\n%s%s~~~\n", title, from > body ? " (its end)" : "", language, from,
            from[0] && from[strlen(from) - 1] == '\n' ? "" : "\n");
}

static void describe_run(struct buf *out, const json_t *run)
{
    const json_t *error = json_object_get(run, "error");
    const char *end = text_of(run, "end");
    buf_fmt(out, "The run %s in session %s ended with `%s`", text_of(run, "id"),
            text_of(run, "session_id"), *end ? end : text_of(run, "status"));
    if (json_is_object(error))
        buf_fmt(out, ": %s: %.500s", text_of(error, "name"), text_of(error, "message"));
    buf_str(out, ".\n");
    if (*text_of(run, "hint"))
        buf_fmt(out, "%s\n", text_of(run, "hint"));
    add_block(out, "The code:", text_of(run, "language"), text_of(run, "code"), CODE_MAX);
    add_block(out, "The traceback:", "", text_of(error, "traceback"), TRACE_MAX);
    add_block(out, "What it wrote to stderr:", "", text_of(run, "stderr"), TRACE_MAX);
    add_block(out, "The end of its output:", "", text_of(run, "stdout"), TRACE_MAX / 4);
}

static int fix_error(struct mcp_call *m, const char *const *values, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf text = BUF_INIT(SAID_MAX);
    native_text(&n, "/api/v1/runs/");
    native_piece(&n, values[0]);
    if (native_call(m, &n, e))
        return prompt_wrong(m, "execution_id", values[0], e);
    if (!n.json)
        return mcp_fail(m, RPC_PARAMS, e,
                        "execution_id: the run showed too much; look at it with get_execution");
    bool is_fine = strcmp(text_of(n.json, "end"), "ok") == 0;
    describe_run(&text, n.json);
    buf_fmt(
        &text,
        "\n%s Then change the code and run it with run_code in session_id `%s`, where its variables "
        "still are if the session is open; if it has expired, start a new one and load what is needed "
        "again. Go on until it works, and say in a sentence what was wrong.\n",
        is_fine ? "It did not fail: check whether what it did is what was wanted."
                : "Find out why it failed; look at the data it was about before guessing.",
        text_of(n.json, "session_id"));
    prompt_say(m, &text);
    return buf_check(&text, e);
}

/* ---- make_report ---- */

/* Cuts the next of a list with commas or line ends between; NULL: that was all. */
static char *next_path(char **rest)
{
    char *at = *rest;
    at += strspn(at, " ,\n\t");
    if (!*at)
        return NULL;
    size_t len = strcspn(at, ",\n");
    *rest = at + len + (at[len] != '\0');
    while (len > 0 && at[len - 1] == ' ')
        len--;
    at[len] = '\0';
    return at;
}

static int make_report(struct mcp_call *m, const char *const *values, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(SAID_MAX);
    scoped(freep) char *paths = strdup(values[0]);
    if (!paths)
        return err_set(e, ERR_NO_MEMORY, "make a prompt");
    buf_fmt(&text, "Write a report%s%s%s from the files that follow.\n",
            values[1] ? " with the title \"" : "", values[1] ? values[1] : "",
            values[1] ? "\"" : "");
    buf_str(
        &text,
        "\n1. Look at each file first (read_file), then compute with run_code in one session.\n"
        "2. Save the charts as PNG under /mnt/data/report/.\n"
        "3. Write /mnt/data/report/report.md: a summary of at most five sentences, then one section per "
        "finding with its numbers and its chart, then what the data cannot tell.\n"
        "4. Every number has to come from a computation, and say which file it is from.\n"
        "5. At the end tell the summary, and name the files that were made.\n");
    prompt_say(m, &text);
    char *rest = paths, *path;
    size_t count = 0;
    while ((path = next_path(&rest))) {
        if (++count > REPORT_PATHS_MAX)
            return mcp_fail(m, RPC_PARAMS, e, "paths: at most %d files", REPORT_PATHS_MAX);
        if (prompt_show_file(m, NULL, path, e))
            return prompt_wrong(m, "paths", path, e);
    }
    if (count == 0)
        return mcp_fail(m, RPC_PARAMS, e,
                        "paths: name at least one file, as in data/a.csv, data/b.csv");
    return buf_check(&text, e);
}

/* ---- summarize_workspace ---- */

static void list_files(struct buf *out, const json_t *answer)
{
    const json_t *files = json_object_get(answer, "data");
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        if (strcmp(text_of(file, "kind"), "file") != 0)
            continue;
        buf_fmt(out, "- %s (%lld bytes, changed %.10s)\n", text_of(file, "path"),
                (long long)json_integer_value(json_object_get(file, "size")),
                text_of(file, "modified_at"));
        count++;
    }
    if (count == 0)
        buf_str(out, "It has no files yet.\n");
    if (json_is_true(json_object_get(answer, "has_more")))
        buf_fmt(out, "These are the first %zu by name; list_files shows the others.\n", count);
}

static int summarize_workspace(struct mcp_call *m, const char *const *values, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf text = BUF_INIT(512 << 10);
    native_workspace(&n, values[0]);
    native_text(&n, "/files");
    native_query(&n, "recursive", "true");
    native_query_u64(&n, "limit", LISTED_MAX);
    if (native_call(m, &n, e))
        return prompt_wrong(m, "workspace_id", values[0] ? values[0] : "default", e);
    buf_fmt(&text, "Summarize what is in the workspace%s%s.\n\n", values[0] ? " " : "",
            values[0] ? values[0] : "");
    list_files(&text, n.json);
    buf_str(
        &text,
        "\nSay what this is about, which files belong together, which are results and which are data, "
        "and what seems to be unfinished. Look into the files that matter with read_file or "
        "search_files rather than guessing from their names. Change nothing. End with up to three "
        "things that could be done next.\n");
    prompt_say(m, &text);
    return buf_check(&text, e);
}

/* ---- the list ---- */

const struct prompt prompts[] = {
    {"analyze_file",
     "Analyze a file",
     "Look at a file of the workspace, compute what matters in it, and tell the findings.",
     {{"path", "File", "Its path in the workspace, such as data/sales.csv.", true},
      {"question", "Question", "What to find out; left out: whatever is most important.", false}},
     analyze_file},
    {"fix_error",
     "Fix a failed run",
     "Take a run that failed, with its code and its traceback, and make it work.",
     {{"execution_id", "Run", "The id of the run, as run_code gives it.", true}},
     fix_error},
    {"make_report",
     "Make a report",
     "Write a report with charts from files of the workspace.",
     {{"paths", "Files", "Paths in the workspace, with commas between.", true},
      {"title", "Title", "Of the report.", false}},
     make_report},
    {"summarize_workspace",
     "Summarize a workspace",
     "Say what is in a workspace and what could be done next.",
     {{"workspace_id", "Workspace", "Its id; left out: the default one.", false}},
     summarize_workspace},
    {0},
};
