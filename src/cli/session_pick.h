/* session_pick.h -- the session a user named, made if it is missing. */
#ifndef CLI_SESSION_PICK_H
#define CLI_SESSION_PICK_H

#include "base/id.h"

struct err;
struct remote;

/* The id of the session of that name or id. One that is missing is made, with a note, which also says
 * if another has nearly the same name. An id that is missing is an error. Blocks. */
int session_pick(struct remote *r, const char *word, char ret[ID_SIZE], struct err *e);

#endif
