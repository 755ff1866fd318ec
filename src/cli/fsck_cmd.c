/* `cicada fsck`: whether everything is there that a server promised to keep. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "daemon/config.h"
#include "daemon/fsck.h"
#include "json/write.h"

enum { OPT_DATA = 1, OPT_CONFIG, OPT_QUICK, OPT_PACKS, OPT_JSON, OPT_HELP, TEXT_MAX = 4 << 20 };

static const struct option fsck_options[] = {
    {OPT_DATA, 'd', "data", "DIR", "the data directory, or a backup (the server's)"},
    {OPT_CONFIG, 'c', "config", "FILE", "the configuration that names it; as of `cicada serve`"},
    {OPT_QUICK, 0, "quick", NULL, "look everything up, but do not read what files hold"},
    {OPT_PACKS, 0, "packs", NULL, "from packs alone, without the database"},
    {OPT_JSON, 0, "json", NULL, "print one JSON object on one line"},
    {OPT_HELP, 'h', "help", NULL, "print this help"},
    {0},
};

void fsck_help(struct buf *out)
{
    buf_str(
        out,
        "usage: cicada fsck [--data DIR] [--quick] [--packs] [--json]\n\n"
        "Checks the store of a server that is not running: the database, every pack, and\n"
        "that every version of every file can be read and is what was written, and that\n"
        "nobody changed the audit. Changes nothing. Best run as the server's user, or as root.\n\n");
    args_help(fsck_options, out);
    buf_str(out, "\nexit code:\n"
                 "    0  nothing is wrong\n"
                 "    1  something is\n"
                 "    2  the command line or the configuration is wrong\n"
                 "  125  it could not be checked: a server uses it, or there is none\n");
}

struct fsck_wishes {
    const char *data, *config; /* NULL: not given */
    bool is_quick, is_packs_alone, is_json;
};

static int parse(int argc, char **argv, struct fsck_wishes *w, struct err *e)
{
    struct args a = ARGS(argc, argv, fsck_options);
    struct arg arg;
    int got;
    while ((got = args_next(&a, &arg, e)) == 1)
        switch (arg.id) {
        case OPT_DATA: w->data = arg.value; break;
        case OPT_CONFIG: w->config = arg.value; break;
        case OPT_QUICK: w->is_quick = true; break;
        case OPT_PACKS: w->is_packs_alone = true; break;
        case OPT_JSON: w->is_json = true; break;
        case OPT_HELP: return 1;
        default: return err_set(e, ERR_INVALID, "fsck takes no operands: %.100s", arg.value);
        }
    return got;
}

/* Where the server would have its data. On a command line a path is seen from here. */
static int find_data(const struct fsck_wishes *w, char ret[PATH_MAX], struct err *e)
{
    char found[PATH_MAX];
    struct config config;
    if (w->data)
        return realpath(w->data, ret) ? 0 : err_sys(e, errno, "--data: %.200s", w->data);
    config_find(found);
    const struct config_inputs in = {.path = w->config ? w->config
                                             : *found  ? found
                                                       : NULL,
                                     .environment = environ};
    if (config_load(&in, NULL, &config, e))
        return -1;
    (void)snprintf(ret, PATH_MAX, "%s", config.server.data);
    config_done(&config);
    return 0;
}

/* ---- what is told ---- */

struct fsck_report {
    struct notes notes;
    struct json_writer *w;    /* NULL: to people */
    struct json_writer *lost; /* likewise */
};

static void tell(void *arg, const char *problem)
{
    struct fsck_report *r = arg;
    if (r->w)
        jw_text(r->w, problem);
    else
        note_problem(&r->notes, "%s", problem);
}

static void put_text(struct json_writer *w, const char *key, const char *text)
{
    jw_key(w, key);
    jw_text(w, text);
}

static void put_bool(struct json_writer *w, const char *key, bool v)
{
    jw_key(w, key);
    jw_bool(w, v);
}

