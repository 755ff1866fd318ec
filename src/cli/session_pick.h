/* session_pick.h -- the session a user named, made if it is missing. */
#ifndef CLI_SESSION_PICK_H
#define CLI_SESSION_PICK_H

#include "base/id.h"

struct err;
struct remote;

/* The id of the session of that name or id. One that is missing is made, with a note, which also says
 * if another has nearly the same name. An id that is missing is an error. `workspace` is
 * where it should work, NULL: anywhere; one that works elsewhere is ERR_CONFLICT. Blocks. */
int session_pick(struct remote *r, const char *word, const char *workspace, char ret[ID_SIZE],
                 struct err *e);

#endif
