/* `cicada audit`: who did what on a server, and the proof that nobody changed what it says. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/read.h"

enum {
    OPT_PRINCIPAL = VERB_OWN,
    OPT_EVENT,
    OPT_PATH,
    OPT_FROM,
    OPT_UNTIL,
    OPT_RESULT,
    OPT_CHANGES,
    OPT_NUMBER,
    OPT_CHECKPOINT,
};

enum { LIST_MAX = 100000, FILE_MAX = 4 << 20, VERIFY_TIMEOUT_S = 24 * 3600 };

/* clang-format off */
#define FILTERS \
    {VERB_WORKSPACE, 'w', "workspace", "NAME", "only in this workspace, by name or id; you have to be an\n" \
                                               "admin of it (all; you have to be the server's)"}, \
    {OPT_PRINCIPAL, 'p', "principal", "ID", "only what this one did"}, \
    {OPT_EVENT, 'e', "event", "NAME", "only this, such as putFile"}, \
    {OPT_PATH, 0, "path", "PATH", "only this file or directory, and what is below"}, \
    {OPT_FROM, 0, "from", "TIME", "not before, such as 2026-01-31 or 2026-01-31T12:00:00Z"}, \
    {OPT_UNTIL, 0, "until", "TIME", "before"}, \
    {OPT_RESULT, 'r', "result", "RESULT", "only what was ok, denied or error"}, \
    {OPT_CHANGES, 0, "changes", NULL, "only what changed something"}

static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option list_options[] = {
    FILTERS,
    {OPT_NUMBER, 'n', "number", "N", "at most so many (50)"},
    VERB_COMMON, {0}};
static const struct option export_options[] = {FILTERS, VERB_COMMON, {0}};
static const struct option verify_options[] = {
    {OPT_CHECKPOINT, 'c', "checkpoint", "FILE", "what `cicada audit head` wrote, kept elsewhere; the last\n"
                                                "line counts; - is standard input"},
    VERB_COMMON, {0}};

static const struct column entry_columns[] = {
    {"SEQ", true, false}, {"TIME", false, false}, {"EVENT", false, false}, {"RESULT", false, false},
    {"PRINCIPAL", false, false}, {"VIA", false, false}, {"WHAT", false, true}};

static const struct {
    int option;
    const char *name;
} parameters[] = {{OPT_PRINCIPAL, "principal"}, {OPT_EVENT, "event"}, {OPT_PATH, "path"}, {OPT_FROM, "from"},
                  {OPT_UNTIL, "until"}, {OPT_RESULT, "result"}};
/* clang-format on */

/* ---- what is asked for ---- */

static void put_path(const struct verb_input *in, struct buf *path)
{
    const char *workspace = in->values[VERB_WORKSPACE];
    if (!workspace) {
        buf_str(path, "/api/v1/audit");
        return;
    }
    buf_str(path, "/api/v1/workspaces/");
    client_encode(path, workspace);
    buf_str(path, "/audit");
}

static void put_query(const struct verb_input *in, struct buf *query)
{
    for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++) {
        const char *value = in->values[parameters[i].option];
        if (!value)
            continue;
        buf_fmt(query, "%s%s=", query->len ? "&" : "", parameters[i].name);
        client_encode(query, value);
    }
    if (in->values[OPT_CHANGES])
        buf_fmt(query, "%schanges=true", query->len ? "&" : "");
}

/* ---- list ---- */

static void add_entry(struct table *t, const json_t *entry)
{
    const char *path = pick_text(entry, "path"), *object = pick_text(entry, "object");
    const char *what = *path ? path : object;
    if (!*what)
        what = *pick_text(entry, "run") ? pick_text(entry, "run") : pick_text(entry, "session");
    verb_add_count(t, pick_count(entry, "seq"));
    table_add(t, pick_text(entry, "time"), NULL);
    table_add(t, pick_text(entry, "event"), NULL);
    table_add(t, pick_text(entry, "result"), NULL);
    table_add(t, *pick_text(entry, "principal") ? pick_text(entry, "principal") : "-", NULL);
    table_add(t, *pick_text(entry, "via") ? pick_text(entry, "via") : "-", NULL);
    table_add(t, *what ? what : "-", NULL);
}

static int list(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX), query = BUF_INIT(CALL_PATH_MAX);
    scoped(table_done) struct table t =
        TABLE(entry_columns, sizeof entry_columns / sizeof *entry_columns);
    unsigned long long number;
    put_path(in, &path);
    put_query(in, &query);
    if (verb_number(in, OPT_NUMBER, "number", 1, LIST_MAX, 50, &number, e) || buf_check(&path, e) ||
        buf_check(&query, e) ||
        remote_list(r, path.bytes, query.len ? query.bytes : "", (unsigned)number, &all,
                    /* ret_has_more= */ NULL, e))
        return -1;
    return verb_print_list(in, all, &t, add_entry, e);
}

/* ---- export ---- */

static int begin(void *arg, uint64_t from, struct err *e)
{
    (void)arg;
    return from == 0 ? 0 : err_set(e, ERR_PROTOCOL, "the server sent a part of the audit");
}

static int put(void *arg, const char *bytes, size_t len, struct err *e)
{
    (void)arg;
    return fd_write_all(STDOUT_FILENO, bytes, len, e);
}

