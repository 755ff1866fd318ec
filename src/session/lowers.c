/* How layers become one tree. The topmost layer that has something at a path decides what is there. A
 * directory is joined by the directories of the layers below it, until one of them is opaque or
 * something else: a whiteout, a file. The layers are ours and nobody changes them.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/walk.h"
#include "session/working_int.h"

_Static_assert(JAIL_LOWERS_MAX <= 8, "a set of layers is a byte");

bool overlay_is_opaque(int dir_fd)
{
    static const char *const names[] = {"user.overlay.opaque", "trusted.overlay.opaque"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char value[2];
        if (fgetxattr(dir_fd, names[i], value, sizeof value) == 1)
            return value[0] == 'y';
    }
    return false;
}

enum layer_entry {
    ENTRY_NONE,
    ENTRY_FILE,
    ENTRY_DIRECTORY,
    ENTRY_OPAQUE,
    ENTRY_WHITEOUT,
    ENTRY_ODD
};

static int entry_in(const struct jail_data *data, size_t layer, const char *path,
                    enum layer_entry *ret, struct err *e)
{
    struct stat st;
    scoped(fd_closep) int fd = below_open(data->lower_fds[layer], path, O_PATH);
    if (fd == -ENOENT || fd == -ENOTDIR) {
        *ret = ENTRY_NONE;
        return 0;
    }
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, fd < 0 ? -fd : errno, "look at a layer");
    if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0))
        *ret = ENTRY_WHITEOUT;
    else if (!S_ISDIR(st.st_mode))
        *ret = S_ISREG(st.st_mode) ? ENTRY_FILE : ENTRY_ODD;
    else {
        scoped(fd_closep) int dir_fd = below_open_dir(data->lower_fds[layer], path);
        if (dir_fd < 0)
            return err_sys(e, -dir_fd, "open a directory of a layer");
        *ret = overlay_is_opaque(dir_fd) ? ENTRY_OPAQUE : ENTRY_DIRECTORY;
    }
    return 0;
}

/* One step down: which of the layers `from` have a say in what is at `path`. */
static int step(const struct jail_data *data, const char *path, const struct lower_place *from,
                struct lower_place *ret, struct err *e)
{
    *ret = (struct lower_place){.kind = LOWER_NOTHING};
    for (size_t i = 0; i < from->count; i++) {
        size_t layer = from->layers[i];
        enum layer_entry entry;
        if (entry_in(data, layer, path, &entry, e))
            return -1;
        if (entry == ENTRY_DIRECTORY || entry == ENTRY_OPAQUE) {
            ret->kind = LOWER_DIRECTORY;
            ret->layers[ret->count++] = layer;
        } else if (ret->count == 0 && (entry == ENTRY_FILE || entry == ENTRY_ODD)) {
            ret->kind = entry == ENTRY_FILE ? LOWER_FILE : LOWER_OTHER;
            ret->layer = layer;
        }
        if (entry != ENTRY_NONE && entry != ENTRY_DIRECTORY)
            break;
    }
    return 0;
}

int lowers_find(const struct jail_data *data, const char *path, struct lower_place *ret,
                struct err *e)
{
    char way[PATH_MAX];
    struct lower_place at = {.kind = LOWER_DIRECTORY, .count = data->lower_count};
    for (size_t i = 0; i < at.count; i++)
        at.layers[i] = i;
    size_t len = 0, path_len = strlen(path);
    assert(path_len < sizeof way);
    while (len < path_len && at.kind == LOWER_DIRECTORY) {
        len += strcspn(path + len, "/");
        memcpy(way, path, len);
        way[len] = '\0';
        struct lower_place next;
        if (step(data, way, &at, &next, e))
            return -1;
        at = next;
        if (len < path_len && at.kind != LOWER_DIRECTORY)
            at = (struct lower_place){.kind = LOWER_NOTHING};
        len += len < path_len;
    }
    *ret = at;
    return 0;
}

/* One layer is listed, minus what those above it hide. */
struct listing {
    const struct jail_data *data;
    const char *top; /* the directory that is listed */
    const struct lower_sink *sink;
    char path[PATH_MAX];
    struct walk_path way;            /* below top */
    uint8_t above[PATH_MAX / 2 + 1]; /* layers above this one that have the directory at a level */
};

/* *ret: which of the layers `above` have a directory here. Or it is hidden by one of them. */
static int is_hidden(const struct listing *l, uint8_t above, bool is_directory, bool *ret_hidden,
                     uint8_t *ret_above, struct err *e)
{
    *ret_hidden = false;
    *ret_above = 0;
    for (size_t layer = 0; layer < l->data->lower_count && !*ret_hidden; layer++) {
        enum layer_entry entry;
        if (!(above & 1U << layer))
            continue;
        if (entry_in(l->data, layer, l->path, &entry, e))
            return -1;
        if (entry == ENTRY_DIRECTORY && is_directory)
            *ret_above |= (uint8_t)(1U << layer);
        else if (entry != ENTRY_NONE)
            *ret_hidden = true;
    }
    return 0;
}

static bool join(struct listing *l)
{
    int len = snprintf(l->path, sizeof l->path, "%s/%s", l->top, l->way.text);
    return len > 0 && (size_t)len < sizeof l->path;
}

static int list_entry(struct listing *l, struct walk *w, const struct walk_entry *entry,
                      struct err *e)
{
    bool is_directory = S_ISDIR(entry->st.stx_mode);
    if (entry->error)
        return err_sys(e, entry->error, "look at a layer");
    if (!walk_path_set(&l->way, entry) || !join(l) ||
        (!is_directory && !S_ISREG(entry->st.stx_mode)))
        return 0; /* too long: it could not be opened through the overlay either */
    bool hidden;
    uint8_t above;
    if (is_hidden(l, l->above[entry->depth - 1], is_directory, &hidden, &above, e))
        return -1;
    if (hidden)
        return 0;
    if (!is_directory)
        return l->sink->each(l->sink->arg, l->path, e);
    l->above[entry->depth] = above;
    int error = walk_enter(w);
    return error ? err_sys(e, -error, "open a directory of a layer") : 0;
}

static void walk_freep(struct walk **wp)
{
    walk_free(*wp);
}

static int list_layer(struct listing *l, size_t layer, struct err *e)
{
    scoped(fd_closep) int dir_fd = below_open_dir(l->data->lower_fds[layer], l->top);
    if (dir_fd < 0)
        return err_sys(e, -dir_fd, "open a directory of a layer");
    scoped(walk_freep) struct walk *w = NULL;
    if (walk_new(dir_fd, &w, e))
        return -1;
    struct walk_entry entry;
    while (walk_next(w, &entry))
        if (list_entry(l, w, &entry, e))
            return -1;
    return walk_lost(w) ? err_set(e, ERR_INTERNAL, "a layer could not be read to its end") : 0;
}

int lowers_list(const struct jail_data *data, const char *path, const struct lower_place *place,
                const struct lower_sink *sink, struct err *e)
{
    assert(place->kind == LOWER_DIRECTORY);
    scoped(freep) struct listing *l = calloc(1, sizeof *l);
    if (!l)
        return err_set(e, ERR_NO_MEMORY, "list a layer");
    l->data = data;
    l->top = path;
    l->sink = sink;
    for (size_t i = 0; i < place->count; i++) {
        if (list_layer(l, place->layers[i], e))
            return -1;
        l->above[0] |= (uint8_t)(1U << place->layers[i]);
    }
    return 0;
}
