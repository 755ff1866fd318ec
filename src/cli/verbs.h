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
struct shelf;

enum { VERB_OPTIONS_MAX = 24, VERB_OPERANDS_MAX = 64 };

/* Options every verb may have; others of a verb are numbered from VERB_OWN on. */
enum { VERB_JSON = 1, VERB_HELP, VERB_WORKSPACE, VERB_LOCK, VERB_OWN };
#define VERB_COMMON                                                              \
    {VERB_JSON, 0, "json", NULL, "print JSON instead: one object on each line"}, \
    {                                                                            \
        VERB_HELP, 'h', "help", NULL, "print this help"                          \
    }

#define VERB_IN_WORKSPACE                                         \
    {                                                             \
        VERB_WORKSPACE, 'w', "workspace", "NAME",                 \
            "in this workspace, by name or id (your default one)" \
    }

/* Of what changes files. */
#define VERB_LOCKED                                                                \
    {                                                                              \
        VERB_LOCK, 0, "lock", "TOKEN",                                             \
            "of `cicada lock`, or several with commas between (CICADA_LOCK_TOKEN)" \
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
    const char *preset;       /* the verb if none is given; NULL: one is needed */
    const char *examples;
};

int verbs_main(const struct verb_command *c, int argc, char **argv);
void verbs_help(const struct verb_command *c, struct buf *out);

/* Prints one answer: the object on one line with --json, otherwise field by field. Returns an exit
 * code. */
int verb_print(const struct verb_input *in, const struct json_t *object);

/* The verbs that are the same for all things with a name: everything about the one that was named; and
 * those that were named are gone, each told with the word `done`. */
int verb_show(struct remote *r, const struct verb_input *in, const struct shelf *shelf,
              struct err *e);
int verb_rm(struct remote *r, const struct verb_input *in, const struct shelf *shelf,
            const char *done, struct err *e);

/* The id of what was made goes to standard output, for scripts; with --json all of it does. */
int verb_print_new(const struct verb_input *in, const struct json_t *made);

/* Says in a word what became of something with a name, or prints it with --json. */
int verb_tell(struct remote *r, const struct verb_input *in, const struct json_t *object,
              const char *done);

/* Prints text to standard output; returns the exit code. */
int verb_print_text(const struct buf *text);

/* Prints a list: with --json one object per line, otherwise the table, to which `add` gives a row for
 * each. Returns an exit code, or -1 when the table cannot be made. */
int verb_print_list(const struct verb_input *in, const struct json_t *all, struct table *t,
                    void (*add)(struct table *t, const struct json_t *row), struct err *e);

/* Cells of a table: bytes, a count, how long ago a moment was (`none` if there is no moment). */
void verb_add_size(struct table *t, unsigned long long bytes);
void verb_add_count(struct table *t, unsigned long long count);
void verb_add_moment(struct table *t, const struct json_t *object, const char *key,
                     const char *none);

/* {"KEY": "text"}, or an empty object without a text. */
void verb_put_one(const char *key, const char *text, struct buf *out);

/* A number given with an option; `preset` if it was not. */
int verb_number(const struct verb_input *in, int id, const char *name, unsigned long long min,
                unsigned long long max, unsigned long long preset, unsigned long long *ret,
                struct err *e);

#endif
