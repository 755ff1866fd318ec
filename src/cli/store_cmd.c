/* store_cmd.c -- `cicada stats`, `gc` and `backup`: what the store of a server holds and needs. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/remote.h"
#include "cli/verbs.h"

enum { OPT_NOW = VERB_OWN };

/* A call without much to say, whose answer is an object. These may take long. */
static int ask(struct remote *r, const struct verb_input *in, const char *path, const char *body,
               struct err *e)
{
    scoped(buf_done) struct buf json = BUF_INIT(256);
    json_t *answer = NULL;
    const struct call call = {.path = path,
                              .method = body ? "POST" : "GET",
                              .body = body ? &json : NULL,
                              .timeout_s = 24 * 3600};
    buf_str(&json, body ? body : "");
    if (client_call(r->client, &call, &answer, e))
        return -1;
    int code = verb_print(in, answer);
    json_decref(answer);
    return code;
}

static int stats(struct remote *r, const struct verb_input *in, struct err *e)
{
    return ask(r, in, "/api/v1/store", NULL, e);
}

static int collect(struct remote *r, const struct verb_input *in, struct err *e)
{
    return ask(r, in, "/api/v1/store/gc", in->values[OPT_NOW] ? "{\"now\":true}" : "{}", e);
}

static int back_up(struct remote *r, const struct verb_input *in, struct err *e)
{
    return ask(r, in, "/api/v1/store/backup", "{}", e);
}

static const struct option plain_options[] = {VERB_COMMON, {0}};
static const struct option gc_options[] = {
    VERB_COMMON,
    {OPT_NOW, 0, "now", NULL, "at once, also what was purged within the last day"},
    {0}};

static const struct verb verbs[] = {
    {"stats", "", 0, 0, plain_options, "what the store holds, and how it is", stats},
    {"gc", "", 0, 0, gc_options, "take away what no kept version needs", collect},
    {"backup", "", 0, 0, plain_options,
     "bring the backup in [store] backup_dir of the server up to date", back_up},
    {0},
};

static const struct verb_command store = {
    .name = "store",
    .about =
        "The store of a server: what it holds, garbage collection, backups. Needs an admin's key.",
    .verbs = verbs,
    .preset = "stats",
    .examples = "  cicada store stats\n"
                "  cicada store gc --now\n"
                "  cicada store backup\n"
                "  cicada fsck --data /var/lib/cicada     with the server stopped\n",
};

int store_main(int argc, char **argv)
{
    return verbs_main(&store, argc, argv);
}

void store_help(struct buf *out)
{
    verbs_help(&store, out);
}

/* ---- the same as commands of one word ---- */

enum { WORDS_MAX = 64 };

static int with_verb(const char *verb, int argc, char **argv)
{
    char word[16];
    char *words[WORDS_MAX + 1] = {word};
    if (argc >= WORDS_MAX)
        return usage_error(verb, "too many arguments");
    (void)snprintf(word, sizeof word, "%s", verb);
    memcpy(words + 1, argv, (size_t)argc * sizeof *argv);
    return verbs_main(&store, argc + 1, words);
}

int stats_main(int argc, char **argv)
{
    return with_verb("stats", argc, argv);
}

int gc_main(int argc, char **argv)
{
    return with_verb("gc", argc, argv);
}

int backup_main(int argc, char **argv)
{
    return with_verb("backup", argc, argv);
}

void stats_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada stats [--json]\n\n"
            "Says what the store of a server holds, how much of the disk that takes, and when\n"
            "it was last tidied, checked and backed up. Needs an admin's key.\n\n");
    args_help(plain_options, out);
}

void gc_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada gc [--now] [--json]\n\n"
            "Takes away what no kept version of a file needs any more. The server does this by\n"
            "itself every six hours, and removes what has not been needed for a day. What is\n"
            "found for the first time is only marked: --now twice frees the disk. Needs an\n"
            "admin's key.\n\n");
    args_help(gc_options, out);
}

void backup_help(struct buf *out)
{
    buf_str(out,
            "usage: cicada backup [--json]\n\n"
            "Brings the backup in [store] backup_dir of a running server up to date: only what\n"
            "is new is copied. To restore it, start a server with a copy of that directory as\n"
            "its data directory. Needs an admin's key.\n\n");
    args_help(plain_options, out);
}
