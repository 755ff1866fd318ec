/* `cicada runs`: what was run on the server, and what runs now. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/follow.h"
#include "cli/outlet.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stage.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "json/read.h"

enum { OPT_SESSION = VERB_OWN, OPT_STATUS, OPT_END, OPT_LIMIT, OPT_WAIT };

enum { LIST_MAX = 10000, LIST_PRESET = 20 };
enum { WAIT_MAX_S = 86400, WAIT_ONCE_S = 60 }; /* in all; that a server may be asked to wait */

/* clang-format off */
static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option ls_options[] = {
    {OPT_SESSION, 's', "session", "SESSION", "only those of this session"},
    {OPT_STATUS, 0, "status", "STATUS", "only queued, running or done ones"},
    {OPT_END, 0, "end", "END", "only those that ended so: ok, error, timeout, ..."},
    {OPT_LIMIT, 'n', "limit", "N", "at most so many (20)"},
    VERB_COMMON, {0}};
static const struct option show_options[] = {
    {OPT_WAIT, 'w', "wait", "SECONDS", "wait so long for its end"},
    VERB_COMMON, {0}};

static const struct column ls_columns[] = {
    {"ID", false, false}, {"SESSION", false, false}, {"END", false, false},
    {"STARTED", false, false}, {"TOOK", true, false}, {"CODE", false, true}};
/* clang-format on */

/* The first line that says something. */
static void first_line(const char *code, char ret[256])
{
    while (*code && strchr(" \t\r\n", *code))
        code++;
    (void)snprintf(ret, 256, "%.*s", (int)strcspn(code, "\n"), code);
}

static void add_row(struct table *t, const json_t *run)
{
    char ago[AGO_TEXT], took[TIME_TEXT], ms[32], ended[64], code[256];
    const char *status = pick_text(run, "status"), *end = pick_text(run, "end");
    double duration_ms = pick_number(run, "duration_ms");
    (void)snprintf(ms, sizeof ms, "%.3f", duration_ms);
    (void)snprintf(ended, sizeof ended, "%s%s", *end ? end : status,
                   *pick_text(run, "undone_at") ? ", undone" : "");
    first_line(pick_text(run, "code"), code);
    table_add(t, pick_text(run, "id"), NULL);
    table_add(t, pick_text(run, "session_id"), NULL);
    table_add(t, ended, NULL);
    table_add(t, pick_text(run, "started_at"),
              ago_text(pick_text(run, "started_at"), clock_wall_us(), ago));
    table_add(t, ms, *end ? time_text(duration_ms, took) : "");
    table_add(t, code, NULL);
}

static void put_filter(struct buf *query, const char *key, const char *value)
{
    if (!value)
        return;
    buf_fmt(query, "%s%s=", query->len ? "&" : "", key);
    client_encode(query, value);
}

static int put_filters(struct remote *r, const struct verb_input *in, struct buf *query,
                       struct err *e)
{
    char id[ID_SIZE];
    const char *session = in->values[OPT_SESSION];
    if (session && remote_resolve(r, &shelf_sessions, session, id, e))
        return -1;
    put_filter(query, "session", session ? id : NULL);
    put_filter(query, "status", in->values[OPT_STATUS]);
    put_filter(query, "end", in->values[OPT_END]);
    return buf_check(query, e);
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf query = BUF_INIT(512);
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(ls_columns, sizeof ls_columns / sizeof *ls_columns);
    unsigned long long max;
    bool has_more;
    if (verb_number(in, OPT_LIMIT, "limit", 1, LIST_MAX, LIST_PRESET, &max, e) ||
        put_filters(r, in, &query, e) ||
        remote_list(r, shelf_runs.path, query.len ? query.bytes : "", (unsigned)max, &all,
                    &has_more, e))
        return -1;
    int code = verb_print_list(in, all, &t, add_row, e);
    if (code < 0)
        return -1;
    if (json_array_size(all) == 0)
        note(&r->notes, "no runs");
    if (has_more)
        note(&r->notes, "there are more; --limit N shows more of them");
    return code;
}

