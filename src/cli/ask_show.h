/* ask_show.h -- an answer as a person sees it while it is made.
 *
 * Standard output is for the answer alone: `cicada ask ... > answer.txt` holds nothing else. What the model thinks, says
 * before it runs something, runs, and gets to see goes to standard error, dimmed on a terminal. What a model says may be
 * its answer or a step towards it; which one is known only when the next thing comes. On a terminal it is shown at once all
 * the same, elsewhere it waits.
 *
 * Everything here was chosen by a model or by what its code printed: nothing of it steers a terminal.
 */
#ifndef CLI_ASK_SHOW_H
#define CLI_ASK_SHOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct err;
struct json_t;
struct notes;
struct stop;

enum ask_part { PART_NONE, PART_THINKING, PART_TEXT, PART_CODE, PART_RUN };

struct ask_show {
    struct notes *notes; /* is_mid_line: of what was written to standard error here */
    struct stop *stop;   /* a writer does not wait any longer when this is asked */
    bool shows_code;
    bool is_live; /* standard output is a terminal */
    bool is_out_mid_line;
    enum ask_part part;     /* what came last */
    bool is_code_shown;     /* of the run that is about to begin */
    struct buf said;        /* the last thing the model said */
    int64_t run_started_us; /* 0: none goes on */
    int failed;             /* errno: standard output cannot be written any more; 0: it can */
};

/* Call ask_show_done. */
void ask_show_init(struct ask_show *s, struct notes *notes, struct stop *stop, bool shows_code);
void ask_show_done(struct ask_show *s);

/* The put of a struct asking, with a struct ask_show as arg. Fails when standard output does. */
int ask_show_event(void *arg, const char *event, const struct json_t *value, struct err *e);

/* The answer, as far as it has not been seen, and a line feed. Returns 0 or the errno. */
int ask_show_answer(struct ask_show *s, const char *answer);

/* Text to standard output: as it is, and harmless if that is a terminal. Returns 0 or the errno. */
int ask_print(struct stop *stop, const char *text);

#endif
