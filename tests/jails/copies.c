/* Copies of the kernel, and switching to one. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cases.h"

/* Makes the player fork a copy, hears it, and tells the spawner of it. The copy's hand has no
 * handle of its own. */
static int make_copy(struct hand *h, struct hand *copy, struct err *e)
{
    scoped(fd_closep) int theirs = -1;
    char answer[HAND_LINE];
    *copy = (struct hand)HAND_NONE;
    if (hand_make_control(copy, &theirs, e) || hand_say(h, "copy", theirs, answer, e))
        return -1;
    if (strcmp(answer, "ok") != 0)
        return fail(e, "no copy: %s", answer);
    fd_closep(&theirs);
    theirs = -1;
    if (hand_hear_greeting(copy, e))
        return -1;
    return hand_request(h, JAIL_COPY, copy->player, -1, e);
}

static int switch_to(struct hand *h, pid_t pid, int wanted, struct err *e)
{
    struct jail_event event;
    if (hand_request(h, JAIL_SWITCH, pid, -1, e) || expect_event(h, JAIL_SWITCHED, &event, e))
        return -1;
    return event.status == wanted ? 0 : fail(e, "SWITCHED says %d", event.status);
}

static int a_copy_takes_over(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e) ||
        hand_expect(&h, "cd /tmp", "ok", e) || switch_to(&h, copy.player, 0, e) ||
        expect_gone(h.player, e) || hand_expect(&copy, "cwd", "/mnt/data", e) ||
        hand_tell(&copy, "exit 5", -1, e))
        return -1;
    return expect_end(&h, JAIL_EXITED, 5, e);
}

static int other_copies_outlive_a_switch(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, one = h, two = h, three = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &one, e) || make_copy(&h, &two, e) ||
        switch_to(&h, one.player, 0, e) || hand_expect(&two, "cwd", "/mnt/data", e) ||
        hand_expect(&one, "cwd", "/mnt/data", e))
        return -1;
    /* The new kernel makes copies of its own, and the one from before can still take over. */
    scoped(fd_closep) int theirs = -1;
    char answer[HAND_LINE];
    if (hand_make_control(&three, &theirs, e) || hand_say(&one, "copy", theirs, answer, e))
        return -1;
    fd_closep(&theirs);
    theirs = -1;
    if (hand_hear_greeting(&three, e) || hand_request(&h, JAIL_COPY, three.player, -1, e) ||
        switch_to(&h, two.player, 0, e) || expect_gone(one.player, e) ||
        switch_to(&h, three.player, 0, e) || hand_expect(&three, "cwd", "/mnt/data", e))
        return -1;
    return 0;
}

/* Nobody waits for it: it is the kernel's end that counts. */
static int a_copy_that_ends_does_not_end_the_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e))
        return -1;
    fd_closep(&copy.control);
    copy.control = -1;
    if (expect_gone(copy.player, e) || switch_to(&h, copy.player, ESRCH, e))
        return -1;
    return hand_expect(&h, "cwd", "/mnt/data", e);
}

static int a_copy_that_was_stopped_goes_on(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e))
        return -1;
    if (kill(copy.player, SIGSTOP))
        return fail(e, "it cannot be stopped");
    return switch_to(&h, copy.player, 0, e) || hand_expect(&copy, "cwd", "/mnt/data", e) ? -1 : 0;
}

static int only_a_copy_can_be_switched_to(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, other = h;
    if (begin(p, &h, &from_image, e) || begin(p, &other, &from_image, e))
        return -1;
    const pid_t no_copies[] = {h.player, hand_parent(h.player), other.player, getpid(), 1};
    for (size_t i = 0; i < sizeof no_copies / sizeof *no_copies; i++)
        if (hand_request(&h, JAIL_COPY, no_copies[i], -1, e) ||
            switch_to(&h, no_copies[i], ESRCH, e))
            return err_wrap(e, "process %zu of the list", i);
    return hand_expect(&h, "cwd", "/mnt/data", e) || hand_expect(&other, "cwd", "/mnt/data", e) ? -1
                                                                                                : 0;
}

static int what_the_old_kernel_started_ends_with_it(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    char before[HAND_LINE], after[HAND_LINE];
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e) ||
        hand_expect(&h, "children 9", "ok", e) || hand_say(&h, "processes", -1, before, e) ||
        switch_to(&h, copy.player, 0, e) || hand_say(&copy, "processes", -1, after, e))
        return -1;
    if (strcmp(before, "11") != 0 || strcmp(after, "1") != 0)
        return fail(e, "%s processes before, %s after", before, after);
    return 0;
}

