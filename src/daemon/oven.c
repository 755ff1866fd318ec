/* oven.c -- the thread that sees to it that sessions have a current image to start from. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "daemon/serve_int.h"
#include "session/current.h"
#include "session/images.h"
#include "session/libraries.h"
#include "session/session.h"
#include "session/spawner.h"

enum { LOOK_S = 60 }; /* how often it is looked whether libraries were upgraded */

/* False when the server ends. */
static bool rest(struct server *s)
{
    const struct timespec until = {.tv_sec = clock_us() / 1000000 + LOOK_S};
    pthread_mutex_lock(&s->lock);
    if (!s->is_oven_over)
        (void)pthread_cond_timedwait(&s->wake, &s->lock, &until);
    bool goes_on = !s->is_oven_over;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

static void bake(struct server *s)
{
    struct err e = {0};
    struct image image = IMAGE_NONE;
    int64_t begun_us = clock_us();
    log_line(&s->log, LOG_INFO, "baking", LOG_STR("what", "the image that sessions start from"));
    if (images_bake(s->images, s->spawner, BAKE_IF_NEEDED, NULL, s->stop_fd, &image, &e) ||
        current_refresh(s->current, &e)) {
        if (!s->is_stopping)
            log_line(&s->log, LOG_WARNING, "no image", LOG_STR("why", e.text));
    } else {
        log_line(&s->log, LOG_INFO, "baked", LOG_MS("ms", clock_us() - begun_us),
                 LOG_U64("bytes", image.disk_bytes));
    }
    image_done(&image);
}

static bool oven_goes_on(void *arg)
{
    struct server *s = arg;
    pthread_mutex_lock(&s->lock);
    bool goes_on = !s->is_oven_over;
    pthread_mutex_unlock(&s->lock);
    return goes_on;
}

/* Copies the libraries beside the current image, once for each: a disk that is too full for them is not
 * measured every minute. `tried` is the last image it was tried for. */
static void keep_libraries(struct server *s, char tried[HASH_HEX_SIZE])
{
    const struct libraries_wish wish = {oven_goes_on, s};
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    scoped(fd_closep) int kept = -1;
    struct err e = {0};
    int64_t begun_us = clock_us();
    if (current_take(s->current, &image, &e) || strcmp(tried, image.id) == 0)
        return;
    memcpy(tried, image.id, HASH_HEX_SIZE);
    if (images_open_libraries(s->images, image.id, &kept, &e) == 0)
        return;
    e = (struct err){0};
    if (images_keep_libraries(s->images, image.id, &wish, &e) == 0)
        log_line(&s->log, LOG_INFO, "libraries kept", LOG_MS("ms", clock_us() - begun_us));
    else if (e.code == ERR_UNAVAILABLE)
        tried[0] = '\0'; /* somebody else is at work, or the server ends */
    else
        log_line(&s->log, LOG_WARNING, "libraries not kept", LOG_STR("why", e.text));
}

/* Images that are of use: the ids under which sessions live or sleep. */
struct used {
    char (*ids)[HASH_HEX_SIZE];
    size_t count;
};

/* Asked anew: linking may have taken minutes, and a session that began meanwhile is not in the list of before. */
static void remove_old(struct server *s)
{
    struct err e = {0};
    struct used used = {0};
    uint64_t freed = 0, more = 0;
    if (sessions_images(s->sessions, &used.ids, &used.count, &e))
        return;
    const char(*ids)[HASH_HEX_SIZE] = (const char(*)[HASH_HEX_SIZE])used.ids;
    (void)images_gc(s->images, ids, used.count, &freed, &e); /* the next time, then */
    if (s->kept)
        (void)images_gc(s->kept, ids, used.count, &more, &e);
    if (freed + more)
        log_line(&s->log, LOG_INFO, "removed old images", LOG_U64("bytes", freed + more));
    free(used.ids);
}

/* Puts one image with the sleeping sessions as well. 0 also when its libraries have to wait. */
static int link_one(struct server *s, const char *id, bool with_libraries, struct err *e)
{
    const struct libraries_wish wish = {oven_goes_on, s};
    struct err later = {0};
    if (images_link(s->images, s->kept, id, e))
        return e->code == ERR_NOT_FOUND ? 0 : -1; /* it is there, or gone already */
    if (!with_libraries || images_link_libraries(s->images, s->kept, id, &wish, &later) == 0 ||
        later.code == ERR_NOT_FOUND || later.code == ERR_UNAVAILABLE)
        return 0;
    *e = later;
    return -1;
}

/* Those that sessions sleep under, and the current one: the next to fall asleep sleeps under that. */
static void link_used(struct server *s, const struct used *used, bool with_libraries, bool *is_told)
{
    scoped(current_image_done) struct current_image image = CURRENT_IMAGE_NONE;
    struct err e = {0}, none = {0};
    int failed = 0;
    if (!s->kept)
        return;
    if (current_take(s->current, &image, &none) == 0)
        failed = link_one(s, image.id, with_libraries, &e);
    for (size_t i = 0; !failed && i < used->count && oven_goes_on(s); i++)
        failed = link_one(s, used->ids[i], with_libraries, &e);
    if (failed && !*is_told)
        log_line(&s->log, LOG_WARNING, "images are not kept for sleeping sessions",
                 LOG_STR("why", e.text));
    *is_told = failed;
}

/* The current image, if somebody removed it but it is there for sleeping sessions. */
static bool is_found_again(struct server *s)
{
    scoped(image_done) struct image image = IMAGE_NONE;
    struct err e = {0};
    return s->kept && images_find(s->kept, &image, &e) == 0 &&
           images_link(s->kept, s->images, image.id, &e) == 0 &&
           current_refresh(s->current, &e) == 0;
}

static void *keep_current(void *arg)
{
    struct server *s = arg;
    char tried[HASH_HEX_SIZE] = "";
    bool is_settled = false; /* in its first minute a server has better things to do than copying */
    bool is_told = false;
    do {
        struct used used = {0};
        struct err e = {0};
        if (current_refresh(s->current, &e) && !is_found_again(s))
            bake(s);
        if (is_settled)
            keep_libraries(s, tried);
        if (sessions_images(s->sessions, &used.ids, &used.count, &e) == 0) {
            link_used(s, &used, is_settled, &is_told);
            remove_old(s);
        }
        free(used.ids);
        is_settled = true;
    } while (rest(s));
    return NULL;
}

int oven_start(struct server *s, struct err *e)
{
    const struct jail_hello *hello = spawner_hello(s->spawner);
    if (!s->images || hello->tier != TIER_FULL || hello->failure[MECH_IMAGE])
        return 0;
    int why = pthread_create(&s->oven, NULL, keep_current, s);
    if (why)
        return err_sys(e, why, "start a thread");
    s->has_oven = true;
    return 0;
}

void oven_end(struct server *s)
{
    if (!s->has_oven)
        return;
    pthread_mutex_lock(&s->lock);
    s->is_oven_over = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    (void)eventfd_write(s->stop_fd, 1); /* a server that never ran has nobody who did that */
    (void)pthread_join(s->oven, NULL);
    s->has_oven = false;
}
