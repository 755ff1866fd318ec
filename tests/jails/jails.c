/* jails.c -- the spawner driven by hand, with a program in its jails that does what it is told.
 *
 *     jails SPAWN PLAYER [NAME...]
 *
 * PLAYER (player.c) takes the place of the kernel and of the loader. Runs the tests whose names
 * contain one of the NAMEs, or all, and ends with "N passed, N failed". Sessions' directories and
 * the image are made below TMPDIR or /var/tmp.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/tree.h"
#include "cases.h"
#include "session/spawner.h"
#include "session/workdir.h"

const struct jail_spec cold = {JAIL_COLD, true, false, false, 0, LIMITS_DEFAULT};
const struct jail_spec from_image = {JAIL_IMAGE, true, false, false, 0, LIMITS_DEFAULT};
const struct jail_spec parked_image = {JAIL_IMAGE, false, false, false, 0, LIMITS_DEFAULT};
const struct jail_spec baking = {JAIL_BAKE, true, false, false, 0, LIMITS_DEFAULT};
const struct jail_spec waking = {JAIL_IMAGE, true, true, false, 0, LIMITS_DEFAULT};
const struct jail_spec waking_old = {JAIL_IMAGE, true, true, true, 0, LIMITS_DEFAULT};

int fail(struct err *e, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(e, ERR_INTERNAL, "%s", text);
}

int begin(struct place *p, struct hand *h, const struct jail_spec *spec, struct err *e)
{
    const struct hand_parts parts = {p->data_fd, spec->start == JAIL_BAKE ? p->image_rw : p->image,
                                     p->delta, p->libraries, NULL};
    if (hand_ask(h, p->spawner, spec, &parts, e))
        return -1;
    return hand_greet(h, e);
}

int expect_no_start(struct place *p, const struct jail_spec *spec, const struct hand_parts *parts,
                    const char *wanted, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    struct err why = {0};
    if (hand_ask(&h, p->spawner, spec, parts, e))
        return -1;
    if (hand_greet(&h, &why) == 0)
        return fail(e, "it was started");
    return strstr(why.text, wanted) ? 0 : fail(e, "refused because: %s", why.text);
}

int expect_event(struct hand *h, enum jail_event_kind kind, struct jail_event *ret, struct err *e)
{
    if (hand_event(h, ret, e))
        return -1;
    return ret->kind == kind ? 0
                             : fail(e, "event %d, cause %d, status %d: '%s'", ret->kind, ret->cause,
                                    ret->status, ret->step);
}

int expect_end(struct hand *h, enum jail_cause cause, int status, struct err *e)
{
    struct jail_event event;
    if (expect_event(h, JAIL_ENDED, &event, e))
        return -1;
    if (event.cause != cause || (status >= 0 && event.status != status))
        return fail(e, "ended by %d with status %d: '%s'", event.cause, event.status, event.step);
    return 0;
}

int expect_gone(pid_t pid, struct err *e)
{
    scoped(fd_closep) int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return errno == ESRCH ? 0 : err_sys(e, errno, "pidfd_open");
    return poll(&ended, 1, HAND_WAIT_S * 1000) == 1 ? 0 : fail(e, "process %d lives", (int)pid);
}

/* A file with that text, of `size` bytes, without a name. */
static int make_file(const char *text, off_t size, int *ret_rw, int *ret_r, struct err *e)
{
    char path[256], link[64];
    const char *base = getenv("TMPDIR");
    (void)snprintf(path, sizeof path, "%s/cicada-XXXXXX", base && *base ? base : "/var/tmp");
    *ret_rw = mkostemp(path, O_CLOEXEC);
    if (*ret_rw < 0)
        return err_sys(e, errno, "make a file");
    (void)unlink(path);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", *ret_rw);
    *ret_r = open(link, O_RDONLY | O_CLOEXEC);
    if (*ret_r < 0 || write(*ret_rw, text, strlen(text)) < 0 || ftruncate(*ret_rw, size))
        return err_sys(e, errno, "fill a file");
    return 0;
}

