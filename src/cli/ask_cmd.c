/* `cicada ask`: a question in plain words, answered by a model that runs code on the server. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/ask_int.h"
#include "cli/ask_options.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/fileref.h"
#include "cli/pick.h"
#include "cli/run_int.h"
#include "cli/session_pick.h"
#include "cli/stop.h"
#include "cli/table.h"
#include "cli/transfer.h"

/* ---- before it is asked ---- */

/* A typing mistake is answered before anything is asked of a server. */
static int check_files(struct ask_options *o, struct err *e)
{
    for (size_t i = 0; i < o->guest_count; i++) {
        const char *path = o->guests[i].path;
        struct stat st;
        if (stat(path, &st) || access(path, R_OK))
            return errno == ENOENT ? err_set(e, ERR_NOT_FOUND, "there is no file %.150s here", path)
                                   : err_sys(e, errno, "cannot bring %.150s", path);
        if (!S_ISREG(st.st_mode))
            return err_set(e, ERR_INVALID,
                           "%.100s is no file; store it with `cicada files put` and ask with -w",
                           path);
    }
    return 0;
}

/* Names as people write them are paths of the workspace; the wish has those. */
static int clean_names(struct ask_options *o, struct err *e)
{
    for (size_t i = 0; i < o->guest_count; i++) {
        struct guest *g = &o->guests[i];
        char path[FILEREF_SIZE];
        if (fileref_clean(g->name, path, /* ret_is_dir= */ NULL, e))
            return -1;
        char *kept = strdup(path);
        if (!kept)
            return err_set(e, ERR_NO_MEMORY, "-f %.150s", g->path);
        free(g->name);
        g->name = kept;
        o->wish.files[i] = kept;
    }
    return 0;
}

int ask_bring(struct query *q, struct err *e)
{
    const struct ask_options *o = q->options;
    const char *named = o->wish.workspace ? o->wish.workspace : WORKSPACE_DEFAULT;
    scoped(haul_done) struct haul h =
        haul_with(&q->remote, *q->workspace ? q->workspace : named, q->stop);
    struct stat st;
    uint64_t total = 0;
    for (size_t i = 0; i < o->guest_count; i++)
        total += stat(o->guests[i].path, &st) == 0 ? (uint64_t)st.st_size : 0;
    progress_begin(&h.progress, total, o->guest_count);
    for (size_t i = 0; i < o->guest_count; i++) {
        scoped(json_decrefp) json_t *file = NULL;
        bool is_new;
        if (upload_file(&h, o->guests[i].path, o->guests[i].name, &file, &is_new, e)) {
            haul_tell_rest(&h, e);
            return -1;
        }
    }
    progress_clear(&h.progress);
    return 0;
}

static const struct shelf answers = {ANSWERS_PATH, "ans_", "answer", "ask --list"};

/* The session, or the answer, that is gone on from, and the workspace it was in. */
static int find_session(struct query *q, struct err *e)
{
    struct ask_wish *w = &q->options->wish;
    scoped(json_decrefp) json_t *before = NULL;
    if (!w->session)
        return 0;
    bool is_answer = shelf_is_id(&answers, w->session);
    if (is_answer)
        (void)snprintf(q->session_id, sizeof q->session_id, "%s", w->session);
    else if (session_pick(&q->remote, w->session, w->workspace, q->session_id, e))
        return -1;
    if (remote_get(&q->remote, is_answer ? &answers : &shelf_sessions, q->session_id, &before, e))
        return -1;
    (void)snprintf(q->workspace, sizeof q->workspace, "%s", pick_text(before, "workspace_id"));
    w->session = q->session_id;
    if (!is_answer)
        w->workspace = NULL;
    return 0;
}

/* ---- asking ---- */

/* Ctrl-C: the connection is closed, which ends the answer on the server. */
static enum watch_verdict on_stop(void *arg)
{
    (void)arg;
    return WATCH_CANCELS_CALL;
}

