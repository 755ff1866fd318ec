/* `cicada lock`, `unlock` and `locks`: for a while nobody else changes a file. */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/files_int.h"
#include "cli/locks_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"

enum { LIST_MAX = 1000 };

/* clang-format off */
static const struct option lock_options[] = {
    {OPT_TREE, 'r', "tree", NULL, "a directory with everything in it; /: the whole workspace"},
    {OPT_SHARED, 0, "shared", NULL, "others may hold such a lock, too, and each may write"},
    {OPT_TTL, 0, "ttl", "TIME", "how long, if nobody renews it: 1m to 1h (5m)"},
    {OPT_WAIT, 0, "wait", "TIME", "wait for it if somebody else holds one (not at all)"},
    {OPT_HOLDER, 0, "holder", "TEXT", "what others are told (your name)"},
    {OPT_SESSION, 's', "session", "NAME", "what this session writes gets past; the lock ends with it"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct option unlock_options[] = {
    {OPT_BREAK, 0, "break", NULL, "somebody else's, without its token; for admins of the workspace"},
    VERB_LOCKED, VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct option locks_options[] = {VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct column columns[] = {
    {"PATH", true, false}, {"HOLDER", false, true}, {"KIND", false, false}, {"ENDS", false, false},
    {"FENCE", false, false}, {"CONFLICTS", false, false}, {"ID", false, false}};
/* clang-format on */

/* ---- ending ---- */

static int end_one(struct remote *r, const struct verb_input *in, const char *id, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    bool is_break = in->values[OPT_BREAK] != NULL;
    workspace_url(verb_workspace(in), "locks/", &url);
    client_encode(&url, id);
    if (is_break)
        buf_str(&url, "/break");
    const struct call call = {.method = is_break ? "POST" : "DELETE", .path = url.bytes};
    return buf_check(&url, e) ? -1 : client_call(r->client, &call, /* ret= */ NULL, e);
}

static int list(struct remote *r, const struct verb_input *in, const char *path, json_t **ret,
                struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), query = BUF_INIT(CALL_PATH_MAX);
    workspace_url(verb_workspace(in), "locks", &url);
    if (path) {
        buf_str(&query, "path=");
        client_encode(&query, path);
    }
    if (buf_check(&url, e) || buf_check(&query, e))
        return -1;
    return remote_list(r, url.bytes, query.len ? query.bytes : "", LIST_MAX, ret,
                       /* ret_has_more= */ NULL, e);
}

/* Those that are on the path itself: all of them with --break, otherwise the one the token is of. */
static int end_on_path(struct remote *r, const struct verb_input *in, const char *path,
                       struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    size_t found = 0, ended = 0;
    struct err why = {0};
    if (list(r, in, path, &all, e))
        return -1;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *one = json_array_get(all, i);
        if (strcmp(pick_text(one, "path"), path) != 0)
            continue;
        found++;
        if (end_one(r, in, pick_text(one, "id"), &why) == 0)
            ended++;
    }
    if (!found)
        return err_set(e, ERR_NOT_FOUND, "no lock is on %.150s; `cicada locks` lists them",
                       *path ? path : "the workspace");
    if (!ended) {
        *e = why;
        return -1;
    }
    return 0;
}

static int unlock_word(struct remote *r, const struct verb_input *in, const char *word,
                       struct err *e)
{
    char path[FILEREF_SIZE];
    const char *done = in->values[OPT_BREAK] ? "broke" : "released";
    if (strncmp(word, "lock_", 5) == 0) {
        if (end_one(r, in, word, e))
            return -1;
        note(&r->notes, "%s %s", done, word);
        return 0;
    }
    if (fileref_clean(word, path, /* ret_is_dir= */ NULL, e) || end_on_path(r, in, path, e))
        return -1;
    note(&r->notes, "%s the lock on %s", done, *path ? path : "the workspace");
    return 0;
}

static int unlock(struct remote *r, const struct verb_input *in, char *const *command,
                  struct err *e)
{
    (void)command;
    for (size_t i = 0; i < in->operand_count; i++)
        if (unlock_word(r, in, in->operands[i], e))
            return -1;
    return EXIT_DONE;
}

/* ---- listing ---- */

static void add_lock(struct table *t, const json_t *lock)
{
    const char *path = pick_text(lock, "path");
    scoped(buf_done) struct buf kind = BUF_INIT(64);
    buf_fmt(&kind, "%s%s", pick_is_true(lock, "shared") ? "shared" : "exclusive",
            pick_is_true(lock, "tree") ? ", tree" : "");
    table_add(t, *path ? path : "/", NULL);
    table_add(t, pick_text(lock, "holder"), NULL);
    table_add(t, kind.bytes, NULL);
    verb_add_moment(t, lock, "expires_at", "-");
    verb_add_count(t, pick_count(lock, "fence"));
    verb_add_count(t, pick_count(lock, "conflicts"));
    table_add(t, pick_text(lock, "id"), NULL);
}

static int show_locks(struct remote *r, const struct verb_input *in, char *const *command,
                      struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    char path[FILEREF_SIZE];
    (void)command;
    bool has_path = in->operand_count > 0;
    if (has_path && fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e))
        return -1;
    if (list(r, in, has_path ? path : NULL, &all, e))
        return -1;
    return verb_print_list(in, all, &t, add_lock, e);
}

/* ---- commands of one word ---- */

struct word {
    const char *name, *usage, *about;
    size_t operands_min, operands_max;
    const struct option *options;
    int (*main)(struct remote *r, const struct verb_input *in, char *const *command, struct err *e);
};

/* clang-format off */
static const struct word locking = {"lock", "PATH [-- COMMAND ...]",
    "Keeps others from changing a file, which need not be there yet, or with --tree everything in\n"
    "a directory. What they try is refused, and what their sessions write is kept beside it.\n"
    "Prints the token, which lets changes pass: --lock TOKEN, or " LOCK_ENVIRONMENT " in the\n"
    "environment. With a COMMAND it is run with that, the lock is renewed meanwhile and released\n"
    "at its end.", 1, 1, lock_options, lock_path};
static const struct word unlocking = {"unlock", "PATH|LOCK...",
    "Ends locks, by who has their tokens (--lock, or " LOCK_ENVIRONMENT "), or with --break by an\n"
    "admin of the workspace.", 1, VERB_OPERANDS_MAX, unlock_options, unlock};
static const struct word listing = {"locks", "[PATH]",
    "Lists locks that are in force: all of the workspace, or those that matter to a path. CONFLICTS\n"
    "counts files of sessions that were kept beside, or not deleted, because of it.",
    0, 1, locks_options, show_locks};
/* clang-format on */

static void word_help(const struct word *w, struct buf *out)
{
    buf_fmt(out, "usage: cicada %s %s\n\n%s\n\n", w->name, w->usage, w->about);
    args_help(w->options, out);
}

static int parse(const struct word *w, int argc, char **argv, struct verb_input *in, struct err *e)
{
    struct args args = ARGS(argc, argv, w->options);
    struct arg arg;
    int got;
    while ((got = args_next(&args, &arg, e)) == 1) {
        if (arg.id)
            in->values[arg.id] = arg.value ? arg.value : "";
        else if (in->operand_count == w->operands_max)
            return err_set(e, ERR_INVALID, "'%.60s' is one too many; write: cicada %s %s",
                           arg.value, w->name, w->usage);
        else
            in->operands[in->operand_count++] = arg.value;
    }
    if (got == 0 && !in->values[VERB_HELP] && in->operand_count < w->operands_min)
        return err_set(e, ERR_INVALID, "something is missing; write: cicada %s %s", w->name,
                       w->usage);
    return got;
}

static int print_word_help(const struct word *w)
{
    scoped(buf_done) struct buf text = BUF_INIT(8192);
    word_help(w, &text);
    return print_exit(&text, EXIT_DONE);
}

/* `command`: what stood behind "--"; NULL: nothing. */
static int word_main(const struct word *w, int argc, char **argv, char *const *command)
{
    struct err e = {0};
    struct verb_input in = {0};
    scoped(remote_done) struct remote r = {.notes = notes_to_stderr()};
    if (parse(w, argc, argv, &in, &e))
        return usage_error(w->name, e.text);
    if (in.values[VERB_HELP])
        return print_word_help(w);
    text_locale();
    if (remote_open(&r, &e))
        return remote_failure(&r, &e);
    if (in.values[VERB_LOCK])
        client_lock(r.client, in.values[VERB_LOCK]);
    int code = w->main(&r, &in, command, &e);
    return code < 0 ? remote_failure(&r, &e) : code;
}

int lock_main(int argc, char **argv)
{
    int end = 0;
    while (end < argc && strcmp(argv[end], "--") != 0)
        end++;
    bool has_command = end < argc;
    if (has_command && end + 1 == argc)
        return usage_error("lock", "write a command behind the --");
    return word_main(&locking, end, argv, has_command ? argv + end + 1 : NULL);
}

int unlock_main(int argc, char **argv)
{
    return word_main(&unlocking, argc, argv, /* command= */ NULL);
}

int locks_main(int argc, char **argv)
{
    return word_main(&listing, argc, argv, /* command= */ NULL);
}

void lock_help(struct buf *out)
{
    word_help(&locking, out);
    buf_str(out,
            "\nexamples:\n"
            "  cicada lock data.csv --wait 1m -- sh -c 'cicada files get data.csv && ./add &&\n"
            "      cicada files put data.csv'\n"
            "  export CICADA_LOCK_TOKEN=$(cicada lock plots/ --ttl 30m)\n");
}

void unlock_help(struct buf *out)
{
    word_help(&unlocking, out);
}

void locks_help(struct buf *out)
{
    word_help(&listing, out);
}
