/* `cicada workspaces`: where files are kept. */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/fileref.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/verbs.h"

enum { OPT_FORCE = VERB_OWN };

enum { LIST_MAX = 10000, BODY_MAX = 8192 };

/* clang-format off */
static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option rm_options[] = {
    {OPT_FORCE, 'f', "force", NULL, "also one that has files in it"},
    VERB_COMMON, {0}};

static const struct column columns[] = {
    {"NAME", false, true}, {"ID", false, false}, {"ROLE", false, false}, {"FILES", true, false}, {"SIZE", true, false},
    {"KEPT", true, false}, {"CREATED", false, false}};

static const struct column member_columns[] = {
    {"NAME", false, true}, {"PRINCIPAL", false, false}, {"KIND", false, false}, {"ROLE", false, false},
    {"SINCE", false, false}};
/* clang-format on */

/* A default workspace may have no name of its own. */
static const char *name_of(const json_t *workspace)
{
    const char *name = pick_text(workspace, "name");
    return !*name && pick_is_true(workspace, "is_default") ? WORKSPACE_DEFAULT : name;
}

static void add_row(struct table *t, const json_t *workspace)
{
    table_add(t, name_of(workspace), NULL);
    table_add(t, pick_text(workspace, "id"), NULL);
    table_add(t, pick_text(workspace, "role"), NULL);
    verb_add_count(t, pick_count(workspace, "files"));
    verb_add_size(t, pick_count(workspace, "bytes"));
    verb_add_size(t, pick_count(workspace, "kept_bytes"));
    verb_add_moment(t, workspace, "created_at", "-");
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    if (remote_list(r, shelf_workspaces.path, "", LIST_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    return verb_print_list(in, all, &t, add_row, e);
}

/* The server knows names and "default" itself. */
static int show(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *workspace = NULL;
    const char *word = in->operand_count ? in->operands[0] : WORKSPACE_DEFAULT;
    if (remote_get(r, &shelf_workspaces, word, &workspace, e))
        return -1;
    return verb_print(in, workspace);
}

static int create(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    verb_put_one("name", in->operands[0], &body);
    if (remote_post(r, shelf_workspaces.path, &body, &made, e))
        return -1;
    return verb_print_new(in, made);
}

static int rename_workspace(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX), url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *workspace = NULL;
    verb_put_one("name", in->operands[1], &body);
    workspace_url(in->operands[0], /* door= */ NULL, &url);
    const struct call call = {.method = "PATCH", .path = url.bytes, .body = &body};
    if (buf_check(&body, e) || buf_check(&url, e) || client_call(r->client, &call, &workspace, e))
        return -1;
    return verb_tell(r, in, workspace, "renamed:");
}

/* Whether its files are also found by what they mean. */
static int intelligence(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *workspace = NULL;
    bool is_on = strcmp(in->operands[1], "on") == 0;
    if (!is_on && strcmp(in->operands[1], "off") != 0)
        return err_set(e, ERR_INVALID, "say `intelligence WORKSPACE on` or `off`");
    workspace_url(in->operands[0], /* door= */ NULL, &url);
    buf_fmt(&body, "{\"intelligence\": %s}", is_on ? "true" : "false");
    const struct call call = {.method = "PATCH", .path = url.bytes, .body = &body};
    if (buf_check(&body, e) || buf_check(&url, e) || client_call(r->client, &call, &workspace, e))
        return -1;
    return verb_tell(r, in, workspace, is_on ? "found by meaning, too:" : "found by words only:");
}

/* ---- members ---- */

static void add_member_row(struct table *t, const json_t *member)
{
    table_add(t, pick_text(member, "name"), NULL);
    table_add(t, pick_text(member, "principal_id"), NULL);
    table_add(t, pick_text(member, "kind"), NULL);
    table_add(t, pick_text(member, "role"), NULL);
    verb_add_moment(t, member, "created_at", "-");
}

static int list_members(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *answer = NULL;
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(table_done) struct table t =
        TABLE(member_columns, sizeof member_columns / sizeof *member_columns);
    workspace_url(in->operands[0], "members", &url);
    const struct call call = {.method = "GET", .path = url.bytes};
    if (buf_check(&url, e) || client_call(r->client, &call, &answer, e))
        return -1;
    return verb_print_list(in, json_object_get(answer, "data"), &t, add_member_row, e);
}

/* PUT with a role, DELETE without. */
static int change_member(struct remote *r, const struct verb_input *in, const char *role,
                         struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *member = NULL;
    char principal[ID_SIZE];
    if (remote_resolve(r, &shelf_principals, in->operands[2], principal, e))
        return -1;
    workspace_url(in->operands[0], "members", &url);
    buf_fmt(&url, "/%s", principal);
    verb_put_one("role", role, &body);
    const struct call call = {
        .method = role ? "PUT" : "DELETE", .path = url.bytes, .body = role ? &body : NULL};
    if (buf_check(&url, e) || buf_check(&body, e) || client_call(r->client, &call, &member, e))
        return -1;
    if (role && verb_is_json(in))
        return verb_print(in, member);
    if (role)
        note(&r->notes, "%s is %s now", in->operands[2], pick_text(member, "role"));
    else
        note(&r->notes, "%s is no member any more", in->operands[2]);
    return EXIT_DONE;
}

static int members(struct remote *r, const struct verb_input *in, struct err *e)
{
    const char *what = in->operand_count > 1 ? in->operands[1] : "";
    if (in->operand_count == 1)
        return list_members(r, in, e);
    if (strcmp(what, "add") == 0 && in->operand_count == 4)
        return change_member(r, in, in->operands[3], e);
    if (strcmp(what, "rm") == 0 && in->operand_count == 3)
        return change_member(r, in, NULL, e);
    return err_set(e, ERR_INVALID,
                   "say `members WORKSPACE add PRINCIPAL viewer|editor|admin`, or `members "
                   "WORKSPACE rm PRINCIPAL`");
}

/* Looks at all of them before the first is gone. */
static int rm(struct remote *r, const struct verb_input *in, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        scoped(json_decrefp) json_t *workspace = NULL;
        char id[ID_SIZE];
        if (remote_resolve(r, &shelf_workspaces, in->operands[i], id, e) ||
            remote_get(r, &shelf_workspaces, id, &workspace, e))
            return -1;
        unsigned long long files = pick_count(workspace, "files");
        if (files > 0 && !in->values[OPT_FORCE])
            return err_set(e, ERR_INVALID,
                           "the workspace '%.60s' has %llu file%s; --force removes it with "
                           "everything in it",
                           in->operands[i], files, files == 1 ? "" : "s");
    }
    return verb_rm(r, in, &shelf_workspaces, "removed", e);
}

