/* What the repl asks the session about code that is not run: completion, inspection. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/repl_int.h"
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
    jw_key(&w, "wake"); /* whoever is at the prompt is about to use it */
    jw_bool(&w, true);
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
    if (!pick_is_true(answer, "is_current")) {
        note(&r->remote.notes, "the session is %s: ask again when it is not",
             pick_text(answer, "status"));
        return;
    }
    if (!pick_is_true(answer, "found")) {
        note(&r->remote.notes, "'%s' is not defined", name);
        return;
    }
    buf_fmt(&text, "%s%s\n", pick_text(answer, "name"), pick_text(answer, "signature"));
    put_field(&text, "type", pick_text(answer, "type"));
    put_field(&text, "value", pick_text(answer, "repr"));
    put_field(&text, "not asked", pick_text(answer, "gave_up"));
    if (*pick_text(answer, "doc"))
        buf_str(&text, "\n");
    put_lines(pick_text(answer, "doc"), &text);
    (void)print_out(&text);
}
