/* Files named by -f: what to bring, and what to call it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/run_options.h"

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Removes slashes at the end, but not the only one. */
static void trim_slashes(char *path)
{
    for (size_t len = strlen(path); len > 1 && path[len - 1] == '/'; len--)
        path[len - 1] = '\0';
}

/* Takes FILE[=NAME] apart. A file whose name contains '=' is meant as a whole if it exists. */
int guest_read(const char *word, struct guest *ret, struct err *e)
{
    static const char jail_dir[] = "/mnt/data/";
    const char *equals = access(word, F_OK) == 0 ? NULL : strrchr(word, '=');
    scoped(freep) char *path = equals ? strndup(word, (size_t)(equals - word)) : strdup(word);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "-f %s", word);
    trim_slashes(path);
    const char *name = equals ? equals + 1 : last_part(path);
    if (strncmp(name, jail_dir, strlen(jail_dir)) == 0)
        name += strlen(jail_dir);
    if (!equals && (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0))
        return err_set(e, ERR_INVALID, "-f %s: what should it be called? Write -f %s=NAME", word,
                       word);
    char *kept = strdup(name);
    if (!kept)
        return err_set(e, ERR_NO_MEMORY, "-f %s", word);
    *ret = (struct guest){.path = take(path), .name = kept};
    return 0;
}

void guest_done(struct guest *g)
{
    free(g->path);
    free(g->name);
    *g = (struct guest){0};
}

int run_options_add_guest(struct run_options *o, const char *word, struct err *e)
{
    struct guest guest;
    if (o->guest_count == GUESTS_MAX)
        return err_set(e, ERR_INVALID, "more than %d files with -f; bring their directory",
                       GUESTS_MAX);
    if (guest_read(word, &guest, e))
        return -1;
    struct guest *grown = realloc(o->guests, (o->guest_count + 1) * sizeof *grown);
    if (grown)
        o->guests = grown;
    if (!grown) {
        guest_done(&guest);
        return err_set(e, ERR_NO_MEMORY, "-f %s", word);
    }
    o->guests[o->guest_count++] = guest;
    return 0;
}
