#include "cli/run_options.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/parse.h"
#include "session/zone.h"

enum option_id {
    OPT_CODE = 1,
    OPT_LANGUAGE,
    OPT_FILE,
    OPT_OUT,
    OPT_TIMEOUT,
    OPT_MEMORY,
    OPT_CPU,
    OPT_PIDS,
    OPT_DISK,
    OPT_OUTPUT,
    OPT_STDIN,
    OPT_ENV,
    OPT_TZ,
    OPT_JSON,
    OPT_SHOW,
    OPT_COLD,
    OPT_SESSION,
    OPT_WORKSPACE,
    OPT_SERVER,
    OPT_DIRECT,
    OPT_HELP,
};

/* clang-format off */
const struct option run_option_table[] = {
    {OPT_CODE, 'c', "code", "CODE", "run this text; may be given several times: the pieces run in\n"
                                    "order in one session, up to the first that fails"},
    {OPT_LANGUAGE, 'l', "language", "NAME", "python, bash or javascript; by itself a FILE that ends in\n"
                                            ".sh or .js is bash or javascript, all else is python"},
    {OPT_FILE, 'f', "file", "FILE[=NAME]", "bring a file or directory to /mnt/data, under its own\n"
                                           "name or NAME; may be given several times"},
    {OPT_OUT, 'o', "out", "DIR", "copy files the code made or changed to DIR, and save figures\n"
                                 "there; DIR is created if it is missing"},
    {OPT_TIMEOUT, 0, "timeout", "SECONDS", "wall clock limit of each piece (60)"},
    {OPT_MEMORY, 0, "memory", "SIZE", "memory limit in MiB, or with a suffix: 512, 512M, 2G (1G)"},
    {OPT_CPU, 0, "cpu", "CORES", "cores the session may use, such as 0.5 or 2 (1)"},
    {OPT_PIDS, 0, "pids", "N", "processes and threads (128)"},
    {OPT_DISK, 0, "disk", "SIZE", "what /mnt/data may grow by, in MiB or with a suffix (256M)"},
    {OPT_OUTPUT, 0, "output", "SIZE", "bytes of each output stream that are kept, with suffixes\n"
                                      "(1M); of more than that, beginning and end"},
    {OPT_STDIN, 0, "stdin", "TEXT", "lines for input(): TEXT, @FILE, or - for standard input"},
    {OPT_ENV, 0, "env", "NAME=VALUE", "set an environment variable for the code"},
    {OPT_TZ, 0, "tz", "ZONE", "time zone of the session, such as Europe/Berlin (UTC)"},
    {OPT_JSON, 0, "json", NULL, "print the run as one JSON object on one line instead of its\n"
                                "output; with several pieces, one line each"},
    {OPT_SHOW, 0, "show", NULL, "show figures in the terminal too, where it can (kitty, iTerm2,\n"
                                "sixel)"},
    {OPT_COLD, 0, "cold", NULL, "start Python from nothing, even if there is an image (cicada bake)"},
    {OPT_SESSION, 's', "session", "NAME", "run in this session of the server, by name or id; it is\n"
                                          "made if it is missing, and keeps its variables"},
    {OPT_WORKSPACE, 'w', "workspace", "NAME", "in this workspace of the server, by name or id (your\n"
                                              "default one)"},
    {OPT_SERVER, 0, "server", NULL, "run on the server; start one if there is none"},
    {OPT_DIRECT, 0, "direct", NULL, "run here, even if there is a server"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};
/* clang-format on */

static int add_piece(struct run_options *o, enum piece_kind kind, const char *word, struct err *e)
{
    if (o->piece_count == PIECES_MAX)
        return err_set(e, ERR_INVALID, "more than %d pieces of code; put them in a file",
                       PIECES_MAX);
    o->pieces[o->piece_count++] = (struct piece){.kind = kind, .word = word};
    return 0;
}

static int add_operand(struct run_options *o, const char *word, struct err *e)
{
    for (size_t i = 0; i < o->piece_count; i++)
        if (o->pieces[i].kind != PIECE_TEXT)
            return err_set(
                e, ERR_INVALID,
                "one FILE at a time, and '%.60s' is a second one; bring data with -f, set "
                "sys.argv with -c before FILE",
                word);
    return add_piece(o, strcmp(word, "-") == 0 ? PIECE_STDIN : PIECE_FILE, word, e);
}

static int add_env(struct run_options *o, const char *word, struct err *e)
{
    size_t len = strcspn(word, "=");
    bool is_name = len > 0 && word[len] && !isdigit((unsigned char)word[0]);
    for (size_t i = 0; i < len; i++)
        is_name = is_name && (isalnum((unsigned char)word[i]) || word[i] == '_');
    if (!is_name)
        return err_set(e, ERR_INVALID, "'%.60s' is not NAME=VALUE", word);
    if (o->env_count == ENV_MAX)
        return err_set(e, ERR_INVALID, "more than %d variables", ENV_MAX);
    o->env[o->env_count++] = word;
    return 0;
}

/* A number for people: the limit in the unit its option is written in. */
static int out_of_range(const char *text, double min, double max, const char *unit, struct err *e)
{
    return err_set(e, ERR_INVALID, "%.40s is not between %.10g and %.10g%s", text, min, max, unit);
}

static int set_size(const char *text, uint64_t unit, uint64_t min, uint64_t max, uint64_t *field,
                    struct err *e)
{
    uint64_t bytes;
    if (parse_size(text, unit, &bytes, e))
        return -1;
    if (bytes < min || bytes > max)
        return unit == 1 ? out_of_range(text, (double)min, (double)max, " bytes", e)
                         : out_of_range(text, (double)min / MIB, (double)max / MIB, " MiB", e);
    *field = bytes;
    return 0;
}

static int set_milli(const char *text, uint32_t min, uint32_t max, const char *unit,
                     uint32_t *field, struct err *e)
{
    uint64_t milli;
    if (parse_milli(text, &milli, e))
        return -1;
    if (milli < min || milli > max)
        return out_of_range(text, min / 1000.0, max / 1000.0, unit, e);
    *field = (uint32_t)milli;
    return 0;
}

static int set_limit(struct limits *l, int id, const char *text, struct err *e)
{
    const struct limits min = LIMITS_MIN, max = LIMITS_MAX;
    uint64_t n;
    switch (id) {
    case OPT_TIMEOUT: return set_milli(text, min.wall_ms, max.wall_ms, " seconds", &l->wall_ms, e);
    case OPT_CPU: return set_milli(text, min.cpu_milli, max.cpu_milli, " cores", &l->cpu_milli, e);
    case OPT_MEMORY:
        return set_size(text, MIB, min.memory_bytes, max.memory_bytes, &l->memory_bytes, e);
    case OPT_DISK: return set_size(text, MIB, min.disk_bytes, max.disk_bytes, &l->disk_bytes, e);
    case OPT_OUTPUT:
        return set_size(text, 1, min.output_bytes, max.output_bytes, &l->output_bytes, e);
    default: assert(id == OPT_PIDS);
    }
    if (parse_u64(text, min.pids, max.pids, &n, e))
        return -1;
    l->pids = (uint32_t)n;
    return 0;
}

static unsigned given_bit(int id)
{
    switch (id) {
    case OPT_TIMEOUT: return LIMIT_GIVEN_WALL;
    case OPT_MEMORY: return LIMIT_GIVEN_MEMORY;
    case OPT_CPU: return LIMIT_GIVEN_CPU;
    case OPT_PIDS: return LIMIT_GIVEN_PIDS;
    case OPT_DISK: return LIMIT_GIVEN_DISK;
    default: return LIMIT_GIVEN_OUTPUT;
    }
}

static int apply(struct run_options *o, const struct arg *arg, struct err *e)
{
    switch (arg->id) {
    case 0: return add_operand(o, arg->value, e);
    case OPT_CODE: return add_piece(o, PIECE_TEXT, arg->value, e);
    case OPT_FILE: return run_options_add_guest(o, arg->value, e);
    case OPT_OUT: o->out_dir = arg->value; return 0;
    case OPT_STDIN: o->stdin_word = arg->value; return 0;
    case OPT_ENV: return add_env(o, arg->value, e);
    case OPT_LANGUAGE:
        o->has_language = true;
        return run_language_parse(arg->value, &o->language, e);
    case OPT_TZ: o->tz = arg->value; return zone_check(arg->value, e);
    case OPT_JSON: o->is_json = true; return 0;
    case OPT_SHOW: o->is_show = true; return 0;
    case OPT_COLD: o->is_cold = true; return 0;
    case OPT_SESSION: o->session = arg->value; return 0;
    case OPT_WORKSPACE: o->workspace = arg->value; return 0;
    case OPT_SERVER: o->is_server = true; return 0;
    case OPT_DIRECT: o->is_direct = true; return 0;
    case OPT_HELP: o->is_help = true; return 0;
    default:
        o->limits_given |= given_bit(arg->id);
        return set_limit(&o->limits, arg->id, arg->value, e);
    }
}

/* The option an argument came from, for messages. */
static const char *spelling(int id)
{
    for (const struct option *o = run_option_table; o->id; o++)
        if (o->id == id)
            return o->name;
    return "";
}

int run_options_parse(int argc, char **argv, struct run_options *ret, struct err *e)
{
    *ret = (struct run_options){.limits = LIMITS_DEFAULT, .tz = ""};
    struct args args = ARGS(argc, argv, run_option_table);
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, e)) == 1)
        if (apply(ret, &arg, e))
            return arg.id && arg.id != OPT_FILE ? err_wrap(e, "--%s", spelling(arg.id)) : -1;
    if (got < 0 || ret->is_help)
        return got;
    if (ret->is_json && ret->is_show)
        return err_set(e, ERR_INVALID, "--json and --show exclude each other; leave out one");
    if (ret->is_direct && (ret->is_server || ret->session))
        return err_set(e, ERR_INVALID, "--direct and --%s exclude each other; leave out one",
                       ret->session ? "session" : "server");
    if (ret->is_direct && ret->workspace)
        return err_set(e, ERR_INVALID,
                       "--direct and --workspace exclude each other; leave out one");
    if (ret->session && !*ret->session)
        return err_set(e, ERR_INVALID, "--session needs a name");
    if (ret->workspace && !*ret->workspace)
        return err_set(e, ERR_INVALID, "--workspace needs a name");

    /* One file may be as large as the disk allows, and all that is kept must be read. */
    struct limits *l = &ret->limits;
    l->file_bytes = l->disk_bytes;
    if (l->drain_bytes < 2 * l->output_bytes)
        l->drain_bytes = 2 * l->output_bytes;
    return 0;
}

void run_options_done(struct run_options *o)
{
    for (size_t i = 0; i < o->piece_count; i++)
        free(o->pieces[i].code);
    for (size_t i = 0; i < o->guest_count; i++)
        guest_done(&o->guests[i]);
    free(o->guests);
    free(o->stdin_text);
    *o = (struct run_options){0};
}
