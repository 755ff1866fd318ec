#include "sandbox/cgroup_layout.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"

static const struct {
    const char *name;
    unsigned bit;
} names[] = {
    {"memory", CGROUP_MEMORY},
    {"pids", CGROUP_PIDS},
    {"cpu", CGROUP_CPU},
    {"cpuacct", CGROUP_CPUACCT},
};

static bool next_word(const char **at, const char *separators, const char **ret, size_t *ret_len)
{
    *at += strspn(*at, separators);
    *ret = *at;
    *ret_len = strcspn(*at, separators);
    *at += *ret_len;
    return *ret_len > 0;
}

unsigned cgroup_controllers(const char *list, const char *separators)
{
    unsigned found = 0;
    const char *word;
    size_t len;
    while (next_word(&list, separators, &word, &len))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i].name) == len && memcmp(names[i].name, word, len) == 0)
                found |= names[i].bit;
    return found;
}

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from; from++) {
        bool is_escape = from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
                         from[2] <= '7' && from[3] >= '0' && from[3] <= '7';
        *to++ = is_escape ? (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'))
                          : *from;
        if (is_escape)
            from += 3;
    }
    *to = '\0';
}

struct mount_line {
    char *root, *point, *options, *type, *super_options;
};

/* 36 35 98:0 /root /point rw,noatime shared:1 - type source superoptions */
static bool split_mount(char *line, struct mount_line *ret)
{
    char *rest = strstr(line, " - ");
    if (!rest)
        return false;
    *rest = '\0';
    rest += strlen(" - ");
    for (int i = 0; i < 3; i++)
        (void)strsep(&line, " "); /* id, parent, device */
    ret->root = strsep(&line, " ");
    ret->point = strsep(&line, " ");
    ret->options = strsep(&line, " ");
    ret->type = strsep(&rest, " ");
    (void)strsep(&rest, " "); /* source */
    ret->super_options = strsep(&rest, " ");
    if (!ret->options || !ret->super_options)
        return false;
    unescape(ret->root);
    unescape(ret->point);
    return true;
}

static bool is_read_only(const char *options)
{
    return strncmp(options, "ro", 2) == 0 && (options[2] == ',' || options[2] == '\0');
}

/* Does a line "id:list:path" of /proc/self/cgroup speak of this hierarchy? Version 2 is "0::path". */
static bool is_about(const char *list, size_t len, const struct cgroup_place *place)
{
    char copy[256];
    if (place->version == 2)
        return len == 0;
    if (len >= sizeof copy)
        return false;
    memcpy(copy, list, len);
    copy[len] = '\0';
    return cgroup_controllers(copy, ",") & place->controllers;
}

/* This process's path in a hierarchy. False when there is none. */
static bool own_path(const char *self_cgroup, const struct cgroup_place *place, char *ret,
                     size_t size)
{
    for (const char *line = self_cgroup; *line;) {
        const char *end = line + strcspn(line, "\n");
        const char *list = memchr(line, ':', (size_t)(end - line));
        const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;
        if (path && is_about(list + 1, (size_t)(path - list - 1), place) &&
            (size_t)(end - path) <= size) {
            size_t len = (size_t)(end - path - 1);
            memcpy(ret, path + 1, len);
            ret[len] = '\0';
            return true;
        }
        line = *end ? end + 1 : end;
    }
    return false;
}

/* What is left of `path` below the part of the hierarchy that is mounted; "" when it is that part, or
 * lies outside of it. */
static const char *below(const char *path, const char *root)
{
    size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return "";
    const char *rest = path + len;
    bool is_outside = strncmp(rest, "/..", 3) == 0 && (rest[3] == '/' || rest[3] == '\0');
    return is_outside || strcmp(rest, "/") == 0 ? "" : rest;
}

static bool fill(const struct mount_line *mount, const char *self_cgroup, struct cgroup_place *ret)
{
    bool is_v2 = strcmp(mount->type, "cgroup2") == 0;
    if ((!is_v2 && strcmp(mount->type, "cgroup") != 0) || is_read_only(mount->options))
        return false;
    ret->version = is_v2 ? 2 : 1;
    ret->controllers = is_v2 ? 0 : cgroup_controllers(mount->super_options, ",");
    if (!is_v2 && !ret->controllers)
        return false;
    char path[PATH_MAX];
    if (!own_path(self_cgroup, ret, path, sizeof path))
        return false;
    int top = snprintf(ret->top, sizeof ret->top, "%s", mount->point);
    int own = snprintf(ret->own, sizeof ret->own, "%s%s", mount->point, below(path, mount->root));
    return top > 0 && (size_t)top < sizeof ret->top && (size_t)own < sizeof ret->own;
}

int cgroup_layout_parse(const char *mountinfo, const char *self_cgroup, struct cgroup_layout *ret,
                        struct err *e)
{
    scoped(freep) char *copy = strdup(mountinfo);
    scoped(freep) struct cgroup_place *places = calloc(CGROUP_PLACES_MAX, sizeof *places);
    if (!copy || !places)
        return err_set(e, ERR_NO_MEMORY, "find control groups");
    size_t count = 0;
    char *rest = copy, *line;
    while (count < CGROUP_PLACES_MAX && (line = strsep(&rest, "\n"))) {
        struct mount_line mount;
        if (split_mount(line, &mount) && fill(&mount, self_cgroup, &places[count]))
            count++;
    }
    *ret = (struct cgroup_layout){.places = take(places), .count = count};
    return 0;
}

void cgroup_layout_done(struct cgroup_layout *layout)
{
    free(layout->places);
    *layout = (struct cgroup_layout){0};
}
