/* Commands of the repl, and what it asks the session about code that is not run. */
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
#include "json/write.h"

enum { ASK_TIMEOUT_S = 10, ANSWER_TEXT_MAX = 4 << 20, REQUEST_MAX = 32 << 20 };

/* Characters, not bytes: what Python counts. */
static size_t char_count(const char *text, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

int repl_ask(struct repl *r, const char *action, const char *code, struct json_t **ret,
             struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(REQUEST_MAX);
    struct json_writer w = JSON_WRITER(&body);
    char path[CALL_PATH_MAX];
    jw_object(&w);
    jw_key(&w, "code");
    jw_text(&w, code);
    jw_key(&w, "cursor");
    jw_u64(&w, char_count(code, strlen(code)));
    jw_end_object(&w);
    jw_finish(&w);
    if (buf_check(&body, e))
        return -1;
    (void)snprintf(path, sizeof path, "%s/%s/%s", shelf_sessions.path, r->session_id, action);
    const struct call call = {.path = path, .body = &body, .timeout_s = ASK_TIMEOUT_S};
    return client_call(r->remote.client, &call, ret, e);
}

static size_t common_length(const char *a, size_t len, const char *b)
{
    size_t i = 0;
    while (i < len && b[i] && a[i] == b[i])
        i++;
    while (i > 0 && ((unsigned char)a[i] & 0xc0) == 0x80)
        i--; /* not in the middle of a character */
    return i;
}

/* What all matches begin with goes to `insert`, and all of them to `choices` if that is no progress. */
static int choose(const json_t *matches, size_t typed_len, struct buf *insert, struct buf *choices)
{
    const char *first = json_string_value(json_array_get(matches, 0));
    if (!first)
        return -1;
    size_t common = strlen(first), count = json_array_size(matches);
    for (size_t i = 1; i < count; i++) {
        const char *other = json_string_value(json_array_get(matches, i));
        common = other ? common_length(first, common, other) : common;
    }
    printable(first, common, insert);
    for (size_t i = 0; count > 1 && common <= typed_len && i < count; i++) {
        const char *match = json_string_value(json_array_get(matches, i));
        if (match)
            printable(match, strlen(match), choices);
        buf_str(choices, "\n");
    }
    return insert->failed || choices->failed;
}

int repl_complete(void *arg, const char *text, struct buf *insert, struct buf *choices,
                  size_t *ret_remove)
{
    struct repl *r = arg;
    scoped(buf_done) struct buf code = BUF_INIT(REQUEST_MAX);
    scoped(json_decrefp) json_t *answer = NULL;
    struct err ignored = {0}; /* whoever presses Tab sees that nothing comes */
    if (r->code.len > 0)
        buf_add(&code, r->code.bytes, r->code.len);
    buf_str(&code, text);
    if (code.failed || repl_ask(r, "complete", code.bytes, &answer, &ignored))
        return -1;
    size_t start = pick_count(answer, "cursor_start"), end = char_count(code.bytes, code.len);
    if (start > end || end - start > char_count(text, strlen(text)))
        return -1;
    *ret_remove = end - start;
    size_t typed_len = 0; /* bytes of the part that is being completed */
    for (size_t chars = end - start; chars > 0; chars--)
        do
            typed_len++;
        while (((unsigned char)text[strlen(text) - typed_len] & 0xc0) == 0x80);
    return choose(json_object_get(answer, "matches"), typed_len, insert, choices);
}

static void put_lines(const char *text, struct buf *out)
{
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        printable(text, strcspn(text, "\n"), out);
        buf_str(out, "\n");
    }
}

static void put_field(struct buf *out, const char *title, const char *text)
{
    if (!*text)
        return;
    buf_fmt(out, "%s: ", title);
    put_lines(text, out);
}

void repl_inspect(struct repl *r, const char *name)
{
    scoped(buf_done) struct buf text = BUF_INIT(ANSWER_TEXT_MAX);
    scoped(json_decrefp) json_t *answer = NULL;
    struct err e = {0};
    if (repl_ask(r, "inspect", name, &answer, &e)) {
        (void)remote_failure(&r->remote, &e);
        return;
    }
    if (!pick_is_true(answer, "found")) {
        note(&r->remote.notes, "'%s' is not defined", name);
        return;
    }
    buf_fmt(&text, "%s%s\n", pick_text(answer, "name"), pick_text(answer, "signature"));
    put_field(&text, "type", pick_text(answer, "type"));
    put_field(&text, "value", pick_text(answer, "repr"));
    if (*pick_text(answer, "doc"))
        buf_str(&text, "\n");
    put_lines(pick_text(answer, "doc"), &text);
    (void)print_out(&text);
}

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

static void put_name(struct buf *body, const char *name)
{
    struct json_writer w = JSON_WRITER(body);
    jw_object(&w);
    if (*name) {
        jw_key(&w, "name");
        jw_text(&w, name);
    }
    jw_end_object(&w);
    jw_finish(&w);
}

static void do_fork(struct repl *r, const char *word)
{
    scoped(buf_done) struct buf body = BUF_INIT(4096);
    scoped(json_decrefp) json_t *made = NULL;
    struct err e = {0};
    put_name(&body, word);
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
    put_name(&body, word);
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
    (void)snprintf(path, sizeof path, "%s/%s/variables", shelf_sessions.path, r->session_id);
    if (client_call(r->remote.client, &(struct call){.path = path}, &answer, &e)) {
        tell(r, &e);
        return;
    }
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
