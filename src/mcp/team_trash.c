/* team_trash.c -- the trash, for manage_file: what is in it, taking out of it, forgetting for good. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "mcp/team_manage.h"

enum { TRASH_PAGE = 1000, TRASH_PAGES = 20 };

/* ---- the trash ---- */

struct found {
    char id[TEAM_ID_MAX + 1];
    size_t count; /* how many there had the path */
};

static int get_trash(struct mcp_call *m, const struct manage_args *in, struct native *n,
                     uint64_t limit, const char *cursor, struct err *e)
{
    native_workspace(n, in->workspace_id);
    native_text(n, "/trash");
    native_query_u64(n, "limit", limit);
    native_query(n, "cursor", cursor && *cursor ? cursor : NULL);
    return team_call(m, n, e);
}

static void look_at(const struct json_t *page, const char *path, struct found *found)
{
    const json_t *rows = json_object_get(page, "data");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(team_text(row, "path"), path) != 0)
            continue;
        if (found->count++ == 0)
            (void)snprintf(found->id, sizeof found->id, "%s", team_text(row, "id"));
    }
}

/* The newest in the trash that was at the path. */
static int find_trashed(struct mcp_call *m, const struct manage_args *in, struct found *ret,
                        struct err *e)
{
    scoped(buf_done) struct buf cursor = BUF_INIT(TEAM_CURSOR_MAX + 1);
    char path[PATH_BYTES_MAX + 1];
    *ret = (struct found){0};
    team_clean(in->path, path);
    for (int i = 0; i < TRASH_PAGES; i++) {
        scoped(native_done) struct native n = NATIVE("GET");
        if (get_trash(m, in, &n, TRASH_PAGE, cursor.bytes, e))
            return -1;
        look_at(n.json, path, ret);
        buf_done(&cursor);
        buf_str(&cursor, team_text(n.json, "next_cursor"));
        if (cursor.len == 0 || buf_check(&cursor, e))
            break;
    }
    if (ret->count)
        return 0;
    team_hint(m, "manage_file action=list_trash lists what is in it.");
    return err_set(e, ERR_NOT_FOUND, "there is no '%.100s' in the trash", path);
}

int manage_restore(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    struct found found = {0};
    const char *file_id = in->file_id;
    if (!file_id && team_need(in->path, "path", "restore", e))
        return -1;
    if (!file_id && !in->version) {
        if (find_trashed(m, in, &found, e))
            return -1;
        file_id = found.id;
    }
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/restore");
    team_body_begin(&body);
    team_put(&body.w, "file_id", file_id);
    team_put(&body.w, "path",
             in->to    ? native_clean(in->to)
             : file_id ? NULL
                       : native_clean(in->path));
    team_put(&body.w, "lock_token", in->lock_token);
    if (in->version)
        team_put_u64(&body.w, "version", (uint64_t)in->version);
    if (manage_send(m, &n, &body, e)) {
        if (e->code == ERR_CONFLICT)
            team_hint(m, "Pass `to` with another path.");
        return -1;
    }
    manage_say_file(m, "restored", n.json);
    if (found.count > 1)
        team_next(m,
                  "%zu older ones of that path are in the trash still: manage_file "
                  "action=list_trash gives each one's file_id",
                  found.count - 1);
    return 0;
}

static void trash_row(const struct json_t *row, struct buf *line, struct json_writer *w)
{
    team_say_time(line, team_text(row, "deleted_at"));
    buf_fmt(line, "  %s  %s", team_text(row, "id"), team_text(row, "path"));
    jw_object(w);
    team_put(w, "path", team_text(row, "path"));
    team_put(w, "file_id", team_text(row, "id"));
    team_copy(w, row, "deleted_at");
    jw_end_object(w);
}

int manage_list_trash(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    static const struct team_list list = {.key = "trash",
                                          .empty = "the trash is empty",
                                          .columns = "deleted_at  file_id  path",
                                          .row = trash_row};
    scoped(native_done) struct native n = NATIVE("GET");
    if (get_trash(m, in, &n, (uint64_t)in->limit, in->cursor, e))
        return -1;
    if (team_list(m, &list, n.json))
        team_next(m, "manage_file action=restore with path (or file_id) brings one back");
    return 0;
}

/* ---- forgetting ---- */

static int send_purge(struct mcp_call *m, const struct manage_args *in, struct team_body *body,
                      struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/purge");
    if (team_send(m, &n, body, e))
        return -1;
    uint64_t count = team_number(n.json, "purged");
    buf_fmt(&m->reply.text, "purged for good: %" PRIu64 "\n", count);
    team_put_u64(&m->reply.w, "purged", count);
    return 0;
}

static int find_one(struct mcp_call *m, const struct manage_args *in, struct found *ret,
                    struct err *e)
{
    if (find_trashed(m, in, ret, e)) {
        if (e->code == ERR_NOT_FOUND)
            team_hint(
                m, "To purge a file, delete it first; to purge one version of it, pass version.");
        return -1;
    }
    if (ret->count == 1)
        return 0;
    team_hint(m, "manage_file action=list_trash gives each one's file_id: pass the one you mean.");
    return err_set(e, ERR_INVALID, "file_id: %zu files in the trash were at that path", ret->count);
}

int manage_purge(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    struct found found = {0};
    const char *path = native_clean(in->path), *file_id = in->file_id;
    bool go_on = false, is_version = in->version != 0;
    if (file_id && in->path && *in->path)
        return err_set(e, ERR_INVALID,
                       "give either path or file_id: they may name different files");
    if (!file_id && team_need(in->path, "path", "purge", e))
        return -1;
    if (!file_id && !is_version) {
        if (find_one(m, in, &found, e))
            return -1;
        file_id = found.id;
    }
    const char *what = *path ? path : file_id;
    if (is_version ? mcp_confirm(m, in->confirm, &go_on, e,
                                 "Forget version %" PRId64 " of %.300s for good? It cannot be "
                                 "restored afterwards.",
                                 in->version, what)
                   : mcp_confirm(m, in->confirm, &go_on, e,
                                 "Purge %.300s from the trash, with all its versions? It cannot be "
                                 "restored afterwards.",
                                 what))
        return -1;
    if (!go_on)
        return 0;
    team_body_begin(&body);
    team_put(&body.w, "file_id", file_id);
    team_put(&body.w, "path", file_id ? NULL : path);
    if (is_version)
        team_put_u64(&body.w, "version", (uint64_t)in->version);
    return send_purge(m, in, &body, e);
}

int manage_empty_trash(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    bool go_on = false;
    if (get_trash(m, in, &n, TRASH_PAGE, /* cursor= */ NULL, e))
        return -1;
    size_t count = json_array_size(json_object_get(n.json, "data"));
    if (mcp_confirm(m, in->confirm, &go_on, e,
                    "Purge everything in the trash of the workspace %.256s (%zu%s files, with all "
                    "their versions)? It cannot be restored afterwards.",
                    in->workspace_id ? in->workspace_id : "default", count,
                    team_true(n.json, "has_more") ? " or more" : ""))
        return -1;
    if (!go_on)
        return 0;
    team_body_begin(&body);
    team_put_true(&body.w, "trash", true);
    return send_purge(m, in, &body, e);
}
