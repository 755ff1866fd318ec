#include "cli/fileref.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "cli/client.h"

static bool is_component(const char *name, size_t len, const char *what)
{
    return strlen(what) == len && memcmp(name, what, len) == 0;
}

static bool has_control(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f)
            return true;
    return false;
}

int fileref_clean(const char *word, char ret[FILEREF_SIZE], bool *ret_is_dir, struct err *e)
{
    static const char jail_dir[] = "/mnt/data";
    size_t used = 0, prefix = strlen(jail_dir);
    const char *at = word;
    if (has_control(word))
        return err_set(e, ERR_INVALID, "a path has no control characters: '%.60s'", word);
    if (strncmp(word, jail_dir, prefix) == 0 && (word[prefix] == '/' || !word[prefix]))
        at += prefix;
    for (size_t len; *at; at += len) {
        at += strspn(at, "/");
        len = strcspn(at, "/");
        if (len == 0 || is_component(at, len, "."))
            continue;
        if (is_component(at, len, ".."))
            return err_set(e, ERR_INVALID, "'%.60s' leads out of the workspace: leave out the ..",
                           word);
        if (used + (used > 0) + len >= FILEREF_SIZE)
            return err_set(e, ERR_INVALID, "'%.40s...' is longer than %d bytes", word,
                           FILEREF_SIZE - 1);
        if (used > 0)
            ret[used++] = '/';
        memcpy(ret + used, at, len);
        used += len;
    }
    ret[used] = '\0';
    if (ret_is_dir)
        *ret_is_dir = used == 0 || word[strlen(word) - 1] == '/';
    return 0;
}

bool fileref_is_pattern(const char *path)
{
    return strpbrk(path, "*?[") != NULL;
}

size_t fileref_fixed_len(const char *pattern)
{
    size_t len = strcspn(pattern, "*?[");
    while (len > 0 && pattern[len - 1] != '/')
        len--;
    return len;
}

bool fileref_is_local(const char *path)
{
    size_t len;
    if (!*path || strlen(path) >= FILEREF_SIZE || has_control(path))
        return false;
    for (const char *at = path;; at += len + 1) {
        len = strcspn(at, "/");
        if (len == 0 || is_component(at, len, ".") || is_component(at, len, ".."))
            return false;
        if (!at[len])
            return true;
    }
}

bool fileref_is_hidden(const char *path)
{
    return path[0] == '.' || strstr(path, "/.");
}

const char *fileref_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int fileref_join(const char *dir, const char *name, char ret[FILEREF_SIZE], struct err *e)
{
    int len = snprintf(ret, FILEREF_SIZE, "%s%s%s", dir, *dir && *name ? "/" : "", name);
    if (len < 0 || len >= FILEREF_SIZE)
        return err_set(e, ERR_INVALID, "'%.40s/...%.40s' is longer than %d bytes", dir,
                       fileref_base(name), FILEREF_SIZE - 1);
    return 0;
}

void workspace_url(const char *workspace, const char *door, struct buf *out)
{
    buf_str(out, WORKSPACES_PATH "/");
    client_encode(out, workspace);
    if (door)
        buf_fmt(out, "/%s", door);
}

void fileref_url(const char *workspace, const char *path, const char *query, struct buf *out)
{
    workspace_url(workspace, "files", out);
    for (size_t len; *path; path += len, path += *path == '/') {
        char component[FILEREF_SIZE];
        len = strcspn(path, "/");
        (void)snprintf(component, sizeof component, "%.*s", (int)len, path);
        buf_str(out, "/");
        client_encode(out, component);
    }
    if (*query)
        buf_fmt(out, "?%s", query);
}
