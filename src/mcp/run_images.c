/* run_images.c -- what a run drew: small enough to be looked at, and where the original is. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "api/op.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/scope.h"
#include "mcp/mcp_int.h"
#include "mcp/run_int.h"
#include "service/shrink.h"

enum {
    IMAGE_MAX = 64 << 20,
    LINKS_MAX = 64
}; /* links in one reply: all of a run of many figures */

struct picture {
    char uri[128], name[64];
    const char *mime;
    struct str base64;
};

/* The image as it is shown, or as good as it can be without a shrinker. */
static int make_small(struct mcp_call *m, const struct picture *p, struct buf *ret,
                      const char **ret_mime, struct err *e)
{
    scoped(buf_done) struct buf raw = BUF_INIT(IMAGE_MAX);
    const struct shrink_wish wish = {.edge = REPLY_IMAGE_EDGE, .bytes = REPLY_IMAGE_BYTES};
    if (base64_decode(p->base64.ptr, p->base64.len, &raw, e) || buf_check(&raw, e))
        return -1;
    const struct str image = {raw.bytes, raw.len};
    if (m->mcp->o.shrinker)
        return shrinker_make(m->mcp->o.shrinker, m->c->who.principal, image, &wish, ret, ret_mime,
                             /* ret_width= */ NULL, /* ret_height= */ NULL, e);
    if (raw.len > REPLY_IMAGE_BYTES ||
        (strcmp(p->mime, "image/png") != 0 && strcmp(p->mime, "image/jpeg") != 0))
        return err_set(e, ERR_TOO_LARGE, "it cannot be made small here");
    buf_add(ret, raw.bytes, raw.len);
    *ret_mime = p->mime;
    return buf_check(ret, e);
}

/* True: it is in the reply. */
static bool show_inline(struct mcp_call *m, const struct picture *p)
{
    scoped(buf_done) struct buf small = BUF_INIT(REPLY_IMAGE_BYTES);
    const char *mime;
    struct err e = {0};
    if (strcmp(p->mime, "image/svg+xml") == 0 || m->reply.images >= REPLY_IMAGES_MAX ||
        make_small(m, p, &small, &mime, &e))
        return false;
    reply_image(&m->reply, mime, small.bytes, small.len);
    return true;
}

static int64_t size_of(const struct picture *p)
{
    if (strcmp(p->mime, "image/svg+xml") == 0)
        return (int64_t)p->base64.len;
    size_t len = p->base64.len, padding = 0;
    while (padding < 2 && padding < len && p->base64.ptr[len - 1 - padding] == '=')
        padding++;
    return (int64_t)(len / 4 * 3 - padding);
}

/* `index` counts all of them. */
static void show(struct mcp_call *m, const struct picture *p, size_t index, enum run_images how)
{
    bool is_inline = how == IMAGES_INLINE && show_inline(m, p);
    if (index < LINKS_MAX) {
        const struct reply_link link = {.uri = p->uri,
                                        .name = p->name,
                                        .title =
                                            is_inline ? "the image above, as it was drawn" : NULL,
                                        .mime = p->mime,
                                        .size = size_of(p)};
        reply_link(&m->reply, &link);
    }
}

/* False: the bundle is no picture. */
static bool find(const json_t *run, const json_t *bundle, const char *place, const char *name,
                 struct picture *ret)
{
    ret->base64 = run_bundle_image(bundle, &ret->mime);
    if (!ret->base64.ptr)
        return false;
    const char *end = strchr(ret->mime, '/') + 1;
    (void)snprintf(ret->uri, sizeof ret->uri, "run://%.64s/%s", run_text(run, "id"), place);
    (void)snprintf(ret->name, sizeof ret->name, "%s.%.*s", name, (int)strcspn(end, "+"), end);
    return true;
}

size_t run_show_images(struct mcp_call *m, const struct json_t *run, enum run_images how)
{
    struct picture p;
    size_t i, count = 0;
    json_t *bundle;
    json_array_foreach(json_object_get(run, "displays"), i, bundle)
    {
        char place[40], name[40];
        (void)snprintf(place, sizeof place, "displays/%zu", i);
        (void)snprintf(name, sizeof name, "image-%zu", i);
        if (find(run, bundle, place, name, &p)) {
            if (how != IMAGES_NONE)
                show(m, &p, count, how);
            count++;
        }
    }
    if (find(run, json_object_get(run, "result"), "result", "result", &p)) {
        if (how != IMAGES_NONE)
            show(m, &p, count, how);
        count++;
    }
    return count;
}