/* A tree of libraries that holds one of them, with a file in it. */
static int make_libraries(struct place *p, const char *base, struct err *e)
{
    (void)snprintf(p->tree, sizeof p->tree, "%s/cicada-XXXXXX", base);
    if (!mkdtemp(p->tree))
        return err_sys(e, errno, "make a tree of libraries");
    p->libraries = open(p->tree, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (p->libraries < 0 || fchmod(p->libraries, 0755) || mkdirat(p->libraries, "python3", 0755))
        return err_sys(e, errno, "fill a tree of libraries");
    scoped(fd_closep) int fd =
        openat(p->libraries, "python3/marker", O_WRONLY | O_CREAT | O_CLOEXEC, 0444);
    if (fd < 0 || write(fd, "of then", 7) != 7)
        return err_sys(e, errno, "fill a tree of libraries");
    return 0;
}

static void remove_libraries(struct place *p)
{
    struct err ignored = {0};
    if (p->libraries >= 0)
        (void)tree_remove(p->libraries, &ignored);
    fd_closep(&p->libraries);
    (void)rmdir(p->tree);
}

static int open_place(struct place *p, struct workdir *dir, struct err *e)
{
    int writable;
    p->data_fd = workdir_fd(dir);
    p->root_fd = geteuid() == 0 ? open("/var", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    p->file_fd = openat(p->data_fd, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (p->file_fd < 0)
        return err_sys(e, errno, "make a file");
    if (make_file("this is the image", 4 << 20, &p->image_rw, &p->image, e) ||
        make_file("before delta", 12, &writable, &p->delta, e))
        return -1;
    return 0;
}

static bool is_wanted(const char *name, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (strstr(name, *names))
            return true;
    return false;
}

struct score {
    int passed, failed;
};

static void run_all(const struct test *tests, struct place *p, char **names, struct score *score)
{
    for (const struct test *t = tests; t->name; t++) {
        struct err why = {0};
        if (!is_wanted(t->name, names))
            continue;
        bool is_fine = t->run(p, &why) == 0;
        (void)printf("%s  %s%s%s\n", is_fine ? "ok    " : "FAILED", t->name, is_fine ? "" : ": ",
                     is_fine ? "" : why.text);
        (void)fflush(stdout);
        *(is_fine ? &score->passed : &score->failed) += 1;
    }
}

int main(int argc, char **argv)
{
    static const struct test *const strong[] = {
        start_tests, library_tests, parked_tests, copy_tests, layer_tests, life_tests, NULL};
    struct place p = {.libraries = -1};
    struct err e = {0};
    struct score score = {0};
    struct workdir *dir = NULL;
    const char *base = getenv("TMPDIR");
    if (argc < 3) {
        (void)fprintf(stderr, "usage: jails SPAWN PLAYER [NAME...]\n");
        return 2;
    }
    base = base && *base ? base : "/var/tmp";
    p.base = base;
    p.spawn = argv[1];
    p.player = argv[2];
    if (make_libraries(&p, base, &e) || workdir_new(base, &dir, &e) || open_place(&p, dir, &e) ||
        spawner_open(argv[1], argv[2], argv[2], &p.spawner, &e)) {
        (void)fprintf(stderr, "jails: %s\n", e.text);
        workdir_free(dir);
        remove_libraries(&p);
        return 1;
    }
    enum tier tier = spawner_hello(p.spawner)->tier;
    (void)printf("tier %s\n", tier_name(tier));
    for (const struct test *const *tests = strong; tier == TIER_FULL && *tests; tests++)
        run_all(*tests, &p, argv + 3, &score);
    if (tier == TIER_CONTAINER_ROOT || tier == TIER_CONTAINER_USER)
        run_all(weak_tests, &p, argv + 3, &score);
    spawner_close(p.spawner);
    workdir_free(dir);
    remove_libraries(&p);
    (void)printf("%d passed, %d failed\n", score.passed, score.failed);
    return score.failed > 0;
}
