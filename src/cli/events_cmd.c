/* `cicada events`: what happens in a workspace. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/sse_read.h"
#include "cli/stage.h"
#include "cli/table.h"
#include "json/read.h"

enum { OPT_SINCE = VERB_OWN, OPT_TYPES, OPT_FOLLOW, OPT_LIMIT };

enum {
    LIST_MAX = 100000,
    LIST_PRESET = 100,
    PAGE_MAX = 1000,
    LOSSES_MAX = 8, /* connections that may break without an event in between */
    LOSS_MS = 50,   /* before the next try; doubled with each */
    LOSS_MAX_MS = 5000,
};

/* clang-format off */
static const struct option options[] = {
    {OPT_SINCE, 0, "since", "N", "only those after this number (from the beginning; with --follow\n"
                                 "from now on)"},
    {OPT_TYPES, 't', "types", "LIST", "only these, separated by commas, such as putFile or '*File*'"},
    {OPT_FOLLOW, 'f', "follow", NULL, "go on, and print events as they happen"},
    {OPT_LIMIT, 'n', "limit", "N", "at most so many (100)"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};

static const struct column columns[] = {
    {"NUMBER", true, false}, {"WHEN", false, false}, {"WHAT", false, false}, {"PATH", false, true},
    {"VERSION", true, false}, {"WHO", false, false}, {"VIA", false, false}};
/* clang-format on */

/* A path, or the id of what it was done to. */
static const char *subject(const json_t *event)
{
    const char *path = pick_text(event, "path");
    return *path ? path : pick_text(event, "object_id");
}

static void version_text(const json_t *event, char ret[32])
{
    uint64_t version = pick_count(event, "version");
    ret[0] = '\0';
    if (version)
        (void)snprintf(ret, 32, "%llu", (unsigned long long)version);
}

static void add_row(struct table *t, const json_t *event)
{
    char number[32], version[32];
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)pick_count(event, "seq"));
    version_text(event, version);
    table_add(t, number, NULL);
    verb_add_moment(t, event, "at", "-");
    table_add(t, pick_text(event, "type"), NULL);
    table_add(t, subject(event), NULL);
    table_add(t, version, NULL);
    table_add(t, pick_text(event, "principal"), NULL);
    table_add(t, pick_text(event, "via"), NULL);
}

static void put_address(const struct verb_input *in, struct buf *out)
{
    workspace_url(verb_workspace(in), "events", out);
    buf_str(out, "?types=");
    client_encode(out, in->values[OPT_TYPES] ? in->values[OPT_TYPES] : "");
}

/* ---- listing ---- */

static int fetch(struct remote *r, const struct verb_input *in, uint64_t since, size_t limit,
                 json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    put_address(in, &path);
    buf_fmt(&path, "&since=%llu&limit=%zu", (unsigned long long)since,
            limit < PAGE_MAX ? limit : PAGE_MAX);
    if (buf_check(&path, e))
        return -1;
    return client_call(r->client, &(struct call){.path = path.bytes}, ret, e);
}

/* Page after page. *since is where to go on, *ret_has_more whether there is something. */
static int collect(struct remote *r, const struct verb_input *in, size_t max, uint64_t *since,
                   json_t *all, bool *ret_has_more, struct err *e)
{
    *ret_has_more = true;
    while (*ret_has_more && json_array_size(all) < max) {
        scoped(json_decrefp) json_t *page = NULL;
        if (fetch(r, in, *since, max - json_array_size(all), &page, e))
            return -1;
        if (json_array_extend(all, json_object_get(page, "data")))
            return err_set(e, ERR_PROTOCOL, "the server did not answer with events");
        *ret_has_more = pick_is_true(page, "has_more") && pick_count(page, "next") > *since;
        *since = pick_count(page, "next");
    }
    return 0;
}

static int list(struct remote *r, const struct verb_input *in, uint64_t since, struct err *e)
{
    scoped(json_decrefp) json_t *all = json_array();
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    unsigned long long max;
    bool has_more = false;
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "list events");
    if (verb_number(in, OPT_LIMIT, "limit", 1, LIST_MAX, LIST_PRESET, &max, e) ||
        collect(r, in, (size_t)max, &since, all, &has_more, e))
        return -1;
    int code = verb_print_list(in, all, &t, add_row, e);
    if (code >= 0 && json_array_size(all) == 0)
        note(&r->notes, "no events");
    if (code >= 0 && has_more)
        note(&r->notes, "there are more: --since %llu shows them", (unsigned long long)since);
    return code;
}

