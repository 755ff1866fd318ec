/* ask_options.h -- what `cicada ask` was asked to do.
 *
 * Parsing looks at the command line only; ask_options_read then reads the question from standard input if it is there.
 * Both fail with ERR_INVALID and a message that says what to write instead.
 */
#ifndef CLI_ASK_OPTIONS_H
#define CLI_ASK_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/args.h"
#include "cli/asking.h"
#include "cli/run_options.h"

struct err;

enum ask_task { ASK_QUESTION, ASK_LISTING, ASK_SHOWING };

struct ask_options {
    enum ask_task task;
    struct ask_wish wish; /* its question is `question`, its files the names of the guests */
    char *question;       /* owned */
    struct guest guests[ASK_FILES_MAX];
    size_t guest_count;
    const char *operand;    /* the question, or "-"; NULL: none */
    const char *out_dir;    /* NULL: files are not fetched */
    const char *transcript; /* the id of an answer, for ASK_SHOWING */
    const char *format;     /* of the transcript */
    uint64_t limit;         /* of a list */
    bool is_json, is_help, shows_code;
    bool has_search; /* it was said whether to search; otherwise -w without -f means it */
};

extern const struct option ask_option_table[];

/* Call ask_options_done in any case. */
int ask_options_parse(int argc, char **argv, struct ask_options *ret, struct err *e);
void ask_options_done(struct ask_options *o);

/* `has_terminal`: standard input is a person, who is not waited for unless "-" says so. Blocks on standard input. */
int ask_options_read(struct ask_options *o, bool has_terminal, struct err *e);

#endif
