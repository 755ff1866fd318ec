/* Whole lives of jails, for tests/faults, where a system call fails somewhere on the way. They say
 *
 *     MARKER      code of a session could run from here on
 *     COMPLETE    and whoever runs it has asked for it
 *     INCOMPLETE  something is there that must not be; why
 *     NOT BROUGHT whoever should bring changes has not begun to
 *
 * on standard output. They pass when nothing failed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "layers.h"

/* The player does what a kernel does before it takes code: from then on it is a session's. */
static int become_session(struct hand *h, struct err *e)
{
    if (hand_expect(h, "seal", "ok", e))
        return -1;
    (void)printf("MARKER\n");
    if (hand_expect(h, "cd /mnt/data", "ok", e) || hand_expect(h, "cwd", "/mnt/data", e))
        return -1;
    (void)printf("COMPLETE\n");
    return 0;
}

static int leave(struct hand *h, struct hand *last, struct err *e)
{
    return hand_tell(last, "exit 4", -1, e) || expect_end(h, JAIL_EXITED, 4, e) ? -1 : 0;
}

static int life_from_an_image(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    return begin(p, &h, &from_image, e) || become_session(&h, e) || leave(&h, &h, e) ? -1 : 0;
}

static int life_with_old_libraries(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &waking_old, e) || become_session(&h, e))
        return -1;
    if (hand_expect(&h, "read /usr/lib/python3/marker", "of then", e)) {
        (void)printf("INCOMPLETE: %s\n", e->text);
        return -1;
    }
    return leave(&h, &h, e);
}

static int life_of_a_parked_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (begin(p, &h, &parked_image, e) || hand_request(&h, JAIL_ATTACH, 0, p->data_fd, e) ||
        expect_event(&h, JAIL_ATTACHED, &event, e))
        return -1;
    return become_session(&h, e) || leave(&h, &h, e) ? -1 : 0;
}

static int life_with_layers(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    return layers_make(p, &l, e) || layers_ask(p, &h, &l.data, e) || hand_greet(&h, e) ||
                   become_session(&h, e) || hand_expect(&h, "read a", "top", e) ||
                   hand_expect(&h, "remove gone", "ok", e) || leave(&h, &h, e)
               ? -1
               : 0;
}

/* Whoever brings changes and fails may have brought some; what they are not about is as it was. */
static int expect_some_changes(struct hand *h, struct err *e)
{
    static const char *const lists[] = {"a b dir gone", "a b dir gone new", "a dir gone",
                                        "a dir gone new"};
    char answer[HAND_LINE];
    if (hand_say(h, "list .", -1, answer, e))
        return -1;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(answer, lists[i]) == 0)
            return 0;
    return err_set(e, ERR_INTERNAL, "list .: '%.100s'", answer);
}

/* To an overlay something is brought, or not, and then it is said. */
static int life_with_changes(struct place *p, struct err *e)
{
    scoped(layers_done) struct layers l = LAYERS_NONE;
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (layers_make(p, &l, e) || layers_ask(p, &h, &l.data, e) || hand_greet(&h, e) ||
        become_session(&h, e))
        return -1;
    if (hand_request(&h, JAIL_BRING, 0, l.changes, e) ||
        expect_event(&h, JAIL_BROUGHT, &event, e)) {
        (void)printf("NOT BROUGHT\n");
        return -1;
    }
    bool is_whole = event.status == 0 && event.brought_failed == 0;
    bool has_begun = event.status == EIO || event.status == ENOMEM;
    if (event.status && !has_begun)
        (void)printf("NOT BROUGHT\n");
    if ((is_whole && hand_expect(&h, "read dir/new", "brought", e)) ||
        (event.status && expect_some_changes(&h, e))) {
        (void)printf("INCOMPLETE: %s\n", e->text);
        return -1;
    }
    return leave(&h, &h, e) || !is_whole ? -1 : 0;
}

/* After SWITCHED there is the copy and nobody else; after a refusal the kernel goes on. */
static int life_with_a_copy(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    scoped(fd_closep) int theirs = -1;
    struct jail_event event;
    char answer[HAND_LINE];
    if (begin(p, &h, &from_image, e) || become_session(&h, e) ||
        hand_make_control(&copy, &theirs, e) || hand_say(&h, "copy", theirs, answer, e) ||
        hand_hear_greeting(&copy, e) || hand_request(&h, JAIL_COPY, copy.player, -1, e) ||
        hand_expect(&h, "children 3", "ok", e) ||
        hand_request(&h, JAIL_SWITCH, copy.player, -1, e) ||
        expect_event(&h, JAIL_SWITCHED, &event, e))
        return -1;
    struct hand *kernel = event.status == 0 ? &copy : &h;
    const char *wanted = event.status == 0 ? "1" : "5";
    if (hand_expect(kernel, "processes", wanted, e)) {
        (void)printf("INCOMPLETE after SWITCHED %d: %s\n", event.status, e->text);
        return -1;
    }
    return leave(&h, kernel, e) || event.status ? -1 : 0;
}

const struct test life_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(life_from_an_image),
    TEST(life_with_old_libraries),
    TEST(life_of_a_parked_jail),
    TEST(life_with_a_copy),
    TEST(life_with_layers),
    TEST(life_with_changes),
    {0},
};
