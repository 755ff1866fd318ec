/* `cicada share`: links for people who have no key. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/fileref.h"
#include "cli/files_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "cli/words.h"
#include "json/write.h"

enum {
    OPT_EXPIRES = VERB_OWN,
    OPT_PASSWORD,
    OPT_UPLOAD,
    OPT_VIEW,
    OPT_MAX,
    OPT_VERSION,
    OPT_NOTE,
};

enum { LIST_MAX = 10000, BODY_MAX = 16384, PASSWORD_MAX = 1024 };

/* clang-format off */
static const struct option create_options[] = {
    {OPT_EXPIRES, 0, "expires", "DURATION", "works for so long, such as 12h or 7d (until it is revoked)"},
    {OPT_PASSWORD, 0, "password-stdin", NULL, "has a password: the first line of standard input"},
    {OPT_UPLOAD, 0, "upload", NULL, "of a folder: others may put files into it. Without --view they\n"
                                    "see nothing of it"},
    {OPT_VIEW, 0, "view", NULL, "may be looked at, but not downloaded"},
    {OPT_MAX, 0, "max", "N", "ends after so many downloads"},
    {OPT_VERSION, 'v', "version", "N", "this version for ever, not the newest"},
    {OPT_NOTE, 'n', "note", "TEXT", "what it is for; only you see it"},
    VERB_IN_WORKSPACE, VERB_COMMON, {0}};
static const struct option plain_options[] = {VERB_IN_WORKSPACE, VERB_COMMON, {0}};

static const struct column columns[] = {
    {"ID", false, false}, {"PATH", false, true}, {"RIGHTS", false, false}, {"STATE", false, false},
    {"VIEWS", true, false}, {"DOWNLOADS", true, false}, {"USED", false, false}, {"EXPIRES", false, false},
    {"NOTE", false, true}};
/* clang-format on */

/* ---- making one ---- */

/* The first line of standard input, without its end. */
static int read_password(char ret[PASSWORD_MAX + 1], struct err *e)
{
    size_t len = 0;
    char byte = 0;
    ssize_t n = 1;
    while (len <= PASSWORD_MAX && (n = read(STDIN_FILENO, &byte, 1)) == 1 && byte != '\n')
        if (len < PASSWORD_MAX)
            ret[len++] = byte;
        else
            return err_set(e, ERR_INVALID, "the password is longer than %d bytes", PASSWORD_MAX);
    if (n < 0)
        return err_sys(e, errno, "read the password");
    if (len > 0 && ret[len - 1] == '\r')
        len--;
    ret[len] = '\0';
    if (len == 0 || strlen(ret) != len)
        return err_set(e, ERR_INVALID, "give the password as the first line of standard input");
    return 0;
}

static void put_rights(struct json_writer *w, const struct verb_input *in)
{
    bool is_upload = in->values[OPT_UPLOAD], is_view = in->values[OPT_VIEW];
    jw_key(w, "rights");
    jw_array(w);
    if (is_view || !is_upload)
        jw_text(w, "view");
    if (!is_view && !is_upload)
        jw_text(w, "download");
    if (is_upload)
        jw_text(w, "upload");
    jw_end_array(w);
}

static int put_number(struct json_writer *w, const struct verb_input *in, int id,
                      const char *option, const char *key, struct err *e)
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

static int put_options(struct json_writer *w, const struct verb_input *in, struct err *e)
{
    char password[PASSWORD_MAX + 1];
    uint64_t seconds;
    if (in->values[OPT_EXPIRES]) {
        if (parse_duration(in->values[OPT_EXPIRES], &seconds, e))
            return err_wrap(e, "--expires");
        jw_key(w, "expires_s");
        jw_u64(w, seconds);
    }
    if (in->values[OPT_PASSWORD]) {
        if (read_password(password, e))
            return -1;
        jw_key(w, "password");
        jw_text(w, password);
    }
    if (in->values[OPT_NOTE]) {
        jw_key(w, "note");
        jw_text(w, in->values[OPT_NOTE]);
    }
    return put_number(w, in, OPT_MAX, "max", "max_downloads", e) ||
                   put_number(w, in, OPT_VERSION, "version", "version", e)
               ? -1
               : 0;
}

static int put_share(const struct verb_input *in, struct buf *body, struct err *e)
{
    struct json_writer w = JSON_WRITER(body);
    char path[FILEREF_SIZE];
    if (fileref_clean(in->operands[0], path, /* ret_is_dir= */ NULL, e))
        return -1;
    jw_object(&w);
    jw_key(&w, "path");
    jw_text(&w, path);
    put_rights(&w, in);
    if (put_options(&w, in, e))
        return -1;
    jw_end_object(&w);
    jw_finish(&w);
    return buf_check(body, e);
}

