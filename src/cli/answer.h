/* answer.h -- what a server's refusal means.
 *
 * Refusals are {"error": {code, message, hint, request_id}} with a status; what stands between us and
 * the server (a proxy, a load balancer) answers with a status alone. Either becomes an err, whose code
 * is one of ours, and a hint.
 */
#ifndef CLI_ANSWER_H
#define CLI_ANSWER_H

#include <stddef.h>

struct err;

enum { ANSWER_HINT_SIZE = 512 };

/* Fills *e and the hint ("" if there is none) from an answer with a status of 400 or more, or one that
 * should not have come at all. Always returns -1. */
int answer_refusal(long status, const char *body, size_t len, char hint[ANSWER_HINT_SIZE],
                   struct err *e);

/* Seconds that a Retry-After header asks for: 1 if it is missing, not a number, or 0. */
unsigned answer_retry_s(const char *header_value);

/* The exit code of a command that ended with this. */
int answer_exit_code(const struct err *e);

#endif
