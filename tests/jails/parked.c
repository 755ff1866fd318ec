/* Parked jails: started without a data directory, which comes later. */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cases.h"
#include "session/spawner.h"

enum { ONLY_SYS_ADMIN = 1 << 21 };

static int attach(struct place *p, struct hand *h, struct err *e)
{
    struct jail_event event;
    if (hand_request(h, JAIL_ATTACH, 0, p->data_fd, e))
        return -1;
    return expect_event(h, JAIL_ATTACHED, &event, e);
}

static int a_parked_kernel_gets_its_directory_later(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct stat st, top;
    char answer[HAND_LINE];
    if (begin(p, &h, &parked_image, e) || hand_expect(&h, "cwd", "/", e) ||
        hand_say(&h, "write /mnt/data/early 1", -1, answer, e))
        return -1;
    if (strncmp(answer, "error", 5) != 0)
        return fail(e, "there is something to write to before ATTACH");
    if (attach(p, &h, e) || hand_expect(&h, "cd /mnt/data", "ok", e) ||
        hand_expect(&h, "cwd", "/mnt/data", e) || hand_expect(&h, "write late 1", "ok", e))
        return -1;
    if (fstatat(p->data_fd, "late", &st, 0) || fstat(p->data_fd, &top))
        return fail(e, "the file is not in the directory");
    if (st.st_size != 1 << 20 || st.st_uid != top.st_uid)
        return fail(e, "the file has %lld bytes and belongs to %u", (long long)st.st_size,
                    st.st_uid);
    return unlinkat(p->data_fd, "late", 0) ? fail(e, "remove the file") : 0;
}

static int a_cold_kernel_can_be_parked_too(struct place *p, struct err *e)
{
    const struct jail_spec parked_cold = {JAIL_COLD, false, false, false, 0, LIMITS_DEFAULT};
    scoped(hand_done) struct hand h = HAND_NONE;
    return begin(p, &h, &parked_cold, e) || attach(p, &h, e) ||
                   hand_expect(&h, "cd /mnt/data", "ok", e)
               ? -1
               : 0;
}

static int count_descriptors(pid_t pid)
{
    char path[64];
    int count = 0;
    (void)snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    if (dir)
        (void)closedir(dir);
    return dir ? count : -1;
}

struct init_state {
    char effective[HAND_LINE], permitted[HAND_LINE], filters[HAND_LINE], no_new_privs[HAND_LINE];
    int descriptors; /* -1: a user may not look */
};

static bool is_as(pid_t init, const char *capabilities, const char *filters, int descriptors,
                  struct init_state *s)
{
    hand_status(init, "CapEff", s->effective);
    hand_status(init, "CapPrm", s->permitted);
    hand_status(init, "Seccomp_filters", s->filters);
    hand_status(init, "NoNewPrivs", s->no_new_privs);
    s->descriptors = count_descriptors(init);
    return strcmp(s->effective, capabilities) == 0 && strcmp(s->permitted, capabilities) == 0 &&
           strcmp(s->filters, filters) == 0 && strcmp(s->no_new_privs, "1") == 0 &&
           (s->descriptors < 0 || s->descriptors == descriptors);
}

/* What pid 1 still has. Loading its filter is the last thing it does, and nothing tells of it: so
 * it is asked again for a while. */
static int expect_init(pid_t init, const char *capabilities, const char *filters, int descriptors,
                       struct err *e)
{
    struct init_state s;
    for (int i = 0; i < HAND_WAIT_S * 1000; i++) {
        if (is_as(init, capabilities, filters, descriptors, &s))
            return 0;
        (void)poll(NULL, 0, 1);
    }
    return fail(e, "capabilities %.20s of %.20s, %.4s filters, no_new_privs %.4s, %d descriptors",
                s.effective, s.permitted, s.filters, s.no_new_privs, s.descriptors);
}

static int pid_1_keeps_the_right_to_mount_until_then_and_nothing_else(struct place *p,
                                                                      struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char one[32];
    (void)snprintf(one, sizeof one, "%016x", ONLY_SYS_ADMIN);
    if (begin(p, &h, &parked_image, e))
        return -1;
    pid_t init = hand_parent(h.player);
    if (expect_init(init, one, "1", 2, e))
        return err_wrap(e, "parked");
    if (attach(p, &h, e))
        return -1;
    return expect_init(init, "0000000000000000", "2", 0, e) ? err_wrap(e, "attached") : 0;
}