/* ---- following ---- */

struct following {
    const struct verb_input *in;
    char last_id[SSE_WORD_MAX + 1];
};

static int print_line(const json_t *event, struct err *e)
{
    char version[32];
    scoped(table_done) struct table t = TABLE(columns, 5);
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    version_text(event, version);
    /* As a table of one row without titles: what a stranger chose cannot steer the terminal. */
    table_add(&t, pick_text(event, "at"), NULL);
    table_add(&t, pick_text(event, "type"), NULL);
    table_add(&t, subject(event), NULL);
    table_add(&t, version, NULL);
    table_add(&t, pick_text(event, "principal"), NULL);
    if (table_print(&t, /* width= */ 0, &text, e) || buf_check(&text, e))
        return -1;
    int failed = print_out(&text);
    return failed ? err_sys(e, failed, "print an event") : 0;
}

static int on_event(void *arg, const struct sse_event *event, struct err *e)
{
    struct following *f = arg;
    scoped(json_decrefp) json_t *value = NULL;
    if (json_read(event->text, event->len, &value, e))
        return -1;
    (void)snprintf(f->last_id, sizeof f->last_id, "%s", event->id);
    if (!verb_is_json(f->in))
        return print_line(value, e);
    int failed = stage_print(/* stop= */ NULL, value);
    return failed ? err_sys(e, failed, "print an event") : 0;
}

static int follow_on(struct remote *r, struct following *f, const char *since, struct err *e)
{
    char before[SSE_WORD_MAX + 1];
    const struct sse_sink sink = {on_event, f};
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX);
    put_address(f->in, &path);
    if (since)
        buf_fmt(&path, "&since=%s", since);
    (void)snprintf(before, sizeof before, "%s", f->last_id);
    const struct call call = {.path = path.bytes, .last_id = *before ? before : NULL};
    return buf_check(&path, e) ? -1 : client_stream(r->client, &call, &sink, e);
}

static bool is_loss(const struct err *e)
{
    return e->code == ERR_UNAVAILABLE || e->code == ERR_OVERLOADED;
}

/* Until it is interrupted; when the connection breaks it goes on after the last one seen. */
static int follow(struct remote *r, const struct verb_input *in, struct err *e)
{
    struct following f = {.in = in};
    char before[SSE_WORD_MAX + 1];
    for (unsigned losses = 0; losses < LOSSES_MAX;) {
        (void)snprintf(before, sizeof before, "%s", f.last_id);
        if (follow_on(r, &f, in->values[OPT_SINCE], e) && !is_loss(e))
            return -1;
        losses = strcmp(before, f.last_id) != 0 ? 0 : losses + 1;
        int wait_ms = LOSS_MS << losses;
        (void)poll(NULL, 0, wait_ms < LOSS_MAX_MS ? wait_ms : LOSS_MAX_MS);
    }
    return err_set(e, ERR_UNAVAILABLE, "lost the events; go on with --since %s --follow",
                   *f.last_id ? f.last_id : "0");
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    unsigned long long since;
    if (verb_number(in, OPT_SINCE, "since", 0, INT64_MAX, 0, &since, e))
        return -1;
    return in->values[OPT_FOLLOW] ? follow(r, in, e) : list(r, in, since, e);
}

/* clang-format off */
static const struct verb verbs[] = {
    {"ls", "", 0, 0, options, "list or follow what happens in a workspace", ls},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "events",
    .about =
        "Every change in a workspace is an event: files that were written, moved or deleted, by\n"
        "somebody or by a run, locks, members. They are numbered and stay: --since goes on\n"
        "after the last one seen.",
    .verbs = verbs,
    .preset = "ls",
    .examples = "  cicada events --follow -w reports\n"
                "  cicada events --types 'saveFiles,putFile' --since 1200 --json | jq -r .path\n"};

int events_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void events_help(struct buf *out)
{
    verbs_help(&command, out);
}
