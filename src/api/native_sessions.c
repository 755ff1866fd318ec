/* native_sessions.c -- /api/v1/sessions. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native.h"
#include "api/reply.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "service/object.h"
#include "service/seat.h"
#include "service/service.h"
#include "json/fields.h"
#include "json/read.h"
#include "json/write.h"

/* ---- what they take ---- */

const struct json_field native_limits[] = {
    {JF_INT(struct limit_wishes, memory_mb), .min = 1, .max = 1 << 20, .is_open = true,
     .doc = "memory of all its processes, in MiB"},
    {JF_MILLI(struct limit_wishes, cpu, "cpu"), .min = 10, .max = 1024000, .is_open = true,
     .doc = "cores"},
    {JF_MILLI(struct limit_wishes, wall_s, "wall_s"), .min = 100, .max = 86400000, .is_open = true,
     .doc = "seconds one run may take"},
    {JF_INT(struct limit_wishes, pids), .min = 4, .max = 32768, .is_open = true,
     .doc = "processes and threads"},
    {JF_INT(struct limit_wishes, output_bytes), .min = 1024, .max = 64 << 20, .is_open = true,
     .doc = "bytes of stdout and of stderr that are kept"},
    {JF_INT(struct limit_wishes, disk_mb), .min = 1, .max = 1 << 20, .is_open = true,
     .doc = "what /mnt/data may grow by, in MiB"},
    {0},
};

struct create_args {
    const char *workspace, *name, *tz, *on_behalf_of;
    struct limit_wishes limits;
    int64_t idle_s, snapshots;
};

static const struct json_field create_fields[] = {
    {JF_TEXT(struct create_args, name), .min = 1, .max = SEAT_NAME_MAX,
     .doc = "unique among your open sessions; can be used instead of the id"},
    {JF_TEXT(struct create_args, workspace), .min = 1, .max = 64,
     .doc = "where its files are kept; your default one if left out"},
    {JF_OBJECT(struct create_args, limits, native_limits)},
    {JF_INT(struct create_args, idle_s), .min = 1, .max = SEAT_IDLE_MAX_S, .preset = -1,
     .is_open = true, .doc = "seconds without use until it falls asleep"},
    {JF_INT(struct create_args, snapshots), .min = 0, .max = 14, .preset = 0,
     .doc = "how many of the last runs can be undone"},
    {JF_TEXT(struct create_args, tz), .min = 1, .max = SEAT_TZ_MAX,
     .doc = "time zone of the code, such as Europe/Berlin; UTC if left out"},
    {JF_TEXT(struct create_args, on_behalf_of), .min = 1, .max = 256,
     .doc = "your name for one of your own users, who gets sessions and files of their own"},
    {0},
};

struct list_args {
    const char *status, *name, *workspace, *cursor;
    int64_t limit;
};

static const struct json_field list_fields[] = {
    {JF_TEXT(struct list_args, status), .max = 16,
     .doc = "open (all that are not closed), any, or one that a session can have"},
    {JF_TEXT(struct list_args, name), .max = SEAT_NAME_MAX},
    {JF_TEXT(struct list_args, workspace), .max = 64},
    {JF_TEXT(struct list_args, cursor), .max = 128, .doc = "next_cursor of the page before"},
    {JF_INT(struct list_args, limit), .min = 1, .max = 100, .preset = 20},
    {0},
};

struct change_args {
    const char *name;
    int64_t idle_s;
};

static const struct json_field change_fields[] = {
    {JF_TEXT(struct change_args, name), .min = 1, .max = SEAT_NAME_MAX},
    {JF_INT(struct change_args, idle_s), .min = 1, .max = SEAT_IDLE_MAX_S, .preset = -1,
     .is_open = true},
    {0},
};

struct fork_args {
    const char *name;
};

static const struct json_field fork_fields[] = {
    {JF_TEXT(struct fork_args, name), .min = 1, .max = SEAT_NAME_MAX},
    {0},
};

struct rollback_args {
    const char *run;
    int64_t steps;
};

static const struct json_field rollback_fields[] = {
    {JF_INT(struct rollback_args, steps), .min = 1, .max = 14,
     .doc = "how many of the last runs to undo; 1, if `run` is left out too"},
    {JF_TEXT(struct rollback_args, run), .min = 1, .max = 64,
     .doc = "the first run to undo, instead"},
    {0},
};

