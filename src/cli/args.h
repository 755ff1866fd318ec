/* args.h -- a command line, taken apart by a table.
 *
 * Each command has one table of its options; it drives the parsing, the help text and the advice
 * after a mistake. Understood are -x VALUE, -xVALUE, --name VALUE, --name=VALUE, several short
 * options without a value in one word, and "--", after which everything is an operand. Options and
 * operands may be mixed. A lone "-" is an operand.
 *
 *     struct args a = ARGS(argc, argv, table);
 *     struct arg arg;
 *     int got;
 *     while ((got = args_next(&a, &arg, e)) == 1)
 *         switch (arg.id) ...
 */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>

struct buf;
struct err;

struct option {
    int id;            /* what the command calls it; not 0, which ends the table */
    char letter;       /* 0: none */
    const char *name;  /* without the dashes */
    const char *value; /* how help names its value; NULL: it takes none */
    const char *help;  /* one line, or several */
};

struct args {
    int count, at;
    char **words;
    const struct option *table;
    const char *cluster; /* rest of a word of short options; NULL: none */
    bool only_operands;  /* "--" has been seen */
};

#define ARGS(argc, argv, options) \
    ((struct args){.count = (argc), .words = (argv), .table = (options)})

struct arg {
    int id;            /* of the option; 0: an operand */
    const char *value; /* the option's value or the operand; NULL: none */
};

/* 1 and the next option or operand, 0 at the end, -1 with ERR_INVALID and advice. */
int args_next(struct args *a, struct arg *ret, struct err *e);

/* Appends the table as the options part of a help text. */
void args_help(const struct option *table, struct buf *out);

#endif
