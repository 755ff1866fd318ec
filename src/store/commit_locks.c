/* What locks forbid a commit: asked of everything that it changes, before it changes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/commit_int.h"
#include "store/locks_int.h"

static const struct {
    const char *token, *load, *expire;
} sql = {
    .token = "SELECT expires FROM locks WHERE sha256 = ?1",
    .load = "SELECT id, path, holder, is_tree, is_shared, session, sha256, expires FROM locks"
            " INDEXED BY locks_path WHERE workspace = ?1 ORDER BY path",
    .expire = "DELETE FROM locks WHERE workspace = ?1 AND expires <= ?2",
};

/* ---- what is in force ---- */

static int check_tokens(struct work *w, struct err *e)
{
    const struct lock_pass *pass = w->commit->author.pass;
    for (size_t i = 0; pass && i < pass->count; i++) {
        int64_t expires_us;
        if (sql_number(w->c, sql.token, SQL_WITH(SQL_BYTES(pass->tokens[i], HASH_LEN)), &expires_us,
                       e))
            return -1;
        if (expires_us <= w->commit->created_us)
            return err_set(e, ERR_PRECONDITION,
                           "the lock of a token that was sent has expired, or was released or "
                           "broken: lock the path again, and read it again before changing it");
    }
    return 0;
}

static bool is_presented(const struct lock_pass *pass, struct str sha256)
{
    for (size_t i = 0; pass && i < pass->count; i++)
        if (sha256.len == HASH_LEN && memcmp(pass->tokens[i], sha256.ptr, HASH_LEN) == 0)
            return true;
    return false;
}

static char *copy_text(struct str s)
{
    return strndup(s.ptr ? s.ptr : "", s.len);
}

static int read_held(const struct sql_rows *rows, const struct author *author, struct held *ret,
                     struct err *e)
{
    struct str session = sql_text(rows, 5);
    *ret = (struct held){.path = copy_text(sql_text(rows, 1)),
                         .holder = copy_text(sql_text(rows, 2)),
                         .is_tree = sql_int(rows, 3) != 0,
                         .is_shared = sql_int(rows, 4) != 0,
                         .expires_us = sql_int(rows, 7)};
    sql_id(rows, 0, ret->id);
    ret->is_ours = is_presented(author->pass, sql_text(rows, 6)) ||
                   (session.ptr && *author->session && str_is(session, author->session));
    return ret->path && ret->holder ? 0 : err_set(e, ERR_NO_MEMORY, "look at the locks");
}

static int add_held(struct work *w, const struct sql_rows *rows, size_t *cap, struct err *e)
{
    if (w->lock_count == *cap) {
        size_t wider = *cap ? 2 * *cap : 8;
        struct held *grown = reallocarray(w->locks, wider, sizeof *grown);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "look at the locks");
        w->locks = grown;
        *cap = wider;
    }
    return read_held(rows, &w->commit->author, &w->locks[w->lock_count++], e);
}

int locks_load(struct work *w, struct err *e)
{
    scoped(sql_rows_done) struct sql_rows rows = {0};
    size_t cap = 0;
    bool has_expired = false;
    if (check_tokens(w, e) || sql_query(w->c, sql.load, SQL_WITH(SQL_INT(w->workspace)), &rows, e))
        return -1;
    int got;
    while ((got = sql_next(&rows, e)) == 1) {
        if (sql_int(&rows, 7) <= w->commit->created_us)
            has_expired = true;
        else if (add_held(w, &rows, &cap, e))
            return -1;
    }
    if (got < 0)
        return -1;
    return has_expired && !w->is_reading
               ? sql_run(w->c, sql.expire,
                         SQL_WITH(SQL_INT(w->workspace), SQL_INT(w->commit->created_us)), e)
               : 0;
}

void locks_done(struct work *w)
{
    for (size_t i = 0; i < w->lock_count; i++) {
        free(w->locks[i].path);
        free(w->locks[i].holder);
    }
    free(w->locks);
    w->locks = NULL;
    w->lock_count = 0;
}

/* ---- what they forbid ---- */

