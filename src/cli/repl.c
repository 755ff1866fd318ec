/* `cicada repl`: a conversation with one session. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/follow.h"
#include "cli/line.h"
#include "cli/more.h"
#include "cli/outlet.h"
#include "cli/pick.h"
#include "cli/repl_int.h"
#include "cli/run_int.h"
#include "cli/run_options.h"
#include "cli/run_request.h"
#include "cli/session_pick.h"
#include "cli/state_dir.h"
#include "cli/table.h"
#include "wire/limits.h"

enum { OPT_SESSION = 1, OPT_WORKSPACE, OPT_SHOW, OPT_HELP };

/* clang-format off */
static const struct option options[] = {
    {OPT_SESSION, 's', "session", "NAME", "use this session, by name or id; it is made if it is\n"
                                          "missing, and stays when you leave"},
    {OPT_WORKSPACE, 'w', "workspace", "NAME", "in this workspace, by name or id (your default one)"},
    {OPT_SHOW, 0, "show", NULL, "show figures in the terminal too, where it can"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};
/* clang-format on */

void repl_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada repl [OPTION...]\n\n"
        "A Python prompt in a sandbox on the server. Output comes as it is printed, results are\n"
        "shown, figures are saved as files. An empty line ends a block. Tab completes, ?name\n"
        "explains, :help lists commands, Ctrl-C interrupts, Ctrl-D leaves. Without --session\n"
        "the session is removed when you leave, unless :name gives it a name.\n\n");
    args_help(options, out);
    buf_str(out, "\nexamples:\n  cicada repl --session work\n  cicada repl < script.py\n");
}

/* Signals come as a descriptor from here on. */
static int block_signals(int *ret_fd, struct err *e)
{
    static const int wanted[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT};
    sigset_t set;
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        sigaddset(&set, wanted[i]);
    (void)sigaction(SIGPIPE, &ignore, NULL);
    if (sigprocmask(SIG_BLOCK, &set, NULL))
        return err_sys(e, errno, "watch signals");
    *ret_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return *ret_fd < 0 ? err_sys(e, errno, "watch signals") : 0;
}

/* A signal while the server works. The first Ctrl-C asks the code to stop, the second ends the run. */
static enum watch_verdict on_signal(void *arg)
{
    struct repl *r = arg;
    struct signalfd_siginfo got;
    if (read(r->signal_fd, &got, sizeof got) != (ssize_t)sizeof got)
        return WATCH_GOES_ON;
    bool is_end = got.ssi_signo == SIGTERM || got.ssi_signo == SIGHUP;
    if (!is_end && got.ssi_signo != SIGINT)
        return WATCH_GOES_ON;
    r->is_leaving |= is_end;
    if (!r->follow || client_is_waiting(r->remote.client))
        return WATCH_CANCELS_CALL;
    r->follow->interrupt_path = r->interrupts++ == 0 && !is_end ? r->interrupt_path : NULL;
    follow_cancel(r->follow);
    return WATCH_GOES_ON;
}

/* Like show_event, with tracebacks in red. */
static int on_event(void *arg, const struct run_event *event)
{
    struct repl *r = arg;
    bool is_red = event->kind == RUN_ERROR && r->remote.notes.is_coloured;
    if (is_red)
        (void)outlet_write(STDERR_FILENO, NULL, "\033[31m", 5);
    int failed = show_event(&r->stage.show, event);
    if (is_red)
        (void)outlet_write(STDERR_FILENO, NULL, "\033[0m", 4);
    return failed;
}

static void run_code(struct repl *r)
{
    const struct run_sink sink = {on_event, r};
    scoped(follow_done) struct follow f = {.client = r->remote.client, .sink = &sink};
    scoped(buf_done) struct buf body = BUF_INIT(RUN_REQUEST_MAX);
    const struct run_options none = {0};
    const struct piece piece = {.code = r->code.bytes, .code_len = r->code.len};
    char path[CALL_PATH_MAX];
    struct err e = {0};
    (void)snprintf(path, sizeof path, "%s/%s/runs", shelf_sessions.path, r->session_id);
    (void)snprintf(r->interrupt_path, sizeof r->interrupt_path, "%s/%s/interrupt",
                   shelf_sessions.path, r->session_id);
    if (run_request(&none, &piece, &body, &e)) {
        (void)remote_failure(&r->remote, &e);
        return;
    }
    r->follow = &f;
    r->interrupts = 0;
    int failed = follow_new(&f, path, &body, &e);
    r->follow = NULL;
    if (failed)
        (void)remote_failure(&r->remote, &e);
    else
        (void)stage_end(&r->stage, &f);
    r->is_leaving |= r->stage.show.failed != 0;
}

/* "?name" or "name?", as IPython has it. Fills `name` if it is one. */
static bool is_question(const char *line, char name[256])
{
    size_t len = strlen(line);
    const char *start = line + strspn(line, " \t");
    while (len > 0 && strchr(" \t", line[len - 1]))
        len--;
    size_t begin = (size_t)(start - line);
    if (len <= begin || (*start != '?' && line[len - 1] != '?'))
        return false;
    if (*start == '?')
        begin++;
    else
        len--;
    (void)snprintf(name, 256, "%.*s", (int)(len - begin), line + begin);
    return *name &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
               strlen(name);
}

