/* desk_pen.c -- in whose name what a copy holds becomes versions; and deletions that did not. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "service/desk_int.h"
#include "service/service_int.h"

void desk_take(struct desk *d, const struct pen *pen, const char *run)
{
    pthread_mutex_lock(&d->lock);
    /* What the one before was not allowed to keep is this one's to keep, in the name of this run. */
    if (!d->pen.can_write)
        d->has_unsaved = true;
    d->pen = *pen;
    (void)snprintf(d->pen_run, sizeof d->pen_run, "%s", run);
    pthread_mutex_unlock(&d->lock);
}

struct pen desk_pen(struct desk *d)
{
    pthread_mutex_lock(&d->lock);
    struct pen pen = d->pen;
    pthread_mutex_unlock(&d->lock);
    return pen;
}

struct author desk_author(const struct desk *d)
{
    struct author author = {0};
    memcpy(author.principal, d->pen.principal, ID_SIZE);
    memcpy(author.session, d->session, ID_SIZE);
    if (d->has_unsaved)
        memcpy(author.run, d->pen_run, ID_SIZE);
    return author;
}

int desk_note_gone(struct desk *d, const char *path, struct err *e)
{
    char **grown = realloc(d->gone, (d->gone_count + 1) * sizeof *grown);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    d->gone = grown;
    d->gone[d->gone_count] = strdup(path);
    if (!d->gone[d->gone_count])
        return err_set(e, ERR_NO_MEMORY, "keep the files");
    d->gone_count++;
    return 0;
}

void desk_forget_gone(struct desk *d, const char *path)
{
    for (size_t i = 0; i < d->gone_count; i++)
        if (strcmp(d->gone[i], path) == 0) {
            free(d->gone[i]);
            d->gone[i--] = d->gone[--d->gone_count];
        }
}

char **desk_take_gone(struct desk *d, size_t *ret_count)
{
    char **gone = d->gone;
    *ret_count = d->gone_count;
    d->gone = NULL;
    d->gone_count = 0;
    return gone;
}
