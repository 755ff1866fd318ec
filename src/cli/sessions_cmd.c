/* `cicada sessions`: what is kept on the server between runs. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/sessions_int.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/write.h"

enum {
    OPT_STATUS = VERB_OWN,
    OPT_LIMIT,
    OPT_NAME,
    OPT_STEPS,
    OPT_RUN,
};

enum { LIST_MAX = 10000, LIST_PRESET = 100, BODY_MAX = 8192 };

/* clang-format off */
static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option ls_options[] = {
    {OPT_STATUS, 0, "status", "STATUS", "only starting, idle, running, asleep or closed ones"},
    {OPT_LIMIT, 'n', "limit", "N", "at most so many (100)"},
    VERB_COMMON, {0}};
static const struct option fork_options[] = {
    {OPT_NAME, 0, "name", "NAME", "name of the new session"},
    VERB_COMMON, {0}};
static const struct option rollback_options[] = {
    {OPT_STEPS, 'n', "steps", "N", "back over the last N runs (1)"},
    {OPT_RUN, 0, "run", "RUN", "back to before this run"},
    VERB_COMMON, {0}};

static const struct column ls_columns[] = {
    {"NAME", false, true}, {"ID", false, false}, {"STATUS", false, false}, {"RUNS", true, false},
    {"MEMORY", true, false}, {"USED", false, false}, {"EXPIRES", false, false}};
/* clang-format on */

static void add_row(struct table *t, const json_t *s)
{
    uint64_t bytes = pick_count(s, "memory_bytes");
    table_add(t, pick_text(s, "name"), NULL);
    table_add(t, pick_text(s, "id"), NULL);
    table_add(t, pick_text(s, "status"), NULL);
    verb_add_count(t, pick_count(s, "runs"));
    verb_add_size(t, bytes ? bytes : pick_count(s, "sleep_bytes"));
    verb_add_moment(t, s, "last_used_at", "-");
    verb_add_moment(t, s, "expires_at", "-");
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf query = BUF_INIT(256);
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(ls_columns, sizeof ls_columns / sizeof *ls_columns);
    unsigned long long max;
    bool has_more;
    if (verb_number(in, OPT_LIMIT, "limit", 1, LIST_MAX, LIST_PRESET, &max, e))
        return -1;
    if (in->values[OPT_STATUS]) {
        buf_str(&query, "status=");
        client_encode(&query, in->values[OPT_STATUS]);
    }
    if (remote_list(r, shelf_sessions.path, query.len ? query.bytes : "", (unsigned)max, &all,
                    &has_more, e))
        return -1;
    int code = verb_print_list(in, all, &t, add_row, e);
    if (code < 0)
        return -1;
    if (json_array_size(all) == 0)
        note(&r->notes, "no sessions; `cicada repl --session NAME` makes one");
    if (has_more)
        note(&r->notes, "there are more; --limit N shows more of them");
    return code;
}

static int show(struct remote *r, const struct verb_input *in, struct err *e)
{
    return verb_show(r, in, &shelf_sessions, e);
}

static int act(struct remote *r, const struct verb_input *in, const char *action, const char *done,
               struct err *e)
{
    scoped(json_decrefp) json_t *session = NULL;
    char id[ID_SIZE];
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        remote_act(r, &shelf_sessions, id, action, &session, e))
        return -1;
    return verb_tell(r, in, session, done);
}

static int sleep_session(struct remote *r, const struct verb_input *in, struct err *e)
{
    return act(r, in, "sleep", "asleep:", e);
}

static int interrupt(struct remote *r, const struct verb_input *in, struct err *e)
{
    return act(r, in, "interrupt", "interrupted:", e);
}

static int restart(struct remote *r, const struct verb_input *in, struct err *e)
{
    return act(r, in, "restart", "restarted, with no variables:", e);
}

static int rm(struct remote *r, const struct verb_input *in, struct err *e)
{
    return verb_rm(r, in, &shelf_sessions, "removed", e);
}

static int post_to(struct remote *r, const char *id, const char *action, const struct buf *body,
                   struct json_t **ret, struct err *e)
{
    char path[CALL_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s/%s", shelf_sessions.path, id, action);
    if (buf_check(body, e))
        return -1;
    return client_call(r->client, &(struct call){.path = path, .body = body}, ret, e);
}

static int fork_session(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    char id[ID_SIZE];
    verb_put_one("name", in->values[OPT_NAME], &body);
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        post_to(r, id, "fork", &body, &made, e))
        return -1;
    return verb_print_new(in, made);
}

static int rollback(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *session = NULL;
    struct json_writer w = JSON_WRITER(&body);
    unsigned long long steps;
    char id[ID_SIZE];
    if (in->values[OPT_STEPS] && in->values[OPT_RUN])
        return err_set(e, ERR_INVALID, "--steps and --run exclude each other; leave out one");
    if (verb_number(in, OPT_STEPS, "steps", 1, 1000, 1, &steps, e))
        return -1;
    if (in->values[OPT_RUN]) {
        verb_put_one("run", in->values[OPT_RUN], &body);
    } else {
        jw_object(&w);
        jw_key(&w, "steps");
        jw_u64(&w, steps);
        jw_end_object(&w);
    }
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        post_to(r, id, "rollback", &body, &session, e))
        return -1;
    return verb_tell(r, in, session, "went back:");
}

static int rename_session(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *session = NULL;
    char id[ID_SIZE], path[CALL_PATH_MAX];
    verb_put_one("name", in->operands[1], &body);
    if (buf_check(&body, e) || remote_resolve(r, &shelf_sessions, in->operands[0], id, e))
        return -1;
    (void)snprintf(path, sizeof path, "%s/%s", shelf_sessions.path, id);
    const struct call call = {.method = "PATCH", .path = path, .body = &body};
    if (client_call(r->client, &call, &session, e))
        return -1;
    return verb_tell(r, in, session, "renamed:");
}

/* clang-format off */
static const struct verb verbs[] = {
    {"ls", "", 0, 0, ls_options, "list sessions", ls},
    {"show", "SESSION", 1, 1, plain_options, "everything about one", show},
    {"create", "[NAME]", 0, 1, session_create_options, "make one; prints its id", session_create},
    {"rm", "SESSION...", 1, VERB_OPERANDS_MAX, plain_options, "end it and forget it", rm},
    {"sleep", "SESSION", 1, 1, plain_options, "put it to sleep now; it wakes when used", sleep_session},
    {"fork", "SESSION", 1, 1, fork_options, "branch it: two sessions with the same variables", fork_session},
    {"rollback", "SESSION", 1, 1, rollback_options, "undo runs: variables and files as before", rollback},
    {"interrupt", "SESSION", 1, 1, plain_options, "interrupt what it runs; variables stay", interrupt},
    {"restart", "SESSION", 1, 1, plain_options, "a fresh interpreter; files stay", restart},
    {"rename", "SESSION NAME", 2, 2, plain_options, "give it another name", rename_session},
    {"export", "SESSION [-o FILE]", 1, 1, session_export_options, "its code and results as a notebook or a script", session_export},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "sessions",
    .about =
        "Sessions are interpreters on the server that keep their variables between runs. They\n"
        "sleep on disk when idle and wake when used. SESSION is a name or an id.",
    .verbs = verbs,
    .examples = "  cicada sessions create work --memory 2G --snapshots 5\n"
                "  cicada run --session work -c 'x = 1'\n"
                "  cicada sessions ls\n"};

int sessions_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void sessions_help(struct buf *out)
{
    verbs_help(&command, out);
}
