/* join.h -- the address of the page of an invitation. */
#ifndef API_JOIN_H
#define API_JOIN_H

struct buf;

void join_url(struct buf *out, const char *token); /* "/join/TOKEN" */

#endif
