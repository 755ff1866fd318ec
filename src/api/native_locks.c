/* native_locks.c -- /api/v1/workspaces/{ws}/locks. */
#include "api/api_int.h"
#include "api/native_files.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "service/object.h"
#include "workspace/locks.h"
#include "json/fields.h"
#include "json/write.h"

/* ---- what they take ---- */

struct take_args {
    const char *path, *holder, *session;
    bool tree, shared;
    int64_t ttl_s, wait_s;
};

static const struct json_field take_fields[] = {
    {JF_TEXT(struct take_args, path), .required = true, .max = OP_REST_SIZE,
     .doc = "whether something is there or not; empty, with `tree`: the whole workspace"},
    {JF_BOOL(struct take_args, tree), .doc = "everything in the directory, too"},
    {JF_BOOL(struct take_args, shared),
     .doc = "others may have such a lock at the same time, and each of them may write"},
    {JF_INT(struct take_args, ttl_s), .min = LOCK_TTL_MIN_S, .max = LOCK_TTL_MAX_S,
     .preset = LOCK_TTL_S, .doc = "seconds until it ends by itself; renew it before"},
    {JF_TEXT(struct take_args, holder), .min = 1, .max = LOCK_HOLDER_MAX,
     .doc = "what others are told; your name if left out"},
    {JF_TEXT(struct take_args, session), .min = 1, .max = ID_SIZE - 1,
     .doc = "id of a session of yours: what it writes gets past, and the lock ends with it"},
    {JF_INT(struct take_args, wait_s), .min = 0, .max = LOCK_WAIT_MAX_S, .preset = 0,
     .doc = "seconds to wait for it"},
    {0},
};

struct renew_args {
    int64_t ttl_s;
};

static const struct json_field renew_fields[] = {
    {JF_INT(struct renew_args, ttl_s), .min = LOCK_TTL_MIN_S, .max = LOCK_TTL_MAX_S,
     .is_open = true, .doc = "from now on; as long as before if left out"},
    {0},
};

struct list_args {
    const char *path, *cursor;
    int64_t limit;
};

static const struct json_field list_fields[] = {
    {JF_TEXT(struct list_args, path), .max = OP_REST_SIZE,
     .doc = "those that matter to it: on it, on a tree above it, below it"},
    {JF_TEXT(struct list_args, cursor), .min = 1, .max = CURSOR_SIZE - 1,
     .doc = "next_cursor of the page before"},
    {JF_INT(struct list_args, limit), .min = 1, .max = PAGE_MAX, .preset = 100},
    {0},
};

/* ---- as JSON ---- */

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_bool(struct json_writer *w, const char *key, bool value)
{
    jw_key(w, key);
    jw_bool(w, value);
}

static void put_number(struct json_writer *w, const char *key, uint64_t value)
{
    jw_key(w, key);
    jw_u64(w, value);
}

static void show(struct json_writer *w, const struct lock_row *r, const char *token)
{
    jw_object(w);
    put_text(w, "id", r->id);
    put_text(w, "workspace_id", r->workspace);
    put_text(w, "path", r->path);
    put_bool(w, "tree", r->is_tree);
    put_bool(w, "shared", r->is_shared);
    put_text(w, "holder", r->holder);
    put_text(w, "principal_id", r->principal);
    put_text(w, "session_id", *r->session ? r->session : NULL);
    put_number(w, "ttl_s", r->ttl_s);
    put_number(w, "fence", r->fence);
    put_number(w, "conflicts", r->conflicts);
    object_time(w, "created_at", r->created_us);
    object_time(w, "expires_at", r->expires_us);
    if (*token)
        put_text(w, "token", token);
    jw_end_object(w);
}

static int answer(struct call *c, struct lock *l)
{
    struct json_writer w = JSON_WRITER(&c->out);
    show(&w, &l->row, l->token);
    lock_done(l);
    return 0;
}

/* ---- what they do ---- */

static struct files *files_of(const struct call *c)
{
    return c->api->o.files;
}

/* Who hangs up waits no more, and gets no lock that nobody would release. */
static int take_or_wait(struct call *c, const struct lock_wishes *wishes, struct lock *ret,
                        struct err *e)
{
    if (wishes->deadline_us == 0)
        return lock_take(files_of(c), &c->who, &c->ws, wishes, ret, &c->pass.block, e);
    http_on_hangup(c->x, lock_give_up, wishes->patience);
    int failed = lock_take(files_of(c), &c->who, &c->ws, wishes, ret, &c->pass.block, e);
    http_on_hangup(c->x, NULL, NULL);
    return failed;
}

