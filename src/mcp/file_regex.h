/* file_regex.h -- whether a line of text fits a regular expression (PCRE2), in time that nobody can blow up.
 *
 *     struct regex *r;
 *     regex_new("def \\w+\\(", &r, e)       ERR_INVALID says what is wrong, and where
 *     regex_fits(r, line, len, e)           anywhere in the line
 *     regex_free(r)
 *
 * A pattern may take forever on some text. Every line has a budget of steps; a pattern that uses it up
 * fails with ERR_LIMIT, which tells whoever wrote it to write a simpler one. Text is UTF-8; what is not
 * does not fit, and the rest of the line still may.
 */
#ifndef MCP_FILE_REGEX_H
#define MCP_FILE_REGEX_H

#include <stddef.h>

struct err;
struct regex;

enum {
    REGEX_STEPS_MAX = 1000000, /* on one line */
    REGEX_HEAP_KIB = 8 << 10,
    REGEX_COMPILED_MAX = 256 << 10, /* bytes of a pattern when it is compiled */
    REGEX_DEPTH_MAX = 100,          /* parentheses within each other */
};

int regex_new(const char *pattern, struct regex **ret, struct err *e);
void regex_free(struct regex *r); /* NULL is fine */
static inline void regex_freep(struct regex **r)
{
    regex_free(*r);
}

/* 1: it fits; 0: it does not. Fails with ERR_LIMIT. `r` is changed while it runs: of one thread. */
int regex_fits(struct regex *r, const char *text, size_t len, struct err *e);

#endif
