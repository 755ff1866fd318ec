/* `cicada run` through a server. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/follow.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/run_int.h"
#include "cli/run_options.h"
#include "cli/run_request.h"
#include "cli/session_pick.h"
#include "cli/stage.h"
#include "cli/stop.h"

/* Everything it holds, in the order it is made. */
struct errand {
    const struct run_options *options;
    struct remote remote;
    struct stop *stop;
    struct stage stage;
    struct follow *follow; /* the run that goes on; NULL: none */
    char session_id[ID_SIZE];
    bool owns_session; /* made for these pieces only */
};

bool run_remote_can(const struct run_options *o)
{
    return !o->is_cold && (o->guest_count == 0 || o->piece_count == 1);
}

/* What cannot be done through a server, said before anything is asked of it. */
static int check(const struct run_options *o, struct err *e)
{
    if (o->is_cold)
        return err_set(e, ERR_INVALID,
                       "--cold is decided by the server; run it here with --direct");
    if (o->guest_count > 0 && o->session)
        return err_set(e, ERR_INVALID,
                       "-f cannot be combined with --session: files travel only with "
                       "a run that has a session of its own");
    if (o->guest_count > 0 && o->piece_count > 1)
        return err_set(e, ERR_INVALID,
                       "through a server, -f works with one piece of code; put the "
                       "pieces in one file, or run them here with --direct");
    if (o->session && o->limits_given & ~(unsigned)LIMIT_GIVEN_WALL)
        return err_set(e, ERR_INVALID,
                       "the limits of a session are fixed when it is made; with "
                       "--session only --timeout can be given");
    return run_check_guests(o, e);
}

/* There was no run: says so to whoever asked, and gives the exit code. */
static int failure(struct errand *t, const struct err *e)
{
    return remote_failure_json(&t->remote, e, t->options->is_json);
}

/* Ctrl-C while the server works: cancels the run. Before there is one, it cancels the request. */
static enum watch_verdict on_stop(void *arg)
{
    struct errand *t = arg;
    if (!t->follow || client_is_waiting(t->remote.client))
        return WATCH_CANCELS_CALL;
    follow_cancel(t->follow);
    return WATCH_ENDS;
}

static int open_session(struct errand *t, struct err *e)
{
    const struct run_options *o = t->options;
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    scoped(json_decrefp) json_t *made = NULL;
    if (o->session)
        return session_pick(&t->remote, o->session, o->workspace, t->session_id, e);
    if (o->piece_count == 1)
        return 0;
    session_request(/* name= */ NULL, o->workspace, &o->limits, o->limits_given, &body);
    if (remote_post(&t->remote, shelf_sessions.path, &body, &made, e))
        return -1;
    (void)snprintf(t->session_id, sizeof t->session_id, "%s", pick_text(made, "id"));
    t->owns_session = true;
    return 0;
}

static int request(struct errand *t, const struct piece *p, char path[CALL_PATH_MAX],
                   struct buf *body, struct err *e)
{
    if (!*t->session_id) {
        (void)snprintf(path, CALL_PATH_MAX, "%s", shelf_runs.path);
        return run_request_alone(t->options, p, &t->remote.notes, body, e);
    }
    (void)snprintf(path, CALL_PATH_MAX, "%s/%s/runs", shelf_sessions.path, t->session_id);
    return run_request(t->options, p, body, e);
}

static int run_piece(struct errand *t, const struct piece *p, struct err *e)
{
    const struct run_sink sink = {show_event, &t->stage.show};
    scoped(follow_done) struct follow f = {.client = t->remote.client,
                                           .sink = t->options->is_json ? NULL : &sink};
    scoped(buf_done) struct buf body = BUF_INIT(RUN_REQUEST_MAX);
    char path[CALL_PATH_MAX];
    if (stop_is_asked(t->stop)) {
        note_problem(&t->remote.notes, "cancelled before the code ran");
        return EXIT_CANCELLED;
    }
    if (request(t, p, path, &body, e))
        return failure(t, e);
    const struct watch watch = {stop_fd(t->stop), on_stop, t};
    t->follow = &f;
    client_watch(t->remote.client, &watch);
    int failed = follow_new(&f, path, &body, e);
    t->follow = NULL;
    /* What was made is fetched after a cancelled run too; another Ctrl-C then ends the program. */
    client_watch(t->remote.client,
                 &(struct watch){stop_is_asked(t->stop) ? -1 : stop_fd(t->stop), on_stop, t});
    int code = failed ? failure(t, e) : stage_end(&t->stage, &f);
    client_watch(t->remote.client, &(struct watch){.fd = -1});
    return code;
}

static int run_all(struct errand *t, struct err *e)
{
    const struct run_options *o = t->options;
    if (check(o, e))
        return failure(t, e);
    enum image_way images = run_images(o, &t->remote.notes);
    if (remote_open(&t->remote, e) || stop_new(&t->stop, e))
        return failure(t, e);
    stage_init(&t->stage, &t->remote, t->stop, images, o->is_json);
    t->stage.keeps_files = o->session != NULL;
    if (o->out_dir && stage_out(&t->stage, o->out_dir, e))
        return failure(t, e);
    if (o->limits_given & LIMIT_GIVEN_OUTPUT)
        t->stage.show.live_max = (o->limits.output_bytes + 1) / 2;
    client_watch(t->remote.client, &(struct watch){stop_fd(t->stop), on_stop, t});
    if (open_session(t, e))
        return failure(t, e);
    int code = EXIT_DONE;
    for (size_t i = 0; code == EXIT_DONE && i < o->piece_count; i++)
        code = run_piece(t, &o->pieces[i], e);
    return code;
}

static void errand_done(struct errand *t)
{
    struct err ignored = {0}; /* it sleeps soon and is forgotten some time later */
    if (t->owns_session)
        (void)remote_delete(&t->remote, &shelf_sessions, t->session_id, &ignored);
    stage_done(&t->stage);
    stop_free(t->stop);
    remote_done(&t->remote);
}

int run_remote(struct run_options *o)
{
    struct err e = {0};
    scoped(errand_done) struct errand t = {
        .options = o,
        .remote = {.notes = notes_to_stderr()},
        .stage = {.delivery = {.dir_fd = -1, .figure_fd = -1}},
    };
    return run_all(&t, &e);
}
