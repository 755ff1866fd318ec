/* team_lock_file.c -- the tool lock_file: nobody else changes a path for a while. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "mcp/team_lock.h"
#include "workspace/locks.h"
#include "json/fields.h"

enum { WAIT_MAX_S = 30, LOCKS_AT_ONCE = 100, HOLDER_SHOWN = 80 };
enum { ACQUIRE, RENEW, RELEASE, STATUS, BREAK };

static const char *const actions[] = {"acquire", "renew", "release", "status", "break", NULL};

struct lock_args {
    int action, scope;
    const char *path, *lock_token, *lock_id, *holder, *session_id, *workspace_id, *cursor;
    int64_t ttl_s, wait_s, limit;
    bool tree, confirm;
};

static const struct json_field fields[] = {
    {JF_CHOICE(struct lock_args, action, actions), .required = true,
     .doc = "status shows who holds what; break ends a lock of somebody else and is for admins"},
    {JF_TEXT(struct lock_args, path), .max = TEAM_PATH_MAX, .preset_text = "",
     .doc = "A file or directory, whether it is there or not. '/' with tree: the whole workspace. "
            "status without it: all locks"},
    {JF_BOOL(struct lock_args, tree), .doc = "acquire: the directory with everything in it"},
    {JF_CHOICE(struct lock_args, scope, lock_scopes), .preset = LOCK_EXCLUSIVE,
     .doc = "acquire: shared ones can be held by several at once, each of whom may write"},
    {JF_INT(struct lock_args, ttl_s), .min = LOCK_TTL_MIN_S, .max = LOCK_TTL_MAX_S, .is_open = true,
     .doc =
         "acquire, renew: seconds until it ends by itself; 300 if left out, or as long as before"},
    {JF_INT(struct lock_args, wait_s), .min = 0, .max = WAIT_MAX_S, .preset = 0,
     .doc = "acquire: seconds to wait for whoever holds it"},
    {JF_TEXT(struct lock_args, lock_token), .min = 1, .max = TEAM_TOKEN_MAX,
     .doc = "renew, release: what acquire answered with"},
    {JF_TEXT(struct lock_args, lock_id), .min = 1, .max = TEAM_ID_MAX,
     .doc = "renew, release, break: instead of path"},
    {JF_TEXT(struct lock_args, holder), .min = 1, .max = LOCK_HOLDER_MAX,
     .doc = "acquire: who has it and what for, as others are told; your name if left out"},
    {JF_TEXT(struct lock_args, session_id), .min = 1, .max = TEAM_ID_MAX,
     .doc =
         "acquire: what run_code writes in this session gets past the lock, and it ends with it"},
    {JF_BOOL(struct lock_args, confirm), .doc = "break: true, once the user agreed"},
    {JF_INT(struct lock_args, limit), .min = 1, .max = TEAM_PAGE_MAX, .preset = TEAM_PAGE,
     .doc = "status: how many"},
    {JF_TEXT(struct lock_args, cursor), .min = 1, .max = TEAM_ID_MAX,
     .doc = "status: next_cursor of the page before"},
    {JF_TEXT(struct lock_args, workspace_id), .min = 1, .max = TEAM_NAME_MAX,
     .doc = "Default: your default workspace"},
    {0},
};

static void name_locks(struct native *n, const struct lock_args *in, const char *id,
                       const char *then)
{
    native_workspace(n, in->workspace_id);
    native_text(n, "/locks");
    if (!id)
        return;
    native_text(n, "/");
    native_piece(n, id);
    native_text(n, then);
}

/* ---- which one ---- */

struct chosen {
    char id[TEAM_ID_MAX + 1];
    struct json_t *lock; /* NULL: it was named, and nobody looked; owned */
};

static void chosen_done(struct chosen *c)
{
    json_decref(c->lock);
}

static int get_locks(struct mcp_call *m, const struct lock_args *in, struct native *n,
                     uint64_t limit, struct err *e)
{
    const char *path = native_clean(in->path);
    name_locks(n, in, /* id= */ NULL, "");
    native_query(n, "path", *path ? path : NULL);
    native_query_u64(n, "limit", limit);
    native_query(n, "cursor", in->action == STATUS ? in->cursor : NULL);
    return team_call(m, n, e);
}

