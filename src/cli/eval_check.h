/* eval_check.h -- whether an answer solves a task. Nothing here asks a server: a file that is expected is looked at by the
 * caller. */
#ifndef CLI_EVAL_CHECK_H
#define CLI_EVAL_CHECK_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct task;

/* Whether the answer is what the task expects; if not, `why` is told in a few words. For a task that expects a file,
 * `sha256` is that of the file there is, NULL: there is none. Fails with ERR_LIMIT when a regular expression takes too
 * long. */
int check_answer(const struct task *t, const char *answer, const char *sha256, bool *ret_is_solved,
                 struct buf *why, struct err *e);

/* The next number in the text: digits with a sign, commas between thousands, a fraction, an exponent. *at moves behind it.
 * False at the end. */
bool next_number(const char **at, double *ret);

#endif
