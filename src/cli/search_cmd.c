/* search_cmd.c -- `cicada search WORDS`: where something is, in files and runs of the server. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/cites.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stage.h"
#include "cli/verbs.h"

enum { OPT_PATH = VERB_OWN, OPT_TYPE, OPT_AFTER, OPT_BEFORE, OPT_RUNS, OPT_FILES, OPT_LIMIT };
enum { WORDS_MAX = 64, OUT_MAX = 4 << 20 };

/* ---- the question ---- */

static void add_parameter(struct buf *to, const char *name, const char *value)
{
    if (!value)
        return;
    buf_fmt(to, "&%s=", name);
    client_encode(to, value);
}

/* A word that was given in quotes to the shell has blanks in it: it is a phrase. */
static void add_words(struct buf *to, const struct verb_input *in)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        const char *word = in->operands[i];
        bool is_phrase = in->operand_count > 1 && strchr(word, ' ') && !strchr(word, '"');
        if (i)
            client_encode(to, " ");
        client_encode(to, is_phrase ? "\"" : "");
        client_encode(to, word);
        client_encode(to, is_phrase ? "\"" : "");
    }
}

static void write_question(const struct verb_input *in, struct buf *to)
{
    buf_str(to, "/api/v1/search?q=");
    add_words(to, in);
    add_parameter(to, "workspace", in->values[VERB_WORKSPACE]);
    add_parameter(to, "path", in->values[OPT_PATH]);
    add_parameter(to, "type", in->values[OPT_TYPE]);
    add_parameter(to, "after", in->values[OPT_AFTER]);
    add_parameter(to, "before", in->values[OPT_BEFORE]);
    add_parameter(to, "limit", in->values[OPT_LIMIT]);
    if (in->values[OPT_RUNS] || in->values[OPT_FILES])
        add_parameter(to, "kind", in->values[OPT_RUNS] ? "runs" : "files");
}

/* ---- the answer, for people ---- */

/* What is marked is bold where that can be seen. */
static void add_snippet(struct buf *to, const char *snippet, bool is_terminal)
{
    bool is_bold = false;
    while (*snippet) {
        const char *mark = strstr(snippet, "**");
        size_t len = mark ? (size_t)(mark - snippet) : strlen(snippet);
        printable(snippet, len, to);
        snippet += len;
        if (!mark)
            break;
        is_bold = !is_bold;
        buf_str(to, !is_terminal ? "**" : is_bold ? "\033[1m" : "\033[0m");
        snippet += 2;
    }
    if (is_bold && is_terminal)
        buf_str(to, "\033[0m");
}

static void add_result(struct buf *to, const json_t *hit, bool has_workspace, bool is_terminal)
{
    const char *path = pick_text(hit, "path"), *run = pick_text(hit, "run_id");
    if (!has_workspace)
        buf_fmt(to, "%s:", pick_text(hit, "workspace_id"));
    if (*run)
        buf_fmt(to, "%s", run);
    else
        printable(path, strlen(path), to);
    if (json_object_get(hit, "version"))
        buf_fmt(to, ", version %llu", (unsigned long long)pick_count(hit, "version"));
    cite_add(to, json_object_get(hit, "cite"));
    if (strcmp(pick_text(hit, "match"), "keyword") != 0)
        buf_fmt(to, " (%s)", pick_text(hit, "match"));
    buf_str(to, "\n    ");
    add_snippet(to, pick_text(hit, "snippet"), is_terminal);
    buf_str(to, "\n");
}

static int print(const struct verb_input *in, const json_t *found, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(OUT_MAX);
    bool is_terminal = isatty(STDOUT_FILENO);
    size_t index;
    const json_t *hit;
    json_array_foreach((json_t *)found, index, hit)
    {
        if (verb_is_json(in)) {
            if (stage_print(/* stop= */ NULL, hit))
                return EXIT_NO_READER;
            continue;
        }
        add_result(&text, hit, in->values[VERB_WORKSPACE] != NULL, is_terminal);
    }
    if (buf_check(&text, e))
        return -1;
    int code = text.len ? verb_print_text(&text) : EXIT_DONE;
    return code == EXIT_DONE && json_array_size(found) == 0 ? EXIT_ERROR : code;
}

static int search(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    json_t *answer = NULL;
    write_question(in, &path);
    if (buf_check(&path, e) ||
        client_call(r->client, &(struct call){.path = path.bytes}, &answer, e))
        return -1;
    int code = print(in, json_object_get(answer, "data"), e);
    json_decref(answer);
    return code;
}

/* ---- the command ---- */

static const struct option options[] = {
    {VERB_WORKSPACE, 'w', "workspace", "NAME",
     "only in this workspace, by name or id (all you may read)"},
    {OPT_PATH, 'p', "path", "PATTERN", "only where the path begins so, or fits a pattern with *"},
    {OPT_TYPE, 't', "type", "TYPE", "only files of a type: csv, text/csv, image/"},
    {OPT_AFTER, 0, "after", "TIME", "changed then or later: 2026-07-01, 2026-07-01T12:30:00Z"},
    {OPT_BEFORE, 0, "before", "TIME", "changed before"},
    {OPT_FILES, 0, "files", NULL, "only files"},
    {OPT_RUNS, 0, "runs", NULL, "only runs: their code and what they printed"},
    {OPT_LIMIT, 'n', "limit", "N", "at most so many (20, up to 100)"},
    VERB_COMMON,
    {0}};

static const struct verb verbs[] = {
    {"search", "WORDS...", 1, VERB_OPERANDS_MAX, options, "look for words", search},
    {0},
};

static const struct verb_command command = {.name = "search", .verbs = verbs};

int search_main(int argc, char **argv)
{
    char word[] = "search";
    char *words[WORDS_MAX + 1] = {word};
    if (argc >= WORDS_MAX)
        return usage_error("search", "too many words");
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    return verbs_main(&command, argc + 1, words);
}

void search_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada search [OPTION...] WORDS...\n\n"
            "Looks for words in the files of the workspaces you may read, and in your runs. Says "
            "where they\nare: path, version and page, line, row or cell. Files that have all words "
            "come first. \"Words in\nquotes\" follow each other, wor* begins so; put -- before "
            "words that begin with -, which must\nnot be there. Ends with 1 when nothing is "
            "found.\n\noptions:\n");
    args_help(options, out);
    buf_str(out, "\nexamples:\n"
                 "  cicada search quarterly revenue\n"
                 "  cicada search -w reports -t pdf 'wind tunnel'\n"
                 "  cicada search --runs ZeroDivisionError\n"
                 "  cicada search --json invoice | jq -r .path\n");
}
