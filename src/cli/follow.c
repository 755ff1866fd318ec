#include "cli/follow.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/pick.h"
#include "cli/run_read.h"
#include "json/read.h"

enum {
    LOSSES_MAX = 5, /* connections that may break without a single event in between */
    LOSS_MS = 50,   /* before the next try; doubled with each */
};

void follow_done(struct follow *f)
{
    json_decref(f->object);
    f->object = NULL;
}

/* A repeated cancel does no harm, so one that failed is sent again with the next occasion. */
static void send_cancel(struct follow *f)
{
    char path[CALL_PATH_MAX];
    struct err ignored = {0}; /* the run's end tells whether it was heard */
    if (!f->is_cancel_wanted || f->is_cancel_sent || !*f->run_id)
        return;
    (void)snprintf(path, sizeof path, "/api/v1/runs/%s/cancel", f->run_id);
    const struct call call = {.method = "POST",
                              .path = f->interrupt_path ? f->interrupt_path : path};
    f->is_cancel_sent = client_aside(f->client, &call, &ignored) == 0;
}

void follow_cancel(struct follow *f)
{
    f->is_cancel_wanted = true;
    f->is_cancel_sent = false;
    send_cancel(f);
}

/* Events carry the run either as it is or under its name. */
static json_t *run_of(json_t *value)
{
    json_t *inner = json_object_get(value, "run");
    return json_is_object(inner) ? inner : value;
}

static void note_id(struct follow *f, const json_t *run)
{
    const char *id = pick_text(run, "id");
    if (*id && strlen(id) < sizeof f->run_id && !strpbrk(id, "/?#% \r\n"))
        (void)snprintf(f->run_id, sizeof f->run_id, "%s", id);
    send_cancel(f);
}

static int put(struct follow *f, const struct run_event *event)
{
    if (f->sink && f->sink->put(f->sink->arg, event) && !f->is_cancel_wanted)
        follow_cancel(f);
    return 0;
}

static int put_text(struct follow *f, enum run_event_kind kind, const json_t *value)
{
    const json_t *text = json_object_get(value, "text");
    if (!json_is_string(text))
        return 0;
    return put(f, &(struct run_event){.kind = kind,
                                      .bytes = json_string_value(text),
                                      .len = json_string_length(text)});
}

static int put_display(struct follow *f, enum run_event_kind kind, const json_t *value,
                       struct err *e)
{
    struct display d;
    if (display_read(json_object_get(value, "data"), &d, e))
        return -1;
    put(f, &(struct run_event){.kind = kind, .display = &d});
    display_done(&d);
    return 0;
}

static int put_error(struct follow *f, const json_t *value, struct err *e)
{
    struct run_error error;
    if (run_error_read(value, &error, e))
        return -1;
    put(f, &(struct run_event){.kind = RUN_ERROR, .error = &error});
    run_error_done(&error);
    return 0;
}

static int take_event(struct follow *f, const char *name, json_t *value, struct err *e)
{
    if (strcmp(name, "stdout") == 0)
        return put_text(f, RUN_STDOUT, value);
    if (strcmp(name, "stderr") == 0)
        return put_text(f, RUN_STDERR, value);
    if (strcmp(name, "display") == 0)
        return put_display(f, RUN_DISPLAY, value, e);
    if (strcmp(name, "result") == 0)
        return put_display(f, RUN_RESULT, value, e);
    if (strcmp(name, "error") == 0)
        return put_error(f, value, e);
    if (strcmp(name, "clear") == 0)
        return put(f, &(struct run_event){.kind = RUN_CLEAR});
    if (strcmp(name, "run.started") == 0 || strcmp(name, CLIENT_ANSWER) == 0)
        note_id(f, run_of(value));
    if (strcmp(name, "run.done") == 0 && !f->object) {
        note_id(f, run_of(value));
        f->object = json_incref(run_of(value));
    }
    return 0; /* file, and what a newer server may send */
}

static int on_event(void *arg, const struct sse_event *event, struct err *e)
{
    struct follow *f = arg;
    scoped(json_decrefp) json_t *value = NULL;
    struct err why = {0};
    if (json_read(event->text, event->len, &value, &why))
        return err_set(e, ERR_PROTOCOL, "the server sent what we do not understand: %s", why.text);
    (void)snprintf(f->last_id, sizeof f->last_id, "%s", event->id);
    if (f->raw_sink && f->raw_sink->put(f->raw_sink->arg, event, e))
        return -1;
    return take_event(f, event->name, value, e);
}

/* The events from after the last one seen. *ret_has_moved: there were some. */
static int follow_on(struct follow *f, bool *ret_has_moved, struct err *e)
{
    char path[CALL_PATH_MAX], before[SSE_WORD_MAX + 1];
    const struct sse_sink sink = {on_event, f};
    (void)snprintf(path, sizeof path, "/api/v1/runs/%s/events", f->run_id);
    (void)snprintf(before, sizeof before, "%s", f->last_id);
    const struct call call = {.path = path, .last_id = *before ? before : NULL};
    int failed = client_stream(f->client, &call, &sink, e);
    *ret_has_moved = strcmp(before, f->last_id) != 0;
    return failed;
}

/* Whether asking again may help: the connection broke, or the server went away. */
static bool is_loss(const struct err *e)
{
    return e->code == ERR_UNAVAILABLE || e->code == ERR_OVERLOADED;
}

int follow_run(struct follow *f, struct err *e)
{
    unsigned losses = 0;
    while (!f->object) {
        bool has_moved = false;
        int failed = follow_on(f, &has_moved, e);
        if (failed && !is_loss(e))
            return -1;
        losses = has_moved ? 0 : losses + 1;
        if (!f->object)
            (void)poll(NULL, 0, LOSS_MS << losses); /* it may be coming back */
        if (!f->object && losses >= LOSSES_MAX)
            return err_set(e, ERR_UNAVAILABLE,
                           "lost sight of the run; it may go on: `cicada runs events %s`",
                           f->run_id);
    }
    return 0;
}

int follow_new(struct follow *f, const char *path, const struct buf *body, struct err *e)
{
    char key[ID_SIZE];
    const struct sse_sink sink = {on_event, f};
    if (buf_check(body, e) || id_make("cli_", key, e))
        return -1;
    const struct call call = {.path = path, .body = body, .key = key};
    if (client_stream(f->client, &call, &sink, e) && (!*f->run_id || !is_loss(e)))
        return -1;
    if (f->object)
        return 0;
    if (!*f->run_id)
        return err_set(e, ERR_PROTOCOL, "the server ended the connection before the run began");
    return follow_run(f, e);
}