/* The cgroup lets nothing begin; without one they are outrun, or the jail ends: never SWITCHED with
 * one of them alive. */
static int a_race_of_forks_does_not_outlive_a_switch(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    struct jail_event event;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e) ||
        hand_expect(&h, "race", "ok", e) || hand_request(&h, JAIL_SWITCH, copy.player, -1, e) ||
        hand_event(&h, &event, e))
        return -1;
    if (event.kind == JAIL_ENDED && strstr(event.step, "do not die"))
        return 0;
    return event.kind == JAIL_SWITCHED ? hand_expect(&copy, "processes", "1", e)
                                       : fail(e, "event %d: %s", event.kind, event.step);
}

static int afterwards_processes_can_be_started_again(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e) ||
        switch_to(&h, copy.player, 0, e) || hand_expect(&copy, "children 5", "ok", e))
        return -1;
    return hand_expect(&copy, "processes", "6", e);
}

/* The signal is on its way when the request is answered by USED; whoever it reached says so. */
static int interrupt(struct hand *h, struct err *e)
{
    uint8_t bytes[JAIL_EVENT_SIZE];
    if (hand_request(h, JAIL_INTERRUPT, 0, -1, e) || hand_request(h, JAIL_USAGE, 0, -1, e))
        return -1;
    return recv(h->handle, bytes, sizeof bytes, 0) == sizeof bytes ? 0 : fail(e, "no USED");
}

static int an_interrupt_reaches_the_kernel_and_no_copy(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, one = h, two = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &one, e) || make_copy(&h, &two, e) ||
        interrupt(&h, e) || hand_expect(&h, "interrupts", "1", e) ||
        hand_expect(&one, "interrupts", "0", e) || switch_to(&h, one.player, 0, e) ||
        interrupt(&h, e))
        return -1;
    return hand_expect(&one, "interrupts", "1", e) || hand_expect(&two, "interrupts", "0", e) ? -1
                                                                                              : 0;
}

/* One more than may be is not taken; a place becomes free when one ends. */
static int there_is_room_for_so_many_copies(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct hand copies[JAIL_COPIES_MAX + 1], late = h;
    int failed = begin(p, &h, &from_image, e);
    size_t count = 0;
    for (; !failed && count <= JAIL_COPIES_MAX; count++)
        failed = make_copy(&h, &copies[count], e);
    failed = failed || switch_to(&h, copies[JAIL_COPIES_MAX].player, ESRCH, e);
    if (!failed) {
        fd_closep(&copies[3].control);
        copies[3].control = -1;
        failed = expect_gone(copies[3].player, e) || make_copy(&h, &late, e) ||
                 switch_to(&h, late.player, 0, e);
    }
    /* That one was not told of in time, so it went with the old kernel. */
    failed = failed || expect_gone(copies[JAIL_COPIES_MAX].player, e) ||
             hand_expect(&copies[0], "cwd", "/mnt/data", e) ||
             hand_expect(&late, "cwd", "/mnt/data", e);
    while (count-- > 0)
        hand_done(&copies[count]);
    hand_done(&late);
    return failed ? -1 : 0;
}

static int copies_end_with_the_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    if (begin(p, &h, &from_image, e) || make_copy(&h, &copy, e) || hand_tell(&h, "exit 3", -1, e) ||
        expect_end(&h, JAIL_EXITED, 3, e))
        return -1;
    return expect_gone(copy.player, e);
}

static int a_parked_jail_does_not_switch(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, copy = h;
    if (begin(p, &h, &parked_image, e) || make_copy(&h, &copy, e))
        return -1;
    return switch_to(&h, copy.player, EBUSY, e);
}

const struct test copy_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(a_copy_takes_over),
    TEST(other_copies_outlive_a_switch),
    TEST(a_copy_that_ends_does_not_end_the_jail),
    TEST(a_copy_that_was_stopped_goes_on),
    TEST(only_a_copy_can_be_switched_to),
    TEST(what_the_old_kernel_started_ends_with_it),
    TEST(a_race_of_forks_does_not_outlive_a_switch),
    TEST(afterwards_processes_can_be_started_again),
    TEST(an_interrupt_reaches_the_kernel_and_no_copy),
    TEST(there_is_room_for_so_many_copies),
    TEST(copies_end_with_the_jail),
    TEST(a_parked_jail_does_not_switch),
    {0},
};