/* Whether a look may wake the session, and wait behind its runs. */
#define LOOK_FIELDS(type)                                                                         \
    {JF_BOOL(type, wake),                                                                         \
     .doc = "wake the session if it sleeps; otherwise the answer is what is known"},              \
    {                                                                                             \
        JF_BOOL(type, wait), .doc = "wait behind its runs; otherwise the answer is what is known" \
    }

struct ask_args {
    struct str code;
    int64_t cursor;
    bool wake, wait;
};

static const struct json_field ask_fields[] = {
    {JF_STR(struct ask_args, code), .required = true, .max = 1 << 20},
    {JF_INT(struct ask_args, cursor), .min = 0, .max = 1 << 20, .preset = -1, .is_open = true,
     .doc = "position in characters; the end of the code if left out"},
    LOOK_FIELDS(struct ask_args),
    {0},
};

struct variables_args {
    bool wake, wait;
};

static const struct json_field variables_fields[] = {LOOK_FIELDS(struct variables_args), {0}};

/* ---- what they do ---- */

static void show(struct call *c, struct seat *seat)
{
    struct json_writer w = JSON_WRITER(&c->out);
    seat_object(seat, &w);
}

static int find(struct call *c, struct seat **ret, struct err *e)
{
    return seat_find(c->api->o.service, &c->who, c->param[0], ret, e);
}

int native_behalf(struct call *c, const char *name, struct err *e)
{
    if (!name)
        return 0;
    const struct who maker = c->who;
    return people_behalf(c->api->o.people, &maker, str_of(name), clock_wall_us(), &c->who, e);
}

static int create(struct call *c, struct err *e)
{
    const struct create_args *in = c->in;
    struct seat *seat;
    if (c->once.state == ONCE_AGAIN) {
        struct json_writer w = JSON_WRITER(&c->out);
        return seat_show(c->api->o.service, &c->who, c->once.subject, &w, e);
    }
    const struct seat_wishes wishes = {.name = in->name,
                                       .workspace = in->workspace,
                                       .tz = in->tz,
                                       .limits = in->limits,
                                       .idle_s = in->idle_s,
                                       .snapshots = in->snapshots};
    if (native_behalf(c, in->on_behalf_of, e) ||
        seat_create(c->api->o.service, &c->who, &wishes, &seat, e))
        return -1;
    once_made(&c->once, seat_id(seat));
    show(c, seat);
    seat_unref(seat);
    return 0;
}

static int list(struct call *c, struct err *e)
{
    const struct list_args *in = c->query;
    struct json_writer w = JSON_WRITER(&c->out);
    const struct seat_filter filter = {in->status, in->name, in->workspace};
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    return seat_list(c->api->o.service, &c->who, &filter, &page, &w, e);
}

static int get(struct call *c, struct err *e)
{
    struct json_writer w = JSON_WRITER(&c->out);
    return seat_show(c->api->o.service, &c->who, c->param[0], &w, e);
}

static int change(struct call *c, struct err *e)
{
    const struct change_args *in = c->in;
    scoped(seat_unrefp) struct seat *seat = NULL;
    const struct seat_changes changes = {.name = in->name, .idle_s = in->idle_s};
    if (find(c, &seat, e) || seat_change(seat, &changes, e))
        return -1;
    show(c, seat);
    return 0;
}

static int delete (struct call *c, struct err *e)
{
    scoped(seat_unrefp) struct seat *seat = NULL;
    return find(c, &seat, e) || seat_close(seat, "deleted", e) ? -1 : 0;
}

static int interrupt(struct call *c, struct err *e)
{
    scoped(seat_unrefp) struct seat *seat = NULL;
    if (find(c, &seat, e))
        return -1;
    seat_interrupt(seat);
    show(c, seat);
    return 0;
}

/* Finds the session, does it, shows the session. */
static int act(struct call *c, int (*what)(struct seat *seat, struct err *e), struct err *e)
{
    scoped(seat_unrefp) struct seat *seat = NULL;
    if (find(c, &seat, e) || what(seat, e))
        return -1;
    show(c, seat);
    return 0;
}

