/* verbs.h -- commands of two words: `cicada sessions ls`.
 *
 * Each command has one table of its verbs, which drives the parsing, the help text and the advice after
 * a mistake. A verb gets a server that has been found and its command line taken apart; it returns an
 * exit code, or -1 with an err, which is then told.
 */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/args.h"

struct buf;
struct err;
struct json_t;
struct table;
struct remote;

enum { VERB_OPTIONS_MAX = 16, VERB_OPERANDS_MAX = 64 };

/* Options every verb may have; others of a verb are numbered from VERB_OWN on. */
enum { VERB_JSON = 1, VERB_HELP, VERB_OWN };
#define VERB_COMMON                                                              \
    {VERB_JSON, 0, "json", NULL, "print JSON instead: one object on each line"}, \
    {                                                                            \
        VERB_HELP, 'h', "help", NULL, "print this help"                          \
    }

struct verb_input {
    const char *operands[VERB_OPERANDS_MAX];
    size_t operand_count;
    const char *values
        [VERB_OPTIONS_MAX]; /* of options, by id; "" for one without a value; NULL: not given */
};

static inline bool verb_is_json(const struct verb_input *in)
{
    return in->values[VERB_JSON] != NULL;
}

struct verb {
    const char *name;
    const char *operands; /* as help spells them: "SESSION [NAME]"; "": none */
    size_t operands_min, operands_max;
    const struct option *options;
    const char *summary;
    int (*main)(struct remote *r, const struct verb_input *in, struct err *e);
};

struct verb_command {
    const char *name, *about; /* "sessions", what it is for */
    const struct verb *verbs; /* ended by one without a name */
    const char *examples;
};

int verbs_main(const struct verb_command *c, int argc, char **argv);
void verbs_help(const struct verb_command *c, struct buf *out);

/* Prints one answer: the object on one line with --json, otherwise field by field. Returns an exit
 * code. */
int verb_print(const struct verb_input *in, const struct json_t *object);

/* Prints text to standard output; returns the exit code. */
int verb_print_text(const struct buf *text);

/* Prints a list: with --json one object per line, otherwise the table, to which `add` gives a row for
 * each. Returns an exit code, or -1 when the table cannot be made. */
int verb_print_list(const struct verb_input *in, const struct json_t *all, struct table *t,
                    void (*add)(struct table *t, const struct json_t *row), struct err *e);

/* A number given with an option; `preset` if it was not. */
int verb_number(const struct verb_input *in, int id, const char *name, unsigned long long min,
                unsigned long long max, unsigned long long preset, unsigned long long *ret,
                struct err *e);

#endif
