/* `cicada key`: what lets programs and people use the server. */
#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "wire/limits.h"
#include "json/write.h"

enum {
    OPT_NAME = VERB_OWN,
    OPT_SCOPES,
    OPT_PRINCIPAL,
    OPT_EXPIRES,
    OPT_SESSIONS,
    OPT_RUNS,
    OPT_CPU,
    OPT_MEMORY,
    OPT_RUNS_MONTH,
    OPT_CPU_MONTH,
};

enum { LIST_MAX = 10000, BODY_MAX = 8192 };

/* clang-format off */
static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option create_options[] = {
    {OPT_NAME, 'n', "name", "NAME", "what it is for, such as bot (needed)"},
    {OPT_SCOPES, 's', "scopes", "LIST", "what it may do, separated by commas: run, files:read,\n"
                                        "files:write, share, audit, admin (needed)"},
    {OPT_PRINCIPAL, 'p', "principal", "WHO", "whose it is, by name or id (yours)"},
    {OPT_EXPIRES, 0, "expires", "DURATION", "valid for so long, such as 12h or 30d (for ever)"},
    {OPT_SESSIONS, 0, "sessions", "N", "at most so many sessions at once"},
    {OPT_RUNS, 0, "runs-per-minute", "N", "at most so many runs in a minute"},
    {OPT_CPU, 0, "cpu-per-day", "DURATION", "CPU time in a day, such as 600s or 2h"},
    {OPT_MEMORY, 0, "memory", "SIZE", "most memory of a session, in MiB or with a suffix"},
    {OPT_RUNS_MONTH, 0, "runs-per-month", "N", "at most so many runs in a month"},
    {OPT_CPU_MONTH, 0, "cpu-per-month", "DURATION", "CPU time in a month, such as 20h"},
    VERB_COMMON, {0}};

static const struct column key_columns[] = {
    {"NAME", false, true}, {"ID", false, false}, {"SCOPES", false, true}, {"PRINCIPAL", false, false},
    {"CREATED", false, false}, {"USED", false, false}, {"EXPIRES", false, false}};
/* clang-format on */

static void put_scope(void *arg, const char *scope)
{
    jw_text(arg, scope);
}

static int put_scopes(struct json_writer *w, const char *scopes, struct err *e)
{
    jw_key(w, "scopes");
    jw_array(w);
    if (parse_scopes(scopes, put_scope, w, e))
        return err_wrap(e, "--scopes");
    jw_end_array(w);
    return 0;
}

static int put_count(struct json_writer *w, const struct verb_input *in, int id, const char *option,
                     const char *key, struct err *e)
{
    unsigned long long n;
    if (!in->values[id])
        return 0;
    if (verb_number(in, id, option, 1, 1000000000, 0, &n, e))
        return -1;
    jw_key(w, key);
    jw_u64(w, n);
    return 0;
}

static int put_seconds(struct json_writer *w, const struct verb_input *in, int id,
                       const char *option, const char *key, struct err *e)
{
    uint64_t seconds;
    if (!in->values[id])
        return 0;
    if (parse_duration(in->values[id], &seconds, e))
        return err_wrap(e, "--%s", option);
    jw_key(w, key);
    jw_u64(w, seconds);
    return 0;
}

static int put_limits(struct json_writer *w, const struct verb_input *in, struct err *e)
{
    uint64_t bytes = 0;
    if (!in->values[OPT_SESSIONS] && !in->values[OPT_RUNS] && !in->values[OPT_CPU] &&
        !in->values[OPT_MEMORY] && !in->values[OPT_RUNS_MONTH] && !in->values[OPT_CPU_MONTH])
        return 0;
    if (in->values[OPT_MEMORY] && parse_size(in->values[OPT_MEMORY], MIB, &bytes, e))
        return err_wrap(e, "--memory");
    jw_key(w, "limits");
    jw_object(w);
    if (put_count(w, in, OPT_SESSIONS, "sessions", "sessions", e) ||
        put_count(w, in, OPT_RUNS, "runs-per-minute", "runs_per_minute", e) ||
        put_seconds(w, in, OPT_CPU, "cpu-per-day", "cpu_s_per_day", e) ||
        put_count(w, in, OPT_RUNS_MONTH, "runs-per-month", "runs_per_month", e) ||
        put_seconds(w, in, OPT_CPU_MONTH, "cpu-per-month", "cpu_s_per_month", e))
        return -1;
    if (in->values[OPT_MEMORY]) {
        jw_key(w, "memory_mb");
        jw_u64(w, bytes / MIB);
    }
    jw_end_object(w);
    return 0;
}