/* One look at the run, which waits for its end for so long. */
static int look(struct remote *r, const char *id, unsigned long long wait_s, json_t **ret,
                struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    buf_fmt(&path, "%s/", shelf_runs.path);
    client_encode(&path, id);
    if (wait_s)
        buf_fmt(&path, "?wait_s=%llu", wait_s);
    const struct call call = {.path = path.bytes, .timeout_s = (unsigned)wait_s + CALL_TIMEOUT_S};
    return buf_check(&path, e) ? -1 : client_call(r->client, &call, ret, e);
}

static int show(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *run = NULL;
    unsigned long long left_s;
    if (verb_number(in, OPT_WAIT, "wait", 0, WAIT_MAX_S, 0, &left_s, e))
        return -1;
    for (;;) {
        unsigned long long wait_s = left_s < WAIT_ONCE_S ? left_s : WAIT_ONCE_S;
        if (look(r, in->operands[0], wait_s, &run, e))
            return -1;
        left_s -= wait_s;
        if (left_s == 0 || strcmp(pick_text(run, "status"), "done") == 0)
            return verb_print(in, run);
        json_decref(run);
        run = NULL;
    }
}

static int cancel(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *run = NULL;
    if (remote_act(r, &shelf_runs, in->operands[0], "cancel", &run, e))
        return -1;
    if (verb_is_json(in))
        return verb_print(in, run);
    const char *end = pick_text(run, "end");
    note(&r->notes, "%s: %s", in->operands[0], *end ? end : pick_text(run, "status"));
    return EXIT_DONE;
}

/* {"id", "event", "data"} on one line for each. */
static int print_event(void *arg, const struct sse_event *event, struct err *e)
{
    scoped(json_decrefp) json_t *line = NULL;
    json_t *value = NULL;
    (void)arg;
    if (json_read(event->text, event->len, &value, e))
        return -1;
    line = json_pack("{s:s, s:s, s:o}", "id", event->id, "event", event->name, "data", value);
    if (!line)
        return err_set(e, ERR_NO_MEMORY, "print an event");
    int failed = stage_print(/* stop= */ NULL, line);
    return failed ? err_sys(e, failed, "print an event") : 0;
}

static int events(struct remote *r, const struct verb_input *in, struct err *e)
{
    struct stage stage;
    const struct run_sink sink = {show_event, &stage.show};
    const struct sse_sink raw = {print_event, NULL};
    bool is_json = verb_is_json(in);
    scoped(follow_done) struct follow f = {
        .client = r->client, .sink = is_json ? NULL : &sink, .raw_sink = is_json ? &raw : NULL};
    if (strlen(in->operands[0]) >= sizeof f.run_id || !shelf_is_id(&shelf_runs, in->operands[0]))
        return err_set(e, ERR_INVALID, "'%.60s' is no run; their ids begin with run_",
                       in->operands[0]);
    (void)snprintf(f.run_id, sizeof f.run_id, "%s", in->operands[0]);
    stage_init(&stage, r, /* stop= */ NULL, IMAGE_NOT, is_json);
    stage.keeps_files = true;
    int code = follow_run(&f, e);
    if (code == 0 && !is_json)
        code = stage_end(&stage, &f);
    stage_done(&stage);
    return code;
}

/* clang-format off */
static const struct verb verbs[] = {
    {"ls", "", 0, 0, ls_options, "list runs, newest first", ls},
    {"show", "RUN", 1, 1, show_options, "everything about one: code, output, end", show},
    {"events", "RUN", 1, 1, plain_options, "follow its output to the end, from the beginning", events},
    {"cancel", "RUN", 1, 1, plain_options, "end it", cancel},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "runs",
    .about = "Runs are pieces of code that the server executed or executes: their code, output,\n"
             "result and end are kept. `events` exits as `cicada run` would have.",
    .verbs = verbs,
    .examples = "  cicada runs ls --session work\n"
                "  cicada runs ls --end error --json | jq -r .error.message\n"
                "  cicada runs events run_4f2k8h1p0q9x7c3v5b6n2m8d\n"};

int runs_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void runs_help(struct buf *out)
{
    verbs_help(&command, out);
}
