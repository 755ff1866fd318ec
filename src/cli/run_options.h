/* run_options.h -- what `cicada run` was asked to do.
 *
 * Parsing looks at the command line only; run_options_read then reads the code and the text for
 * input() from files and standard input. Both fail with ERR_INVALID and a message that says what to
 * write instead.
 */
#ifndef CLI_RUN_OPTIONS_H
#define CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/args.h"
#include "session/run.h"
#include "wire/limits.h"

struct err;

/* A piece of code. Pieces run one after the other in one session. */
enum piece_kind { PIECE_TEXT, PIECE_FILE, PIECE_STDIN };

struct piece {
    enum piece_kind kind;
    const char *word; /* the code itself, or the file's name; borrowed */
    char *code;       /* owned; set by run_options_read */
    size_t code_len;
    const char *name;           /* how tracebacks call it; NULL: by number */
    enum run_language language; /* set by run_options_read */
};

/* A file to bring into the session. */
struct guest {
    char *path, *name; /* owned */
};

enum { PIECES_MAX = 64, GUESTS_MAX = 1024, ENV_MAX = 256 };

enum {
    LIMIT_GIVEN_WALL = 1,
    LIMIT_GIVEN_MEMORY = 2,
    LIMIT_GIVEN_CPU = 4,
    LIMIT_GIVEN_PIDS = 8,
    LIMIT_GIVEN_DISK = 16,
    LIMIT_GIVEN_OUTPUT = 32,
};

struct run_options {
    struct piece pieces[PIECES_MAX];
    size_t piece_count;
    struct guest *guests; /* owned */
    size_t guest_count;
    const char *out_dir; /* NULL: files are not kept */
    const char *tz;      /* "": UTC */
    enum run_language language;
    bool has_language; /* otherwise a file's name says it */
    struct limits limits;
    const char *stdin_word; /* TEXT, @FILE or -; NULL: input() is an error */
    char *stdin_text;       /* owned; set by run_options_read */
    size_t stdin_len;
    const char *env[ENV_MAX + 1]; /* NULL-ended */
    size_t env_count;
    bool is_json, is_show, is_help;
    bool is_cold;              /* no image is used */
    bool is_direct, is_server; /* run here, or by a server, whatever there is */
    const char *session;       /* in which session of the server; NULL: in one of its own */
    const char *workspace;     /* in which workspace of the server; NULL: in the default one */
    unsigned limits_given;     /* which limits were asked for: LIMIT_GIVEN_... */
};

extern const struct option run_option_table[];

/* Call run_options_done in any case. */
int run_options_parse(int argc, char **argv, struct run_options *ret, struct err *e);
void run_options_done(struct run_options *o);

/* A file to bring as -f spells it: FILE[=NAME]. Fails with ERR_INVALID when it has no name of its own. */
int guest_read(const char *word, struct guest *ret, struct err *e);
void guest_done(struct guest *g);

/* One more file to bring. */
int run_options_add_guest(struct run_options *o, const char *word, struct err *e);

/* Reads what has to be read. `has_terminal`: standard input is a person, who is not waited for
 * unless "-" says so. Blocks on files and standard input. */
int run_options_read(struct run_options *o, bool has_terminal, struct err *e);

#endif