/* A whole line, when no piece of code is open. */
static void take_first(struct repl *r, const char *line)
{
    char name[256];
    if (line[0] == ':')
        repl_command(r, line + 1);
    else if (is_question(line, name))
        repl_inspect(r, name);
    else if (line[strspn(line, " \t")])
        buf_str(&r->code, line);
}

static void take_line(struct repl *r, const char *line)
{
    line_remember(r->line, line);
    if (r->code.len == 0) {
        take_first(r, line);
    } else {
        buf_str(&r->code, "\n");
        buf_str(&r->code, line);
    }
    if (r->code.failed)
        note_problem(&r->remote.notes, "more than %d MiB of code; put it in a file",
                     CODE_MAX >> 20);
    else if (r->code.len == 0 || more_is_needed(r->code.bytes, r->code.len))
        return;
    else
        run_code(r);
    buf_done(&r->code);
}

/* What is left when the input ends in the middle of a block. */
static void take_end(struct repl *r)
{
    if (r->code.len > 0 && !line_is_terminal(r->line))
        run_code(r);
    buf_done(&r->code);
    r->is_leaving = true;
}

static void converse(struct repl *r)
{
    while (!r->is_leaving) {
        const char *line;
        switch (line_read(r->line, r->code.len ? "... " : ">>> ", &line)) {
        case LINE_TEXT: take_line(r, line); break;
        case LINE_INTERRUPTED:
            buf_done(&r->code);
            if (!line_is_terminal(r->line))
                r->is_leaving = true;
            break;
        case LINE_TOO_LONG:
            note_problem(&r->remote.notes, "a line is too long");
            r->is_leaving = true;
            break;
        case LINE_END: take_end(r); break;
        }
    }
}

static int open_session(struct repl *r, const char *name, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(8192);
    scoped(json_decrefp) json_t *made = NULL;
    if (name)
        return session_pick(&r->remote, name, r->workspace, r->session_id, e);
    session_request(/* name= */ NULL, r->workspace, /* limits= */ NULL, /* limits_given= */ 0,
                    &body);
    if (remote_post(&r->remote, shelf_sessions.path, &body, &made, e))
        return -1;
    (void)snprintf(r->session_id, sizeof r->session_id, "%s", pick_text(made, "id"));
    r->owns_session = true;
    return 0;
}

static void repl_done(struct repl *r)
{
    struct err ignored = {0}; /* it sleeps soon and is forgotten some time later */
    if (r->remote.client)
        client_watch(r->remote.client, &(struct watch){.fd = -1});
    line_close(r->line);
    if (r->owns_session)
        (void)remote_delete(&r->remote, &shelf_sessions, r->session_id, &ignored);
    stage_done(&r->stage);
    remote_done(&r->remote);
    fd_closep(&r->signal_fd);
    buf_done(&r->code);
}

static int open_all(struct repl *r, const char *session, bool is_show, struct err *e)
{
    const struct line_completer completer = {repl_complete, r};
    const struct run_options shown = {.is_show = is_show};
    char history[PATH_MAX];
    struct err ignored = {0};
    if (remote_open(&r->remote, e) || block_signals(&r->signal_fd, e))
        return -1;
    stage_init(&r->stage, &r->remote, /* stop= */ NULL, run_images(&shown, &r->remote.notes),
               /* is_json= */ false);
    r->stage.keeps_files = true;
    bool has_history = state_path("history", history, &ignored) == 0;
    client_watch(r->remote.client, &(struct watch){r->signal_fd, on_signal, r});
    if (open_session(r, session, e))
        return -1;
    return line_open(r->signal_fd, has_history ? history : NULL, &completer, &r->line, e);
}

static int parse(int argc, char **argv, const char **session, const char **workspace, bool *is_show,
                 bool *is_help, struct err *e)
{
    struct args args = ARGS(argc, argv, options);
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, e)) == 1) {
        if (arg.id == 0)
            return err_set(e, ERR_INVALID, "'%.60s' is too much; a session is named with --session",
                           arg.value);
        if (arg.id == OPT_SESSION)
            *session = arg.value;
        if (arg.id == OPT_WORKSPACE)
            *workspace = arg.value;
        *is_show |= arg.id == OPT_SHOW;
        *is_help |= arg.id == OPT_HELP;
    }
    return got;
}

int repl_main(int argc, char **argv)
{
    struct err e = {0};
    const char *session = NULL;
    bool is_show = false, is_help = false;
    scoped(repl_done) struct repl r = {
        .remote = {.notes = notes_to_stderr()},
        .signal_fd = -1,
        .code = BUF_INIT(CODE_MAX),
        .stage = {.delivery = {.dir_fd = -1, .figure_fd = -1}},
    };
    if (parse(argc, argv, &session, &r.workspace, &is_show, &is_help, &e))
        return usage_error("repl", e.text);
    if (is_help)
        return print_help(repl_help);
    text_locale();
    if (open_all(&r, session, is_show, &e))
        return remote_failure(&r.remote, &e);
    if (line_is_terminal(r.line))
        note(&r.remote.notes, "Python in session %s; :help lists commands, Ctrl-D leaves",
             session ? session : r.session_id);
    converse(&r);
    return run_output_exit(&r.remote.notes, r.stage.show.failed);
}