static void tell_lost(void *arg, const struct check_lost *lost)
{
    struct fsck_report *r = arg;
    struct json_writer *w = r->lost;
    if (!w) {
        note_problem(&r->notes, "lost: %.*s version %" PRIu64 ", %s, in workspace %.*s (%s)",
                     (int)lost->path.len, lost->path.ptr, lost->version,
                     lost->is_in_trash ? "in the trash"
                     : lost->is_newest ? "the newest"
                                       : "not the newest",
                     (int)lost->workspace_name.len, lost->workspace_name.ptr, lost->workspace);
        return;
    }
    jw_object(w);
    put_text(w, "workspace_id", lost->workspace);
    jw_key(w, "workspace");
    jw_str(w, lost->workspace_name.ptr, lost->workspace_name.len);
    jw_key(w, "path");
    jw_str(w, lost->path.ptr, lost->path.len);
    jw_key(w, "version");
    jw_u64(w, lost->version);
    put_bool(w, "is_newest", lost->is_newest);
    put_bool(w, "in_trash", lost->is_in_trash);
    put_text(w, "sha256", lost->sha256);
    put_text(w, "why", lost->why);
    jw_end_object(w);
}

static void put(struct json_writer *w, const char *key, uint64_t v)
{
    jw_key(w, key);
    jw_u64(w, v);
}

static void put_figures(struct json_writer *w, const struct check_result *r)
{
    put(w, "problems", r->problems);
    put(w, "contents", r->contents);
    put(w, "content_bytes", r->content_bytes);
    put(w, "incomplete", r->incomplete);
    put(w, "packs", r->packs);
    put(w, "records", r->records);
    put(w, "bytes", r->bytes);
    put(w, "garbage_bytes", r->garbage_bytes);
    put(w, "audit_entries", r->audit_entries);
}

static void put_words(struct buf *out, const struct check_result *r, bool is_packs_alone)
{
    char space[SIZE_TEXT];
    if (r->problems > 0)
        buf_fmt(out, "%" PRIu64 " problems; ", r->problems);
    else
        buf_str(out, "nothing is wrong: ");
    buf_fmt(out, "%" PRIu64 " contents of %s, ", r->contents, size_text(r->content_bytes, space));
    buf_fmt(out, "%" PRIu64 " packs of %s", r->packs, size_text(r->bytes, space));
    if (is_packs_alone)
        buf_fmt(out, ", %" PRIu64 " contents incomplete", r->incomplete);
    else
        buf_fmt(out, ", %s of it garbage, %" PRIu64 " entries of the audit",
                size_text(r->garbage_bytes, space), r->audit_entries);
    buf_str(out, "\n");
}

static int check(const struct fsck_wishes *wishes, const char *data, struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    scoped(buf_done) struct buf lost = BUF_INIT(TEXT_MAX);
    struct json_writer w = JSON_WRITER(&text), lost_w = JSON_WRITER(&lost);
    struct fsck_report report = {notes_to_stderr(), wishes->is_json ? &w : NULL,
                                 wishes->is_json ? &lost_w : NULL};
    struct check_result result;
    const struct check_options options = {.data = data,
                                          .is_quick = wishes->is_quick,
                                          .is_packs_alone = wishes->is_packs_alone,
                                          .tell = tell,
                                          .lost = tell_lost,
                                          .arg = &report};
    if (wishes->is_json) {
        jw_object(&w);
        jw_key(&w, "messages");
        jw_array(&w);
        jw_array(&lost_w);
    }
    if (check_data(&options, &result, e))
        return -1;
    if (wishes->is_json) {
        jw_end_array(&w);
        jw_end_array(&lost_w);
        jw_key(&w, "lost");
        jw_raw(&w, lost.bytes ? lost.bytes : "[]", lost.bytes ? lost.len : 2);
        put_figures(&w, &result);
        jw_end_object(&w);
        buf_str(&text, "\n");
    } else {
        put_words(&text, &result, wishes->is_packs_alone);
    }
    if (buf_check(&lost, e) || buf_check(&text, e))
        return -1;
    return print_exit(&text, result.problems > 0 ? EXIT_ERROR : EXIT_DONE);
}

int fsck_main(int argc, char **argv)
{
    struct fsck_wishes wishes = {0};
    struct notes notes = notes_to_stderr();
    struct err e = {0};
    char data[PATH_MAX];
    int got = parse(argc, argv, &wishes, &e);
    if (got > 0)
        return print_help(fsck_help);
    if (got < 0)
        return usage_error("fsck", e.text);
    if (find_data(&wishes, data, &e)) {
        note_problem(&notes, "%s", e.text);
        return e.code == ERR_INVALID ? EXIT_USAGE : EXIT_NO_JAIL;
    }
    int code = check(&wishes, data, &e);
    if (code >= 0)
        return code;
    note_problem(&notes, "%s", e.text);
    return EXIT_NO_JAIL;
}
