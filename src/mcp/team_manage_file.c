/* team_manage_file.c -- the tool manage_file: move, copy, directories, the trash. */
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/native.h"
#include "mcp/team_common.h"
#include "mcp/team_manage.h"
#include "service/file_object.h"
#include "json/fields.h"

enum { MOVE, COPY, MKDIR, DELETE, RESTORE, PURGE, LIST_TRASH, EMPTY_TRASH };

static const char *const actions[] = {"move",  "copy",       "mkdir",       "delete", "restore",
                                      "purge", "list_trash", "empty_trash", NULL};

static const struct json_field fields[] = {
    {JF_CHOICE(struct manage_args, action, actions), .required = true,
     .doc =
         "delete puts into the trash; restore takes out of it, or with version makes that one the "
         "newest; purge forgets for good; empty_trash purges all that is in it"},
    {JF_TEXT(struct manage_args, path), .max = TEAM_PATH_MAX, .preset_text = "",
     .doc = "What it is done to: 'a/b.csv', the same as /mnt/data/a/b.csv. Of a file in the trash, "
            "where it was"},
    {JF_TEXT(struct manage_args, to), .min = 1, .max = TEAM_PATH_MAX,
     .doc = "move, copy: where to. restore: where to, if not where it was"},
    {JF_INT(struct manage_args, version), .min = 1, .max = TEAM_VERSION_MAX, .is_open = true,
     .doc = "copy, restore, purge: of this version only"},
    {JF_BOOL(struct manage_args, overwrite),
     .doc = "move, copy: replace a file that is there; it is kept in the trash or as a version"},
    {JF_BOOL(struct manage_args, recursive), .doc = "delete: a directory with everything in it"},
    {JF_INT(struct manage_args, if_version), .min = 1, .max = TEAM_VERSION_MAX, .is_open = true,
     .doc = "move, delete: only if the file is at this version"},
    {JF_TEXT(struct manage_args, file_id), .min = 1, .max = TEAM_ID_MAX,
     .doc = "restore, purge: of a file in the trash, where several had the same path"},
    {JF_TEXT(struct manage_args, lock_token), .min = 1, .max = TEAM_TOKEN_MAX,
     .doc = "From lock_file, if the path is locked by you"},
    {JF_BOOL(struct manage_args, confirm), .doc = "purge, empty_trash: true, once the user agreed"},
    {JF_INT(struct manage_args, limit), .min = 1, .max = TEAM_PAGE_MAX, .preset = TEAM_PAGE,
     .doc = "list_trash: how many"},
    {JF_TEXT(struct manage_args, cursor), .min = 1, .max = TEAM_CURSOR_MAX,
     .doc = "list_trash: next_cursor of the page before"},
    {JF_TEXT(struct manage_args, workspace_id), .min = 1, .max = TEAM_NAME_MAX,
     .doc = "Default: your default workspace"},
    {0},
};

/* ---- what is changed ---- */

/* "FILE:VERSION", as the native API compares. "": nothing was asked for. */
static int find_etag(struct mcp_call *m, const struct manage_args *in, char ret[ETAG_SIZE],
                     struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    ret[0] = '\0';
    if (!in->if_version)
        return 0;
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/files/");
    native_path(&n, native_clean(in->path));
    native_query(&n, "stat", "true");
    if (team_call(m, &n, e))
        return -1;
    file_etag(team_text(n.json, "id"), (uint64_t)in->if_version, ret);
    return 0;
}

void manage_say_file(struct mcp_call *m, const char *done, const struct json_t *file)
{
    struct buf *text = &m->reply.text;
    bool is_dir = strcmp(team_text(file, "kind"), "directory") == 0;
    buf_fmt(text, "%s %s", done, team_text(file, "path"));
    if (is_dir) {
        buf_str(text, " (directory)\n");
    } else {
        buf_fmt(text, " (version %" PRIu64 ", ", team_number(file, "version"));
        team_say_size(text, team_number(file, "size"));
        buf_str(text, ")\n");
    }
    jw_key(&m->reply.w, "file");
    team_put_file(&m->reply.w, file);
}

