/* Where there are no namespaces: what is left, and what is refused with its reason. */
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "layers.h"

static int a_cold_start_works_without_namespaces(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    return begin(p, &h, &cold, e) || hand_tell(&h, "exit 6", -1, e) ||
                   expect_end(&h, JAIL_EXITED, 6, e)
               ? -1
               : 0;
}

static int expect_refusal(struct place *p, const struct jail_spec *spec, const char *wanted,
                          struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct err why = {0};
    if (begin(p, &h, spec, &why) == 0)
        return fail(e, "it was started");
    return strstr(why.text, wanted) ? 0 : fail(e, "refused because: %s", why.text);
}

static int an_image_needs_namespaces(struct place *p, struct err *e)
{
    return expect_refusal(p, &from_image, "a start from an image needs tier full", e);
}

static int baking_needs_namespaces(struct place *p, struct err *e)
{
    return expect_refusal(p, &baking, "a start from an image needs tier full", e);
}

static int parking_needs_namespaces(struct place *p, struct err *e)
{
    const struct jail_spec parked_cold = {JAIL_COLD, false, false, false, 0, LIMITS_DEFAULT};
    return expect_refusal(p, &parked_cold, "a parked jail needs tier full", e);
}

static int an_overlay_needs_namespaces(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    struct jail_spec spec = cold;
    spec.lower_count = 2;
    const struct hand_parts parts = {-1, -1, -1, -1, &l.data};
    return layers_make(p, &l, e) ||
                   expect_no_start(p, &spec, &parts, "overlays cannot be made on this host", e)
               ? -1
               : 0;
}

const struct test weak_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(a_cold_start_works_without_namespaces),
    TEST(an_image_needs_namespaces),
    TEST(baking_needs_namespaces),
    TEST(parking_needs_namespaces),
    TEST(an_overlay_needs_namespaces),
    {0},
};
