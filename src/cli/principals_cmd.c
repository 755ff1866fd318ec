/* `cicada principal`: the people and agents that own what is on the server. */
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "json/write.h"

enum { OPT_KIND = VERB_OWN };

enum { LIST_MAX = 10000, BODY_MAX = 8192 };

/* clang-format off */
static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option create_options[] = {
    {OPT_KIND, 'k', "kind", "KIND", "human or agent (human)"},
    VERB_COMMON, {0}};

static const struct column columns[] = {
    {"NAME", false, true}, {"ID", false, false}, {"KIND", false, false}, {"CREATED", false, false}};
/* clang-format on */

static void add_row(struct table *t, const json_t *principal)
{
    table_add(t, pick_text(principal, "name"), NULL);
    table_add(t, pick_text(principal, "id"), NULL);
    table_add(t, pick_text(principal, "kind"), NULL);
    verb_add_moment(t, principal, "created_at", "-");
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    if (remote_list(r, shelf_principals.path, "", LIST_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    return verb_print_list(in, all, &t, add_row, e);
}

static int create(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX);
    scoped(json_decrefp) json_t *made = NULL;
    struct json_writer w = JSON_WRITER(&body);
    jw_object(&w);
    jw_key(&w, "name");
    jw_text(&w, in->operands[0]);
    jw_key(&w, "kind");
    jw_text(&w, in->values[OPT_KIND] ? in->values[OPT_KIND] : "human");
    jw_end_object(&w);
    jw_finish(&w);
    if (remote_post(r, shelf_principals.path, &body, &made, e))
        return -1;
    return verb_print_new(in, made);
}

static int show_me(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *me = NULL;
    if (remote_get(r, &shelf_principals, "me", &me, e))
        return -1;
    return verb_print(in, me);
}

/* Whether they are let in: their keys, and tokens that say who they are. */
static int set_disabled(struct remote *r, const struct verb_input *in, bool is_disabled,
                        struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX), path = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *principal = NULL;
    char id[ID_SIZE];
    if (remote_resolve(r, &shelf_principals, in->operands[0], id, e))
        return -1;
    buf_fmt(&path, "%s/%s", shelf_principals.path, id);
    buf_fmt(&body, "{\"disabled\": %s}", is_disabled ? "true" : "false");
    const struct call call = {.method = "PATCH", .path = path.bytes, .body = &body};
    if (buf_check(&body, e) || buf_check(&path, e) || client_call(r->client, &call, &principal, e))
        return -1;
    return verb_tell(r, in, principal, is_disabled ? "not let in any more:" : "let in again:");
}

static int disable(struct remote *r, const struct verb_input *in, struct err *e)
{
    return set_disabled(r, in, true, e);
}

static int enable(struct remote *r, const struct verb_input *in, struct err *e)
{
    return set_disabled(r, in, false, e);
}

/* clang-format off */
static const struct verb verbs[] = {
    {"create", "NAME", 1, 1, create_options, "make one; prints its id", create},
    {"disable", "WHO", 1, 1, plain_options, "shut somebody out: neither their keys work nor tokens", disable},
    {"enable", "WHO", 1, 1, plain_options, "take that back", enable},
    {"ls", "", 0, 0, plain_options, "list principals", ls},
    {"me", "", 0, 0, plain_options, "who this key or socket stands for", show_me},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "principal",
    .about = "Principals are the people and agents that own sessions and keys.",
    .verbs = verbs,
    .examples = "  cicada principal create reporting --kind agent\n"
                "  cicada key create --principal reporting --name nightly --scopes run\n"};

int principal_main(int argc, char **argv)
{
    return verbs_main(&command, argc, argv);
}

void principal_help(struct buf *out)
{
    verbs_help(&command, out);
}
