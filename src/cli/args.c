#include "cli/args.h"

#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"

enum {
    OPTIONS_MAX = 32, /* of one command */
    HELP_COLUMN = 26, /* where the explanation of an option begins */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int unknown_name(const struct args *a, const char *word, size_t len, struct err *e)
{
    char name[40];
    (void)snprintf(name, sizeof name, "%.*s", (int)least(len, sizeof name - 1), word);
    const char *names[OPTIONS_MAX];
    int count = 0;
    for (const struct option *o = a->table; o->id && count < OPTIONS_MAX; o++)
        names[count++] = o->name;
    const char *meant = closest_name(name, names, count);
    if (meant)
        return err_set(e, ERR_INVALID, "there is no option --%s; did you mean --%s?", name, meant);
    return err_set(e, ERR_INVALID, "there is no option --%s", name);
}

static const struct option *find_letter(const struct args *a, char letter)
{
    for (const struct option *o = a->table; o->id; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static const struct option *find_name(const struct args *a, const char *name, size_t len)
{
    for (const struct option *o = a->table; o->id; o++)
        if (strncmp(o->name, name, len) == 0 && !o->name[len])
            return o;
    return NULL;
}

/* The word after the option is its value. */
static int take_value(struct args *a, const struct option *o, const char *spelled, struct arg *ret,
                      struct err *e)
{
    if (a->at >= a->count)
        return err_set(e, ERR_INVALID, "%s needs a value: %s %s", spelled, spelled, o->value);
    *ret = (struct arg){o->id, a->words[a->at++]};
    return 1;
}

/* A letter of -x, -xyz or -xVALUE; a->cluster points at it. */
static int next_letter(struct args *a, struct arg *ret, struct err *e)
{
    const char spelled[] = {'-', *a->cluster, '\0'};
    const struct option *o = find_letter(a, *a->cluster);
    const char *rest = a->cluster[1] ? a->cluster + 1 : NULL;
    if (!o)
        return err_set(e, ERR_INVALID, "there is no option %s", spelled);
    if (!o->value) {
        a->cluster = rest;
        *ret = (struct arg){o->id, NULL};
        return 1;
    }
    a->cluster = NULL;
    if (!rest)
        return take_value(a, o, spelled, ret, e);
    *ret = (struct arg){o->id, rest};
    return 1;
}

/* --name, --name=VALUE or --name VALUE; `word` is behind the dashes. */
static int next_name(struct args *a, const char *word, struct arg *ret, struct err *e)
{
    size_t len = strcspn(word, "=");
    const struct option *o = find_name(a, word, len);
    if (!o)
        return unknown_name(a, word, len, e);
    const char *value = word[len] ? word + len + 1 : NULL;
    if (value && !o->value)
        return err_set(e, ERR_INVALID, "--%s takes no value", o->name);
    if (o->value && !value)
        return take_value(a, o, word - 2, ret, e);
    *ret = (struct arg){o->id, value};
    return 1;
}

int args_next(struct args *a, struct arg *ret, struct err *e)
{
    if (a->cluster)
        return next_letter(a, ret, e);
    if (a->at >= a->count)
        return 0;
    const char *word = a->words[a->at++];
    if (a->only_operands || word[0] != '-' || !word[1]) {
        *ret = (struct arg){0, word};
        return 1;
    }
    if (strcmp(word, "--") == 0) {
        a->only_operands = true;
        return args_next(a, ret, e);
    }
    if (word[1] == '-')
        return next_name(a, word + 2, ret, e);
    a->cluster = word + 1;
    return next_letter(a, ret, e);
}

/* Appends `text` with its lines after the first indented to the column of explanations. */
static void put_explanation(struct buf *out, const char *text)
{
    for (size_t len; len = strcspn(text, "\n"), text[len]; text += len + 1) {
        buf_add(out, text, len);
        buf_fmt(out, "\n%*s", HELP_COLUMN, "");
    }
    buf_fmt(out, "%s\n", text);
}

void args_help(const struct option *table, struct buf *out)
{
    for (const struct option *o = table; o->id; o++) {
        size_t line_start = out->len;
        if (o->letter)
            buf_fmt(out, "  -%c, --%s", o->letter, o->name);
        else
            buf_fmt(out, "      --%s", o->name);
        if (o->value)
            buf_fmt(out, " %s", o->value);
        size_t used = out->len - line_start;
        if (used + 2 > HELP_COLUMN)
            buf_fmt(out, "\n%*s", HELP_COLUMN, "");
        else
            buf_fmt(out, "%*s", (int)(HELP_COLUMN - used), "");
        put_explanation(out, o->help);
    }
}
