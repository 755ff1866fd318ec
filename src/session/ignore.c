#include "session/ignore.h"

#include <limits.h>
#include <string.h>

static const char *const default_patterns[] = {
    "__pycache__", ".ipynb_checkpoints", ".cache", ".pytest_cache", ".mypy_cache", "?*.pyc",
};

const struct ignore_rules ignore_defaults = {
    .patterns = default_patterns,
    .count = sizeof default_patterns / sizeof *default_patterns,
};

/* A star first stands for nothing; whenever what follows does not fit, the last star takes one byte
 * more. An earlier star never has to: so no recursion, and at most length times length steps. */
static bool fits(const char *pattern, const char *name, const char *end)
{
    const char *star = NULL, *retry = NULL;
    while (name < end) {
        if (*pattern == '*') {
            star = pattern++;
            retry = name;
        } else if (*pattern && (*pattern == '?' || *pattern == *name)) {
            pattern++;
            name++;
        } else if (star) {
            pattern = star + 1;
            name = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}

static bool fits_any(const struct ignore_rules *rules, const char *name, size_t len)
{
    /* Ours in any case: a file that is being brought. */
    if (len > 8 && memcmp(name, ".cicada-", 8) == 0)
        return true;
    for (size_t i = 0; i < rules->count; i++)
        if (fits(rules->patterns[i], name, name + len))
            return true;
    return false;
}

bool ignore_fits(const struct ignore_rules *rules, const char *name)
{
    return fits_any(rules, name, strlen(name));
}

bool ignore_fits_path(const struct ignore_rules *rules, const char *path)
{
    for (;;) {
        size_t len = strcspn(path, "/");
        if (fits_any(rules, path, len))
            return true;
        if (!path[len])
            return false;
        path += len + 1;
    }
}