/* The one lock on the very path. */
static int choose(struct mcp_call *m, const struct lock_args *in, struct chosen *ret, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    char path[PATH_BYTES_MAX + 1];
    json_t *found = NULL;
    size_t count = 0;
    team_clean(in->path, path);
    if (get_locks(m, in, &n, LOCKS_AT_ONCE, e))
        return -1;
    const json_t *rows = json_object_get(n.json, "data");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *row = json_array_get(rows, i);
        if (strcmp(team_text(row, "path"), path) == 0 && count++ == 0)
            found = row;
    }
    if (count != 1) {
        team_hint(m, "lock_file action=status shows the locks there are and their lock_id.");
        return count ? err_set(e, ERR_INVALID, "lock_id: there are %zu locks on '%.100s'", count,
                               path)
                     : err_set(e, ERR_NOT_FOUND,
                               "there is no lock on '%.100s': it has expired, or was released or "
                               "broken",
                               path);
    }
    (void)snprintf(ret->id, sizeof ret->id, "%s", team_text(found, "id"));
    ret->lock = json_incref(found);
    return 0;
}

/* By lock_id, otherwise by path. `is_looked_at`: what it is matters, too. */
static int find_lock(struct mcp_call *m, const struct lock_args *in, bool is_looked_at,
                     struct chosen *ret, struct err *e)
{
    *ret = (struct chosen){0};
    if (!in->lock_id)
        return team_need(in->path, "path", actions[in->action], e) || choose(m, in, ret, e) ? -1
                                                                                            : 0;
    (void)snprintf(ret->id, sizeof ret->id, "%s", in->lock_id);
    if (!is_looked_at)
        return 0;
    scoped(native_done) struct native n = NATIVE("GET");
    name_locks(&n, in, in->lock_id, "");
    if (team_call(m, &n, e))
        return -1;
    ret->lock = json_incref(n.json);
    return 0;
}

/* ---- what is done ---- */

/* Most likely it is not the token; who lacks the role is told so by the message. */
static void hint_token(struct mcp_call *m, const struct err *e)
{
    if (e->code == ERR_DENIED)
        team_hint(m, "Pass the lock_token that acquire answered with; without it only an admin can "
                     "end the lock, with action=break.");
}

static int send_release(struct mcp_call *m, const struct lock_args *in, const char *id,
                        const char *token, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    name_locks(&n, in, id, "");
    native_header(&n, "Lock-Token", token);
    if (team_call(m, &n, e) == 0)
        return 0;
    hint_token(m, e);
    return -1;
}

static void put_wishes(struct json_writer *w, const struct lock_args *in)
{
    team_put(w, "path", native_clean(in->path));
    team_put_true(w, "tree", in->tree);
    team_put_true(w, "shared", in->scope == LOCK_SHARED);
    if (in->ttl_s)
        team_put_u64(w, "ttl_s", (uint64_t)in->ttl_s);
    team_put(w, "holder", in->holder);
    team_put(w, "session", in->session_id);
    if (in->wait_s)
        team_put_u64(w, "wait_s", (uint64_t)in->wait_s);
}

static int acquire(struct mcp_call *m, const struct lock_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    if (team_need(in->path, "path", "acquire", e))
        return -1;
    name_locks(&n, in, /* id= */ NULL, "");
    team_body_begin(&body);
    put_wishes(&body.w, in);
    if (team_send(m, &n, &body, e)) {
        if (e->code == ERR_LOCKED)
            team_hint(m,
                      "Wait for it with wait_s (up to %d), come back when it ends, or ask an admin "
                      "of the workspace to break it (action=break).",
                      WAIT_MAX_S);
        return -1;
    }
    const char *token = team_text(n.json, "token");
    if (mcp_is_cancelled(m)) { /* nobody would learn the token */
        (void)send_release(m, in, team_text(n.json, "id"), token, e);
        return err_set(e, ERR_GONE, "cancelled: the lock was released again");
    }
    lock_show(m, n.json, token);
    team_next(m, "read the file again, pass lock_token to write_file, edit_file and manage_file, "
                 "renew before it ends, and release it when done");
    return 0;
}