static int create(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(BODY_MAX), url = BUF_INIT(CALL_PATH_MAX),
                                text = BUF_INIT(4096);
    scoped(json_decrefp) json_t *made = NULL;
    workspace_url(verb_workspace(in), "shares", &url);
    if (put_share(in, &body, e) || buf_check(&url, e))
        return -1;
    const struct call call = {.path = url.bytes, .body = &body};
    if (client_call(r->client, &call, &made, e))
        return -1;
    if (verb_is_json(in))
        return verb_print(in, made);
    note(&r->notes, "made %s; its address is shown only this once:", pick_text(made, "id"));
    buf_fmt(&text, "%s\n", pick_text(made, "url"));
    return verb_print_text(&text);
}

/* ---- those there are ---- */

static void add_row(struct table *t, const json_t *share)
{
    scoped(buf_done) struct buf rights = BUF_INIT(128), path = BUF_INIT(2048);
    const json_t *list = json_object_get(share, "rights");
    for (size_t i = 0; i < json_array_size(list); i++)
        buf_fmt(&rights, "%s%s", i ? "," : "", json_string_value(json_array_get(list, i)));
    buf_fmt(&path, "%s%s", *pick_text(share, "path") ? pick_text(share, "path") : "/",
            pick_is_true(share, "has_password") ? " (password)" : "");
    table_add(t, pick_text(share, "id"), NULL);
    table_add(t, path.bytes, NULL);
    table_add(t, rights.bytes ? rights.bytes : "", NULL);
    table_add(t, pick_text(share, "state"), NULL);
    verb_add_count(t, pick_count(share, "views"));
    verb_add_count(t, pick_count(share, "downloads"));
    verb_add_moment(t, share, "last_used_at", "never");
    verb_add_moment(t, share, "expires_at", "never");
    table_add(t, pick_text(share, "note"), NULL);
}

static int ls(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    scoped(json_decrefp) json_t *all = NULL;
    scoped(table_done) struct table t = TABLE(columns, sizeof columns / sizeof *columns);
    workspace_url(verb_workspace(in), "shares", &url);
    if (buf_check(&url, e) ||
        remote_list(r, url.bytes, "", LIST_MAX, &all, /* ret_has_more= */ NULL, e))
        return -1;
    return verb_print_list(in, all, &t, add_row, e);
}

static int call_one(struct remote *r, const struct verb_input *in, const char *id,
                    const char *method, json_t **ret, struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    workspace_url(verb_workspace(in), "shares", &url);
    buf_str(&url, "/");
    client_encode(&url, id);
    const struct call call = {.method = method, .path = url.bytes};
    return buf_check(&url, e) ? -1 : client_call(r->client, &call, ret, e);
}

static int show(struct remote *r, const struct verb_input *in, struct err *e)
{
    scoped(json_decrefp) json_t *share = NULL;
    if (call_one(r, in, in->operands[0], "GET", &share, e))
        return -1;
    return verb_print(in, share);
}

static int rm(struct remote *r, const struct verb_input *in, struct err *e)
{
    for (size_t i = 0; i < in->operand_count; i++) {
        scoped(json_decrefp) json_t *none = NULL;
        if (call_one(r, in, in->operands[i], "DELETE", &none, e))
            return -1;
        note(&r->notes, "revoked %s", in->operands[i]);
    }
    return EXIT_DONE;
}

/* clang-format off */
static const struct verb verbs[] = {
    {"create", "PATH", 1, 1, create_options, "make a link; prints its address", create},
    {"ls", "", 0, 0, plain_options, "list links, and how often they were used", ls},
    {"show", "ID", 1, 1, plain_options, "everything about one", show},
    {"rm", "ID...", 1, VERB_OPERANDS_MAX, plain_options, "revoke it: it does not work any more", rm},
    {0},
};
/* clang-format on */

static const struct verb_command command = {
    .name = "share",
    .about = "A link lets people without a key look at a file or a folder, download it, or put\n"
             "files into a folder. `cicada share PATH` makes one; PATH is a file or a folder of\n"
             "the workspace, / all of it.",
    .verbs = verbs,
    .preset = "ls",
    .examples = "  cicada share report.pdf --expires 7d\n"
                "  cicada share plots --note 'for the board'\n"
                "  cicada share inbox --upload\n"
                "  echo secret | cicada share data.csv --password-stdin --max 3\n"
                "  cicada share rm shr_...\n"};

static bool is_verb(const char *word)
{
    for (const struct verb *v = verbs; v->name; v++)
        if (strcmp(v->name, word) == 0)
            return true;
    return false;
}

/* What is no verb is what is to be shared. */
int share_main(int argc, char **argv)
{
    enum { WORDS_MAX = 64 };
    static char word[] = "create";
    char *words[WORDS_MAX] = {word};
    bool is_plain = true; /* only options of `ls`, or nothing */
    for (int i = 0; i < argc; i++)
        is_plain = is_plain && argv[i][0] == '-';
    if (argc == 0 || is_plain || is_verb(argv[0]) || argc + 1 >= WORDS_MAX)
        return verbs_main(&command, argc, argv);
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    return verbs_main(&command, argc + 1, words);
}

void share_help(struct buf *out)
{
    verbs_help(&command, out);
}
