#include "session/current.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "session/images.h"

struct current {
    struct images *images; /* borrowed; may be NULL */
    pthread_mutex_t lock;  /* protects `image` */
    struct image image;    /* fd -1: none */
};

void current_image_done(struct current_image *i)
{
    fd_closep(&i->fd);
    *i = CURRENT_IMAGE_NONE;
}

int current_new(struct images *images, struct current **ret, struct err *e)
{
    struct current *c = malloc(sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "hold an image");
    *c = (struct current){.images = images, .image = IMAGE_NONE};
    (void)pthread_mutex_init(&c->lock, NULL); /* cannot fail with default attributes */
    *ret = c;
    return 0;
}

void current_free(struct current *c)
{
    if (!c)
        return;
    image_done(&c->image);
    (void)pthread_mutex_destroy(&c->lock);
    free(c);
}

int current_refresh(struct current *c, struct err *e)
{
    struct image found = IMAGE_NONE, old;
    if (!c->images)
        return err_set(e, ERR_NOT_FOUND, "images are not used");
    int failed = images_find(c->images, &found, e);
    if (failed && e->code != ERR_NOT_FOUND)
        return -1; /* of what it knows nothing is wrong yet */
    /* Read now, on our account: a page that a session is the first to touch counts as its memory, and
     * one with a small limit would do nothing but fetch them. Not locked: few of an image's pages are
     * ever used, and those stay because they are. */
    if (!failed)
        (void)posix_fadvise(found.fd, 0, 0, POSIX_FADV_WILLNEED);
    pthread_mutex_lock(&c->lock);
    old = c->image;
    c->image = found;
    pthread_mutex_unlock(&c->lock);
    image_done(&old);
    return failed;
}

/* With the lock held. Opened anew, not duplicated: what a session could do to an open file (its
 * offset, O_DIRECT) must not reach other sessions. */
static int reopen(const struct current *c, struct current_image *ret, struct err *e)
{
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", c->image.fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "take an image");
    *ret = (struct current_image){.fd = fd};
    memcpy(ret->id, c->image.id, sizeof ret->id);
    return 0;
}

int current_take(struct current *c, struct current_image *ret, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    int failed = c->image.fd < 0 ? err_set(e, ERR_NOT_FOUND, "there is no current image")
                                 : reopen(c, ret, e);
    pthread_mutex_unlock(&c->lock);
    return failed;
}

bool current_is(struct current *c, const char *id)
{
    pthread_mutex_lock(&c->lock);
    bool is_it = c->image.fd >= 0 && strcmp(c->image.id, id) == 0;
    pthread_mutex_unlock(&c->lock);
    return is_it;
}

int current_take_id(struct current *c, const char *id, struct current_image *ret, struct err *e)
{
    pthread_mutex_lock(&c->lock);
    bool is_it = c->image.fd >= 0 && strcmp(c->image.id, id) == 0;
    int failed = is_it ? reopen(c, ret, e) : 0;
    pthread_mutex_unlock(&c->lock);
    if (is_it)
        return failed;
    struct image image = IMAGE_NONE;
    if (!c->images)
        return err_set(e, ERR_NOT_FOUND, "images are not used");
    if (images_open_id(c->images, id, &image, e))
        return -1;
    *ret = (struct current_image){.fd = take_fd(&image.fd), .is_old = image.changed.count > 0};
    memcpy(ret->id, image.id, sizeof ret->id);
    image_done(&image);
    return 0;
}
