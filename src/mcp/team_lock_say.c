/* team_lock_say.c -- locks as text and as structured content. */
#include "mcp/mcp_int.h"
#include "mcp/team_common.h"
#include "mcp/team_lock.h"

const char *const lock_scopes[] = {"exclusive", "shared", NULL};

const char *team_lock_path(const struct json_t *lock)
{
    const char *path = team_text(lock, "path");
    return *path ? path : "the whole workspace";
}

void lock_say(struct buf *text, const struct json_t *lock)
{
    buf_fmt(text, "%s is locked by ", team_lock_path(lock));
    team_say(text, team_text(lock, "holder"), TEAM_NAME_MAX);
    buf_str(text, " until ");
    team_say_time(text, team_text(lock, "expires_at"));
    buf_fmt(text, " (%s%s)\n",
            lock_scopes[team_true(lock, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE],
            team_true(lock, "tree") ? ", with everything in it" : "");
}

static void lock_put(struct json_writer *w, const struct json_t *lock)
{
    jw_object(w);
    team_put(w, "lock_id", team_text(lock, "id"));
    team_copy(w, lock, "path");
    team_put_true(w, "tree", team_true(lock, "tree"));
    team_put(w, "scope", lock_scopes[team_true(lock, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE]);
    team_copy(w, lock, "holder");
    team_copy(w, lock, "expires_at");
    team_copy(w, lock, "fence");
    if (team_number(lock, "conflicts"))
        team_copy(w, lock, "conflicts");
    jw_end_object(w);
}

void lock_show(struct mcp_call *m, const struct json_t *lock, const char *token)
{
    struct mcp_reply *r = &m->reply;
    lock_say(&r->text, lock);
    buf_fmt(&r->text, "lock_id: %s\n", team_text(lock, "id"));
    if (*token) {
        buf_fmt(&r->text, "lock_token: %s\n", token);
        team_put(&r->w, "lock_token", token);
    }
    jw_key(&r->w, "lock");
    lock_put(&r->w, lock);
}

void lock_row(const struct json_t *lock, struct buf *line, struct json_writer *w)
{
    buf_fmt(line, "%s  ", team_text(lock, "id"));
    team_say_time(line, team_text(lock, "expires_at"));
    buf_fmt(line, "  %s%s  ", lock_scopes[team_true(lock, "shared") ? LOCK_SHARED : LOCK_EXCLUSIVE],
            team_true(lock, "tree") ? " tree" : "");
    team_say(line, team_text(lock, "holder"), 80);
    buf_fmt(line, "  %s", team_lock_path(lock));
    lock_put(w, lock);
}
