/* words.h -- durations, moments and scopes, as people write and read them. Nothing here waits. */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include <stdint.h>

struct err;

/* "90", "90s", "15m", "12h", "30d", "2w" in seconds. Fails with ERR_INVALID; 0 and more than 100 years
 * are invalid too. */
int parse_duration(const char *text, uint64_t *ret_s, struct err *e);

/* A list of scopes such as "run,files:read": calls `put` with each, in order. Fails with ERR_INVALID
 * for an unknown or repeated one, naming what was probably meant, and for an empty list. */
int parse_scopes(const char *text, void (*put)(void *arg, const char *scope), void *arg,
                 struct err *e);

/* RFC 3339 in UTC ("2026-01-31T12:00:00.123Z") as microseconds since 1970; -1 if it is none. */
int64_t moment_us(const char *text);

/* How far a moment is from `now_us`: "12 s ago", "3 h ago", "in 5 d", "-" if it is none. */
enum { AGO_TEXT = 32 };
const char *ago_text(const char *moment, int64_t now_us, char space[AGO_TEXT]);

/* "12 ms", "3.4 s", "5 min 3 s". */
enum { TIME_TEXT = 32 };
const char *time_text(double ms, char space[TIME_TEXT]);

#endif
