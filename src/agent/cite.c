#include "agent/cite.h"

#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/str.h"

enum { PLACES_MAX = 4096 }; /* in one text that are looked at */

static const char prefix[] = "sandbox:/mnt/data/";

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_word(char c)
{
    return hex(c) >= 0 || (c >= 'g' && c <= 'z') || (c >= 'G' && c <= 'Z') || c == '_' || c == '-';
}

/* Whether a path can be over here: what follows does not go on as a name does. */
static bool is_end(const char *at)
{
    return !is_word(*at) && *at != '/' && !(*at == '.' && is_word(at[1])) &&
           !(*at == '%' && hex(at[1]) >= 0 && hex(at[2]) >= 0);
}

/* How many bytes of `text` are this path, written as it is or percent-encoded; 0: it is not there. */
static size_t match(const char *text, struct str path)
{
    const char *at = text;
    for (size_t i = 0; i < path.len; i++) {
        int high = *at == '%' ? hex(at[1]) : -1, low = high >= 0 ? hex(at[2]) : -1;
        if (low >= 0 && (char)(high * 16 + low) == path.ptr[i])
            at += 3;
        else if (*at && *at == path.ptr[i])
            at++;
        else
            return 0;
    }
    return is_end(at) ? (size_t)(at - text) : 0;
}

static struct str path_of(const json_t *file)
{
    const json_t *path = json_object_get(file, "path");
    return json_is_string(path) ? (struct str){json_string_value(path), json_string_length(path)}
                                : STR_NONE;
}

/* The file that stands here; json_array_size: none. */
static size_t find(const json_t *files, const char *text, size_t *ret_len)
{
    size_t i, best = json_array_size(files), longest = 0;
    json_t *file;
    json_array_foreach(files, i, file)
    {
        struct str path = path_of(file);
        size_t len = path.len > longest ? match(text, path) : 0;
        if (len == 0)
            continue;
        best = i;
        longest = path.len;
        *ret_len = len;
    }
    return best;
}

static size_t count_points(const char *bytes, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    return count;
}

static int add(json_t *to, const json_t *file, size_t begin, size_t end, struct err *e)
{
    struct str path = path_of(file);
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    json_t *one = json_pack("{s:s, s:O?, s:O?, s:s, s:I, s:I}", "type", "container_file_citation",
                            "container_id", json_object_get(file, "container_id"), "file_id",
                            json_object_get(file, "file_id"), "filename",
                            slash ? slash + 1 : (path.ptr ? path.ptr : ""), "start_index",
                            (json_int_t)begin, "end_index", (json_int_t)end);
    if (!one || json_array_append_new(to, one))
        return err_set(e, ERR_NO_MEMORY, "cite files");
    return 0;
}

/* Where they stand. `is_cited` gets the same. */
static int cite_links(const char *text, const json_t *files, bool *is_cited, json_t *to,
                      struct err *e)
{
    const char *from = text;
    size_t points = 0;
    for (size_t places = 0; places < PLACES_MAX; places++) {
        const char *at = strstr(from, prefix);
        size_t len = 0;
        if (!at)
            break;
        size_t which = find(files, at + strlen(prefix), &len);
        len += strlen(prefix);
        points += count_points(from, (size_t)(at - from));
        size_t end = points + count_points(at, len);
        if (which < json_array_size(files)) {
            is_cited[which] = true;
            if (add(to, json_array_get(files, which), points, end, e))
                return -1;
        }
        points = end;
        from = at + len;
    }
    return 0;
}

int cite_files(const char *text, const struct json_t *files, struct json_t **ret, struct err *e)
{
    size_t count = json_array_size(files);
    scoped(freep) bool *is_cited = calloc(count + 1, sizeof *is_cited);
    scoped(json_decrefp) json_t *all = json_array();
    if (!is_cited || !all)
        return err_set(e, ERR_NO_MEMORY, "cite files");
    if (cite_links(text, files, is_cited, all, e))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!is_cited[i] && add(all, json_array_get(files, i), 0, 0, e))
            return -1;
    *ret = take(all);
    return 0;
}
