/* `cicada sessions`: what is kept on the server between runs. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stage.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "wire/limits.h"
#include "json/write.h"

enum {
    OPT_STATUS = VERB_OWN,
    OPT_LIMIT,
    OPT_NAME,
    OPT_STEPS,
    OPT_RUN,
    OPT_MEMORY,
    OPT_CPU,
    OPT_DISK,
    OPT_PIDS,
    OPT_IDLE,
    OPT_SNAPSHOTS,
    OPT_TZ,
};

enum { LIST_MAX = 10000, LIST_PRESET = 100, BODY_MAX = 8192 };

/* clang-format off */
static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option ls_options[] = {
    {OPT_STATUS, 0, "status", "STATUS", "only starting, idle, running, asleep or closed ones"},
    {OPT_LIMIT, 'n', "limit", "N", "at most so many (100)"},
    VERB_COMMON, {0}};
static const struct option create_options[] = {
    {OPT_MEMORY, 0, "memory", "SIZE", "memory limit in MiB, or with a suffix"},
    {OPT_CPU, 0, "cpu", "CORES", "cores, such as 0.5 or 2"},
    {OPT_DISK, 0, "disk", "SIZE", "what /mnt/data may grow by, in MiB or with a suffix"},
    {OPT_PIDS, 0, "pids", "N", "processes and threads"},
    {OPT_IDLE, 0, "idle", "DURATION", "sleep when idle for so long, such as 60s or 10m"},
    {OPT_SNAPSHOTS, 0, "snapshots", "K", "remember the last K runs for rollback"},
    {OPT_TZ, 0, "tz", "ZONE", "time zone of the code, such as Europe/Berlin"},
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

static void add_size(struct table *t, uint64_t bytes)
{
    char digits[24], size[SIZE_TEXT];
    (void)snprintf(digits, sizeof digits, "%llu", (unsigned long long)bytes);
    table_add(t, digits, size_text(bytes, size));
}

static void add_row(struct table *t, const json_t *s)
{
    char runs[24], used[AGO_TEXT], expires[AGO_TEXT];
    uint64_t bytes = pick_count(s, "memory_bytes");
    (void)snprintf(runs, sizeof runs, "%llu", (unsigned long long)pick_count(s, "runs"));
    table_add(t, pick_text(s, "name"), NULL);
    table_add(t, pick_text(s, "id"), NULL);
    table_add(t, pick_text(s, "status"), NULL);
    table_add(t, runs, NULL);
    add_size(t, bytes ? bytes : pick_count(s, "sleep_bytes"));
    table_add(t, pick_text(s, "last_used_at"),
              ago_text(pick_text(s, "last_used_at"), clock_wall_us(), used));
    table_add(t, pick_text(s, "expires_at"),
              ago_text(pick_text(s, "expires_at"), clock_wall_us(), expires));
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
    scoped(json_decrefp) json_t *session = NULL;
    char id[ID_SIZE];
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        remote_get(r, &shelf_sessions, id, &session, e))
        return -1;
    return verb_print(in, session);
}

/* Says in a word what became of a session, or prints it with --json. */
static int tell(struct remote *r, const struct verb_input *in, const json_t *session,
                const char *done)
{
    if (verb_is_json(in))
        return verb_print(in, session);
    const char *name = pick_text(session, "name");
    note(&r->notes, "%s %s%s%s", done, *name ? name : pick_text(session, "id"), *name ? " = " : "",
         *name ? pick_text(session, "id") : "");
    return EXIT_DONE;
}

static int act(struct remote *r, const struct verb_input *in, const char *action, const char *done,
               struct err *e)
{
    scoped(json_decrefp) json_t *session = NULL;
    char id[ID_SIZE];
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        remote_act(r, &shelf_sessions, id, action, &session, e))
        return -1;
    return tell(r, in, session, done);
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
    for (size_t i = 0; i < in->operand_count; i++) {
        char id[ID_SIZE];
        if (remote_resolve(r, &shelf_sessions, in->operands[i], id, e) ||
            remote_delete(r, &shelf_sessions, id, e))
            return -1;
        note(&r->notes, "removed %s", in->operands[i]);
    }
    return EXIT_DONE;
}

/* {"KEY": "text"}, or an empty object without a text. */
static void put_one(const char *key, const char *text, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    if (text) {
        jw_key(&w, key);
        jw_text(&w, text);
    }
    jw_end_object(&w);
    jw_finish(&w);
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

/* The id of a session that was made goes to standard output, for scripts. */
static int tell_new(struct remote *r, const struct verb_input *in, const json_t *session)
{
    scoped(buf_done) struct buf text = BUF_INIT(256);
    if (verb_is_json(in))
        return verb_print(in, session);
    buf_fmt(&text, "%.64s\n", pick_text(session, "id"));
    (void)r;
    return verb_print_text(&text);
}

static int fork_session(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    char id[ID_SIZE];
    put_one("name", in->values[OPT_NAME], &body);
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        post_to(r, id, "fork", &body, &made, e))
        return -1;
    return tell_new(r, in, made);
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
        put_one("run", in->values[OPT_RUN], &body);
    } else {
        jw_object(&w);
        jw_key(&w, "steps");
        jw_u64(&w, steps);
        jw_end_object(&w);
    }
    if (remote_resolve(r, &shelf_sessions, in->operands[0], id, e) ||
        post_to(r, id, "rollback", &body, &session, e))
        return -1;
    return tell(r, in, session, "went back:");
}

