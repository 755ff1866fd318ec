/* file_missing.c -- a file that is not there: what is there that is called nearly so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_common.h"
#include "mcp/mcp_int.h"

enum { NAMES_MAX = 1000 };

/* The directory that a path is in: "" or "plots/". */
static int put_parent(struct buf *out, const char *path, struct err *e)
{
    buf_add(out, path, (size_t)(file_name(path) - path));
    buf_add(out, "", 1);
    return buf_check(out, e);
}

/* The path of what is called nearly like `name`; NULL: nothing is. */
static const char *nearest(const json_t *data, const char *name)
{
    const char *names[NAMES_MAX];
    size_t count = json_array_size(data) < NAMES_MAX ? json_array_size(data) : NAMES_MAX;
    for (size_t i = 0; i < count; i++) {
        const char *path = file_text(json_array_get(data, i), "path");
        names[i] = file_name(path);
        if (strcasecmp(names[i], name) == 0)
            return path;
    }
    const char *found = closest_name(name, names, (int)count);
    for (size_t i = 0; i < count && found; i++)
        if (names[i] == found)
            return file_text(json_array_get(data, i), "path");
    return NULL;
}

int file_missing(struct mcp_call *m, const char *workspace, const char *path, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    scoped(buf_done) struct buf prefix = BUF_INIT(FILE_PATH_MAX + 2);
    if (put_parent(&prefix, path, e))
        return -1;
    native_workspace(&n, workspace);
    native_text(&n, "/files");
    native_query(&n, "prefix", prefix.bytes);
    native_query_u64(&n, "limit", NAMES_MAX);
    if (native_call(m, &n, e))
        return file_workspace_failed(m, e);
    (void)err_set(e, ERR_NOT_FOUND, "there is no file '%.150s'", path);
    (void)file_failed(m, e);
    const char *meant = nearest(json_object_get(n.json, "data"), file_name(path));
    if (meant)
        (void)snprintf(m->hint, sizeof m->hint,
                       "Did you mean '%.120s'? list_files shows what is there.", meant);
    return -1;
}
