/* session_fixture.h -- for tests: sessions of fake kernels (fake.h), with a store of images and a place to
 * sleep.
 *
 * A failure ends the test: nothing here is under test.
 */
#ifndef SESSION_SESSION_FIXTURE_H
#define SESSION_SESSION_FIXTURE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/scope.h"
#include "session/current.h"
#include "session/fake.h"
#include "session/pool.h"
#include "session/session_int.h"
#include "session/sleeper.h"
#include "session/spawner.h"

struct world {
    struct scratch dir;
    int data, sleepers;
    struct spawner *spawner;
    struct images *images;
    struct current *current;
    struct pool *pool;
    struct sessions *all;
    char not_woken[160]; /* the last, and why */
};

static inline void hear_not_woken(void *arg, const char *id, const char *why)
{
    struct world *w = arg;
    (void)snprintf(w->not_woken, sizeof w->not_woken, "%s: %s", id, why);
}

static inline void open_sessions(struct world *w)
{
    struct err e = {0};
    const struct sessions_options options = {.spawner = w->spawner,
                                             .current = w->current,
                                             .pool = w->pool,
                                             .dir_fd = w->sleepers,
                                             .not_woken = {hear_not_woken, w}};
    assert_int_equal(sessions_open(&options, &w->all, &e), 0);
}

static inline struct world *make_world(void)
{
    struct world *w = calloc(1, sizeof *w);
    struct err e = {0};
    w->dir = scratch_new();
    scratch_mkdir(&w->dir, "data");
    scratch_mkdir(&w->dir, "sleepers");
    w->data = openat(w->dir.fd, "data", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->sleepers = openat(w->dir.fd, "sleepers", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->spawner = fake_spawner("/none");
    w->images = fake_images(&w->dir, "images");
    assert_int_equal(current_new(w->images, /* kept= */ NULL, &w->current, &e), 0);
    return w;
}

static inline void bake(struct world *w)
{
    struct image image = IMAGE_NONE;
    struct err e = {0};
    if (images_bake(w->images, w->spawner, BAKE_ANEW, NULL, /* stop_fd= */ -1, &image, &e))
        fail_msg("%s", e.text);
    image_done(&image);
    assert_int_equal(current_refresh(w->current, &e), 0);
}

static inline int set_up(void **state)
{
    struct world *w = make_world();
    bake(w);
    open_sessions(w);
    *state = w;
    return 0;
}

/* As on a host that has no image: kernels start cold. */
static inline int set_up_cold(void **state)
{
    struct world *w = make_world();
    open_sessions(w);
    *state = w;
    return 0;
}

static inline int tear_down(void **state)
{
    struct world *w = *state;
    sessions_close(w->all);
    pool_close(w->pool);
    current_free(w->current);
    images_close(w->images);
    spawner_close(w->spawner);
    (void)close(w->data);
    (void)close(w->sleepers);
    scratch_done(&w->dir);
    free(w);
    return 0;
}

static inline struct session *start(struct world *w, uint32_t snapshots)
{
    const struct session_options options = {.limits = LIMITS_DEFAULT, .snapshots = snapshots};
    struct session *s = NULL;
    struct err e = {0};
    if (session_new(w->all, &options, &JAIL_DATA_PLAIN(w->data), &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static inline struct session *find(struct world *w, const char *id)
{
    struct session *s = NULL;
    struct err e = {0};
    if (session_find(w->all, id, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static inline void run_code(struct world *w, struct session *s, const char *code, struct run *ret)
{
    const struct run_spec spec = {.code = code, .code_len = strlen(code)};
    struct err e = {0};
    if (session_run(s, &JAIL_DATA_PLAIN(w->data), &spec, NULL, ret, &e))
        fail_msg("%s", e.text);
}

/* Runs code; checks what it printed and what it says about its variables. */
static inline void expect(struct world *w, struct session *s, const char *code, const char *output,
                          enum run_state state)
{
    struct run run;
    run_code(w, s, code, &run);
    scoped(freep) char *text = fake_output(&run);
    assert_non_null(text);
    assert_string_equal(text, output);
    assert_string_equal(run_state_name(run.state), run_state_name(state));
    run_done(&run);
}

static inline char *output(struct world *w, struct session *s, const char *code)
{
    struct run run;
    run_code(w, s, code, &run);
    char *text = fake_output(&run);
    assert_non_null(text);
    run_done(&run);
    return text;
}

static inline void put_to_sleep(struct session *s)
{
    struct session_rest rest;
    struct session_info info;
    struct err e = {0};
    if (session_sleep(s, REST_POLITE, &rest, &e))
        fail_msg("%s", e.text);
    assert_false(rest.is_refused);
    assert_true(rest.size > 0);
    session_look(s, &info);
    assert_int_equal(info.life, LIFE_ASLEEP);
    assert_int_equal(info.sleep_bytes, rest.size);
    session_rest_done(&rest);
}

static inline enum life life_of(struct session *s)
{
    struct session_info info;
    session_look(s, &info);
    return info.life;
}

static inline bool has_file(const struct world *w, const char *id, const char *ending)
{
    char name[ID_SIZE + 8];
    (void)snprintf(name, sizeof name, "%s.%s", id, ending);
    return faccessat(w->sleepers, name, F_OK, 0) == 0;
}

static inline int open_file(const struct world *w, const char *id)
{
    char name[ID_SIZE + 8];
    (void)snprintf(name, sizeof name, "%s.sleep", id);
    int fd = openat(w->sleepers, name, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* The kernel of the only session there is. */
static inline int only_kernel(const struct world *w)
{
    char path[64]; /* all children of the fake spawner are kernels */
    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", spawner_pid(w->spawner),
                   spawner_pid(w->spawner));
    FILE *children = fopen(path, "r");
    int pid = 0;
    assert_non_null(children);
    assert_int_equal(fscanf(children, "%d", &pid), 1);
    (void)fclose(children);
    return pid;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_COLD(name) cmocka_unit_test_setup_teardown(name, set_up_cold, tear_down)

#endif
