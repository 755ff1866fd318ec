/* sessions_int.h -- inside `cicada sessions`: the verbs with a file of their own. */
#ifndef CLI_SESSIONS_INT_H
#define CLI_SESSIONS_INT_H

#include "cli/verbs.h"

extern const struct option session_create_options[], session_export_options[];

int session_create(struct remote *r, const struct verb_input *in, struct err *e);
int session_export(struct remote *r, const struct verb_input *in, struct err *e);

#endif