static int renew(struct mcp_call *m, const struct lock_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    scoped(chosen_done) struct chosen chosen = {0};
    if (team_need(in->lock_token, "lock_token", "renew", e) ||
        find_lock(m, in, /* is_looked_at= */ false, &chosen, e))
        return -1;
    name_locks(&n, in, chosen.id, "/renew");
    native_header(&n, "Lock-Token", in->lock_token);
    team_body_begin(&body);
    if (in->ttl_s)
        team_put_u64(&body.w, "ttl_s", (uint64_t)in->ttl_s);
    if (team_send(m, &n, &body, e)) {
        hint_token(m, e);
        if (e->code == ERR_NOT_FOUND)
            team_hint(
                m, "It has ended: acquire it again, and read the file again before changing it.");
        return -1;
    }
    lock_show(m, n.json, "");
    return 0;
}

static int release(struct mcp_call *m, const struct lock_args *in, struct err *e)
{
    scoped(chosen_done) struct chosen chosen = {0};
    if (team_need(in->lock_token, "lock_token", "release", e) ||
        find_lock(m, in, /* is_looked_at= */ false, &chosen, e) ||
        send_release(m, in, chosen.id, in->lock_token, e))
        return -1;
    buf_fmt(&m->reply.text, "released %s\n", chosen.id);
    team_put(&m->reply.w, "released", chosen.id);
    return 0;
}

static int status(struct mcp_call *m, const struct lock_args *in, struct err *e)
{
    static const struct team_list list = {.key = "locks",
                                          .empty = "nothing is locked",
                                          .columns = "lock_id  until  scope  holder  path",
                                          .row = lock_row};
    scoped(native_done) struct native n = NATIVE("GET");
    if (get_locks(m, in, &n, (uint64_t)in->limit, e))
        return -1;
    (void)team_list(m, &list, n.json);
    return 0;
}

static int break_lock(struct mcp_call *m, const struct lock_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(chosen_done) struct chosen chosen = {0};
    scoped(buf_done) struct buf who = BUF_INIT(1024);
    bool go_on = false;
    if (find_lock(m, in, /* is_looked_at= */ true, &chosen, e))
        return -1;
    team_say(&who, team_text(chosen.lock, "holder"), HOLDER_SHOWN);
    buf_str(&who, " until ");
    team_say_time(&who, team_text(chosen.lock, "expires_at"));
    if (buf_check(&who, e) ||
        mcp_confirm(m, in->confirm, &go_on, e,
                    "Break the lock on %.200s? It is held by %s. Whoever holds it cannot save what "
                    "they are doing under it.",
                    team_lock_path(chosen.lock), who.bytes))
        return -1;
    if (!go_on)
        return 0;
    name_locks(&n, in, chosen.id, "/break");
    if (team_call(m, &n, e))
        return -1;
    buf_fmt(&m->reply.text, "broke %s on %s\n", chosen.id, team_lock_path(chosen.lock));
    team_put(&m->reply.w, "broken", chosen.id);
    team_next(m,
              "its holder's lock_token works no more; acquire a lock before you change the file");
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    static int (*const act[])(struct mcp_call *, const struct lock_args *, struct err *) = {
        [ACQUIRE] = acquire, [RENEW] = renew,      [RELEASE] = release,
        [STATUS] = status,   [BREAK] = break_lock,
    };
    const struct lock_args *in = m->in;
    team_action(m, actions[in->action]);
    return act[in->action](m, in, e);
}

const struct mcp_tool tool_lock_file = {
    .name = "lock_file",
    .title = "Lock a file",
    .description =
        "Keep others from changing a file, or a directory with everything in it, while you work on "
        "it. Locks are mandatory and end by themselves after ttl_s. acquire answers with a "
        "lock_token: pass it to write_file, edit_file and manage_file, and to release when done. "
        "For a single change write_file with if_version is enough.",
    .fields = fields,
    .size = sizeof(struct lock_args),
    .scope = SCOPE_FILES_WRITE,
    .flags = 0,
    .run = run,
};
