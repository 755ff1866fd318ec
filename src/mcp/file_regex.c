#include "mcp/file_regex.h"

#include <stdbool.h>
#include <stdlib.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/err.h"

struct regex {
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *found;
};

void regex_free(struct regex *r)
{
    if (!r)
        return;
    pcre2_match_data_free(r->found);
    pcre2_match_context_free(r->limits);
    pcre2_code_free(r->code);
    free(r);
}

static int compile(const char *pattern, pcre2_code **ret, struct err *e)
{
    int why;
    PCRE2_SIZE at;
    char message[160] = "";
    size_t size = 0;
    pcre2_compile_context *limits = pcre2_compile_context_create(NULL);
    if (!limits)
        return err_set(e, ERR_NO_MEMORY, "read a pattern");
    (void)pcre2_set_parens_nest_limit(limits, REGEX_DEPTH_MAX);
    *ret = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                         PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &why, &at,
                         limits);
    pcre2_compile_context_free(limits);
    if (!*ret) {
        (void)pcre2_get_error_message(why, (PCRE2_UCHAR *)message, sizeof message);
        return err_set(e, ERR_INVALID, "the pattern is wrong at character %zu: %s", at, message);
    }
    if (pcre2_pattern_info(*ret, PCRE2_INFO_SIZE, &size) || size > REGEX_COMPILED_MAX)
        return err_set(e, ERR_INVALID, "the pattern is too large: repeat less");
    return 0;
}

int regex_new(const char *pattern, struct regex **ret, struct err *e)
{
    struct regex *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NO_MEMORY, "read a pattern");
    if (compile(pattern, &r->code, e)) {
        regex_free(r);
        return -1;
    }
    r->limits = pcre2_match_context_create(NULL);
    r->found = pcre2_match_data_create_from_pattern(r->code, NULL);
    if (!r->limits || !r->found) {
        regex_free(r);
        return err_set(e, ERR_NO_MEMORY, "read a pattern");
    }
    (void)pcre2_set_match_limit(r->limits, REGEX_STEPS_MAX);
    (void)pcre2_set_heap_limit(r->limits, REGEX_HEAP_KIB);
    *ret = r;
    return 0;
}

int regex_fits(struct regex *r, const char *text, size_t len, struct err *e)
{
    int got = pcre2_match(r->code, (PCRE2_SPTR)text, len, 0, 0, r->found, r->limits);
    if (got >= 0)
        return 1;
    if (got == PCRE2_ERROR_NOMATCH)
        return 0;
    return err_set(e, ERR_LIMIT,
                   "the pattern takes too long: avoid repeats within repeats, such as (a+)+");
}
