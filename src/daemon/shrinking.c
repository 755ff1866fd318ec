/* shrinking.c -- what makes images small enough to be shown to a model. */
#include "base/err.h"
#include "daemon/serve_int.h"
#include "service/shrink.h"
#include "session/spawner.h"

int shrinking_open(struct server *s, struct err *e)
{
    const struct jail_hello *hello = spawner_hello(s->spawner);
    const struct shrinker_options options = {.spawner = s->spawner,
                                             .current = s->current,
                                             .live_fd = s->data.live_fd,
                                             .can_use_images = hello->tier == TIER_FULL &&
                                                               hello->failure[MECH_IMAGE] == 0};
    return shrinker_open(&options, &s->shrinker, e);
}
