/* ask_int.h -- inside `cicada ask`: what its parts share. */
#ifndef CLI_ASK_INT_H
#define CLI_ASK_INT_H

#include "cli/ask_show.h"
#include "cli/delivery.h"
#include "cli/remote.h"

struct ask_options;
struct err;
struct json_t;

/* Everything a question holds, in the order it is made. */
struct query {
    struct ask_options *options;
    struct remote remote;
    struct stop *stop;
    struct delivery delivery;
    struct ask_show show;
    char session_id[ID_SIZE];
    char workspace[ID_SIZE]; /* of the session; "": as the options have it */
};

/* The files named by -f become files of the workspace. */
int ask_bring(struct query *q, struct err *e);

/* Everything about an answer but what was shown while it was made. Returns the exit code. */
int ask_end(struct query *q, struct json_t *answer);

/* `cicada ask --list` and `--transcript`. */
int ask_list(struct remote *r, const struct ask_options *o, struct err *e);
int ask_transcript(struct remote *r, const struct ask_options *o, struct err *e);

#endif
