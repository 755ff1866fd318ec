/* repl_int.h -- inside `cicada repl`: what it holds, and its commands. */
#ifndef CLI_REPL_INT_H
#define CLI_REPL_INT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/id.h"
#include "cli/client.h"
#include "cli/remote.h"
#include "cli/stage.h"

struct follow;
struct line;

struct repl {
    struct remote remote;
    struct stage stage;
    struct line *line;
    int signal_fd;
    struct buf code;       /* lines of the piece that is being typed */
    struct follow *follow; /* the run that goes on; NULL: none */
    unsigned interrupts;   /* Ctrl-C during this run */
    char interrupt_path[CALL_PATH_MAX];
    const char *workspace; /* in which it should be; NULL: any */
    char session_id[ID_SIZE];
    bool owns_session; /* nobody has named it: it goes when we go */
    bool is_leaving;
};

/* A line that begins with ':', without it. */
void repl_command(struct repl *r, const char *words);

/* Says what Python knows about the name. */
void repl_inspect(struct repl *r, const char *name);

/* For line.h: completion by the session. */
int repl_complete(void *arg, const char *text, struct buf *insert, struct buf *choices,
                  size_t *ret_remove);

/* POST {code, cursor} to an action of the session. The caller owns *ret. */
int repl_ask(struct repl *r, const char *action, const char *code, struct json_t **ret,
             struct err *e);

#endif