/* clang-format off */
static const struct verb verbs[] = {
    {"ls", "", 0, 0, plain_options, "list workspaces", ls},
    {"show", "[WORKSPACE]", 0, 1, plain_options, "everything about one, or about the default one", show},
    {"create", "NAME", 1, 1, plain_options, "make one; prints its id", create},
    {"rename", "WORKSPACE NAME", 2, 2, plain_options, "give it another name", rename_workspace},
    {"intelligence", "WORKSPACE on|off", 2, 2, plain_options,
     "whether its files are also found by what they mean", intelligence},
    {"members", "WORKSPACE [add PRINCIPAL ROLE | rm PRINCIPAL]", 1, 4, plain_options,
     "who else may use it: viewers read, editors write and run, admins decide who does", members},
    {"rm", "WORKSPACE...", 1, VERB_OPERANDS_MAX, rm_options, "remove it", rm},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "workspaces",
    .about =
        "A workspace is a tree of files with all their versions. Sessions work in one, and see\n"
        "it as /mnt/data. Everybody has a default one, which is used when none is named.\n"
        "WORKSPACE is a name or an id.",
    .verbs = verbs,
    .preset = "ls",
    .examples = "  cicada workspaces create reports\n"
                "  cicada files put q3.xlsx -w reports\n"
                "  cicada workspaces members reports add prn_7k... editor\n"
                "  cicada run -w reports -c 'import os; print(os.listdir())'\n"};

int workspaces_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void workspaces_help(struct buf *out)
{
    verbs_help(&command, out);
}
