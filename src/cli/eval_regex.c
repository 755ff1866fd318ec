#include "cli/eval_regex.h"

#include <stdint.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/err.h"
#include "base/scope.h"

enum {
    STEPS_MAX = 10000000,
    HEAP_KIB = 16 << 10,
    EXPRESSION_MAX = 4096,
    DEPTH_MAX = 100,
    WHY_SIZE = 120,
};

struct pattern {
    pcre2_code *code;            /* owned */
    pcre2_match_context *limits; /* owned */
};

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    pcre2_code_free(p->code);
    pcre2_match_context_free(p->limits);
    free(p);
}

static void context_free(pcre2_compile_context **c)
{
    pcre2_compile_context_free(*c);
}

static int compile(const char *expression, pcre2_code **ret, struct err *e)
{
    scoped(context_free) pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    char why[WHY_SIZE];
    int error = 0;
    PCRE2_SIZE at = 0;
    if (!context)
        return err_set(e, ERR_NO_MEMORY, "read a regular expression");
    (void)pcre2_set_parens_nest_limit(context, DEPTH_MAX);
    (void)pcre2_set_max_pattern_length(context, EXPRESSION_MAX);
    *ret = pcre2_compile((PCRE2_SPTR)expression, PCRE2_ZERO_TERMINATED,
                         PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &at, context);
    if (*ret)
        return 0;
    (void)pcre2_get_error_message(error, (PCRE2_UCHAR *)why, sizeof why);
    return err_set(e, ERR_INVALID, "the regular expression is wrong at character %zu: %s",
                   (size_t)at + 1, why);
}

int pattern_new(const char *expression, struct pattern **ret, struct err *e)
{
    struct pattern *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "read a regular expression");
    p->limits = pcre2_match_context_create(NULL);
    if (!p->limits || compile(expression, &p->code, e)) {
        if (!p->limits)
            (void)err_set(e, ERR_NO_MEMORY, "read a regular expression");
        pattern_free(p);
        return -1;
    }
    (void)pcre2_set_match_limit(p->limits, STEPS_MAX);
    (void)pcre2_set_heap_limit(p->limits, HEAP_KIB);
    *ret = p;
    return 0;
}

int pattern_fits(const struct pattern *p, const char *text, size_t len, struct err *e)
{
    pcre2_match_data *found = pcre2_match_data_create_from_pattern(p->code, NULL);
    if (!found)
        return err_set(e, ERR_NO_MEMORY, "look for a regular expression");
    int got = pcre2_match(p->code, (PCRE2_SPTR)text, len, 0, 0, found, p->limits);
    pcre2_match_data_free(found);
    if (got >= 0)
        return 1;
    if (got == PCRE2_ERROR_MATCHLIMIT || got == PCRE2_ERROR_HEAPLIMIT ||
        got == PCRE2_ERROR_DEPTHLIMIT)
        return err_set(e, ERR_LIMIT,
                       "the regular expression takes too many steps; write a simpler one");
    return 0; /* it does not, or the text is no UTF-8 */
}