/* The first whose path is not before the first `len` bytes of `path`. */
static size_t first_at(const struct work *w, const char *path, size_t len)
{
    size_t low = 0, high = w->lock_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *at = w->locks[middle].path;
        int order = strncmp(at, path, len); /* a shorter one comes before */
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Those on exactly the first `len` bytes of `path`: whether one is ours goes to *is_ours, otherwise the
 * first goes to *by, unless there is one already. is_whole: locks that are no trees count, too. */
static void look_at(const struct work *w, const char *path, size_t len, bool is_whole,
                    const struct held **by, bool *is_ours)
{
    for (size_t i = first_at(w, path, len); i < w->lock_count; i++) {
        const struct held *h = &w->locks[i];
        if (strncmp(h->path, path, len) != 0 || h->path[len] != '\0')
            return;
        if (!is_whole && !h->is_tree)
            continue;
        *is_ours = *is_ours || h->is_ours;
        *by = *by ? *by : h;
    }
}

/* Which lock on the path, or on a tree that it is in, forbids to change it. */
static const struct held *covered(const struct work *w, const char *path)
{
    const struct held *by = NULL;
    bool is_ours = false;
    look_at(w, path, 0, *path == '\0', &by, &is_ours);
    for (size_t end = 1; *path && path[end - 1]; end++)
        if (path[end] == '/' || path[end] == '\0')
            look_at(w, path, end, path[end] == '\0', &by, &is_ours);
    return is_ours ? NULL : by;
}

/* Which lock below the path does. */
static const struct held *below(const struct work *w, const char *path)
{
    char dir[PATH_BYTES_MAX + 2];
    int len = snprintf(dir, sizeof dir, "%s/", path);
    if (len < 0 || (size_t)len >= sizeof dir)
        return NULL; /* nothing fits below it */
    for (size_t i = first_at(w, dir, (size_t)len); i < w->lock_count; i++) {
        const struct held *h = &w->locks[i];
        if (strncmp(h->path, dir, (size_t)len) != 0)
            return NULL;
        if (!h->is_ours && covered(w, h->path))
            return h;
    }
    return NULL;
}

/* A directory above the path that is not there, and that others have locked: its end goes to *ret_end. */
static int missing_above(struct work *w, const char *path, const struct held **ret, size_t *ret_end,
                         struct err *e)
{
    char above[PATH_BYTES_MAX + 1];
    struct entry f;
    for (size_t end = 1; *path && path[end]; end++) {
        const struct held *by = NULL;
        bool is_ours = false;
        if (path[end] != '/')
            continue;
        look_at(w, path, end, /* is_whole= */ true, &by, &is_ours);
        memcpy(above, path, end);
        above[end] = '\0';
        if (!by || !covered(w, above))
            continue;
        int there = entry_live(w, above, &f, e);
        if (there == 0)
            there = has_below(w, above, e);
        if (there < 0)
            return -1;
        if (!there) {
            *ret = by;
            *ret_end = end;
            return 0;
        }
    }
    return 0;
}

int locks_on(struct work *w, const char *path, bool is_dir, const struct held **ret, struct err *e)
{
    size_t end;
    *ret = NULL;
    if (w->lock_count == 0)
        return 0;
    *ret = covered(w, path);
    if (!*ret && !is_dir)
        *ret = below(w, path);
    return *ret ? 0 : missing_above(w, path, ret, &end, e);
}

static size_t tree_end(const struct work *w, const char *path)
{
    for (size_t end = 1; path[end - 1]; end++) {
        const struct held *by = NULL;
        bool is_ours = false;
        if (path[end] != '/' && path[end] != '\0')
            continue;
        look_at(w, path, end, /* is_whole= */ false, &by, &is_ours);
        if (by && !is_ours)
            return end;
    }
    return 0;
}

int locks_above(struct work *w, const char *path, size_t *ret_end, struct err *e)
{
    const struct held *by = NULL;
    size_t missing = 0;
    *ret_end = 0;
    if (w->lock_count == 0)
        return 0;
    if (missing_above(w, path, &by, &missing, e))
        return -1;
    *ret_end = tree_end(w, path);
    if (missing > 0 && (*ret_end == 0 || missing < *ret_end))
        *ret_end = missing;
    return 0;
}

bool locks_all(const struct work *w)
{
    return w->lock_count > 0 && covered(w, "") != NULL;
}
