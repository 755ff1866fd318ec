/* `cicada invite`, `cicada claim` and `cicada usage`: who comes, who owns, what it took. */
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
#include "cli/words.h"
#include "json/write.h"

enum { OPT_ROLE = VERB_OWN, OPT_NAME, OPT_EXPIRES, OPT_MONTH };
enum { LIST_MAX = 1000, BODY_MAX = 8192 };

/* clang-format off */
static const struct option plain_options[] = {VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct option token_options[] = {VERB_COMMON, {0}};
static const struct option invite_options[] = {
    {OPT_ROLE, 'r', "role", "ROLE", "viewer, editor or admin (viewer)"},
    {OPT_NAME, 'n', "name", "NAME", "for whom it is, to tell them apart"},
    {OPT_EXPIRES, 0, "expires", "DURATION", "works so long, at most 30d (7d)"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct option usage_options[] = {
    {OPT_MONTH, 'm', "month", "YYYY-MM", "another month than this one"},
    VERB_COMMON, {0}};

static const struct column ticket_columns[] = {
    {"ID", false, false}, {"ROLE", false, false}, {"NAME", false, true}, {"CREATED", false, false},
    {"USED", false, false}, {"REVOKED", false, false}};
static const struct column usage_columns[] = {
    {"NAME", false, true}, {"ID", false, false}, {"RUNS", true, false}, {"CPU MS", true, false},
    {"FILES", true, false}, {"KEPT", true, false}};
/* clang-format on */

/* The workspace's invitations or claims, or one of them. */
static int tickets_url(const struct verb_input *in, const char *door, const char *id,
                       struct buf *url, struct err *e)
{
    const char *workspace = in->values[VERB_WORKSPACE];
    workspace_url(workspace ? workspace : WORKSPACE_DEFAULT, door, url);
    if (id)
        buf_fmt(url, "/%.64s", id);
    return buf_check(url, e);
}

static int put_invite(const struct verb_input *in, struct buf *body, struct err *e)
{
    struct json_writer w = JSON_WRITER(body);
    uint64_t seconds;
    jw_object(&w);
    if (in->values[OPT_ROLE]) {
        jw_key(&w, "role");
        jw_text(&w, in->values[OPT_ROLE]);
    }
    if (in->values[OPT_NAME]) {
        jw_key(&w, "name");
        jw_text(&w, in->values[OPT_NAME]);
    }
    if (in->values[OPT_EXPIRES]) {
        if (parse_duration(in->values[OPT_EXPIRES], &seconds, e))
            return err_wrap(e, "--expires");
        jw_key(&w, "expires_s");
        jw_u64(&w, seconds);
    }
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(body, e);
}

static int print_token(struct remote *r, const struct verb_input *in, const json_t *made,
                       const char *how)
{
    scoped(buf_done) struct buf text = BUF_INIT(1024);
    if (verb_is_json(in))
        return verb_print(in, made);
    note(&r->notes, "made %s; it works once, and is shown only now. %s", pick_text(made, "id"),
         how);
    buf_fmt(&text, "%s\n", pick_text(made, "token"));
    return verb_print_text(&text);
}

static int create_invite(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    if (tickets_url(in, "invites", NULL, &url, e) || put_invite(in, &body, e) ||
        remote_post(r, url.bytes, &body, &made, e))
        return -1;
    return print_token(r, in, made, "Who has a key joins with `cicada invite join TOKEN`.");
}

static int create_claim(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX), body = BUF_INIT(16);
    scoped(json_decrefp) json_t *made = NULL;
    if (tickets_url(in, "claims", NULL, &url, e) || remote_post(r, url.bytes, &body, &made, e))
        return -1;
    return print_token(r, in, made,
                       "The new owner says `cicada claim take TOKEN` within 72 hours.");
}

static void add_ticket(struct table *t, const json_t *ticket)
{
    table_add(t, pick_text(ticket, "id"), NULL);
    table_add(t, pick_text(ticket, "role"), NULL);
    table_add(t, pick_text(ticket, "name"), NULL);
    verb_add_moment(t, ticket, "created_at", "-");
    verb_add_moment(t, ticket, "used_at", "no");
    verb_add_moment(t, ticket, "revoked_at", "no");
}

static int list(struct remote *r, const struct verb_input *in, const char *door, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t =
        TABLE(ticket_columns, sizeof ticket_columns / sizeof *ticket_columns);
    if (tickets_url(in, door, NULL, &url, e) ||
        remote_list(r, url.bytes, "", LIST_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    return verb_print_list(in, all, &t, add_ticket, e);
}

static int ls_invites(struct remote *r, const struct verb_input *in, struct err *e)
{
    return list(r, in, "invites", e);
}

static int ls_claims(struct remote *r, const struct verb_input *in, struct err *e)
{
    return list(r, in, "claims", e);
}

static int rm(struct remote *r, const struct verb_input *in, const char *door, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
        scoped(json_decrefp) json_t *nothing = NULL;
        if (tickets_url(in, door, in->operands[i], &url, e))
            return -1;
        const struct call call = {.method = "DELETE", .path = url.bytes};
        if (client_call(r->client, &call, &nothing, e))
            return -1;
        note(&r->notes, "revoked %s", in->operands[i]);
    }
    return EXIT_DONE;
}

static int rm_invites(struct remote *r, const struct verb_input *in, struct err *e)
{
    return rm(r, in, "invites", e);
}

static int rm_claims(struct remote *r, const struct verb_input *in, struct err *e)
{
    return rm(r, in, "claims", e);
}

static int use(struct remote *r, const struct verb_input *in, const char *path, const char *what,
               struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *joined = NULL;
    verb_put_one("token", in->operands[0], &body);
    if (buf_check(&body, e) || remote_post(r, path, &body, &joined, e))
        return -1;
    if (verb_is_json(in))
        return verb_print(in, joined);
    note(&r->notes, "%s %s (%s)", what, pick_text(joined, "name"),
         pick_text(joined, "workspace_id"));
    return EXIT_DONE;
}

static int join(struct remote *r, const struct verb_input *in, struct err *e)
{
    return use(r, in, "/api/v1/invites/join", "joined", e);
}

static int take_claim(struct remote *r, const struct verb_input *in, struct err *e)
{
    return use(r, in, "/api/v1/claims", "you own", e);
}

/* ---- usage ---- */

static void add_usage(struct table *t, const json_t *line)
{
    const char *key = pick_text(line, "key_id");
    table_add(t, pick_text(line, "name"), NULL);
    table_add(t, *key ? key : pick_text(line, "workspace_id"), NULL);
    verb_add_count(t, pick_count(line, "runs"));
    verb_add_count(t, pick_count(line, "cpu_ms"));
    if (*key) {
        table_add(t, "", NULL);
        table_add(t, "", NULL);
        return;
    }
    verb_add_count(t, pick_count(line, "files"));
    verb_add_size(t, pick_count(line, "kept_bytes"));
}

static int usage(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *report = NULL;
    scoped(table_done) struct table t =
        TABLE(usage_columns, sizeof usage_columns / sizeof *usage_columns);
    buf_str(&url, "/api/v1/usage");
    if (in->values[OPT_MONTH])
        buf_fmt(&url, "?month=%.16s", in->values[OPT_MONTH]);
    const struct call call = {.method = "GET", .path = url.bytes};
    if (buf_check(&url, e) || client_call(r->client, &call, &report, e))
        return -1;
    if (verb_is_json(in))
        return verb_print(in, report);
    scoped(json_decrefp) json_t *all = json_array();
    if (!all || json_array_extend(all, json_object_get(report, "keys")) ||
        json_array_extend(all, json_object_get(report, "workspaces")))
        return err_set(e, ERR_NO_MEMORY, "show what was used");
    return verb_print_list(in, all, &t, add_usage, e);
}

/* clang-format off */
static const struct verb invite_verbs[] = {
    {"create", "", 0, 0, invite_options, "make one; prints the token, once", create_invite},
    {"ls", "", 0, 0, plain_options, "list invitations, those that are over too", ls_invites},
    {"rm", "INVITE...", 1, VERB_OPERANDS_MAX, plain_options, "revoke it before it is used", rm_invites},
    {"join", "TOKEN", 1, 1, token_options, "use one as who you are", join},
    {0},
};
static const struct verb claim_verbs[] = {
    {"create", "", 0, 0, plain_options, "make one; prints the token, once", create_claim},
    {"ls", "", 0, 0, plain_options, "list claims, those that are over too", ls_claims},
    {"rm", "CLAIM...", 1, VERB_OPERANDS_MAX, plain_options, "revoke it before it is used", rm_claims},
    {"take", "TOKEN", 1, 1, token_options, "become the owner", take_claim},
    {0},
};
static const struct verb usage_verbs[] = {
    {"show", "", 0, 0, usage_options, "runs, CPU and storage of a month", usage},
    {0},
};
/* clang-format on */

static const struct verb_command invite_command = {
    .name = "invite",
    .about = "An invitation makes somebody a member of a workspace. Its token works once.",
    .verbs = invite_verbs,
    .examples = "  cicada invite create -w reports --role editor --name Ada\n"
                "  cicada invite ls -w reports\n"};

static const struct verb_command claim_command = {
    .name = "claim",
    .about =
        "A claim gives a workspace away: who takes it owns it, and you stay one of its admins.",
    .verbs = claim_verbs,
    .examples = "  cicada claim create -w reports\n"
                "  cicada claim take ccl_...\n"};

static const struct verb_command usage_command = {
    .name = "usage",
    .about = "What your keys and workspaces used; for an admin, everybody's.",
    .verbs = usage_verbs,
    .preset = "show",
    .examples = "  cicada usage\n"
                "  cicada usage show --month 2026-01\n"};

int invite_main(int argc, char **argv)
{
    return verbs_main(&invite_command, argc, argv);
}

void invite_help(struct buf *out)
{
    verbs_help(&invite_command, out);
}

int claim_main(int argc, char **argv)
{
    return verbs_main(&claim_command, argc, argv);
}

void claim_help(struct buf *out)
{
    verbs_help(&claim_command, out);
}

int usage_main(int argc, char **argv)
{
    return verbs_main(&usage_command, argc, argv);
}

void usage_help(struct buf *out)
{
    verbs_help(&usage_command, out);
}
