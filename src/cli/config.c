/* `cicada config`: what the server would be told, without starting it. */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "daemon/config.h"

enum { OPT_CONFIG = 1, OPT_JSON, OPT_HELP, TEXT_MAX = 1 << 20 };

static const struct option config_options[] = {
    {OPT_CONFIG, 'c', "config", "FILE", "the file to read, as of `cicada serve`"},
    {OPT_JSON, 0, "json", NULL, "show: print one JSON object"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

void config_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada config check [FILE]     says what is wrong with a configuration\n"
        "       cicada config show             prints every key, its value and where it is from\n"
        "       cicada config example          prints a commented file with the defaults\n"
        "       cicada config reference        prints the table of keys in docs/server.md\n\n"
        "The command line of `cicada serve` overrides the environment (CICADA_SECTION_NAME),\n"
        "which overrides the file, which overrides the defaults. The file is the one named by\n"
        "--config or $CICADA_CONFIG, else /etc/cicada/cicada.conf as root and\n"
        "~/.config/cicada/cicada.conf as a user, if it is there.\n\n");
    args_help(config_options, out);
    buf_str(out, "\nexit code:\n"
                 "    0  all is well\n"
                 "    1  check, show: the configuration is wrong\n"
                 "    2  the command line is wrong\n");
}

struct request {
    const char *verb;
    const char *path; /* NULL: the usual place */
    bool is_json;
};

/* Problems in red, remarks as they are. */
static void tell(void *arg, enum config_tone tone, const char *text)
{
    if (tone == CONFIG_PROBLEM)
        note_problem(arg, "%s", text);
    else
        note(arg, "%s", text);
}

/* 0, or the exit code when it has been told what is wrong. */
static int load(const struct request *r, struct config *ret)
{
    struct notes notes = notes_to_stderr();
    const struct config_sink sink = {tell, &notes};
    struct err e = {0};
    char found[PATH_MAX];
    config_find(found);
    const char *path = r->path ? r->path : *found ? found : NULL;
    const struct config_inputs in = {.path = path, .environment = environ};
    return config_load(&in, &sink, ret, &e) ? EXIT_ERROR : 0;
}

static int print_text(const struct buf *text)
{
    struct err e = {0};
    return buf_check(text, &e) ? EXIT_NO_JAIL : print_exit(text, EXIT_DONE);
}

static int check(const struct request *r)
{
    struct config c;
    int code = load(r, &c);
    if (code)
        return code;
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    if (*c.path)
        buf_fmt(&text, "%s is right\n", c.path);
    else
        buf_str(&text, "there is no file; the environment and the defaults are right\n");
    config_done(&c);
    return print_text(&text);
}

static int show(const struct request *r)
{
    struct config c;
    int code = load(r, &c);
    if (code)
        return code;
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    if (r->is_json)
        config_show_json(&c, &text);
    else
        config_show(&c, &text);
    config_done(&c);
    return print_text(&text);
}

static int example(const struct request *r)
{
    (void)r;
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    config_example(&text);
    return print_text(&text);
}

static int reference(const struct request *r)
{
    (void)r;
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    config_reference(&text);
    return print_text(&text);
}

static const struct {
    const char *name;
    int (*main)(const struct request *r);
    bool takes_file;
} verbs[] = {
    {"check", check, true},
    {"show", show, false},
    {"example", example, false},
    {"reference", reference, false},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static int perform(const struct request *r, const char *file)
{
    const char *names[VERBS];
    char text[200];
    if (!r->verb)
        return usage_error("config", "config what? check, show, example or reference");
    for (int i = 0; i < VERBS; i++) {
        names[i] = verbs[i].name;
        if (strcmp(r->verb, verbs[i].name) != 0)
            continue;
        if (file && (!verbs[i].takes_file || r->path))
            return usage_error("config", "too many operands; a file is named once");
        struct request all = *r;
        all.path = file ? file : r->path;
        return verbs[i].main(&all);
    }
    const char *meant = closest_name(r->verb, names, VERBS);
    (void)snprintf(text, sizeof text, "there is no `config %.40s`%s%s%s", r->verb,
                   meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
    return usage_error("config", text);
}

int config_main(int argc, char **argv)
{
    struct args args = ARGS(argc, argv, config_options);
    struct request r = {0};
    const char *file = NULL;
    struct err e = {0};
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, &e)) == 1) {
        if (arg.id == OPT_HELP)
            return print_help(config_help);
        if (arg.id == OPT_CONFIG)
            r.path = arg.value;
        else if (arg.id == OPT_JSON)
            r.is_json = true;
        else if (!r.verb)
            r.verb = arg.value;
        else if (!file)
            file = arg.value;
        else
            return usage_error("config", "too many operands");
    }
    return got < 0 ? usage_error("config", e.text) : perform(&r, file);
}
