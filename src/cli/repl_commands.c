/* Commands of the repl. */
#include <stdio.h>
#include <string.h>

#include "base/closest.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/repl_int.h"
#include "cli/table.h"
#include "cli/verbs.h"

enum { ANSWER_TEXT_MAX = 4 << 20 };

static void tell(struct repl *r, const struct err *e)
{
    (void)remote_failure(&r->remote, e);
}

/* An action without an answer worth showing. */
static void act(struct repl *r, const char *action, const char *done)
{
    struct err e = {0};
    if (remote_act(&r->remote, &shelf_sessions, r->session_id, action, /* ret= */ NULL, &e))
        tell(r, &e);
    else
        note(&r->remote.notes, "%s", done);
}

static void do_sleep(struct repl *r, const char *word)
{
    (void)word;
    act(r, "sleep", "asleep; it wakes with the next line");
}

static void do_restart(struct repl *r, const char *word)
{
    (void)word;
    act(r, "restart", "restarted: the variables are gone, the files are there");
}

static int post(struct repl *r, const char *action, const struct buf *body, json_t **ret,
                struct err *e)
{
    char path[CALL_PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s%s%s", shelf_sessions.path, r->session_id,
                   *action ? "/" : "", action);
    const struct call call = {.method = *action ? "POST" : "PATCH", .path = path, .body = body};
    return client_call(r->remote.client, &call, ret, e);
}

static void do_fork(struct repl *r, const char *word)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    scoped(json_decrefp) json_t *made = NULL;
    struct err e = {0};
    verb_put_one("name", *word ? word : NULL, &body);
    if (buf_check(&body, &e) || post(r, "fork", &body, &made, &e))
        tell(r, &e);
    else
        note(&r->remote.notes, "branched: `cicada repl --session %s` goes on there",
             *word ? word : pick_text(made, "id"));
}

static void do_name(struct repl *r, const char *word)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    struct err e = {0};
    if (!*word) {
        note_problem(&r->remote.notes, "write :name NAME");
        return;
    }
    verb_put_one("name", *word ? word : NULL, &body);
    if (buf_check(&body, &e) || post(r, "", &body, /* ret= */ NULL, &e)) {
        tell(r, &e);
        return;
    }
    r->owns_session = false;
    note(&r->remote.notes, "this session is called '%s' and stays when you leave", word);
}

static void do_rollback(struct repl *r, const char *word)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    struct err e = {0};
    uint64_t steps = 1;
    if (*word && parse_u64(word, 1, 1000, &steps, &e)) {
        tell(r, &e);
        return;
    }
    buf_fmt(&body, "{\"steps\":%llu}", (unsigned long long)steps);
    if (post(r, "rollback", &body, /* ret= */ NULL, &e))
        tell(r, &e);
    else
        note(&r->remote.notes, "variables and files are those of before");
}

static void do_vars(struct repl *r, const char *word)
{
    static const struct column columns[] = {
        {"NAME", false, true}, {"TYPE", false, true}, {"VALUE", false, true}};
    scoped(table_done) struct table t = TABLE(columns, 3);
    scoped(buf_done) struct buf text = BUF_INIT(ANSWER_TEXT_MAX);
    scoped(json_decrefp) json_t *answer = NULL;
    char path[CALL_PATH_MAX];
    struct err e = {0};
    (void)word;
    (void)snprintf(path, sizeof path, "%s/%s/variables?wake=true", shelf_sessions.path,
                   r->session_id);
    if (client_call(r->remote.client, &(struct call){.path = path}, &answer, &e)) {
        tell(r, &e);
        return;
    }
    if (!pick_is_true(answer, "is_current"))
        note(&r->remote.notes, "the session is %s: this is what it had before",
             pick_text(answer, "status"));
    const json_t *list = json_object_get(answer, "variables");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        table_add(&t, pick_text(one, "name"), NULL);
        table_add(&t, pick_text(one, "type"), NULL);
        table_add(&t, pick_text(one, "repr"), NULL);
    }
    if (json_array_size(list) == 0)
        note(&r->remote.notes, "no variables");
    else if (table_print(&t, terminal_width(), &text, &e) == 0)
        (void)print_out(&text);
}

static void do_quit(struct repl *r, const char *word)
{
    (void)word;
    r->is_leaving = true;
}

static void do_help(struct repl *r, const char *word);

static const struct repl_verb {
    const char *name, *operand, *help;
    void (*run)(struct repl *r, const char *word);
} verbs[] = {
    {"vars", "", "list the variables", do_vars},
    {"restart", "", "a fresh interpreter; the files stay", do_restart},
    {"sleep", "", "put the session to sleep now", do_sleep},
    {"fork", " [NAME]", "a second session with the same variables", do_fork},
    {"rollback", " [N]", "undo the last N runs (1); needs a session with snapshots", do_rollback},
    {"name", " NAME", "name this session, so that it stays when you leave", do_name},
    {"help", "", "this list", do_help},
    {"quit", "", "leave; so does Ctrl-D", do_quit},
};

enum { VERBS = sizeof verbs / sizeof *verbs };

static void do_help(struct repl *r, const char *word)
{
    scoped(buf_done) struct buf text = BUF_INIT(8192);
    (void)r;
    (void)word;
    for (int i = 0; i < VERBS; i++)
        buf_fmt(&text, "  :%s%-*s%s\n", verbs[i].name, (int)(20 - strlen(verbs[i].name)),
                verbs[i].operand, verbs[i].help);
    buf_str(&text, "  ?name               what is known about it; also name?\n"
                   "  Tab                 complete a name\n"
                   "  Ctrl-C              interrupt the code, or forget the line\n");
    (void)print_out(&text);
}

void repl_command(struct repl *r, const char *words)
{
    char name[32];
    const char *names[VERBS];
    size_t len = strcspn(words, " \t");
    (void)snprintf(name, sizeof name, "%.*s", (int)(len < 31 ? len : 31), words);
    const char *operand = words + len + strspn(words + len, " \t");
    for (int i = 0; i < VERBS; i++) {
        names[i] = verbs[i].name;
        if (strcmp(name, verbs[i].name) == 0) {
            verbs[i].run(r, operand);
            return;
        }
    }
    const char *meant = closest_name(name, names, VERBS);
    if (meant)
        note_problem(&r->remote.notes, "there is no :%s; did you mean :%s?", name, meant);
    else
        note_problem(&r->remote.notes, "there is no :%s; :help lists what there is", name);
}
