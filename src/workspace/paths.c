#include "workspace/paths.h"

#include <string.h>

#include "base/err.h"
#include "base/glob.h"
#include "base/utf8.h"
#include "store/meta_files.h"

static const char *without_front(const char *path)
{
    static const char mount[] = "/mnt/data/";
    if (strncmp(path, mount, sizeof mount - 1) == 0)
        return path + sizeof mount - 1;
    return *path == '/' ? path + 1 : path;
}

static bool has_controls(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        if (byte < ' ' || byte == 127)
            return true;
        if (byte == 0xc2 && i + 1 < len && (unsigned char)text[i + 1] < 0xa0)
            return true; /* U+0080 to U+009F */
    }
    return false;
}

static const char *component_wrong(const char *name, size_t len)
{
    if (len == 0)
        return "it has nothing between two '/'";
    if (name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')))
        return "it has \".\" or \"..\" in it";
    if (len > COMPONENT_BYTES_MAX)
        return "a name in it is longer than 255 bytes";
    return NULL;
}

static const char *components_wrong(const char *path, size_t len)
{
    size_t depth = 0;
    for (size_t at = 0; at <= len; depth++) {
        const char *slash = memchr(path + at, '/', len - at);
        size_t end = slash ? (size_t)(slash - path) : len;
        const char *wrong = component_wrong(path + at, end - at);
        if (wrong)
            return wrong;
        at = end + 1;
    }
    return depth > PATH_DEPTH_MAX ? "it is more than 32 levels deep" : NULL;
}

_Static_assert(COMPONENT_BYTES_MAX == 255 && PATH_DEPTH_MAX == 32 && PATH_BYTES_MAX == 1024,
               "the sentences below name them");

const char *path_wrong(const char *path, char *ret)
{
    const char *from = without_front(path);
    size_t len = strlen(from);
    if (len > 0 && from[len - 1] == '/')
        len--;
    if (len == 0)
        return "it is empty; name a file, as in plots/a.png";
    if (len > PATH_BYTES_MAX)
        return "it is longer than 1024 bytes";
    if (!utf8_is_valid(from, len))
        return "it is no UTF-8";
    if (has_controls(from, len))
        return "it has control characters";
    const char *wrong = components_wrong(from, len);
    if (wrong)
        return wrong;
    memcpy(ret, from, len);
    ret[len] = '\0';
    return NULL;
}

int path_clean(const char *path, char *ret, struct err *e)
{
    const char *wrong = path_wrong(path, ret);
    return wrong ? err_set(e, ERR_INVALID, "path: %s", wrong) : 0;
}

bool path_fits(const char *pattern, const char *path)
{
    return glob_fits(pattern, path);
}
