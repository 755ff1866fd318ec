/* Whoever a lock is in the way of: refused, or, if a session, made to give way. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "store/audit.h"
#include "store/commit_int.h"
#include "store/locks_int.h"

static const char count_sql[] = "UPDATE locks SET conflicts = conflicts + 1 WHERE id = ?1";

/* ---- refusing ---- */

void lock_until(int64_t at_us, char ret[LOCK_UNTIL_SIZE])
{
    time_t seconds = (time_t)(at_us / 1000000);
    struct tm utc;
    (void)gmtime_r(&seconds, &utc); /* fails only for years that do not fit an int */
    (void)strftime(ret, LOCK_UNTIL_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

void lock_blocked(const struct held *by, struct lock_block *ret)
{
    *ret = (struct lock_block){
        .is_tree = by->is_tree, .is_shared = by->is_shared, .expires_us = by->expires_us};
    memcpy(ret->id, by->id, sizeof ret->id);
    (void)snprintf(ret->path, sizeof ret->path, "%s", by->path);
    (void)snprintf(ret->holder, sizeof ret->holder, "%s", by->holder);
}

int lock_refuse(const struct held *by, const char *path, struct err *e)
{
    char until[LOCK_UNTIL_SIZE];
    lock_until(by->expires_us, until);
    const char *what = *by->path ? by->path : "the workspace";
    if (strcmp(by->path, path) == 0)
        return err_set(e, ERR_LOCKED, "%.80s is locked by %.80s until %s", what, by->holder, until);
    return err_set(e, ERR_LOCKED, "%.60s cannot be changed: %.60s is locked by %.60s until %s",
                   *path ? path : "the workspace", what, by->holder, until);
}

static int refuse(struct work *w, const char *path, bool is_dir, struct err *e)
{
    const struct held *by;
    if (locks_on(w, path, is_dir, &by, e))
        return -1;
    if (!by)
        return 0;
    if (w->commit->author.pass)
        lock_blocked(by, &w->commit->author.pass->block);
    return lock_refuse(by, path, e);
}

/* To make one that is there changes nothing. */
static int check_mkdir(struct work *w, const struct file_change *c, struct err *e)
{
    struct entry f;
    int there = entry_live(w, c->path, &f, e);
    if (there == 0)
        there = has_below(w, c->path, e);
    return there < 0 ? -1 : there ? 0 : refuse(w, c->path, /* is_dir= */ true, e);
}

static int check_untrash(struct work *w, const struct file_change *c, struct err *e)
{
    struct entry f;
    if (c->path)
        return refuse(w, c->path, /* is_dir= */ false, e);
    int found = entry_by_id(w, c->file, &f, e);
    return found < 0 ? -1 : found ? refuse(w, f.path, /* is_dir= */ false, e) : 0;
}

int locks_check(struct work *w, const struct file_change *c, struct err *e)
{
    if (w->lock_count == 0 || gives_way(c))
        return 0;
    switch (c->op) {
    case OP_PUT:
    case OP_DELETE:
    case OP_RESTORE: return refuse(w, c->path, /* is_dir= */ false, e);
    case OP_MOVE:
        return refuse(w, c->path, /* is_dir= */ false, e) ||
                       refuse(w, c->to, /* is_dir= */ false, e)
                   ? -1
                   : 0;
    case OP_COPY: return refuse(w, c->to, /* is_dir= */ false, e);
    case OP_MKDIR: return check_mkdir(w, c, e);
    case OP_UNTRASH: return check_untrash(w, c, e);
    }
    return 0;
}

/* ---- giving way ---- */

static void put_quoted(struct buf *out, const char *text)
{
    buf_str(out, "\"");
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '"' || c == '\\')
            buf_fmt(out, "\\%c", c);
        else if (c < 0x20)
            buf_fmt(out, "\\u%04x", c);
        else
            buf_add(out, at, 1);
    }
    buf_str(out, "\"");
}

/* Whoever holds the lock hears of it, too: it is an event of the workspace. */
static int tell_holder(struct work *w, const struct file_change *c, const struct held *by,
                       struct err *e)
{
    scoped(buf_done) struct buf detail = BUF_INIT(16 << 10);
    const struct commit_row *k = w->commit;
    buf_str(&detail, "{\"holder\":");
    put_quoted(&detail, by->holder);
    buf_str(&detail, ",\"kept_as\":");
    if (c->ret_path)
        put_quoted(&detail, c->ret_path);
    else
        buf_str(&detail, "null");
    buf_str(&detail, "}");
    if (buf_check(&detail, e))
        return -1;
    const struct audit_entry entry = {.at_us = k->created_us,
                                      .event = "lockConflict",
                                      .principal = k->author.principal,
                                      .key = k->author.key,
                                      .via = *k->author.session ? "sandbox" : NULL,
                                      .workspace = k->workspace,
                                      .session = k->author.session,
                                      .run = k->author.run,
                                      .object = by->id,
                                      .path = c->path,
                                      .detail = detail.bytes};
    return audit_add(w->c, &entry, e);
}

int locks_gave_way(struct work *w, struct file_change *c, const struct held *by, struct err *e)
{
    char until[LOCK_UNTIL_SIZE], text[400];
    lock_until(by->expires_us, until);
    (void)snprintf(text, sizeof text, "locked by %.*s until %s", LOCK_HOLDER_MAX, by->holder,
                   until);
    free(c->ret_why);
    c->ret_why = strdup(text);
    if (!c->ret_why)
        return err_set(e, ERR_NO_MEMORY, "keep a file beside a locked one");
    if (c->outcome == OUTCOME_ASIDE && c->made == 0)
        return 0; /* the same lies there from before */
    return sql_run(w->c, count_sql, SQL_WITH(SQL_TEXT(by->id)), e) || tell_holder(w, c, by, e) ? -1
                                                                                               : 0;
}
