/* Fuzzes regular expressions of search_files: the first line is the pattern, the rest a line it is tried on. */
#include "mcp/file_regex.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"

#include "fuzz.h"

enum { TEXT_MAX = 2000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const uint8_t *end = len ? memchr(bytes, '\n', len) : NULL;
    size_t pattern_len = end ? (size_t)(end - bytes) : len;
    size_t text_len = end ? len - pattern_len - 1 : 0;
    scoped(freep) char *pattern = malloc(pattern_len + 1);
    scoped(regex_freep) struct regex *r = NULL;
    struct err e = {0};
    assert(pattern);
    memcpy(pattern, bytes, pattern_len);
    pattern[pattern_len] = '\0';
    if (regex_new(pattern, &r, &e)) {
        assert(e.code == ERR_INVALID && !r);
        return 0;
    }
    text_len = text_len < TEXT_MAX ? text_len : TEXT_MAX;
    const char *text = end ? (const char *)end + 1 : "";
    int fits = regex_fits(r, text, text_len, &e);
    assert(fits >= 0 || e.code == ERR_LIMIT);
    assert(regex_fits(r, text, text_len, &e) == fits); /* nothing is left of the time before */
    return 0;
}
