/* `cicada mcp`: MCP over standard input and output; `cicada mcp install`: how to tell a client of it. */
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/answer.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/mcp_bridge.h"
#include "cli/mcp_install.h"
#include "cli/note.h"

enum { OPT_WORKSPACE = 1, OPT_PROFILE, OPT_WRITE, OPT_URL, OPT_HELP };

static const struct option mcp_options[] = {
    {OPT_WORKSPACE, 'w', "workspace", "NAME",
     "work in this workspace, by name or id (your default one);\n"
     "with --url by id"},
    {OPT_PROFILE, 0, "profile", "NAME", "which tools: core has nine, full has all"},
    {OPT_WRITE, 0, "write", NULL,
     "install: put it into the configuration of the client, beside what\n"
     "is there, which is kept as FILE.bak"},
    {OPT_URL, 0, "url", "URL", "install: of a server elsewhere, such as https://host:8700"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

void mcp_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada mcp [OPTION...]\n"
        "       cicada mcp install [CLIENT] [OPTION...]\n\n"
        "Speaks the Model Context Protocol over standard input and output, for clients that start\n"
        "a program: one JSON-RPC message a line. Messages are carried to the server, which is\n"
        "found, or started, as for other commands; several clients share it. Whoever can use HTTP\n"
        "finds the same at /mcp of the server. `cicada mcp install` lists the clients it knows, and\n"
        "with the name of one prints what belongs into its configuration.\n\n");
    args_help(mcp_options, out);
    buf_str(out, "\nexamples:\n"
                 "  cicada mcp install claude-desktop --write\n"
                 "  cicada mcp install cursor --url https://cicada.example.org\n"
                 "  cicada mcp --workspace reports --profile core\n\n"
                 "docs/mcp.md says what models find there. In the environment, CICADA_URL and\n"
                 "CICADA_API_KEY, or CICADA_SOCKET, say where the server is.\n");
}

static bool is_profile(const char *word)
{
    return strcmp(word, "core") == 0 || strcmp(word, "full") == 0;
}

static int serve(const char *workspace, const char *profile)
{
    const struct mcp_bridge_options options = {
        .workspace = workspace, .profile = profile, .in_fd = STDIN_FILENO, .out_fd = STDOUT_FILENO};
    struct notes notes = notes_to_stderr();
    struct err e = {0};
    if (isatty(STDIN_FILENO))
        note(&notes,
             "this is for MCP clients, which start it themselves: `cicada mcp install` says "
             "how; Ctrl-D ends it");
    if (mcp_bridge_run(&options, &e) == 0)
        return EXIT_DONE;
    note_problem(&notes, "%s", e.text);
    return answer_exit_code(&e);
}

int mcp_main(int argc, char **argv)
{
    struct args args = ARGS(argc, argv, mcp_options);
    struct mcp_install install = {0};
    bool is_install = false;
    struct err e = {0};
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, &e)) == 1) {
        if (arg.id == OPT_HELP)
            return print_help(mcp_help);
        if (arg.id == OPT_WORKSPACE)
            install.workspace = arg.value;
        else if (arg.id == OPT_PROFILE)
            install.profile = arg.value;
        else if (arg.id == OPT_URL)
            install.url = arg.value;
        else if (arg.id == OPT_WRITE)
            install.is_write = true;
        else if (!is_install && strcmp(arg.value, "install") == 0)
            is_install = true;
        else if (is_install && !install.client)
            install.client = arg.value;
        else
            return usage_error("mcp", "too many operands; it is `cicada mcp`, or `cicada mcp "
                                      "install CLIENT`");
    }
    if (got < 0)
        return usage_error("mcp", e.text);
    if (install.profile && !is_profile(install.profile))
        return usage_error("mcp", "--profile is core or full");
    if (is_install)
        return mcp_install_main(&install);
    if (install.url || install.is_write)
        return usage_error("mcp", "--url and --write are for `cicada mcp install`; the server is "
                                  "named by CICADA_URL");
    return serve(install.workspace, install.profile);
}
