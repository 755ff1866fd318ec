/* stage.h -- a run on a server, shown as if it had been run here.
 *
 * Live output through show.h, figures through delivery.h, the end through ending.h: what a person sees
 * does not depend on where the code ran. Used by `cicada run`, `cicada repl` and `cicada runs events`.
 */
#ifndef CLI_STAGE_H
#define CLI_STAGE_H

#include <stdbool.h>

#include "cli/delivery.h"
#include "cli/show.h"

struct err;
struct follow;
struct json_t;
struct remote;
struct stop;

struct stage {
    struct remote *remote;
    struct show show;
    struct delivery delivery;
    struct stop *stop; /* NULL: none */
    bool is_json;      /* the run object, and nothing else */
    bool keeps_files;  /* the session goes on, and the files in it */
};

/* Files of runs are fetched to `dir`, and figures saved there, from now on. */
int stage_out(struct stage *s, const char *dir, struct err *e);

/* Call stage_done. */
void stage_init(struct stage *s, struct remote *remote, struct stop *stop, enum image_way images,
                bool is_json);
void stage_done(struct stage *s);

/* Shows what is left to show of the run that f->object tells about. Returns the exit code. Sixels are
 * made by the server, in another run. Blocks. */
int stage_end(struct stage *s, const struct follow *f);

/* One value as JSON on one line of standard output. Returns 0 or the errno. */
int stage_print(struct stop *stop, const struct json_t *value);

#endif
