#include "session/current.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "session/images.h"

struct current {
    struct images *images, *kept; /* borrowed; may be NULL */
    pthread_mutex_t lock;         /* protects what follows */
    struct image image;           /* fd -1: none */
    int64_t looked_us;            /* when it was last found to be current */
};

void current_image_done(struct current_image *i)
{
    fd_closep(&i->fd);
    fd_closep(&i->libraries_fd);
    *i = CURRENT_IMAGE_NONE;
}

int current_new(struct images *images, struct images *kept, struct current **ret, struct err *e)
{
    struct current *c = malloc(sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "hold an image");
    *c = (struct current){.images = images, .kept = kept, .image = IMAGE_NONE};
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
    c->looked_us = clock_us();
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
    *ret = (struct current_image){.fd = fd, .libraries_fd = -1};
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

/* With the lock held. */
static bool is_current(const struct current *c, const char *id)
{
    return c->image.fd >= 0 && strcmp(c->image.id, id) == 0;
}

bool current_is(struct current *c, const char *id)
{
    pthread_mutex_lock(&c->lock);
    bool is_it = is_current(c, id);
    pthread_mutex_unlock(&c->lock);
    return is_it;
}

/* The image that is held, if it has that id and was looked at after `since_us`: 1, or -1 when it cannot
 * be opened. 0 otherwise. */
static int take_held(struct current *c, const char *id, int64_t since_us, struct current_image *ret,
                     struct err *e)
{
    pthread_mutex_lock(&c->lock);
    bool is_it = is_current(c, id) && c->looked_us > since_us;
    int failed = is_it ? reopen(c, ret, e) : 0;
    pthread_mutex_unlock(&c->lock);
    return failed ? -1 : is_it;
}

/* From one of the stores, with what has become of the files it was made of. */
static int take_from(struct current *c, struct images *store, const char *id,
                     struct current_image *ret, struct err *e)
{
    struct image image = IMAGE_NONE;
    struct err ignored = {0}; /* without its libraries it wakes too, and says so */
    int64_t now_us = clock_us();
    if (images_open_id(store, id, &image, e))
        return -1;
    *ret = (struct current_image){.fd = take_fd(&image.fd),
                                  .is_old = image.changed.count > 0,
                                  .is_changed_elsewhere = image.is_changed_elsewhere,
                                  .libraries_fd = -1};
    memcpy(ret->id, image.id, sizeof ret->id);
    image_done(&image);
    if (ret->is_old && images_open_libraries(store, id, &ret->libraries_fd, &ignored) && c->kept)
        (void)images_open_libraries(c->kept, id, &ret->libraries_fd, &ignored);
    pthread_mutex_lock(&c->lock);
    if (!ret->is_old && is_current(c, id))
        c->looked_us = now_us;
    pthread_mutex_unlock(&c->lock);
    return 0;
}

/* What is wrong with the first store is said only if the second has none. */
static int take_stored(struct current *c, const char *id, struct current_image *ret, struct err *e)
{
    struct err ignored = {0};
    if (c->images && take_from(c, c->images, id, ret, e) == 0)
        return 0;
    if (!c->kept || take_from(c, c->kept, id, ret, c->images ? &ignored : e))
        return -1;
    *e = (struct err){0};
    return 0;
}

int current_take_id(struct current *c, const char *id, struct current_image *ret, struct err *e)
{
    if (!c->images && !c->kept)
        return err_set(e, ERR_NOT_FOUND, "images are not used");
    int got = take_held(c, id, clock_us() - CURRENT_SURE_US, ret, e);
    if (got != 0)
        return got < 0 ? -1 : 0;
    if (take_stored(c, id, ret, e) == 0)
        return 0;
    /* One that cannot be looked at any more, because somebody has removed it, say, is good as long as
     * we hold it. */
    struct err ignored = {0};
    if (e->code == ERR_DAMAGED || take_held(c, id, INT64_MIN, ret, &ignored) != 1)
        return -1;
    *e = (struct err){0};
    return 0;
}