static int pid_1_of_another_jail_has_nothing(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &from_image, e))
        return -1;
    return expect_init(hand_parent(h.player), "0000000000000000", "1", 0, e);
}

static int a_parked_kernel_that_ends_ends_the_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &parked_image, e))
        return -1;
    if (hand_tell(&h, "exit 7", -1, e))
        return -1;
    return expect_end(&h, JAIL_EXITED, 7, e);
}

/* Pid 1 must hold no copy of it. */
static int a_parked_kernel_sees_its_control_socket_close(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &parked_image, e))
        return -1;
    fd_closep(&h.control);
    h.control = -1;
    return expect_end(&h, JAIL_EXITED, 0, e);
}

static int the_streams_end_with_a_parked_kernel(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char byte;
    if (begin(p, &h, &parked_image, e) || kill(h.player, SIGSTOP))
        return fail(e, "stop the kernel");
    /* Nobody but the kernel holds the writing end: with it gone, the end is there at once. */
    if (kill(h.player, SIGKILL))
        return fail(e, "kill the kernel");
    if (read(h.out, &byte, 1) != 0)
        return fail(e, "somebody else holds the stream");
    return expect_end(&h, JAIL_SIGNALLED, SIGKILL, e);
}

static int expect_break(struct place *p, int fd, const char *why, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (begin(p, &h, &parked_image, e) || hand_request(&h, JAIL_ATTACH, 0, fd, e) ||
        expect_event(&h, JAIL_ENDED, &event, e))
        return -1;
    if (event.cause != JAIL_KILLED || !strstr(event.step, why))
        return fail(e, "ended by %d: '%s'", event.cause, event.step);
    return 0;
}

static int what_is_no_directory_ends_a_parked_jail(struct place *p, struct err *e)
{
    return expect_break(p, p->file_fd, "not an open directory", e);
}

static int a_directory_of_root_ends_a_parked_jail(struct place *p, struct err *e)
{
    return p->root_fd < 0 ? 0 : expect_break(p, p->root_fd, "belongs to root", e);
}

static int attaching_twice_ends_the_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_event event;
    if (begin(p, &h, &parked_image, e) || attach(p, &h, e) ||
        hand_request(&h, JAIL_ATTACH, 0, p->data_fd, e) || expect_event(&h, JAIL_ENDED, &event, e))
        return -1;
    return strstr(event.step, "not parked") ? 0 : fail(e, "ended because: %s", event.step);
}

static int a_request_with_a_descriptor_too_many_ends_the_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &parked_image, e) || hand_request(&h, JAIL_USAGE, 0, p->data_fd, e))
        return -1;
    return expect_gone(h.player, e);
}

static int an_engine_that_lets_go_of_a_parked_jail_ends_it(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &parked_image, e))
        return -1;
    pid_t init = hand_parent(h.player);
    fd_closep(&h.handle);
    h.handle = -1;
    return expect_gone(h.player, e) || expect_gone(init, e) ? -1 : 0;
}

static int the_disk_limit_holds_after_attaching(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct jail_spec spec = parked_image;
    spec.limits.disk_bytes = 8 << 20;
    if (begin(p, &h, &spec, e) || attach(p, &h, e) || hand_expect(&h, "cd /mnt/data", "ok", e) ||
        hand_tell(&h, "write big 16", -1, e))
        return -1;
    int failed = expect_end(&h, JAIL_OVER_DISK, -1, e);
    (void)unlinkat(p->data_fd, "big", 0);
    return failed;
}

const struct test parked_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(a_parked_kernel_gets_its_directory_later),
    TEST(a_cold_kernel_can_be_parked_too),
    TEST(pid_1_keeps_the_right_to_mount_until_then_and_nothing_else),
    TEST(pid_1_of_another_jail_has_nothing),
    TEST(a_parked_kernel_that_ends_ends_the_jail),
    TEST(a_parked_kernel_sees_its_control_socket_close),
    TEST(the_streams_end_with_a_parked_kernel),
    TEST(what_is_no_directory_ends_a_parked_jail),
    TEST(a_directory_of_root_ends_a_parked_jail),
    TEST(attaching_twice_ends_the_jail),
    TEST(a_request_with_a_descriptor_too_many_ends_the_jail),
    TEST(an_engine_that_lets_go_of_a_parked_jail_ends_it),
    TEST(the_disk_limit_holds_after_attaching),
    {0},
};