static int restart(struct call *c, struct err *e)
{
    return act(c, seat_restart, e);
}

static int fall_asleep(struct call *c, struct err *e)
{
    return act(c, seat_sleep, e);
}

static int fork_session(struct call *c, struct err *e)
{
    const struct fork_args *in = c->in;
    scoped(seat_unrefp) struct seat *seat = NULL, *branch = NULL;
    if (c->once.state == ONCE_AGAIN) {
        struct json_writer w = JSON_WRITER(&c->out);
        return seat_show(c->api->o.service, &c->who, c->once.subject, &w, e);
    }
    if (find(c, &seat, e) || seat_fork(seat, &c->who, in->name, &branch, e))
        return -1;
    once_made(&c->once, seat_id(branch));
    show(c, branch);
    return 0;
}

static int rollback(struct call *c, struct err *e)
{
    const struct rollback_args *in = c->in;
    scoped(seat_unrefp) struct seat *seat = NULL;
    if (in->run && in->steps)
        return err_set(e, ERR_INVALID, "steps and run exclude each other; leave out one");
    if (find(c, &seat, e) ||
        seat_rollback(seat, &c->who, in->steps ? (uint64_t)in->steps : 1, in->run, e))
        return -1;
    show(c, seat);
    return 0;
}

static int refresh(struct call *c, struct err *e)
{
    scoped(seat_unrefp) struct seat *seat = NULL;
    if (find(c, &seat, e) || seat_refresh(seat, &c->who, e))
        return -1;
    show(c, seat);
    return 0;
}

static void free_json(json_t **json)
{
    json_decref(*json);
}

/* What is said of a session that was not asked, and of which nothing is known. */
static void put_nothing(const char *topic, const struct seat_question *q, struct buf *out)
{
    unsigned end = 0;
    for (const char *at = q->code; *at && end < q->cursor; at++)
        end += ((unsigned char)at[1] & 0xc0) != 0x80;
    if (strcmp(topic, "complete") == 0)
        buf_fmt(out, "{\"matches\":[],\"cursor_start\":%u,\"cursor_end\":%u}", end, end);
    else
        buf_str(out, strcmp(topic, "inspect") == 0 ? "{\"found\":false}"
                                                   : "{\"variables\":[],\"count\":0}");
}

/* What the kernel said is a stranger's, so it is checked before it is passed on; what we say of it
 * replaces what it may have said of that. */
static int put_answer(struct call *c, const char *topic, const char *text,
                      const struct seat_answer *answer, struct err *e)
{
    scoped(free_json) json_t *said = NULL, *found = NULL;
    scoped(freep) char *whole = NULL;
    scoped(buf_done) struct buf own = BUF_INIT(256);
    struct json_writer w = JSON_WRITER(&own);
    jw_object(&w);
    jw_key(&w, "status");
    jw_text(&w, answer->status);
    jw_key(&w, "is_current");
    jw_bool(&w, answer->is_current);
    object_time(&w, "as_of", answer->as_of_us);
    jw_end_object(&w);
    if (reply_check(topic, text, e) || json_read(text, strlen(text), &said, e) ||
        json_read(own.bytes, own.len, &found, e))
        return -1;
    if (json_object_update(said, found) || !(whole = json_dumps(said, JSON_COMPACT)))
        return err_set(e, ERR_NO_MEMORY, "ask the session");
    return native_embed(c, whole, e);
}

static int ask(struct call *c, const char *topic, const struct ask_args *in, struct err *e)
{
    scoped(seat_unrefp) struct seat *seat = NULL;
    scoped(freep) char *code = NULL, *text = NULL;
    scoped(buf_done) struct buf nothing = BUF_INIT(256);
    struct seat_answer answer;
    code = strndup(in->code.ptr ? in->code.ptr : "", in->code.len);
    if (!code)
        return err_set(e, ERR_NO_MEMORY, "ask the session");
    const struct seat_question question = {
        .topic = topic,
        .code = code,
        .cursor = in->cursor >= 0 ? (uint32_t)in->cursor : UINT32_MAX,
        .wakes = in->wake,
        .waits = in->wait,
    };
    if (find(c, &seat, e) || seat_ask(seat, &c->who, &question, &answer, e))
        return -1;
    text = answer.text;
    put_nothing(topic, &question, &nothing);
    return put_answer(c, topic, text ? text : nothing.bytes, &answer, e);
}

