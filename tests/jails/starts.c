/* The ways to start: which program finds what. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "cases.h"
#include "session/spawner.h"

enum { NO_RANDOMIZE = 0x0040000 };

static int a_cold_start_has_its_control_socket_and_nothing_of_an_image(struct place *p,
                                                                       struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (begin(p, &h, &cold, e) ||
        hand_expect(&h, "descriptors", "0=other-rw 1=pipe-w 2=pipe-w 4100=socket-rw", e) ||
        hand_expect(&h, "personality", "0", e) || hand_expect(&h, "cwd", "/mnt/data", e))
        return -1;
    return strcmp(h.word, "cold") == 0 ? 0 : fail(e, "started as %s", h.word);
}

static int a_start_from_an_image_finds_it_read_only_behind_the_control_socket(struct place *p,
                                                                              struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char personality[16];
    (void)snprintf(personality, sizeof personality, "%x", NO_RANDOMIZE);
    if (begin(p, &h, &from_image, e) ||
        hand_expect(&h, "descriptors", "0=other-rw 1=pipe-w 2=pipe-w 4100=socket-rw 4101=file-r",
                    e) ||
        hand_expect(&h, "personality", personality, e) ||
        hand_expect(&h, "image", "this is the image", e) ||
        hand_expect(&h, "image", "this is the image", e) || hand_expect(&h, "cwd", "/mnt/data", e))
        return -1;
    return strcmp(h.word, "image") == 0 ? 0 : fail(e, "started as %s", h.word);
}

/* Everything the jail uses counts from its first process on, so they say more than nothing. */
static int counters_come_with_a_cgroup_and_can_only_be_read(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    bool is_counted = spawner_hello(p->spawner)->failure[MECH_CG_MEMORY] == 0;
    if (begin(p, &h, &cold, e))
        return -1;
    if (h.counter_count != (is_counted ? JAIL_COUNTERS : 0))
        return fail(e, "%zu counters came", h.counter_count);
    for (size_t i = 0; i < h.counter_count; i++) {
        char text[512] = "";
        if (pread(h.counters[i], text, sizeof text - 1, 0) <= 0 || !strpbrk(text, "123456789"))
            return fail(e, "counter %zu says %s", i, text);
        if (write(h.counters[i], "0", 1) != -1 || errno != EBADF)
            return fail(e, "counter %zu can be written to", i);
    }
    return hand_expect(&h, "descriptors", "0=other-rw 1=pipe-w 2=pipe-w 4100=socket-rw", e);
}

static int counters_do_not_outlive_the_jail(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char text[512], byte;
    if (begin(p, &h, &cold, e) || hand_tell(&h, "exit 4", -1, e) ||
        expect_end(&h, JAIL_EXITED, 4, e))
        return -1;
    if (recv(h.handle, &byte, 1, 0) != 0) /* closed when the last trace is gone */
        return fail(e, "something came after the end");
    for (size_t i = 0; i < h.counter_count; i++)
        if (pread(h.counters[i], text, sizeof text, 0) != -1 || errno != ENODEV)
            return fail(e, "counter %zu can still be read", i);
    return 0;
}

static int the_image_cannot_be_opened_for_writing(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char answer[HAND_LINE];
    if (begin(p, &h, &from_image, e) || hand_say(&h, "open /proc/self/fd/4101", -1, answer, e))
        return -1;
    return strncmp(answer, "error", 5) == 0 ? 0 : fail(e, "it can be opened");
}

static int a_waking_session_finds_its_delta_where_it_was_left(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    if (lseek(p->delta, 7, SEEK_SET) != 7)
        return fail(e, "lseek");
    if (begin(p, &h, &waking, e) || hand_expect(&h, "delta", "delta", e) ||
        hand_expect(&h, "image", "this is the image", e) ||
        hand_expect(&h, "descriptors",
                    "0=other-rw 1=pipe-w 2=pipe-w 4100=socket-rw 4101=file-r 4102=file-r", e))
        return -1;
    return strcmp(h.word, "delta") == 0 ? 0 : fail(e, "started as %s", h.word);
}

