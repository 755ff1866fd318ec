/* eval_regex.h -- whether a text fits a regular expression (PCRE2), within a bounded number of steps.
 *
 *     scoped(pattern_freep) struct pattern *p = NULL;
 *     pattern_new("\\b42\\b", &p, e)       ERR_INVALID says what is wrong, and where
 *     pattern_fits(p, text, len, e)        anywhere in the text
 */
#ifndef CLI_EVAL_REGEX_H
#define CLI_EVAL_REGEX_H

#include <stddef.h>

struct err;
struct pattern;

int pattern_new(const char *expression, struct pattern **ret, struct err *e);
void pattern_free(struct pattern *p); /* NULL is fine */
static inline void pattern_freep(struct pattern **p)
{
    pattern_free(*p);
}

/* 1: it fits; 0: it does not. Fails with ERR_LIMIT when it takes too many steps to say. */
int pattern_fits(const struct pattern *p, const char *text, size_t len, struct err *e);

#endif
