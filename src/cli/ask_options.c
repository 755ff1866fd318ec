#include "cli/ask_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "base/scope.h"

enum {
    OPT_FILE = 1,
    OPT_WORKSPACE,
    OPT_SESSION,
    OPT_OUT,
    OPT_CODE,
    OPT_MODEL,
    OPT_INSTRUCTIONS,
    OPT_SEARCH,
    OPT_NO_SEARCH,
    OPT_VERIFY,
    OPT_RUNS,
    OPT_TOKENS,
    OPT_TIMEOUT,
    OPT_JSON,
    OPT_LIST,
    OPT_LIMIT,
    OPT_TRANSCRIPT,
    OPT_FORMAT,
    OPT_HELP,
};

enum { RUNS_MAX = 200, TIMEOUT_MAX_S = 86400, LIST_MAX = 10000, LIST_PRESET = 20 };

const struct option ask_option_table[] = {
    {OPT_FILE, 'f', "file", "FILE[=NAME]",
     "bring a file to the workspace first, under its own name or\n"
     "NAME; may be repeated"},
    {OPT_WORKSPACE, 'w', "workspace", "NAME",
     "in this workspace, by name or id (your default one); without\n"
     "-f the model searches it and says where it found what"},
    {OPT_SESSION, 's', "session", "NAME",
     "go on in this session, by name or id: its variables are there,\n"
     "and what was asked in it before; or after an answer, by its id"},
    {OPT_OUT, 'o', "out", "DIR", "fetch the files that were made to DIR"},
    {OPT_CODE, 0, "show-code", NULL, "show the code that is run, and more of what it prints"},
    {OPT_MODEL, 0, "model", "NAME", "ask this model (the server's)"},
    {OPT_INSTRUCTIONS, 0, "instructions", "TEXT", "what the model should heed besides"},
    {OPT_SEARCH, 0, "search", NULL, "let the model search the workspace, also with -f"},
    {OPT_NO_SEARCH, 0, "no-search", NULL, "do not, also without -f"},
    {OPT_VERIFY, 0, "verify", NULL,
     "run the code again in a fresh session and compare; ends\n"
     "with 3 when it does not come out the same"},
    {OPT_RUNS, 0, "max-runs", "N", "let it run code so often at most"},
    {OPT_TOKENS, 0, "max-tokens", "N", "let it use so many tokens at most"},
    {OPT_TIMEOUT, 0, "timeout", "SECONDS", "give up after so long"},
    {OPT_JSON, 0, "json", NULL, "print the answer object instead"},
    {OPT_LIST, 0, "list", NULL, "list answers that are kept, the newest first"},
    {OPT_LIMIT, 'n', "limit", "N", "list so many at most (20)"},
    {OPT_TRANSCRIPT, 0, "transcript", "ID",
     "show how an answer came about: question, code, output, answer"},
    {OPT_FORMAT, 0, "format", "FORMAT", "of the transcript: markdown, notebook or json (markdown)"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

static int add_file(struct ask_options *o, const char *word, struct err *e)
{
    if (o->guest_count == ASK_FILES_MAX)
        return err_set(e, ERR_INVALID,
                       "more than %d files with -f; store them with `cicada files put` and ask "
                       "with -w",
                       ASK_FILES_MAX);
    if (guest_read(word, &o->guests[o->guest_count], e))
        return -1;
    o->wish.files[o->guest_count] = o->guests[o->guest_count].name;
    o->wish.file_count = ++o->guest_count;
    return 0;
}

static int take_number(const struct arg *arg, const char *name, uint64_t max, uint64_t *ret,
                       struct err *e)
{
    return parse_u64(arg->value, 1, max, ret, e) ? err_wrap(e, "--%s", name) : 0;
}

static int take_operand(struct ask_options *o, const char *word, struct err *e)
{
    if (o->operand && access(word, F_OK) == 0)
        return err_set(e, ERR_INVALID, "'%.60s' is one too many; a file is named by -f %.60s", word,
                       word);
    if (o->operand)
        return err_set(e, ERR_INVALID, "'%.60s' is one too many; put the question in quotes", word);
    o->operand = word;
    return 0;
}

static void take_switch(struct ask_options *o, int id)
{
    switch (id) {
    case OPT_CODE: o->shows_code = true; break;
    case OPT_SEARCH:
    case OPT_NO_SEARCH:
        o->has_search = true;
        o->wish.is_searching = id == OPT_SEARCH;
        break;
    case OPT_VERIFY: o->wish.is_verified = true; break;
    case OPT_JSON: o->is_json = true; break;
    case OPT_LIST: o->task = ASK_LISTING; break;
    case OPT_HELP: o->is_help = true; break;
    default: break;
    }
}

static int take_arg(struct ask_options *o, const struct arg *arg, struct err *e)
{
    switch (arg->id) {
    case 0: return take_operand(o, arg->value, e);
    case OPT_FILE: return add_file(o, arg->value, e);
    case OPT_WORKSPACE: o->wish.workspace = arg->value; break;
    case OPT_SESSION: o->wish.session = arg->value; break;
    case OPT_OUT: o->out_dir = arg->value; break;
    case OPT_MODEL: o->wish.model = arg->value; break;
    case OPT_INSTRUCTIONS: o->wish.instructions = arg->value; break;
    case OPT_RUNS: return take_number(arg, "max-runs", RUNS_MAX, &o->wish.max_runs, e);
    case OPT_TOKENS: return take_number(arg, "max-tokens", INT64_MAX, &o->wish.max_tokens, e);
    case OPT_TIMEOUT: return take_number(arg, "timeout", TIMEOUT_MAX_S, &o->wish.timeout_s, e);
    case OPT_LIMIT: return take_number(arg, "limit", LIST_MAX, &o->limit, e);
    case OPT_TRANSCRIPT:
        o->task = ASK_SHOWING;
        o->transcript = arg->value;
        break;
    case OPT_FORMAT: o->format = arg->value; break;
    default: take_switch(o, arg->id); break;
    }
    return 0;
}

static bool is_format(const char *word)
{
    return strcmp(word, "markdown") == 0 || strcmp(word, "notebook") == 0 ||
           strcmp(word, "json") == 0;
}

static int check(struct ask_options *o, struct err *e)
{
    const struct ask_wish *w = &o->wish;
    if (o->task != ASK_QUESTION && o->operand)
        return err_set(e, ERR_INVALID, "--list and --transcript take no question");
    if (o->task != ASK_SHOWING && o->format)
        return err_set(e, ERR_INVALID, "--format belongs to --transcript");
    if (o->format && !is_format(o->format))
        return err_set(e, ERR_INVALID, "--format is markdown, notebook or json, not '%.40s'",
                       o->format);
    if ((w->workspace && !*w->workspace) || (w->session && !*w->session) ||
        (w->model && !*w->model) || (o->transcript && !*o->transcript))
        return err_set(e, ERR_INVALID, "a name is empty");
    return 0;
}

int ask_options_parse(int argc, char **argv, struct ask_options *ret, struct err *e)
{
    struct args args = ARGS(argc, argv, ask_option_table);
    struct arg arg;
    int got;
    *ret = (struct ask_options){.limit = LIST_PRESET};
    while ((got = args_next(&args, &arg, e)) == 1)
        if (take_arg(ret, &arg, e))
            return -1;
    if (got || ret->is_help)
        return got;
    if (check(ret, e))
        return -1;
    if (!ret->format)
        ret->format = "markdown";
    if (!ret->has_search)
        ret->wish.is_searching = ret->wish.workspace && ret->guest_count == 0;
    return 0;
}

void ask_options_done(struct ask_options *o)
{
    for (size_t i = 0; i < o->guest_count; i++)
        guest_done(&o->guests[i]);
    free(o->question);
    *o = (struct ask_options){0};
}

static int read_stdin(char **ret, struct err *e)
{
    scoped(freep) char *text = malloc(ASK_QUESTION_MAX + 1);
    size_t len;
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "read the question");
    if (fd_read_all(STDIN_FILENO, text, ASK_QUESTION_MAX + 1, &len, e))
        return err_wrap(e, "standard input");
    if (len > ASK_QUESTION_MAX || memchr(text, '\0', len))
        return err_set(e, ERR_INVALID,
                       "a question is text of at most %d KiB; bring data in a file with -f",
                       ASK_QUESTION_MAX >> 10);
    text[len] = '\0';
    *ret = take(text);
    return 0;
}

int ask_options_read(struct ask_options *o, bool has_terminal, struct err *e)
{
    if (o->task != ASK_QUESTION)
        return 0;
    if (!o->operand && has_terminal)
        return err_set(e, ERR_INVALID,
                       "what is the question? Write it in quotes, or - to read it from standard "
                       "input");
    bool is_piped = !o->operand || strcmp(o->operand, "-") == 0;
    if (is_piped && read_stdin(&o->question, e))
        return -1;
    if (!is_piped && !(o->question = strdup(o->operand)))
        return err_set(e, ERR_NO_MEMORY, "read the question");
    if (!o->question[strspn(o->question, " \t\r\n")])
        return err_set(e, ERR_INVALID, "the question is empty; write it in quotes");
    o->wish.question = o->question;
    return 0;
}