static int baking_writes_the_image(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char text[5] = "", program[HAND_LINE];
    if (begin(p, &h, &baking, e) || hand_expect(&h, "bake done", "ok", e) ||
        hand_say(&h, "read /opt/cicada/kernel", -1, program, e))
        return -1;
    if (strncmp(program, "\177ELF", 4) != 0)
        return fail(e, "the kernel program is not there: %s", program);
    if (pread(p->image_rw, text, 4, 0) != 4 || strcmp(text, "done") != 0)
        return fail(e, "the image holds '%s'", text);
    if (pwrite(p->image_rw, "this", 4, 0) != 4)
        return fail(e, "put the image back");
    return strcmp(h.word, "bake") == 0 ? 0 : fail(e, "started as %s", h.word);
}

static int refuse_image(struct place *p, const struct jail_spec *spec, int image,
                        const char *wanted, struct err *e)
{
    const struct hand_parts parts = {p->data_fd, image, p->delta, p->libraries, NULL};
    return expect_no_start(p, spec, &parts, wanted, e);
}

static int an_image_that_the_session_could_write_is_refused(struct place *p, struct err *e)
{
    return refuse_image(p, &from_image, p->image_rw, "open for reading only", e);
}

static int baking_into_what_cannot_be_written_is_refused(struct place *p, struct err *e)
{
    return refuse_image(p, &baking, p->image, "open for writing", e);
}

static int an_image_that_is_no_file_is_refused(struct place *p, struct err *e)
{
    return refuse_image(p, &from_image, p->data_fd, "open for reading only", e);
}

static int a_delta_in_a_parked_jail_is_refused(struct place *p, struct err *e)
{
    const struct jail_spec spec = {JAIL_IMAGE, false, true, false, 0, LIMITS_DEFAULT};
    return refuse_image(p, &spec, p->image, "not a request of this version", e);
}

static int the_image_is_not_taken_from_the_data_limit(struct place *p, struct err *e)
{
    scoped(hand_done) struct hand h = HAND_NONE;
    char wanted[32];
    struct stat st;
    if (fstat(p->image, &st))
        return fail(e, "look at the image");
    unsigned long long limit = from_image.limits.memory_bytes + (unsigned long long)st.st_size;
    (void)snprintf(wanted, sizeof wanted, "%llu", limit);
    return begin(p, &h, &from_image, e) || hand_expect(&h, "data-limit", wanted, e) ? -1 : 0;
}

/* Enough jails for the spawner's own descriptors to come past the numbers that kernels find theirs
 * at. Two kinds, which hold different numbers of them: with only one, what lies there would be
 * chance. */
enum { MANY = 400, MANY_FILES = 4096 };

static int the_numbers_stay_free_however_many_jails_there_are(struct place *p, struct err *e)
{
    static struct hand hands[MANY];
    const struct rlimit files = {MANY_FILES, MANY_FILES};
    size_t count = 0;
    int failed = 0;
    if (setrlimit(RLIMIT_NOFILE, &files))
        return err_sys(e, errno, "raise the limit of descriptors");
    for (; !failed && count < MANY; count++)
        failed = begin(p, &hands[count], count % 16 < 5 ? &parked_image : &from_image, e) ||
                 hand_expect(&hands[count], "image", "this is the image", e) ||
                 hand_expect(&hands[count], "descriptors",
                             "0=other-rw 1=pipe-w 2=pipe-w 4100=socket-rw 4101=file-r", e);
    for (size_t i = 0; i < count; i++)
        hand_done(&hands[i]);
    return failed ? err_wrap(e, "jail %zu", count) : 0;
}

const struct test start_tests[] = {
#define TEST(name)  \
    {               \
#name, name \
    }
    TEST(a_cold_start_has_its_control_socket_and_nothing_of_an_image),
    TEST(a_start_from_an_image_finds_it_read_only_behind_the_control_socket),
    TEST(counters_come_with_a_cgroup_and_can_only_be_read),
    TEST(counters_do_not_outlive_the_jail),
    TEST(the_image_cannot_be_opened_for_writing),
    TEST(a_waking_session_finds_its_delta_where_it_was_left),
    TEST(baking_writes_the_image),
    TEST(an_image_that_the_session_could_write_is_refused),
    TEST(baking_into_what_cannot_be_written_is_refused),
    TEST(an_image_that_is_no_file_is_refused),
    TEST(a_delta_in_a_parked_jail_is_refused),
    TEST(the_image_is_not_taken_from_the_data_limit),
    TEST(the_numbers_stay_free_however_many_jails_there_are),
    {0},
};
