#include "cli/verbs.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "cli/cli.h"
#include "cli/exit.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "cli/remote.h"
#include "cli/stage.h"
#include "cli/table.h"
#include "cli/words.h"

enum { TABLE_TEXT_MAX = 16 << 20 };

enum { VERBS_MAX = 16, TEXT_MAX = 128 << 20 };

static void put_usage(const struct verb_command *c, const struct verb *v, struct buf *out)
{
    buf_fmt(out, "cicada %s %s%s%s", c->name, v->name, *v->operands ? " " : "", v->operands);
}

void verbs_help(const struct verb_command *c, struct buf *out)
{
    buf_fmt(out, "usage: cicada %s VERB ...\n\n%s\n\n", c->name, c->about);
    for (const struct verb *v = c->verbs; v->name; v++) {
        scoped(buf_done) struct buf usage = BUF_INIT(256);
        put_usage(c, v, &usage);
        buf_fmt(out, "  %-42s %s\n", usage.bytes + strlen("cicada "), v->summary);
    }
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
    return print_out(&text) ? EXIT_NO_JAIL : EXIT_DONE;
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
    const struct verb *v = argc > 0 ? find(c, argv[0]) : NULL;
    if (!v)
        return unknown_verb(c, argc > 0 ? argv[0] : NULL);
    if (parse(c, v, argc - 1, argv + 1, &in, &e))
        return usage_error(c->name, e.text);
    if (in.values[VERB_HELP])
        return verb_help(c, v);
    text_locale();
    if (remote_open(&r, &e))
        return remote_failure(&r, &e);
    int code = v->main(&r, &in, &e);
    return code < 0 ? remote_failure(&r, &e) : code;
}

int verb_print_text(const struct buf *text)
{
    int failed = print_out(text);
    if (failed == EPIPE)
        return EXIT_NO_READER;
    return failed ? EXIT_NO_JAIL : EXIT_DONE;
}

/* A value for people; texts of several lines come later, under their names. */
static void put_value(const char *name, const json_t *value, struct table *t)
{
    char ago[AGO_TEXT + 64], space[AGO_TEXT];
    const char *text = json_string_value(value);
    if (json_is_null(value))
        return;
    if (text && moment_us(text) >= 0) {
        (void)snprintf(ago, sizeof ago, "%s (%s)", text, ago_text(text, clock_wall_us(), space));
        table_add(t, name, NULL);
        table_add(t, text, ago);
    } else if (text) {
        table_add(t, name, NULL);
        table_add(t, text, NULL);
    } else {
        scoped(freep) char *dumped =
            json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
        table_add(t, name, NULL);
        table_add(t, dumped ? dumped : "", NULL);
    }
}

static bool is_long_text(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strchr(text, '\n');
}

/* Line by line, so that line feeds and tabs stay and everything else that steers a terminal goes. */
static void put_lines(const char *text, struct buf *out)
{
    while (*text) {
        size_t len = strcspn(text, "\n\t");
        printable(text, len, out);
        text += len;
        if (*text)
            buf_add(out, text++, 1);
    }
}

static void put_long_texts(const json_t *object, struct buf *out)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) if (is_long_text(value))
    {
        const char *text = json_string_value(value);
        buf_fmt(out, "\n%s:\n", name);
        put_lines(text, out);
        if (text[strlen(text) - 1] != '\n')
            buf_str(out, "\n");
    }
    const json_t *error = json_object_get(object, "error");
    if (*pick_text(error, "traceback")) {
        buf_str(out, "\ntraceback:\n");
        put_lines(pick_text(error, "traceback"), out);
    }
}

static int put_fields(const json_t *object, struct buf *out, struct err *e)
{
    static const struct column columns[] = {{"FIELD", false, false}, {"VALUE", false, true}};
    scoped(table_done) struct table t = TABLE(columns, 2);
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value) if (!is_long_text(value))
        put_value(name, value, &t);
    return table_print(&t, terminal_width(), out, e);
}

int verb_print(const struct verb_input *in, const struct json_t *object)
{
    scoped(buf_done) struct buf text = BUF_INIT(TEXT_MAX);
    struct err e = {0};
    if (!object)
        return EXIT_DONE;
    if (verb_is_json(in)) {
        int failed = stage_print(/* stop= */ NULL, object);
        if (failed == EPIPE)
            return EXIT_NO_READER;
        return failed ? EXIT_NO_JAIL : EXIT_DONE;
    }
    if (put_fields(object, &text, &e))
        return EXIT_NO_JAIL;
    put_long_texts(object, &text);
    return verb_print_text(&text);
}

int verb_number(const struct verb_input *in, int id, const char *name, unsigned long long min,
                unsigned long long max, unsigned long long preset, unsigned long long *ret,
                struct err *e)
{
    uint64_t n = preset;
    if (in->values[id] && parse_u64(in->values[id], min, max, &n, e))
        return err_wrap(e, "--%s", name);
    *ret = n;
    return 0;
}

int verb_print_list(const struct verb_input *in, const struct json_t *all, struct table *t,
                    void (*add)(struct table *t, const struct json_t *row), struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(TABLE_TEXT_MAX);
    int code = EXIT_DONE;
    for (size_t i = 0; i < json_array_size(all) && code == EXIT_DONE; i++)
        if (verb_is_json(in))
            code = verb_print(in, json_array_get(all, i));
        else
            add(t, json_array_get(all, i));
    if (verb_is_json(in))
        return code;
    if (table_print(t, json_array_size(all) ? terminal_width() : 0, &text, e))
        return -1;
    return verb_print_text(&text);
}
