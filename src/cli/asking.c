#include "cli/asking.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/pick.h"
#include "cli/sse_read.h"
#include "json/read.h"
#include "json/write.h"

/* ---- the question ---- */

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    if (!text)
        return;
    jw_key(w, key);
    jw_text(w, text);
}

static void put_number(struct json_writer *w, const char *key, uint64_t number)
{
    if (number == 0)
        return;
    jw_key(w, key);
    jw_u64(w, number);
}

void asking_request(const struct ask_wish *wish, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    put_text(&w, "question", wish->question);
    put_text(&w, "workspace", wish->workspace);
    put_text(&w, "session", wish->session);
    put_text(&w, "model", wish->model);
    put_text(&w, "instructions", wish->instructions);
    if (wish->file_count > 0) {
        jw_key(&w, "files");
        jw_array(&w);
        for (size_t i = 0; i < wish->file_count; i++)
            jw_text(&w, wish->files[i]);
        jw_end_array(&w);
    }
    jw_key(&w, "search");
    jw_bool(&w, wish->is_searching);
    jw_key(&w, "verify");
    jw_bool(&w, wish->is_verified);
    put_number(&w, "max_runs", wish->max_runs);
    put_number(&w, "max_tokens", wish->max_tokens);
    put_number(&w, "timeout_s", wish->timeout_s);
    jw_end_object(&w);
    jw_finish(&w);
}

/* ---- the answer ---- */

void asking_done(struct asking *a)
{
    json_decref(a->answer);
    a->answer = NULL;
}

/* Events carry the answer either as it is or under its name. */
static json_t *answer_of(json_t *value)
{
    json_t *inner = json_object_get(value, "answer");
    return json_is_object(inner) ? inner : value;
}

static void note_id(struct asking *a, const json_t *answer)
{
    const char *id = pick_text(answer, "id");
    if (*id && strlen(id) < sizeof a->id && !strpbrk(id, "/?#% \r\n"))
        (void)snprintf(a->id, sizeof a->id, "%s", id);
}

static bool is_done(const json_t *answer)
{
    return strcmp(pick_text(answer, "status"), "done") == 0;
}

static int on_event(void *arg, const struct sse_event *event, struct err *e)
{
    struct asking *a = arg;
    scoped(json_decrefp) json_t *value = NULL;
    struct err why = {0};
    bool is_plain = strcmp(event->name, CLIENT_ANSWER) == 0;
    bool is_last = strcmp(event->name, "answer.done") == 0;
    if (json_read(event->text, event->len, &value, &why))
        return err_set(e, ERR_PROTOCOL, "the server sent what we do not understand: %.150s",
                       why.text);
    if (is_plain || is_last || strcmp(event->name, "answer.started") == 0)
        note_id(a, answer_of(value));
    if ((is_last || (is_plain && is_done(value))) && !a->answer) {
        a->answer = json_incref(answer_of(value));
        return 0;
    }
    return a->put ? a->put(a->arg, event->name, value, e) : 0;
}

/* The stream ended before the answer came: it may be there all the same. */
static int look_again(struct asking *a, struct err *e)
{
    char path[CALL_PATH_MAX];
    json_t *answer = NULL;
    struct err ignored = {0};
    if (!*a->id)
        return err_set(e, ERR_PROTOCOL, "the server ended the connection before it had an answer");
    (void)snprintf(path, sizeof path, ANSWERS_PATH "/%s", a->id);
    if (client_call(a->client, &(struct call){.path = path}, &answer, &ignored) == 0 &&
        is_done(answer)) {
        a->answer = answer;
        return 0;
    }
    json_decref(answer);
    return err_set(e, ERR_UNAVAILABLE,
                   "lost sight of the answer; `cicada ask --transcript %s` shows what there is",
                   a->id);
}

int asking_run(struct asking *a, const struct buf *body, struct err *e)
{
    const struct sse_sink sink = {on_event, a};
    const struct call call = {.path = ASK_PATH, .body = body};
    if (buf_check(body, e))
        return err_wrap(e, "the question is too long");
    int failed = client_stream(a->client, &call, &sink, e);
    if (a->answer)
        return 0;
    if (failed && (!*a->id || e->code != ERR_UNAVAILABLE))
        return -1;
    return look_again(a, e);
}
