#include "session/deps.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "session/names.h"
#include "wire/jail.h"

/* Digits up to `stop`, which is passed over. False if there is none, or the number is too large. */
static bool read_number(const char **at, const char *end, char stop, uint64_t *ret)
{
    const char *p = *at;
    uint64_t n = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
            return false;
    if (p == *at || p == end || *p != stop)
        return false;
    *at = p + 1;
    *ret = n;
    return true;
}

static bool read_line(const char **at, const char *end, struct dep *ret)
{
    uint64_t s, ns;
    if (!read_number(at, end, '.', &s) || s > INT64_MAX || !read_number(at, end, ' ', &ns) ||
        ns > 999999999 || !read_number(at, end, ' ', &ret->size))
        return false;
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop || **at != '/' || stop - *at >= PATH_MAX || memchr(*at, '\0', (size_t)(stop - *at)))
        return false;
    ret->mtime_s = (int64_t)s;
    ret->mtime_ns = (uint32_t)ns;
    ret->path = *at;
    ret->path_len = (size_t)(stop - *at);
    *at = stop + 1;
    return true;
}

int dep_next(const char **at, const char *end, struct dep *ret, struct err *e)
{
    if (*at == end)
        return 0;
    return read_line(at, end, ret) ? 1 : err_set(e, ERR_DAMAGED, "a line of the image's list");
}

static bool is_same(const struct dep *d)
{
    char path[PATH_MAX];
    struct stat st;
    if (d->path_len >= strlen(DEPS_OWN) && memcmp(d->path, DEPS_OWN, strlen(DEPS_OWN)) == 0)
        return true;
    memcpy(path, d->path, d->path_len);
    path[d->path_len] = '\0';
    if (stat(path, &st))
        return false;
    uint64_t size = S_ISDIR(st.st_mode) ? 0 : (uint64_t)st.st_size;
    return st.st_mtim.tv_sec == d->mtime_s && st.st_mtim.tv_nsec == (long)d->mtime_ns &&
           size == d->size;
}

static bool is_imported_from(const struct dep *d)
{
    for (size_t i = 0; i < JAIL_LIBRARIES; i++) {
        const char *path = jail_libraries[i].path;
        size_t len = strlen(path);
        if (d->path_len >= len && memcmp(d->path, path, len) == 0 &&
            (d->path_len == len || d->path[len] == '/'))
            return true;
    }
    return false;
}

int deps_check(const char *text, size_t len, struct names *changed, bool *ret_elsewhere,
               struct err *e)
{
    const char *at = text, *end = text + len;
    bool is_elsewhere = false;
    struct dep d;
    int got;
    while ((got = dep_next(&at, end, &d, e)) == 1) {
        if (is_same(&d))
            continue;
        is_elsewhere |= !is_imported_from(&d);
        if (changed->count >= DEPS_NAMED_MAX)
            changed->more++;
        else if (names_add(changed, d.path, d.path_len, e))
            return -1;
    }
    if (got < 0)
        return -1;
    *ret_elsewhere = is_elsewhere;
    return 0;
}
