/* locks_int.h -- inside `cicada lock`: one lock that is held, and a command while it is. */
#ifndef CLI_LOCKS_INT_H
#define CLI_LOCKS_INT_H

#include <stdint.h>

#include "base/id.h"
#include "cli/verbs.h"

struct err;
struct remote;

enum { OPT_TREE = VERB_OWN, OPT_SHARED, OPT_TTL, OPT_WAIT, OPT_HOLDER, OPT_SESSION, OPT_BREAK };

#define LOCK_ENVIRONMENT "CICADA_LOCK_TOKEN" /* tokens that every change presents */
enum { LOCK_TOKENS_SIZE = 1024 };            /* bytes of several, with commas between */

struct own_lock {
    const char *workspace; /* as the address has it */
    char id[ID_SIZE], token[ID_SIZE];
    uint64_t ttl_s;
};

/* Takes it and prints its token, or runs the command (see lock_run; NULL: there is none). An exit code, or
 * -1. */
int lock_path(struct remote *r, const struct verb_input *in, char *const *command, struct err *e);

int lock_release_own(struct remote *r, const struct own_lock *l, struct err *e);

/* Runs a command (a list that ends with NULL) with the token in its environment, renews the lock
 * meanwhile and releases it at the end. Returns the command's exit code, as a shell says it; or -1. */
int lock_run(struct remote *r, const struct own_lock *l, char *const *command, struct err *e);

#endif
