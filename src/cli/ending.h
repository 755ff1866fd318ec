/* ending.h -- how a run ended, for people and for shells. */
#ifndef CLI_ENDING_H
#define CLI_ENDING_H

struct buf;
struct run;

/* See exit.h. */
int ending_exit_code(const struct run *run);

/* Appends one sentence on what ended the run, with what was measured and what was allowed. Nothing
 * for a run that ended well or with a traceback, which speaks for itself unless memory was refused. */
void ending_text(const struct run *run, struct buf *out);

/* What to do about it at a command line; NULL: nothing. Borrowed from the run, or static. */
const char *ending_advice(const struct run *run);

#endif
