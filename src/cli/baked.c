#include "cli/baked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cli/programs.h"
#include "session/images.h"
#include "session/kernel.h"
#include "session/spawner.h"

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

int baked_dir(char ret[PATH_MAX], struct err *e)
{
    const char *own = variable("CICADA_IMAGE_DIR"), *cache = variable("XDG_CACHE_HOME");
    const char *home = variable("HOME");
    int len;
    if (own && strcmp(own, "off") == 0)
        return err_set(e, ERR_NOT_FOUND, "images are switched off (CICADA_IMAGE_DIR)");
    if (own)
        len = snprintf(ret, PATH_MAX, "%s", own);
    else if (geteuid() == 0)
        len = snprintf(ret, PATH_MAX, "/var/cache/cicada/images");
    else if (cache && *cache == '/')
        len = snprintf(ret, PATH_MAX, "%s/cicada/images", cache);
    else if (home)
        len = snprintf(ret, PATH_MAX, "%s/.cache/cicada/images", home);
    else
        return err_set(e, ERR_NOT_FOUND, "no place for images; set CICADA_IMAGE_DIR or HOME");
    return len < PATH_MAX ? 0 : err_set(e, ERR_INVALID, "the path of the images is too long");
}

int baked_open(enum baked_way way, struct images **ret, struct err *e)
{
    char path[PATH_MAX];
    struct programs programs;
    if (programs_find(&programs, e) || baked_dir(path, e))
        return -1;
    if (way == BAKED_MAKE && images_make_dir(path, e))
        return -1;
    const struct images_options options = {
        .dir_path = path, .kernel_path = programs.kernel, .load_path = programs.load};
    return images_open(&options, ret, e);
}

int baked_find(struct spawner *s, struct image *ret, struct err *e)
{
    const struct jail_hello *hello = spawner_hello(s);
    struct images *images;
    if (hello->tier != TIER_FULL || hello->failure[MECH_IMAGE])
        return err_set(e, ERR_UNAVAILABLE, "this host cannot use images");
    if (baked_open(BAKED_LOOK, &images, e)) {
        if (e->code == ERR_NOT_FOUND && !variable("CICADA_IMAGE_DIR"))
            return err_set(e, ERR_NOT_FOUND, "there is no image; `cicada bake` makes one");
        return -1;
    }
    int failed = images_find(images, ret, e);
    images_close(images);
    return failed;
}

int baked_start(struct spawner *s, const struct limits *limits, const struct jail_data *data,
                struct kernel **ret, struct err *e)
{
    scoped(image_done) struct image image = IMAGE_NONE;
    struct err ignored = {0}; /* `cicada doctor` says why there is none */
    if (baked_find(s, &image, &ignored) == 0) {
        const struct kernel_origin origin = {
            .image_fd = image.fd, .delta_fd = -1, .libraries_fd = -1};
        if (kernel_start(s, limits, data, &origin, ret, &ignored) == 0)
            return 0;
    }
    return kernel_start(s, limits, data, &ORIGIN_COLD, ret, e);
}
