#include "base/glob.h"

#include <stdint.h>
#include <string.h>

/* The code point at `at`, and how many bytes it has. What is no UTF-8 is taken byte by byte. */
static uint32_t decode(const char *at, size_t *ret_len)
{
    const unsigned char *b = (const unsigned char *)at;
    size_t len = b[0] < 0xc0 ? 1 : b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    uint32_t code = len == 1 ? b[0] : b[0] & (0xffu >> (len + 1));
    for (size_t i = 1; i < len; i++) {
        if ((b[i] & 0xc0) != 0x80) {
            *ret_len = 1;
            return b[0];
        }
        code = code << 6 | (b[i] & 0x3f);
    }
    *ret_len = len;
    return code;
}

/* The length of the set that begins at `pattern`, brackets included; 0 when it is none. */
static size_t set_len(const char *pattern)
{
    const char *at = pattern + 1;
    if (*at == '!' || *at == '^')
        at++;
    if (*at == ']') /* as the first it is a member */
        at++;
    const char *end = strchr(at, ']');
    return end ? (size_t)(end - pattern) + 1 : 0;
}

static bool is_in_set(const char *set, size_t len, uint32_t code)
{
    const char *at = set + 1, *end = set + len - 1;
    bool is_negated = *at == '!' || *at == '^';
    bool is_in = false;
    for (at += is_negated; at < end;) {
        size_t n;
        uint32_t low = decode(at, &n), high = low;
        at += n;
        if (*at == '-' && at + 1 < end) {
            high = decode(at + 1, &n);
            at += 1 + n;
        }
        is_in |= low <= code && code <= high;
    }
    return is_in != is_negated;
}

/* One character of the path against what is no star. False: it does not fit. */
static bool step(const char **pattern, const char **path)
{
    size_t n, set;
    uint32_t code = decode(*path, &n);
    if (**path == '\0' || **pattern == '\0')
        return false;
    if (**pattern == '?' && code != '/') {
        *pattern += 1;
    } else if (**pattern == '[' && (set = set_len(*pattern)) > 0) {
        if (code == '/' || !is_in_set(*pattern, set, code))
            return false;
        *pattern += set;
    } else {
        if (**pattern != **path)
            return false;
        *pattern += 1;
        n = 1;
    }
    *path += n;
    return true;
}

/* Where to go on when what was tried does not fit: behind a star, with one character more for it. */
struct retry {
    const char *pattern, *path; /* pattern NULL: there is none */
    bool is_whole;              /* a star of whole directories */
};

static bool take_star(const char *begin, const char **pattern, const char *path, struct retry *one,
                      struct retry *many)
{
    const char *at = *pattern;
    if (*at != '*')
        return false;
    if (at[1] != '*') {
        *pattern = at + 1;
        *one = (struct retry){.pattern = at + 1, .path = path};
        return true;
    }
    bool is_whole = at[2] == '/' && (at == begin || at[-1] == '/');
    *pattern = at + (is_whole ? 3 : 2);
    *many = (struct retry){.pattern = *pattern, .path = path, .is_whole = is_whole};
    one->pattern = NULL;
    return true;
}

/* The last star takes more; a single one no '/', one of directories up to the next '/'. */
static bool go_back(const char **pattern, const char **path, struct retry *one, struct retry *many)
{
    if (one->pattern && *one->path != '\0' && *one->path != '/') {
        *pattern = one->pattern;
        *path = ++one->path;
        return true;
    }
    one->pattern = NULL;
    if (!many->pattern || *many->path == '\0')
        return false;
    if (many->is_whole) {
        const char *slash = strchr(many->path, '/');
        if (!slash)
            return false;
        many->path = slash;
    }
    *pattern = many->pattern;
    *path = ++many->path;
    return true;
}

bool glob_fits(const char *pattern, const char *path)
{
    const char *begin = pattern;
    struct retry one = {0}, many = {0};
    for (;;) {
        if (take_star(begin, &pattern, path, &one, &many))
            continue;
        if (*pattern == '\0' && *path == '\0')
            return true;
        if (!step(&pattern, &path) && !go_back(&pattern, &path, &one, &many))
            return false;
    }
}

size_t glob_literal_len(const char *pattern)
{
    return strcspn(pattern, "*?[");
}