int manage_send(struct mcp_call *m, struct native *n, struct team_body *body, struct err *e)
{
    if (team_send(m, n, body, e) == 0)
        return 0;
    if (e->code == ERR_CONFLICT)
        team_hint(m, "Choose another name, or pass overwrite=true.");
    return -1;
}

static int move_or_copy(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    bool is_move = in->action == MOVE;
    char etag[ETAG_SIZE] = "";
    if (team_need(in->path, "path", actions[in->action], e) ||
        team_need(in->to, "to", actions[in->action], e) || (is_move && find_etag(m, in, etag, e)))
        return -1;
    native_workspace(&n, in->workspace_id);
    native_text(&n, is_move ? "/move" : "/copy");
    team_body_begin(&body);
    team_put(&body.w, "from", native_clean(in->path));
    team_put(&body.w, "to", native_clean(in->to));
    team_put_true(&body.w, "overwrite", in->overwrite);
    team_put(&body.w, "lock_token", in->lock_token);
    team_put(&body.w, "if_match", *etag ? etag : NULL);
    if (!is_move && in->version)
        team_put_u64(&body.w, "version", (uint64_t)in->version);
    if (manage_send(m, &n, &body, e))
        return -1;
    buf_fmt(&m->reply.text, "%s: ", native_clean(in->path));
    manage_say_file(m, is_move ? "moved to" : "copied to", n.json);
    return 0;
}

static int make_dir(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("POST");
    scoped(team_body_done) struct team_body body = TEAM_BODY;
    if (team_need(in->path, "path", "mkdir", e))
        return -1;
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/mkdir");
    team_body_begin(&body);
    team_put(&body.w, "path", native_clean(in->path));
    team_put(&body.w, "lock_token", in->lock_token);
    if (manage_send(m, &n, &body, e))
        return -1;
    manage_say_file(m, n.status == 201 ? "made" : "was there already:", n.json);
    return 0;
}

static int delete_file(struct mcp_call *m, const struct manage_args *in, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("DELETE");
    char etag[ETAG_SIZE];
    if (team_need(in->path, "path", "delete", e) || find_etag(m, in, etag, e))
        return -1;
    native_workspace(&n, in->workspace_id);
    native_text(&n, "/files/");
    native_path(&n, native_clean(in->path));
    native_query(&n, "recursive", in->recursive ? "true" : NULL);
    native_header(&n, "Lock-Token", in->lock_token);
    native_header(&n, "If-Match", *etag ? etag : NULL);
    if (team_call(m, &n, e)) {
        if (e->code == ERR_CONFLICT)
            team_hint(m, "Pass recursive=true to delete it with everything in it.");
        return -1;
    }
    buf_fmt(&m->reply.text, "moved %s to the trash\n", native_clean(in->path));
    team_put(&m->reply.w, "path", native_clean(in->path));
    team_next(m, "undo with manage_file action=restore%s",
              in->recursive ? " for each file; action=list_trash lists them"
                            : " and the same path");
    return 0;
}

static int run(struct mcp_call *m, struct err *e)
{
    static int (*const act[])(struct mcp_call *, const struct manage_args *, struct err *) = {
        [MOVE] = move_or_copy,
        [COPY] = move_or_copy,
        [MKDIR] = make_dir,
        [DELETE] = delete_file,
        [RESTORE] = manage_restore,
        [PURGE] = manage_purge,
        [LIST_TRASH] = manage_list_trash,
        [EMPTY_TRASH] = manage_empty_trash,
    };
    const struct manage_args *in = m->in;
    team_action(m, actions[in->action]);
    return act[in->action](m, in, e);
}

const struct mcp_tool tool_manage_file = {
    .name = "manage_file",
    .title = "Move, copy, delete, restore",
    .description =
        "Move or copy a file or directory, make a directory, delete into the trash and restore from "
        "it, or purge for good. Histories go along with what is moved. Deleted files can be restored "
        "until they are purged; purge and empty_trash cannot be undone and ask the user first "
        "(or take confirm=true once the user agreed).",
    .fields = fields,
    .size = sizeof(struct manage_args),
    .scope = SCOPE_FILES_WRITE,
    .flags = TOOL_DESTROYS,
    .run = run,
};