static int export(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX), query = BUF_INIT(CALL_PATH_MAX);
    const struct call_taker taker = {.begin = begin, .put = put};
    put_path(in, &path);
    put_query(in, &query);
    buf_fmt(&path, "?format=jsonl%s%s", query.len ? "&" : "", query.len ? query.bytes : "");
    if (buf_check(&query, e) || buf_check(&path, e))
        return -1;
    const struct call call = {.path = path.bytes, .taker = &taker};
    json_t *nothing = NULL;
    if (client_call(r->client, &call, &nothing, e))
        return -1;
    json_decref(nothing);
    return EXIT_DONE;
}

/* ---- proving ---- */

static int head(struct remote *r, const struct verb_input *in, struct err *e)
{
    (void)in; /* it is JSON in any case: a line to be kept */
    scoped(json_decrefp) json_t *answer = NULL;
    scoped(buf_done) struct buf text = BUF_INIT(4096);
    const struct call call = {.path = "/api/v1/audit/head"};
    if (client_call(r->client, &call, &answer, e))
        return -1;
    scoped(freep) char *line = json_dumps(answer, JSON_COMPACT);
    if (!line)
        return err_set(e, ERR_NO_MEMORY, "print a checkpoint");
    buf_fmt(&text, "%s\n", line);
    return verb_print_text(&text);
}

static int read_file(const char *name, struct buf *ret, struct err *e)
{
    bool is_input = strcmp(name, "-") == 0;
    scoped(fd_closep) int own = is_input ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (!is_input && own < 0)
        return err_sys(e, errno, "--checkpoint: %.200s", name);
    char piece[4096];
    ssize_t got;
    while ((got = read(is_input ? STDIN_FILENO : own, piece, sizeof piece)) > 0)
        buf_add(ret, piece, (size_t)got);
    if (got < 0)
        return err_sys(e, errno, "--checkpoint: %.200s", name);
    return buf_check(ret, e);
}

/* The last line that is not empty. */
static struct str last_line(const struct buf *text)
{
    size_t end = text->len;
    while (end > 0 && strchr(" \t\r\n", text->bytes[end - 1]))
        end--;
    size_t from = end;
    while (from > 0 && text->bytes[from - 1] != '\n')
        from--;
    return (struct str){text->bytes ? text->bytes + from : "", end - from};
}

static int put_checkpoint(const char *name, struct buf *path, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(FILE_MAX);
    scoped(json_decrefp) json_t *checkpoint = NULL;
    if (read_file(name, &text, e))
        return -1;
    struct str line = last_line(&text);
    if (json_read(line.ptr, line.len, &checkpoint, e))
        return err_wrap(e, "--checkpoint: %.200s", name);
    uint64_t seq = pick_count(checkpoint, "seq");
    const char *hash = pick_text(checkpoint, "hash");
    if (seq == 0 || strlen(hash) != 64)
        return err_set(e, ERR_INVALID,
                       "--checkpoint: %.200s is not what `cicada audit head` writes", name);
    buf_fmt(path, "?seq=%llu&hash=", (unsigned long long)seq);
    client_encode(path, hash);
    return buf_check(path, e);
}

static void put_verdict(const json_t *verdict, bool has_checkpoint, struct buf *out)
{
    buf_fmt(out, "intact: %llu entries and %llu checkpoints%s\n",
            (unsigned long long)pick_count(verdict, "entries"),
            (unsigned long long)pick_count(verdict, "checkpoints"),
            has_checkpoint ? ", and they go on from the one that was given" : "");
}

static int verify(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf path = BUF_INIT(CALL_PATH_MAX), text = BUF_INIT(4096);
    scoped(json_decrefp) json_t *verdict = NULL;
    const char *given = in->values[OPT_CHECKPOINT];
    buf_str(&path, "/api/v1/audit/verify");
    if (given && put_checkpoint(given, &path, e))
        return -1;
    const struct call call = {.path = path.bytes, .timeout_s = VERIFY_TIMEOUT_S};
    if (client_call(r->client, &call, &verdict, e))
        return -1;
    bool is_intact = pick_is_true(verdict, "is_intact");
    int code = EXIT_DONE;
    if (verb_is_json(in)) {
        code = verb_print(in, verdict);
    } else if (is_intact) {
        put_verdict(verdict, given != NULL, &text);
        code = verb_print_text(&text);
    } else {
        note_problem(&r->notes, "the audit was changed: %s",
                     pick_text(json_object_get(verdict, "problem"), "message"));
    }
    return code == EXIT_DONE && !is_intact ? EXIT_ERROR : code;
}

/* clang-format off */
static const struct verb audit_verbs[] = {
    {"list", "", 0, 0, list_options, "who did what, the newest first", list},
    {"export", "", 0, 0, export_options, "all of it, the oldest first, one JSON object on each line", export},
    {"head", "", 0, 0, plain_options, "print a signed checkpoint, to be kept elsewhere", head},
    {"verify", "[--checkpoint FILE]", 0, 0, verify_options, "check that nothing was changed, removed or cut off", verify},
    {0},
};
/* clang-format on */

static const struct verb_command audit_command = {
    .name = "audit",
    .about =
        "Everything that is done on a server is written down, reads and refusals included, in a\n"
        "chain of hashes. Exit code 1 of verify: something was changed.",
    .verbs = audit_verbs,
    .preset = "list",
    .examples = "  cicada audit list --path reports --from 2026-01-01\n"
                "  cicada audit list --result denied\n"
                "  cicada audit head >>/elsewhere/checkpoints\n"
                "  cicada audit verify --checkpoint /elsewhere/checkpoints\n"
                "  cicada audit export >audit.jsonl\n"};

int audit_main(int argc, char **argv)
{
    return verbs_main(&audit_command, argc, argv);
}

void audit_help(struct buf *out)
{
    verbs_help(&audit_command, out);
}