static int put_key(struct remote *r, const struct verb_input *in, struct buf *body, struct err *e)
{
    struct json_writer w = JSON_WRITER(body);
    const char *who = in->values[OPT_PRINCIPAL];
    char id[ID_SIZE];
    if (!in->values[OPT_NAME] || !in->values[OPT_SCOPES])
        return err_set(e, ERR_INVALID,
                       "a key needs a name and scopes: cicada key create --name bot "
                       "--scopes run,files:read");
    jw_object(&w);
    jw_key(&w, "name");
    jw_text(&w, in->values[OPT_NAME]);
    if (put_scopes(&w, in->values[OPT_SCOPES], e) ||
        put_seconds(&w, in, OPT_EXPIRES, "expires", "expires_in_s", e) || put_limits(&w, in, e))
        return -1;
    if (who) {
        if (remote_resolve(r, &shelf_principals, who, id, e))
            return -1;
        jw_key(&w, "principal");
        jw_text(&w, id);
    }
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(body, e);
}

static int create(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX), text = BUF_INIT(1024);
    scoped(json_decrefp) json_t *key = NULL;
    if (put_key(r, in, &body, e) || remote_post(r, shelf_keys.path, &body, &key, e))
        return -1;
    const char *secret = pick_text(key, "secret");
    if (!*secret)
        return err_set(e, ERR_PROTOCOL, "the server made a key and did not say it");
    if (verb_is_json(in))
        return verb_print(in, key);
    note(&r->notes, "made the key %s (%s); it is shown only this once:", pick_text(key, "name"),
         pick_text(key, "id"));
    buf_fmt(&text, "%s\n", secret);
    return verb_print_text(&text);
}

static void put_list(const json_t *list, struct buf *out)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *word = json_string_value(json_array_get(list, i));
        buf_fmt(out, "%s%s", i ? "," : "", word ? word : "");
    }
}

static void add_key(struct table *t, const json_t *key)
{
    scoped(buf_done) struct buf scopes = BUF_INIT(1024);
    put_list(json_object_get(key, "scopes"), &scopes);
    const char *who = pick_text(key, "principal_id");
    table_add(t, pick_text(key, "name"), NULL);
    table_add(t, pick_text(key, "id"), NULL);
    table_add(t, scopes.len ? scopes.bytes : "", NULL);
    table_add(t, *who ? who : pick_text(key, "principal"), NULL);
    verb_add_moment(t, key, "created_at", "-");
    verb_add_moment(t, key, "last_used_at", "never");
    verb_add_moment(t, key, "expires_at", "never");
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t =
        TABLE(key_columns, sizeof key_columns / sizeof *key_columns);
    if (remote_list(r, shelf_keys.path, "", LIST_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    return verb_print_list(in, all, &t, add_key, e);
}

static int rm(struct remote *r, const struct verb_input *in, struct err *e)
{
    return verb_rm(r, in, &shelf_keys, "revoked", e);
}

static int show(struct remote *r, const struct verb_input *in, struct err *e)
{
    return verb_show(r, in, &shelf_keys, e);
}

/* clang-format off */
static const struct verb key_verbs[] = {
    {"create", "--name NAME --scopes LIST", 0, 0, create_options, "make one; prints the secret, once", create},
    {"ls", "", 0, 0, plain_options, "list keys", ls},
    {"show", "KEY", 1, 1, plain_options, "everything about one but its secret", show},
    {"rm", "KEY...", 1, VERB_OPERANDS_MAX, plain_options, "revoke it: it stops working at once", rm},
    {0},
};
/* clang-format on */

static const struct verb_command key_command = {
    .name = "key",
    .about =
        "Keys let programs and people use the server. KEY is a name or an id (key_...), not the\n"
        "secret. Rotating a key takes nothing from its owner.",
    .verbs = key_verbs,
    .examples = "  cicada key create --name bot --scopes run,files:read --expires 30d\n"
                "  cicada key rm bot\n"};

int key_main(int argc, char **argv)
{
    return verbs_main(&key_command, argc, argv);
}

void key_help(struct buf *out)
{
    verbs_help(&key_command, out);
}
