#include "cli/verbs.h"

#include <string.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/remote.h"
#include "cli/table.h"

enum { VERBS_MAX = 16 };

static void put_usage(const struct verb_command *c, const struct verb *v, struct buf *out)
{
    buf_fmt(out, "cicada %s %s%s%s", c->name, v->name, *v->operands ? " " : "", v->operands);
}

void verbs_help(const struct verb_command *c, struct buf *out)
{
    buf_fmt(out, "usage: cicada %s %s ...\n\n%s\n\n", c->name, c->preset ? "[VERB]" : "VERB",
            c->about);
    for (const struct verb *v = c->verbs; v->name; v++) {
        scoped(buf_done) struct buf usage = BUF_INIT(256);
        put_usage(c, v, &usage);
        buf_fmt(out, "  %-42s %s\n", usage.bytes + strlen("cicada "), v->summary);
    }
    if (c->preset)
        buf_fmt(out, "\nWithout a verb it is `cicada %s %s`.\n", c->name, c->preset);
    buf_fmt(out, "\n`cicada %s VERB --help` lists the options of one; all take --json.\n", c->name);
    buf_fmt(out, "\nexamples:\n%s", c->examples);
}

static int verb_help(const struct verb_command *c, const struct verb *v)
{
    scoped(buf_done) struct buf text = BUF_INIT(64 << 10);
    buf_str(&text, "usage: ");
    put_usage(c, v, &text);
    buf_fmt(&text, "\n\n%s\n\n", v->summary);
    args_help(v->options, &text);
    return print_exit(&text, EXIT_DONE);
}

static int unknown_verb(const struct verb_command *c, const char *word)
{
    struct notes notes = notes_to_stderr();
    const char *names[VERBS_MAX];
    int count = 0;
    for (const struct verb *v = c->verbs; v->name && count < VERBS_MAX; v++)
        names[count++] = v->name;
    const char *meant = word ? closest_name(word, names, count) : NULL;
    if (!word)
        note_problem(&notes, "cicada %s: what should be done?", c->name);
    else if (meant)
        note_problem(&notes, "there is no '%s %.60s'; did you mean '%s %s'?", c->name, word,
                     c->name, meant);
    else
        note_problem(&notes, "there is no '%s %.60s'", c->name, word);
    note(&notes, "`cicada %s --help` lists what there is", c->name);
    return EXIT_USAGE;
}

static const struct verb *find(const struct verb_command *c, const char *word)
{
    for (const struct verb *v = c->verbs; v->name; v++)
        if (strcmp(v->name, word) == 0)
            return v;
    return NULL;
}

static int parse(const struct verb_command *c, const struct verb *v, int argc, char **argv,
                 struct verb_input *in, struct err *e)
{
    struct args args = ARGS(argc, argv, v->options);
    struct arg arg;
    int got;
    scoped(buf_done) struct buf usage = BUF_INIT(256);
    put_usage(c, v, &usage);
    while ((got = args_next(&args, &arg, e)) == 1) {
        if (arg.id)
            in->values[arg.id] = arg.value ? arg.value : "";
        else if (in->operand_count == v->operands_max)
            return err_set(e, ERR_INVALID, "'%.60s' is one too many; write: %s", arg.value,
                           usage.bytes);
        else
            in->operands[in->operand_count++] = arg.value;
    }
    if (got == 0 && !in->values[VERB_HELP] && in->operand_count < v->operands_min)
        return err_set(e, ERR_INVALID, "something is missing; write: %s", usage.bytes);
    return got;
}

int verbs_main(const struct verb_command *c, int argc, char **argv)
{
    struct err e = {0};
    struct verb_input in = {0};
    scoped(remote_done) struct remote r = {.notes = notes_to_stderr()};
    bool is_named = !c->preset || (argc > 0 && argv[0][0] != '-');
    const char *word = is_named ? (argc > 0 ? argv[0] : NULL) : c->preset;
    const struct verb *v = word ? find(c, word) : NULL;
    if (!v)
        return unknown_verb(c, word);
    int used = is_named ? 1 : 0;
    if (parse(c, v, argc - used, argv + used, &in, &e))
        return usage_error(c->name, e.text);
    if (in.values[VERB_HELP])
        return verb_help(c, v);
    text_locale();
    if (remote_open(&r, &e))
        return remote_failure(&r, &e);
    if (in.values[VERB_LOCK])
        client_lock(r.client, in.values[VERB_LOCK]);
    int code = v->main(&r, &in, &e);
    return code < 0 ? remote_failure(&r, &e) : code;
}
