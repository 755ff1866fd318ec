/* `cicada serve`: the server. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/programs.h"
#include "daemon/config.h"
#include "daemon/serve.h"

enum { OPT_LISTEN = 1, OPT_DATA, OPT_CONFIG, OPT_IDLE, OPT_FIXTURES, OPT_HELP, FLAGS_MAX = 4 };

static const struct option serve_options[] = {
    {OPT_LISTEN, 'l', "listen", "ADDRESS", "HOST:PORT, or unix:PATH and nothing else"},
    {OPT_DATA, 'd', "data", "DIR", "where everything durable is kept"},
    {OPT_CONFIG, 'c', "config", "FILE", "the configuration; see docs/server.md"},
    {OPT_IDLE, 0, "idle-exit", "SECONDS", "end when nobody has used it for so long"},
    {OPT_FIXTURES, 0, "conformance-fixtures", NULL,
     "/mcp serves what the MCP conformance suite wants, without a key"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

/* What the command line says, for the first reading of the configuration and for every other. */
struct wishes {
    char config_path[PATH_MAX], data_path[PATH_MAX];
    struct config_flag flags[FLAGS_MAX];
    size_t flag_count;
    bool has_fixtures;
};

void serve_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada serve [--listen HOST:PORT|unix:PATH] [--data DIR] [--config FILE]\n\n"
        "Runs the server, by default on 127.0.0.1:8700. Started as root it keeps only what\n"
        "makes sandboxes privileged. SIGTERM ends it, SIGHUP reads its configuration again.\n\n");
    args_help(serve_options, out);
    buf_str(out, "\nexit code:\n"
                 "    0  it was told to end, and did\n"
                 "    2  the command line or the configuration is wrong\n"
                 "  125  it could not be started, or failed\n");
}

static void add_flag(struct wishes *w, const char *name, const char *value)
{
    w->flags[w->flag_count++] = (struct config_flag){"server", name, value};
}

/* A single unix socket: then there is no other address. */
static void add_listen(struct wishes *w, const char *value)
{
    if (strncmp(value, "unix:", 5) == 0) {
        add_flag(w, "socket", value + 5);
        add_flag(w, "listen", "");
    } else {
        add_flag(w, "listen", value);
    }
}

static int load(void *arg, struct config *ret, struct err *e)
{
    struct wishes *w = arg;
    const struct config_inputs in = {.path = *w->config_path ? w->config_path : NULL,
                                     .environment = environ,
                                     .flags = w->flags,
                                     .flag_count = w->flag_count};
    return config_load(&in, NULL, ret, e);
}

/* The configuration wants absolute paths; on a command line one means what one sees. */
static int absolute(const char *path, char ret[PATH_MAX], struct err *e)
{
    char here[PATH_MAX];
    int len;
    if (*path == '/')
        len = snprintf(ret, PATH_MAX, "%s", path);
    else if (!getcwd(here, sizeof here))
        return err_sys(e, errno, "--data: find the current directory");
    else
        len = snprintf(ret, PATH_MAX, "%s/%s", here, path);
    return len < PATH_MAX ? 0 : err_set(e, ERR_INVALID, "--data: the path is too long");
}

static int parse(int argc, char **argv, struct wishes *w, struct err *e)
{
    struct args a = ARGS(argc, argv, serve_options);
    struct arg arg;
    int got;
    const char *listen = NULL, *data = NULL, *idle = NULL, *config = NULL;
    while ((got = args_next(&a, &arg, e)) == 1)
        switch (arg.id) {
        case OPT_LISTEN: listen = arg.value; break;
        case OPT_DATA: data = arg.value; break;
        case OPT_CONFIG: config = arg.value; break;
        case OPT_IDLE: idle = arg.value; break;
        case OPT_FIXTURES: w->has_fixtures = true; break;
        case OPT_HELP: return 1;
        default: return err_set(e, ERR_INVALID, "serve takes no operands: %.100s", arg.value);
        }
    if (got < 0)
        return -1;
    if (listen)
        add_listen(w, listen);
    if (data && absolute(data, w->data_path, e))
        return -1;
    if (data)
        add_flag(w, "data", w->data_path);
    if (idle)
        add_flag(w, "idle_exit_s", idle);
    if (!config)
        config_find(w->config_path);
    else if (snprintf(w->config_path, sizeof w->config_path, "%s", config) >= PATH_MAX)
        return err_set(e, ERR_INVALID, "--config: the path is too long");
    return 0;
}

static int run_server(struct wishes *w, const struct config *config, struct err *e)
{
    struct programs programs;
    char encoder[PATH_MAX];
    const char *image_dir = getenv("CICADA_IMAGE_DIR");
    if (programs_find(&programs, e))
        return -1;
    const struct serve_options options = {.spawn_path = programs.spawn,
                                          .kernel_path = programs.kernel,
                                          .load_path = programs.load,
                                          .image_dir = image_dir && *image_dir ? image_dir : NULL,
                                          .encoder_path =
                                              programs_encoder(encoder) ? encoder : NULL,
                                          .has_fixtures = w->has_fixtures,
                                          .config = config,
                                          .reload = load,
                                          .arg = w};
    return serve(&options, e);
}

int serve_main(int argc, char **argv)
{
    struct notes notes = notes_to_stderr();
    struct err e = {0};
    struct wishes w = {0};
    struct config config;
    int got = parse(argc, argv, &w, &e);
    if (got > 0)
        return print_help(serve_help);
    if (got < 0)
        return usage_error("serve", e.text);
    if (load(&w, &config, &e)) {
        note_problem(&notes, "%s", e.text);
        note(&notes, "`cicada config check` lists everything that is wrong");
        return EXIT_USAGE;
    }
    int failed = run_server(&w, &config, &e);
    config_done(&config);
    if (!failed)
        return EXIT_DONE;
    note_problem(&notes, "%s", e.text);
    return EXIT_NO_JAIL;
}