static int take_lock(struct call *c, struct err *e)
{
    const struct take_args *in = c->in;
    struct lock_patience patience = {.files = files_of(c)};
    const struct lock_wishes wishes = {
        .path = in->path,
        .is_tree = in->tree,
        .is_shared = in->shared,
        .ttl_s = (uint32_t)in->ttl_s,
        .holder = in->holder,
        .session = in->session,
        .deadline_us = in->wait_s ? clock_us() + in->wait_s * 1000000 : 0,
        .patience = &patience,
    };
    struct lock l;
    c->hint = "Wait with wait_s, come back when it ends, or ask an admin to break it.";
    if (take_or_wait(c, &wishes, &l, e)) {
        if (e->code != ERR_LOCKED)
            c->hint = NULL;
        return -1;
    }
    http_add_header(c->x, "Lock-Token", "%s", l.token);
    return answer(c, &l);
}

static int list_locks(struct call *c, struct err *e)
{
    const struct list_args *in = c->query;
    const struct page page = {.limit = (uint32_t)in->limit, .cursor = in->cursor};
    struct json_writer w = JSON_WRITER(&c->out);
    struct lock_rows rows;
    if (lock_list(files_of(c), &c->ws, in->path, &page, &rows, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "data");
    jw_array(&w);
    for (size_t i = 0; i < rows.count; i++)
        show(&w, &rows.items[i], /* token= */ "");
    end_list(&w, rows.has_more, rows.next);
    lock_rows_done(&rows);
    return 0;
}

static int get_lock(struct call *c, struct err *e)
{
    struct lock l;
    return lock_get(files_of(c), &c->ws, c->param[1], &l, e) ? -1 : answer(c, &l);
}

static int renew_lock(struct call *c, struct err *e)
{
    const struct renew_args *in = c->in;
    struct lock l;
    c->hint = "Send the token that came with the lock as Lock-Token.";
    if (lock_renew(files_of(c), &c->ws, c->param[1], &c->pass, (uint32_t)in->ttl_s, &l, e)) {
        if (e->code == ERR_NOT_FOUND)
            c->hint = "Lock the path again, and read it again before changing it.";
        return -1;
    }
    return answer(c, &l);
}

static int release_lock(struct call *c, struct err *e)
{
    c->hint = "Send the token that came with the lock as Lock-Token, or ask an admin to break it.";
    if (lock_release(files_of(c), &c->ws, c->param[1], &c->pass, e) == 0)
        return 0;
    if (e->code == ERR_NOT_FOUND)
        c->hint = NULL;
    return -1;
}

static int break_lock(struct call *c, struct err *e)
{
    return lock_break(files_of(c), &c->ws, c->param[1], e);
}

static const char *const token_headers[] = {
    "Lock-Token",
    "the token of the lock",
    NULL,
};

#define BODY(type, table) .body = (table), .body_size = sizeof(struct type)
#define QUERY(type, table) .query = (table), .query_size = sizeof(struct type)
#define LOCKS "/api/v1/workspaces/{ws}/locks"

static const struct op ops[] = {
    {.method = "POST",
     .path = LOCKS,
     .name = "takeLock",
     .summary = "Keep others from changing a path, or a tree, for a while.",
     .scope = SCOPE_FILES_WRITE,
     .needs = NEEDS_WRITE,
     BODY(take_args, take_fields),
     .status = 201,
     .answer = "Lock",
     .run = take_lock},
    {.method = "GET",
     .path = LOCKS,
     .name = "listLocks",
     .summary = "Locks that are in force, newest first.",
     .scope = SCOPE_FILES_READ,
     .needs = NEEDS_READ,
     QUERY(list_args, list_fields),
     .status = 200,
     .answer = "LockList",
     .run = list_locks},
    {.method = "GET",
     .path = LOCKS "/{id}",
     .name = "getLock",
     .summary = "One that is in force.",
     .scope = SCOPE_FILES_READ,
     .needs = NEEDS_READ,
     .status = 200,
     .answer = "Lock",
     .run = get_lock},
    {.method = "POST",
     .path = LOCKS "/{id}/renew",
     .name = "renewLock",
     .summary = "Let it go on from now.",
     .scope = SCOPE_FILES_WRITE,
     .needs = NEEDS_WRITE,
     BODY(renew_args, renew_fields),
     .body_is_optional = true,
     .headers = token_headers,
     .status = 200,
     .answer = "Lock",
     .run = renew_lock},
    {.method = "DELETE",
     .path = LOCKS "/{id}",
     .name = "releaseLock",
     .summary = "End it, by who has its token.",
     .scope = SCOPE_FILES_WRITE,
     .needs = NEEDS_WRITE,
     .headers = token_headers,
     .status = 204,
     .run = release_lock},
    {.method = "POST",
     .path = LOCKS "/{id}/break",
     .name = "breakLock",
     .summary = "End somebody else's, by an admin of the workspace.",
     .scope = SCOPE_FILES_WRITE,
     .needs = NEEDS_ADMIN,
     .status = 204,
     .run = break_lock},
};

const struct op_table native_locks = {ops, sizeof ops / sizeof *ops};
