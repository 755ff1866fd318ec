/* file_read_image.c -- read_file of an image: made small enough to be looked at, and a link to the original. */
#include <inttypes.h>
#include <stdio.h>

#include "base/err.h"
#include "base/scope.h"
#include "mcp/file_common.h"
#include "mcp/file_read.h"
#include "mcp/mcp_int.h"
#include "service/shrink.h"
#include "json/write.h"

struct picture {
    struct buf bytes;
    const char *mime;
    uint32_t width, height; /* as it is shown */
};

/* As it came, if it is within the limits anyway. */
static int keep(struct str image, struct picture *p, struct err *e)
{
    if (image.len > REPLY_IMAGE_BYTES || p->width > REPLY_IMAGE_EDGE ||
        p->height > REPLY_IMAGE_EDGE)
        return err_set(e, ERR_TOO_LARGE, "this server cannot make images smaller");
    buf_add(&p->bytes, image.ptr, image.len);
    return buf_check(&p->bytes, e);
}

static int make(struct mcp_call *m, const struct file_facts *f, struct str image, struct picture *p,
                struct err *e)
{
    const struct shrink_wish wish = {.edge = REPLY_IMAGE_EDGE, .bytes = REPLY_IMAGE_BYTES};
    struct shrinker *shrinker = m->mcp->o.shrinker;
    if (image_size(image, &p->width, &p->height, &p->mime))
        return err_set(e, ERR_INVALID, "it is no PNG, JPEG, GIF or WebP image");
    return shrinker ? shrinker_make(shrinker, f->workspace, image, &wish, &p->bytes, &p->mime,
                                    &p->width, &p->height, e)
                    : keep(image, p, e);
}

static int without(struct mcp_call *m, const struct file_facts *f, const struct err *why,
                   struct err *e)
{
    char text[400];
    (void)snprintf(text, sizeof text, "It cannot be shown as an image: %s.", why->text);
    return read_nothing(m, f, text, e);
}

int read_image(struct mcp_call *m, const struct file_facts *f, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    struct picture p = {.bytes = BUF_INIT(REPLY_IMAGE_BYTES)};
    struct err why = {0};
    uint32_t width = 0, height = 0;
    if (f->size == 0 || f->size > SHRINK_BYTES_MAX)
        return read_nothing(
            m, f, f->size ? "It is too large to be shown as an image." : "It is empty.", e);
    if (file_range(m, f, 0, (size_t)f->size, &n, e))
        return -1;
    struct str image = {n.answer.out.bytes, n.answer.out.len};
    if (make(m, f, image, &p, &why)) {
        buf_done(&p.bytes);
        return without(m, f, &why, e);
    }
    (void)image_size(image, &width, &height, NULL);
    read_head(m, f);
    buf_fmt(&m->reply.text, ", %" PRIu32 "x%" PRIu32 " pixels%s.\n", width, height,
            p.bytes.len != image.len ? ", made smaller to be shown; the link has the original"
                                     : "");
    reply_image(&m->reply, p.mime, p.bytes.bytes, p.bytes.len);
    read_tail(m, f, "image");
    jw_key(&m->reply.w, "width");
    jw_u64(&m->reply.w, width);
    jw_key(&m->reply.w, "height");
    jw_u64(&m->reply.w, height);
    buf_done(&p.bytes);
    return 0;
}
