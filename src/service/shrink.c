/* shrink.c -- what an image has to be to go into a jail, and what has come out of it. */
#include "service/shrink.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "service/shrink_int.h"

enum { EDGE_MIN = 16, BYTES_MIN = 4 << 10 };

/* What is known of an image by its header. */
struct outline {
    uint32_t width, height;
    const char *mime;
};

static bool is_result(const char *mime)
{
    return strcmp(mime, "image/png") == 0 || strcmp(mime, "image/jpeg") == 0;
}

static bool fits(const struct outline *o, size_t len, const struct shrink_wish *wish)
{
    return is_result(o->mime) && o->width <= wish->edge && o->height <= wish->edge &&
           len <= wish->bytes;
}

static int look(struct str image, struct outline *ret, struct err *e)
{
    if (image_size(image, &ret->width, &ret->height, &ret->mime))
        return err_set(e, ERR_INVALID, "it is no PNG, JPEG, GIF or WebP image");
    if (image.len > SHRINK_BYTES_MAX)
        return err_set(e, ERR_TOO_LARGE, "the image has %zu MB, the most is %d", image.len >> 20,
                       SHRINK_BYTES_MAX >> 20);
    if (ret->width > SHRINK_EDGE_MAX || ret->height > SHRINK_EDGE_MAX ||
        (uint64_t)ret->width * ret->height > SHRINK_PIXELS_MAX)
        return err_set(e, ERR_TOO_LARGE,
                       "the image has %u x %u pixels, which is too many to make it small; the most "
                       "are %d million",
                       ret->width, ret->height, SHRINK_PIXELS_MAX / 1000000);
    return 0;
}

/* In a jail. What comes out of it is looked at like any other image. */
static int make(struct shrinker *s, const char *owner, const struct shrink_task *t,
                struct outline *ret, struct err *e)
{
    struct place *p = NULL;
    if (shrinker_claim(s, owner, &p, e))
        return -1;
    int failed = s->jails->make(p->jail, t, e);
    const struct str made = {.ptr = t->to->bytes, .len = t->to->len};
    bool is_odd =
        !failed && (t->to->failed || image_size(made, &ret->width, &ret->height, &ret->mime) ||
                    !fits(ret, made.len, t->wish));
    shrinker_release(s, p, failed || is_odd);
    return is_odd ? err_set(e, ERR_INVALID, "the image cannot be read: what came of it is none")
                  : failed;
}

int shrinker_make(struct shrinker *s, const char *owner, struct str image,
                  const struct shrink_wish *wish, struct buf *ret, const char **ret_mime,
                  uint32_t *ret_width, uint32_t *ret_height, struct err *e)
{
    struct outline outline;
    const struct shrink_task task = {.image = image, .wish = wish, .to = ret};
    assert(wish->edge >= EDGE_MIN && wish->bytes >= BYTES_MIN && ret->max >= wish->bytes);
    assert(strlen(owner) <= SHRINK_OWNER_MAX);
    buf_done(ret);
    if (look(image, &outline, e))
        return -1;
    if (fits(&outline, image.len, wish)) {
        buf_add(ret, image.ptr, image.len);
        if (ret->failed)
            return err_set(e, ERR_NO_MEMORY, "make an image small");
    } else if (make(s, owner, &task, &outline, e)) {
        buf_done(ret);
        return -1;
    }
    *ret_mime = outline.mime;
    if (ret_width)
        *ret_width = outline.width;
    if (ret_height)
        *ret_height = outline.height;
    return 0;
}