static int rename_session(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *session = NULL;
    char id[ID_SIZE], path[CALL_PATH_MAX];
    put_one("name", in->operands[1], &body);
    if (buf_check(&body, e) || remote_resolve(r, &shelf_sessions, in->operands[0], id, e))
        return -1;
    (void)snprintf(path, sizeof path, "%s/%s", shelf_sessions.path, id);
    const struct call call = {.method = "PATCH", .path = path, .body = &body};
    if (client_call(r->client, &call, &session, e))
        return -1;
    return tell(r, in, session, "renamed:");
}

static int put_mib(struct json_writer *w, const struct verb_input *in, int id, const char *name,
                   const char *key, struct err *e)
{
    uint64_t bytes;
    if (!in->values[id])
        return 0;
    if (parse_size(in->values[id], MIB, &bytes, e))
        return err_wrap(e, "--%s", name);
    jw_key(w, key);
    jw_decimal(w, bytes / MIB * 1000 + bytes % MIB * 1000 / MIB, 3);
    return 0;
}

static int put_limits(struct json_writer *w, const struct verb_input *in, struct err *e)
{
    unsigned long long pids;
    uint64_t milli;
    if (!in->values[OPT_MEMORY] && !in->values[OPT_DISK] && !in->values[OPT_CPU] &&
        !in->values[OPT_PIDS])
        return 0;
    jw_key(w, "limits");
    jw_object(w);
    if (put_mib(w, in, OPT_MEMORY, "memory", "memory_mb", e) ||
        put_mib(w, in, OPT_DISK, "disk", "disk_mb", e) ||
        verb_number(in, OPT_PIDS, "pids", 1, UINT32_MAX, 0, &pids, e))
        return -1;
    if (in->values[OPT_CPU]) {
        if (parse_milli(in->values[OPT_CPU], &milli, e))
            return err_wrap(e, "--cpu");
        jw_key(w, "cpu");
        jw_decimal(w, milli, 3);
    }
    if (pids) {
        jw_key(w, "pids");
        jw_u64(w, pids);
    }
    jw_end_object(w);
    return 0;
}

static int put_session(const struct verb_input *in, struct buf *body, struct err *e)
{
    struct json_writer w = JSON_WRITER(body);
    unsigned long long snapshots;
    uint64_t idle_s;
    jw_object(&w);
    if (in->operand_count > 0) {
        jw_key(&w, "name");
        jw_text(&w, in->operands[0]);
    }
    if (put_limits(&w, in, e) ||
        verb_number(in, OPT_SNAPSHOTS, "snapshots", 0, 1000, 0, &snapshots, e))
        return -1;
    if (in->values[OPT_IDLE]) {
        if (parse_duration(in->values[OPT_IDLE], &idle_s, e))
            return err_wrap(e, "--idle");
        jw_key(&w, "idle_s");
        jw_u64(&w, idle_s);
    }
    if (in->values[OPT_SNAPSHOTS]) {
        jw_key(&w, "snapshots");
        jw_u64(&w, snapshots);
    }
    if (in->values[OPT_TZ]) {
        jw_key(&w, "tz");
        jw_text(&w, in->values[OPT_TZ]);
    }
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(body, e);
}

static int create(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    if (put_session(in, &body, e) || remote_post(r, shelf_sessions.path, &body, &made, e))
        return -1;
    return tell_new(r, in, made);
}

/* clang-format off */
static const struct verb verbs[] = {
    {"ls", "", 0, 0, ls_options, "list sessions", ls},
    {"show", "SESSION", 1, 1, plain_options, "everything about one", show},
    {"create", "[NAME]", 0, 1, create_options, "make one; prints its id", create},
    {"rm", "SESSION...", 1, VERB_OPERANDS_MAX, plain_options, "end it and forget it", rm},
    {"sleep", "SESSION", 1, 1, plain_options, "put it to sleep now; it wakes when used", sleep_session},
    {"fork", "SESSION", 1, 1, fork_options, "branch it: two sessions with the same variables", fork_session},
    {"rollback", "SESSION", 1, 1, rollback_options, "undo runs: variables and files as before", rollback},
    {"interrupt", "SESSION", 1, 1, plain_options, "interrupt what it runs; variables stay", interrupt},
    {"restart", "SESSION", 1, 1, plain_options, "a fresh interpreter; files stay", restart},
    {"rename", "SESSION NAME", 2, 2, plain_options, "give it another name", rename_session},
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
