/* Who gets which jail, and what is believed of what comes out of one. The jails here are none: they say
 * what the test tells them to. tests/api has real ones. */
#include "service/shrink.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/expect.h"
#include "base/scope.h"
#include "service/shrink_int.h"

enum { EDGE = 100, BYTES = 8 << 10 };

struct shrink_jail {
    unsigned number; /* of all, from 1 */
    bool is_spent;
};

/* What the jails do, and what was done with them. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    unsigned opened, closed, inside;
    unsigned last; /* number of the jail that made the last image */
    bool is_held;  /* make does not come back */
    bool is_cancelled, cannot_open;
    enum err_code fails;    /* make does, with that */
    uint32_t width, height; /* of what it makes */
    size_t len;
    const char *head; /* of it; NULL: a PNG */
} fake;

static void png(struct buf *to, uint32_t width, uint32_t height, size_t len)
{
    static const char zeros[BYTES + 1];
    char head[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\0\x08\x02\0\0\0";
    head[18] = (char)(width >> 8);
    head[19] = (char)width;
    head[22] = (char)(height >> 8);
    head[23] = (char)height;
    buf_add(to, head, sizeof head);
    buf_add(to, zeros, len > sizeof head ? len - sizeof head : 0);
}

static int fake_open(const struct shrinker_options *o, const char *dir,
                     const atomic_bool *is_stopping, struct shrink_jail **ret, struct err *e)
{
    (void)o, (void)is_stopping;
    assert_int_equal(strncmp(dir, "shrink-", 7), 0);
    if (fake.cannot_open)
        return err_set(e, ERR_UNAVAILABLE, "no jail");
    struct shrink_jail *j = calloc(1, sizeof *j);
    pthread_mutex_lock(&fake.lock);
    j->number = ++fake.opened;
    pthread_mutex_unlock(&fake.lock);
    *ret = j;
    return 0;
}

static void fake_close(struct shrink_jail *j)
{
    if (!j)
        return;
    pthread_mutex_lock(&fake.lock);
    fake.closed++;
    (void)pthread_cond_broadcast(&fake.moved);
    pthread_mutex_unlock(&fake.lock);
    free(j);
}

static int fake_make(struct shrink_jail *j, const struct shrink_task *t, struct err *e)
{
    pthread_mutex_lock(&fake.lock);
    fake.last = j->number;
    fake.inside++;
    (void)pthread_cond_broadcast(&fake.moved);
    while (fake.is_held && !fake.is_cancelled)
        (void)pthread_cond_wait(&fake.moved, &fake.lock);
    fake.inside--;
    enum err_code fails = fake.is_cancelled ? ERR_UNAVAILABLE : fake.fails;
    pthread_mutex_unlock(&fake.lock);
    if (fails)
        return err_set(e, fails, "it failed");
    if (fake.head)
        buf_str(t->to, fake.head);
    else
        png(t->to, fake.width, fake.height, fake.len);
    return 0;
}

static void fake_cancel(struct shrink_jail *j)
{
    (void)j;
    pthread_mutex_lock(&fake.lock);
    fake.is_cancelled = true;
    (void)pthread_cond_broadcast(&fake.moved);
    pthread_mutex_unlock(&fake.lock);
}

static bool fake_is_spent(struct shrink_jail *j)
{
    return j->is_spent;
}

static const struct shrink_jails fakes = {.open = fake_open,
                                          .close = fake_close,
                                          .make = fake_make,
                                          .cancel = fake_cancel,
                                          .is_spent = fake_is_spent};

static int open_lingering(void **state, uint32_t linger_ms)
{
    struct err e = {0};
    memset(&fake, 0, sizeof fake);
    (void)pthread_mutex_init(&fake.lock, NULL);
    (void)pthread_cond_init(&fake.moved, NULL);
    fake.width = fake.height = 50;
    const struct shrinker_options options = {.live_fd = -1};
    return shrinker_open_with(&options, &fakes, linger_ms, (struct shrinker **)state, &e);
}

static int set_up(void **state)
{
    return open_lingering(state, SHRINK_LINGER_MS);
}

static int set_up_hasty(void **state)
{
    return open_lingering(state, 1);
}

static int tear_down(void **state)
{
    shrinker_close(*state);
    assert_int_equal(fake.opened, fake.closed);
    return 0;
}

/* A PNG of that size; 0, or the code it failed with. */
static enum err_code make_of(struct shrinker *s, const char *owner, uint32_t width, uint32_t height)
{
    scoped(buf_done) struct buf image = BUF_INIT(1 << 20), small = BUF_INIT(BYTES);
    const struct shrink_wish wish = {.edge = EDGE, .bytes = BYTES};
    const char *mime = NULL;
    uint32_t w = 0, h = 0;
    struct err e = {0};
    png(&image, width, height, 0);
    const struct str it = {.ptr = image.bytes, .len = image.len};
    if (shrinker_make(s, owner, it, &wish, &small, &mime, &w, &h, &e)) {
        assert_int_equal(small.len, 0);
        return e.code;
    }
    assert_string_equal(mime, "image/png");
    assert_true(w > 0 && w <= EDGE && h > 0 && h <= EDGE && small.len <= BYTES);
    return ERR_NONE;
}

static enum err_code make(struct shrinker *s, const char *owner)
{
    return make_of(s, owner, 2 * EDGE, 2 * EDGE);
}

static void what_is_small_already_comes_back_without_a_jail(void **state)
{
    assert_int_equal(make_of(*state, "a", EDGE, EDGE), ERR_NONE);
    assert_int_equal(fake.opened, 0);
    assert_int_equal(make_of(*state, "a", EDGE + 1, EDGE), ERR_NONE);
    assert_int_equal(make_of(*state, "a", EDGE, EDGE + 1), ERR_NONE);
    assert_int_equal(fake.opened, 1);
}

static void what_has_too_many_pixels_never_comes_into_a_jail(void **state)
{
    assert_int_equal(make_of(*state, "a", 65535, 65535), ERR_TOO_LARGE);
    assert_int_equal(make_of(*state, "a", 65535, 2049), ERR_TOO_LARGE);
    assert_int_equal(fake.opened, 0);
    assert_int_equal(make_of(*state, "a", 65535, 2048), ERR_NONE);
}

static void what_is_no_image_is_refused(void **state)
{
    scoped(buf_done) struct buf small = BUF_INIT(BYTES);
    const struct shrink_wish wish = {.edge = EDGE, .bytes = BYTES};
    const char *mime;
    struct err e = {0};
    assert_int_equal(
        shrinker_make(*state, "a", str_of("hello"), &wish, &small, &mime, NULL, NULL, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_int_equal(fake.opened, 0);
}

static void an_owner_keeps_the_jail_and_nobody_else_gets_it(void **state)
{
    for (int i = 0; i < 3; i++)
        assert_int_equal(make(*state, "a"), ERR_NONE);
    assert_int_equal(fake.opened, 1);
    assert_int_equal(make(*state, "b"), ERR_NONE);
    assert_int_equal(fake.last, 2);
    assert_int_equal(make(*state, "a"), ERR_NONE);
    assert_int_equal(fake.last, 1);
    assert_int_equal(fake.opened, 2);
}

static void the_one_that_waited_longest_ends_for_a_new_owner(void **state)
{
    const char *const owners[] = {"a", "b", "c", "d", "a", "e"};
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(make(*state, owners[i]), ERR_NONE);
    assert_int_equal(shrinker_count(*state), SHRINK_JAILS_MAX);
    assert_int_equal(fake.opened, SHRINK_JAILS_MAX + 1);
    assert_int_equal(fake.closed, 1);
    assert_int_equal(make(*state, "a"), ERR_NONE); /* it was b's that ended */
    assert_int_equal(fake.last, 1);
    assert_int_equal(make(*state, "b"), ERR_NONE);
    assert_int_equal(fake.last, SHRINK_JAILS_MAX + 2);
}

static void what_comes_out_of_a_jail_is_not_believed(void **state)
{
    const struct {
        uint32_t width, height;
        size_t len;
        const char *head;
    } lies[] = {{EDGE + 1, 1, 0, NULL},
                {1, EDGE + 1, 0, NULL},
                {0, 1, 0, NULL},
                {50, 50, BYTES + 1, NULL},
                {0, 0, 0, ""},
                {0, 0, 0, "hello"},
                {0, 0, 0, "GIF89a\x01\x01\x01\x01"}};
    unsigned count = sizeof lies / sizeof *lies;
    for (unsigned i = 0; i < count; i++) {
        fake.width = lies[i].width;
        fake.height = lies[i].height;
        fake.len = lies[i].len;
        fake.head = lies[i].head;
        assert_int_equal(make(*state, "a"), ERR_INVALID);
        assert_int_equal(fake.closed, i + 1); /* and never again */
    }
    fake.width = fake.height = EDGE;
    fake.len = BYTES;
    fake.head = NULL;
    assert_int_equal(make(*state, "a"), ERR_NONE);
    assert_int_equal(shrinker_count(*state), 1);
}

static void a_jail_in_which_something_went_wrong_ends(void **state)
{
    const enum err_code codes[] = {ERR_INVALID, ERR_TOO_LARGE, ERR_LIMIT};
    for (unsigned i = 0; i < 3; i++) {
        fake.fails = codes[i];
        assert_int_equal(make(*state, "a"), codes[i]);
        assert_int_equal(fake.closed, i + 1);
    }
    fake.cannot_open = true;
    assert_int_equal(make(*state, "a"), ERR_UNAVAILABLE);
    fake.cannot_open = false;
    fake.fails = ERR_NONE;
    assert_int_equal(make(*state, "a"), ERR_NONE);
}

static void a_jail_that_nobody_needs_ends(void **state)
{
    assert_int_equal(make(*state, "a"), ERR_NONE);
    pthread_mutex_lock(&fake.lock);
    while (fake.closed == 0)
        (void)pthread_cond_wait(&fake.moved, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    assert_int_equal(make(*state, "a"), ERR_NONE);
    assert_int_equal(fake.opened, 2);
}

/* ---- several at the same time ---- */

struct caller {
    pthread_t thread;
    struct shrinker *shrinker;
    const char *owner;
    enum err_code code;
};

static void *call(void *arg)
{
    struct caller *c = arg;
    c->code = make(c->shrinker, c->owner);
    return NULL;
}

static void begin(struct caller *c, struct shrinker *s, const char *owner)
{
    *c = (struct caller){.shrinker = s, .owner = owner};
    assert_int_equal(pthread_create(&c->thread, NULL, call, c), 0);
}

static void await_inside(unsigned count)
{
    pthread_mutex_lock(&fake.lock);
    while (fake.inside < count)
        (void)pthread_cond_wait(&fake.moved, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

static void let_go(void)
{
    pthread_mutex_lock(&fake.lock);
    fake.is_held = false;
    (void)pthread_cond_broadcast(&fake.moved);
    pthread_mutex_unlock(&fake.lock);
}

static void an_owner_has_two_at_most_and_others_get_in(void **state)
{
    struct caller callers[5];
    fake.is_held = true;
    for (size_t i = 0; i < 4; i++)
        begin(&callers[i], *state, "a");
    await_inside(SHRINK_OWN_MAX);
    begin(&callers[4], *state, "b");
    await_inside(SHRINK_OWN_MAX + 1);
    assert_int_equal(shrinker_count(*state), SHRINK_OWN_MAX + 1);
    let_go();
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].code, ERR_NONE);
    }
    assert_int_equal(fake.opened, SHRINK_OWN_MAX + 1);
}

static void the_end_comes_for_who_is_inside_and_who_waits(void **state)
{
    struct caller callers[4];
    fake.is_held = true;
    for (size_t i = 0; i < 4; i++)
        begin(&callers[i], *state, "a");
    await_inside(SHRINK_OWN_MAX);
    shrinker_stop(*state);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].code, ERR_UNAVAILABLE);
    }
    assert_int_equal(make(*state, "a"), ERR_UNAVAILABLE);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_small_already_comes_back_without_a_jail),
        TEST(what_has_too_many_pixels_never_comes_into_a_jail),
        TEST(what_is_no_image_is_refused),
        TEST(an_owner_keeps_the_jail_and_nobody_else_gets_it),
        TEST(the_one_that_waited_longest_ends_for_a_new_owner),
        TEST(what_comes_out_of_a_jail_is_not_believed),
        TEST(a_jail_in_which_something_went_wrong_ends),
        cmocka_unit_test_setup_teardown(a_jail_that_nobody_needs_ends, set_up_hasty, tear_down),
        TEST(an_owner_has_two_at_most_and_others_get_in),
        TEST(the_end_comes_for_who_is_inside_and_who_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