static int complete(struct call *c, struct err *e)
{
    return ask(c, "complete", c->in, e);
}

static int inspect(struct call *c, struct err *e)
{
    return ask(c, "inspect", c->in, e);
}

static int variables(struct call *c, struct err *e)
{
    const struct variables_args *in = c->query;
    const struct ask_args as = {.cursor = -1, .wake = in->wake, .wait = in->wait};
    return ask(c, "variables", &as, e);
}

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)

static const struct op ops[] = {
    {.method = "POST",
     .path = "/api/v1/sessions",
     .name = "createSession",
     .summary = "Make a session and start it.",
     .needs = NEEDS_NAMED,
     .scope = SCOPE_RUN,
     .flags = OP_CREATES,
     BODY(create_args, create_fields),
     .body_is_optional = true,
     .status = 201,
     .answer = "Session",
     .run = create},
    {.method = "GET",
     .path = "/api/v1/sessions",
     .name = "listSessions",
     .summary = "List your sessions, newest first.",
     .needs = NEEDS_NOTHING,
     .scope = SCOPE_RUN,
     QUERY(list_args, list_fields),
     .status = 200,
     .answer = "SessionList",
     .run = list},
    {.method = "GET",
     .path = "/api/v1/sessions/{id}",
     .name = "getSession",
     .summary = "Show a session, also a closed one.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Session",
     .run = get},
    {.method = "PATCH",
     .path = "/api/v1/sessions/{id}",
     .name = "changeSession",
     .summary = "Rename a session, or change when it falls asleep.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     BODY(change_args, change_fields),
     .status = 200,
     .answer = "Session",
     .run = change},
    {.method = "DELETE",
     .path = "/api/v1/sessions/{id}",
     .name = "deleteSession",
     .summary = "End a session: its run, its variables, its working copy.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 204,
     .run = delete},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/interrupt",
     .name = "interruptSession",
     .summary = "Cancel the run that goes on; the variables stay.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Session",
     .run = interrupt},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/restart",
     .name = "restartSession",
     .summary = "Forget all variables and begin anew; the files stay.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Session",
     .run = restart},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/sleep",
     .name = "sleepSession",
     .summary = "Put a session to sleep on disk; its next use wakes it.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Session",
     .run = fall_asleep},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/fork",
     .name = "forkSession",
     .summary = "Make a second session with the same variables and files.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .flags = OP_CREATES,
     BODY(fork_args, fork_fields),
     .body_is_optional = true,
     .status = 201,
     .answer = "Session",
     .run = fork_session},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/rollback",
     .name = "rollbackSession",
     .summary =
         "Undo the last runs: variables and files become what they were before; also of a session that sleeps.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     BODY(rollback_args, rollback_fields),
     .body_is_optional = true,
     .status = 200,
     .answer = "Session",
     .run = rollback},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/refresh",
     .name = "refreshSession",
     .summary =
         "Bring the files of the session to what the workspace has, also those that both sides "
         "changed.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     .status = 200,
     .answer = "Session",
     .run = refresh},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/complete",
     .name = "completeCode",
     .summary =
         "What could come next at a place in the code. Does not wake the session or wait for its run, unless told to.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     BODY(ask_args, ask_fields),
     .status = 200,
     .answer = "Completion",
     .run = complete},
    {.method = "POST",
     .path = "/api/v1/sessions/{id}/inspect",
     .name = "inspectCode",
     .summary =
         "What is known of the name at a place in the code. Does not wake the session or wait for its run, unless told to.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     BODY(ask_args, ask_fields),
     .status = 200,
     .answer = "Inspection",
     .run = inspect},
    {.method = "GET",
     .path = "/api/v1/sessions/{id}/variables",
     .name = "listVariables",
     .summary = "The session's variables. Does not wake it or wait for its run, unless told to.",
     .needs = NEEDS_OWNER,
     .scope = SCOPE_RUN,
     QUERY(variables_args, variables_fields),
     .status = 200,
     .answer = "Variables",
     .run = variables},
};

const struct op_table native_sessions = {ops, sizeof ops / sizeof *ops};
