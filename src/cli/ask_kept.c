/* `cicada ask --list` and `--transcript`: answers that are kept. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/ask_int.h"
#include "cli/ask_options.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/pick.h"
#include "cli/run_int.h"
#include "cli/table.h"
#include "cli/verbs.h"

enum { TEXT_MAX = 256 << 20, QUESTION_SHOWN = 200 };

/* clang-format off */
static const struct column columns[] = {
    {"ID", false, false}, {"END", false, false}, {"ASKED", false, false}, {"RUNS", true, false},
    {"TOKENS", true, false}, {"QUESTION", false, true}};
/* clang-format on */

static void add_row(struct table *t, const json_t *answer)
{
    const char *question = pick_text(answer, "question"), *end = pick_text(answer, "end");
    const json_t *runs = json_object_get(answer, "runs");
    char shown[QUESTION_SHOWN];
    (void)snprintf(shown, sizeof shown, "%.*s", (int)strcspn(question, "\n"), question);
    table_add(t, pick_text(answer, "id"), NULL);
    table_add(t, *end ? end : pick_text(answer, "status"), NULL);
    verb_add_moment(t, answer, "created_at", "-");
    verb_add_count(t, json_is_integer(runs) ? pick_count(answer, "runs") : json_array_size(runs));
    verb_add_count(t, pick_count(json_object_get(answer, "usage"), "total_tokens"));
    table_add(t, shown, NULL);
}

int ask_list(struct remote *r, const struct ask_options *o, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    struct verb_input in = {0};
    bool has_more = false;
    in.values[VERB_JSON] = o->is_json ? "" : NULL;
    if (remote_list(r, ANSWERS_PATH, "", (unsigned)o->limit, &all, &has_more, e))
        return -1;
    int code = verb_print_list(&in, all, &t, add_row, e);
    if (code >= 0 && json_array_size(all) == 0)
        note(&r->notes, "no answers");
    if (code >= 0 && has_more)
        note(&r->notes, "there are more: -n N shows so many");
    return code;
}

static int take_begin(void *arg, uint64_t from, struct err *e)
{
    (void)arg, (void)from, (void)e;
    return 0;
}

static int take_text(void *arg, const char *bytes, size_t len, struct err *e)
{
    buf_add(arg, bytes, len);
    return buf_check(arg, e);
}

int ask_transcript(struct remote *r, const struct ask_options *o, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), text = BUF_INIT(TEXT_MAX);
    const struct call_taker taker = {take_begin, take_text, &text};
    buf_str(&url, ANSWERS_PATH "/");
    client_encode(&url, o->transcript);
    buf_fmt(&url, "/transcript?format=%s", o->is_json ? "json" : o->format);
    const struct call call = {.path = url.bytes, .taker = &taker};
    if (buf_check(&url, e) || client_call(r->client, &call, /* ret= */ NULL, e))
        return -1;
    if (text.len > 0 && text.bytes[text.len - 1] != '\n')
        buf_str(&text, "\n");
    if (buf_check(&text, e))
        return -1;
    return run_output_exit(&r->notes, ask_print(/* stop= */ NULL, text.bytes ? text.bytes : ""));
}
