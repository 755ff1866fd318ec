/* tickets_int.h -- what tickets.c and sign_in.c share. */
#ifndef WORKSPACE_TICKETS_INT_H
#define WORKSPACE_TICKETS_INT_H

#include "workspace/tickets.h"

/* One that can be used now; ERR_NOT_FOUND. */
int ticket_open(struct files *f, enum ticket_kind kind, const char *token, struct ticket_row *ret,
                struct err *e);

#endif
