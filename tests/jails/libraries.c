/* Libraries that a waking session sees instead of the host's. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cases.h"

#define MARKER "/usr/lib/python3/marker"

static int expect_no_marker(struct hand *h, struct err *e)
{
    char answer[HAND_LINE];
    if (hand_say(h, "read " MARKER, -1, answer, e))
        return -1;
    return strncmp(answer, "error", 5) == 0 ? 0 : fail(e, "it reads '%s'", answer);
}

static int a_waking_session_sees_the_libraries_it_came_with(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &waking_old, e) || hand_expect(&h, "seal", "ok", e) ||
        hand_expect(&h, "read " MARKER, "of then", e))
        return -1;
    return hand_expect(&h, "descriptors",
                       "0=other-rw 1=pipe-w 2=pipe-w 4100=socket-rw 4101=file-r 4102=file-r", e);
}

static int what_is_not_among_them_is_the_hosts(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char answer[HAND_LINE];
    if (begin(p, &h, &waking_old, e) || hand_say(&h, "read /usr/bin/env", -1, answer, e))
        return -1;
    return strncmp(answer, "\177ELF", 4) == 0 ? 0 : fail(e, "it reads '%s'", answer);
}

static int nobody_else_sees_them(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE, woken = h, later = h;
    if (begin(p, &h, &waking_old, e) || begin(p, &woken, &waking, e) ||
        begin(p, &later, &from_image, e))
        return -1;
    return expect_no_marker(&woken, e) || expect_no_marker(&later, e) ? -1 : 0;
}

static int they_cannot_be_written_to(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char answer[HAND_LINE];
    if (begin(p, &h, &waking_old, e) || hand_say(&h, "open " MARKER, -1, answer, e))
        return -1;
    return strncmp(answer, "error", 5) == 0 ? 0 : fail(e, "the marker was opened for writing");
}

static int refuse(struct place *p, int libraries, const char *wanted, struct err *e)
{
    const struct hand_parts parts = {p->data_fd, p->image, p->delta, libraries, NULL};
    return expect_no_start(p, &waking_old, &parts, wanted, e);
}

static int those_that_others_may_write_to_are_refused(struct place *p, struct err *e)
{
    if (fchmod(p->libraries, 0775))
        return fail(e, "chmod");
    int failed = refuse(p, p->libraries, "written by others", e);
    if (fchmod(p->libraries, 0755))
        return fail(e, "chmod");
    if (failed || fchmodat(p->libraries, "python3", 0777, 0))
        return failed ? -1 : fail(e, "chmod");
    failed = refuse(p, p->libraries, "written by others", e);
    return fchmodat(p->libraries, "python3", 0755, 0) ? fail(e, "chmod") : failed;
}

static int what_is_no_open_directory_is_refused(struct place *p, struct err *e)
{
    scoped(fd_closep) int path_only = open(p->tree, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return refuse(p, p->file_fd, "not an open directory", e) ||
                   refuse(p, path_only, "not an open directory", e)
               ? -1
               : 0;
}

/* As root the data directory is somebody's who is neither root nor, here, the engine. */
static int those_of_others_are_refused(struct place *p, struct err *e)
{
    return geteuid() == 0 ? refuse(p, p->data_fd, "belong to", e) : 0;
}

static int a_link_among_them_is_not_followed(struct place *p, struct err *e)
{
    if (symlinkat("/etc", p->libraries, "local"))
        return fail(e, "symlink");
    int failed = refuse(p, p->libraries, "open the libraries", e);
    return unlinkat(p->libraries, "local", 0) ? fail(e, "unlink") : failed;
}

/* Whoever starts anew has the host's. */
static int without_a_delta_they_are_refused(struct place *p, struct err *e)
{
    const struct hand_parts parts = {p->data_fd, p->image, p->delta, p->libraries, NULL};
    const struct jail_spec spec = {JAIL_IMAGE, true, false, true, 0, LIMITS_DEFAULT};
    return expect_no_start(p, &spec, &parts, "not a request of this version", e);
}

const struct test library_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(a_waking_session_sees_the_libraries_it_came_with),
    TEST(what_is_not_among_them_is_the_hosts),
    TEST(nobody_else_sees_them),
    TEST(they_cannot_be_written_to),
    TEST(those_that_others_may_write_to_are_refused),
    TEST(what_is_no_open_directory_is_refused),
    TEST(those_of_others_are_refused),
    TEST(a_link_among_them_is_not_followed),
    TEST(without_a_delta_they_are_refused),
    {0},
};
