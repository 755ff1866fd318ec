/* sessions_int.h -- inside `cicada sessions`: the verb that has the most options. */
#ifndef CLI_SESSIONS_INT_H
#define CLI_SESSIONS_INT_H

#include "cli/verbs.h"

extern const struct option session_create_options[];

int session_create(struct remote *r, const struct verb_input *in, struct err *e);

#endif
