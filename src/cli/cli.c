#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/outlet.h"

enum { HELP_MAX = 64 << 10 };

static int help_main(int argc, char **argv);
static int version_main(int argc, char **argv);

static void help_help(struct buf *out)
{
    buf_str(out, "usage: cicada help [COMMAND]\n\nExplains a command, or lists them.\n");
}

static void version_help(struct buf *out)
{
    buf_str(out, "usage: cicada version\n\nPrints the version.\n");
}

static const struct command commands[] = {
    {"run", "run Python, bash or JavaScript in a sandbox", run_main, run_help},
    {"ask", "ask a model that runs code to find the answer", ask_main, ask_help},
    {"eval", "say how many tasks a model solves", eval_main, eval_help},
    {"serve", "run the server", serve_main, serve_help},
    {"mcp", "be an MCP server for Claude, Cursor and other agents", mcp_main, mcp_help},
    {"repl", "a Python prompt in a session of the server", repl_main, repl_help},
    {"sessions", "list, show, branch and end sessions of the server", sessions_main, sessions_help},
    {"runs", "list, show and follow what was run on the server", runs_main, runs_help},
    {"files", "list, fetch, store and restore files of a workspace", files_main, files_help},
    {"reproduce", "make a file once more and say whether it is the same", reproduce_main,
     reproduce_help},
    {"search", "look for words in files and runs of the server", search_main, search_help},
    {"workspaces", "list, make and remove workspaces", workspaces_main, workspaces_help},
    {"lock", "keep others from changing a file for a while", lock_main, lock_help},
    {"unlock", "end a lock", unlock_main, unlock_help},
    {"locks", "list locks", locks_main, locks_help},
    {"share", "make, list and revoke links for people without a key", share_main, share_help},
    {"invite", "invite people and agents to a workspace", invite_main, invite_help},
    {"claim", "give a workspace to another owner", claim_main, claim_help},
    {"usage", "say what keys and workspaces used", usage_main, usage_help},
    {"events", "list and follow what happens in a workspace", events_main, events_help},
    {"webhooks", "send events of a workspace to another server", webhooks_main, webhooks_help},
    {"stats", "say what the store of the server holds", stats_main, stats_help},
    {"gc", "take away what no kept version of a file needs", gc_main, gc_help},
    {"backup", "bring the backup of the server up to date", backup_main, backup_help},
    {"fsck", "check the store of a server that is stopped", fsck_main, fsck_help},
    {"store", "the same as stats, gc and backup, as verbs", store_main, store_help},
    {"audit", "who did what on the server, and the proof of it", audit_main, audit_help},
    {"key", "make and revoke keys of the server", key_main, key_help},
    {"principal", "who owns sessions and keys of the server", principal_main, principal_help},
    {"bake", "make sessions start in milliseconds", bake_main, bake_help},
    {"bench", "measure how fast sessions are on this host", bench_main, bench_help},
    {"config", "check and show the configuration of the server", config_main, config_help},
    {"doctor", "say how strong the sandbox is on this host", doctor_main, doctor_help},
    {"version", "print the version", version_main, version_help},
    {"help", "explain a command", help_main, help_help},
};

enum { COMMANDS = sizeof commands / sizeof *commands };

const char *cli_version(void)
{
    return CICADA_VERSION;
}

int print_out(const struct buf *text)
{
    return outlet_write(STDOUT_FILENO, /* stop= */ NULL, text->bytes, text->len);
}

int print_exit(const struct buf *text, int code)
{
    struct notes notes = notes_to_stderr();
    int why = print_out(text);
    if (why && why != EPIPE)
        note_problem(&notes, "standard output: %s", strerror(why));
    return why == EPIPE ? EXIT_NO_READER : why ? EXIT_NO_JAIL : code;
}

int print_help(void (*help)(struct buf *out))
{
    scoped(buf_done) struct buf text = BUF_INIT(HELP_MAX);
    help(&text);
    return print_exit(&text, EXIT_DONE);
}

int usage_error(const char *command, const char *message)
{
    struct notes notes = notes_to_stderr();
    note_problem(&notes, "%s", message);
    note(&notes, "`cicada %s --help` explains it", command);
    return EXIT_USAGE;
}

static void overview(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada COMMAND ...\n\n"
        "Runs Python in a sandbox next to the files it needs and gives back what came of it.\n\n");
    for (int i = 0; i < COMMANDS; i++)
        buf_fmt(out, "  %-12s%s\n", commands[i].name, commands[i].summary);
    buf_str(out, "\n`cicada COMMAND --help` explains a command. To begin with:\n\n"
                 "  cicada run -c 'print(6 * 7)'\n");
}

static const struct command *find(const char *name)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

static int unknown_command(const char *word)
{
    struct notes notes = notes_to_stderr();
    const char *names[COMMANDS];
    for (int i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *meant = closest_name(word, names, COMMANDS);
    if (meant)
        note_problem(&notes, "there is no command '%.60s'; did you mean '%s'?", word, meant);
    else if (access(word, F_OK) == 0)
        note_problem(&notes, "there is no command '%.60s'; to run that file: cicada run %.60s",
                     word, word);
    else
        note_problem(&notes, "there is no command '%.60s'", word);
    note(&notes, "`cicada help` lists the commands");
    return EXIT_USAGE;
}

static int help_main(int argc, char **argv)
{
    if (argc == 0)
        return print_help(overview);
    const struct command *c = find(argv[0]);
    return c ? print_help(c->help) : unknown_command(argv[0]);
}

static int version_main(int argc, char **argv)
{
    (void)argv;
    if (argc > 0)
        return usage_error("version", "version takes no arguments");
    scoped(buf_done) struct buf text = BUF_INIT(HELP_MAX);
    buf_fmt(&text, "cicada %s\n", cli_version());
    return print_exit(&text, EXIT_DONE);
}

/* Whoever closed one of the first three descriptors gets /dev/null there: or the next file we open
 * would become somebody's standard output. */
static int fill_standard_fds(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR); /* not O_CLOEXEC: it is a standard descriptor */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        (void)close(fd);
    return fd < 0 ? -1 : 0;
}

static bool is_one_of(const char *word, const char *a, const char *b)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int cli_main(int argc, char **argv)
{
    if (fill_standard_fds())
        return EXIT_NO_JAIL;
    if (argc < 2) {
        struct notes notes = notes_to_stderr();
        note_problem(&notes, "what should be done? `cicada help` lists the commands");
        return EXIT_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h"))
        return print_help(overview);
    if (is_one_of(argv[1], "--version", "-V"))
        return version_main(0, NULL);
    const struct command *c = find(argv[1]);
    if (!c)
        return unknown_command(argv[1]);
    if (argc > 2 && c->main != run_main && is_one_of(argv[2], "--help", "-h"))
        return print_help(c->help);
    return c->main(argc - 2, argv + 2);
}
