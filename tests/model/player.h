/* player.h -- somebody who does random things to a workspace and knows what has to come of them. */
#ifndef MODEL_PLAYER_H
#define MODEL_PLAYER_H

#include "opened.h"
#include "reference.h"

struct player {
    struct opened *o;
    struct workspace_row ws;
    struct reference ref;
    struct dice dice;
    uint64_t done, refused, reads; /* operations that worked, were rightly refused, and looks */
    uint64_t bytes_read;
};

/* One operation. What is not as it should be is told, and ends the program. */
void player_change(struct player *p);
void player_read(struct player *p);
void player_maintain(struct player *p);                 /* pins, purges */
void player_compare(struct player *p, bool with_bytes); /* everything there is */

/* Something that is not as it should be. */
_Noreturn void player_fail(const struct player *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The bytes of a content; the caller frees them. */
uint8_t *made_bytes(const struct made *m);
void random_path(struct player *p, char ret[REF_PATH]);

#endif