static int failure(struct query *q, const struct err *e)
{
    if (q->show.failed && !stop_is_asked(q->stop))
        return run_output_exit(&q->remote.notes, q->show.failed);
    return remote_failure_json(&q->remote, e, q->options->is_json);
}

static int ask(struct query *q, struct err *e)
{
    struct ask_options *o = q->options;
    scoped(buf_done) struct buf body = BUF_INIT(ASK_BODY_MAX);
    scoped(asking_done) struct asking a = {.put = o->is_json ? NULL : ask_show_event,
                                           .arg = &q->show};
    if (remote_open(&q->remote, e) || stop_new(&q->stop, e))
        return failure(q, e);
    ask_show_init(&q->show, &q->remote.notes, q->stop, o->shows_code);
    client_watch(q->remote.client, &(struct watch){stop_fd(q->stop), on_stop, q});
    if (delivery_open(&q->delivery, o->out_dir, o->is_json, &q->remote.notes, e) ||
        find_session(q, e) || (o->guest_count > 0 && ask_bring(q, e)))
        return failure(q, e);
    asking_request(&o->wish, &body);
    a.client = q->remote.client;
    if (asking_run(&a, &body, e)) {
        int code = failure(q, e);
        if (e->code == ERR_UNAVAILABLE && !*a.id && getenv("CICADA_MODEL_URL"))
            note(&q->remote.notes, "CICADA_MODEL_URL is set here, but a server that runs has what "
                                   "it was started with");
        return code;
    }
    return ask_end(q, a.answer);
}

static void query_done(struct query *q)
{
    ask_show_done(&q->show);
    delivery_close(&q->delivery);
    stop_free(q->stop);
    remote_done(&q->remote);
}

static int ask_question(struct ask_options *o)
{
    struct err e = {0};
    scoped(query_done) struct query q = {.options = o,
                                         .remote = {.notes = notes_to_stderr()},
                                         .delivery = {.dir_fd = -1, .figure_fd = -1}};
    if (check_files(o, &e) || clean_names(o, &e))
        return failure(&q, &e);
    return ask(&q, &e);
}

static int ask_kept(const struct ask_options *o)
{
    struct err e = {0};
    scoped(remote_done) struct remote r = {.notes = notes_to_stderr()};
    if (remote_open(&r, &e))
        return remote_failure(&r, &e);
    int code = o->task == ASK_LISTING ? ask_list(&r, o, &e) : ask_transcript(&r, o, &e);
    return code < 0 ? remote_failure(&r, &e) : code;
}

int ask_main(int argc, char **argv)
{
    struct err e = {0};
    scoped(ask_options_done) struct ask_options o = {0};
    if (ask_options_parse(argc, argv, &o, &e))
        return usage_error("ask", e.text);
    if (o.is_help)
        return print_help(ask_help);
    if (ask_options_read(&o, isatty(STDIN_FILENO), &e))
        return usage_error("ask", e.text);
    text_locale();
    return o.task == ASK_QUESTION ? ask_question(&o) : ask_kept(&o);
}

void ask_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada ask [OPTION...] QUESTION | -\n"
            "       cicada ask --list | --transcript ID\n\n"
            "Asks a model, which runs code in a sandbox on the server until it can answer. The "
            "answer goes to\nstandard output; what the model thinks and runs goes to standard "
            "error. With - the question is\nread from standard input. The server has to know a "
            "model; without one it says what to set.\n\noptions:\n");
    args_help(ask_option_table, out);
    buf_str(out,
            "\nexamples:\n"
            "  cicada ask \"Which five cities sell most?\" -f sales.csv\n"
            "  cicada ask \"Draw that as a chart\" --session ses_... -o results\n"
            "  cicada ask -w reports \"What did we find about Q3?\"\n"
            "  cicada ask --verify --json \"What is the median price?\" -f prices.csv | jq -r "
            ".answer\n"
            "  cicada ask --transcript ans_... --format notebook > how.ipynb\n"
            "\nexit codes: 0 answered; 1 the model gave up or came to a limit; 3 --verify found "
            "a difference;\n2, 77, 125, 130 and 141 as for every command with a server\n");
}
