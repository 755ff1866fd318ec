/* files_fixture.h -- for tests: a store in a directory of its own, with somebody and their workspace,
 * and the shortest ways to put and read a file. */
#ifndef WORKSPACE_FILES_FIXTURE_H
#define WORKSPACE_FILES_FIXTURE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/store.h"
#include "workspace/files.h"

struct fixture {
    struct scratch scratch;
    int uploads_fd;
    struct store *store;
    struct people *people;
    struct files *files;
    struct files_options options;
    struct who who; /* the admin */
    struct author author;
    struct workspace_row ws;
};

static struct fixture fx;

static inline void fixture_open(void)
{
    const struct store_options so = {.dir = fx.scratch.path};
    OK(store_open(&so, &fx.store, e));
    fx.uploads_fd = openat(fx.scratch.fd, "uploads", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fx.uploads_fd >= 0);
    const struct people_options pe = {.meta = store_meta(fx.store), .now_us = clock_wall_us()};
    OK(people_open(&pe, &fx.people, e));
    fx.options.meta = store_meta(fx.store);
    fx.options.contents = store_contents(fx.store);
    fx.options.people = fx.people;
    fx.options.uploads_fd = fx.uploads_fd;
    OK(files_open(&fx.options, &fx.files, e));
    people_local(fx.people, &fx.who);
    memcpy(fx.author.principal, fx.who.principal, ID_SIZE);
    OK(files_workspace(fx.files, &fx.who, NULL, RIGHT_WRITE, &fx.ws, e));
}

static inline void fixture_close(void)
{
    workspace_row_done(&fx.ws);
    files_close(fx.files);
    people_close(fx.people);
    (void)close(fx.uploads_fd);
    store_close(fx.store);
}

/* With other options than the usual ones: the store is opened again. */
static inline void fixture_again(void)
{
    fixture_close();
    fixture_open();
}

static inline int fixture_setup(void **state)
{
    (void)state;
    fx = (struct fixture){.scratch = scratch_new_fast(), .options = {.space_fd = -1}};
    scratch_mkdir(&fx.scratch, "uploads");
    fixture_open();
    return 0;
}

static inline int fixture_teardown(void **state)
{
    (void)state;
    fixture_close();
    scratch_done(&fx.scratch);
    return 0;
}

/* The row as it is now. */
static inline void look_again(void)
{
    char id[ID_SIZE];
    memcpy(id, fx.ws.id, ID_SIZE);
    workspace_row_done(&fx.ws);
    OK(files_workspace_known(fx.files, id, &fx.ws, e));
}

static inline struct commit *begin(enum commit_kind kind)
{
    struct commit *c = NULL;
    OK(commit_new(fx.files, &fx.ws, &fx.author, kind, &c, e));
    return c;
}

static inline int add_bytes(struct commit *c, const char *path, const struct how *how,
                            const void *bytes, size_t len, struct err *e)
{
    if (commit_put(c, path, how, len, e))
        return -1;
    if (commit_write(c, bytes, len, e) || commit_end(c, e)) {
        commit_drop(c);
        return -1;
    }
    return 0;
}

static inline int put_how(const char *path, const struct how *how, const char *text,
                          struct file_change *ret, struct err *e)
{
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    if (add_bytes(c, path, how, text, strlen(text), e) || commit_finish(c, e))
        return -1;
    if (ret)
        *ret = *commit_change(c, 0); /* its texts go with the commit */
    return 0;
}

static inline void put(const char *path, const char *text)
{
    OK(put_how(path, NULL, text, NULL, e));
}

/* What a version holds; the caller frees it. `version` 0: the newest. */
static inline char *content_of(const char *path, uint64_t version)
{
    struct version_row row;
    OK(files_stat(fx.files, &fx.ws, path, version, &row, e));
    scoped(content_closep) struct content_reader *r = NULL;
    OK(files_open_content(fx.files, &fx.ws, &row.content, &r, e));
    char *text = calloc(1, (size_t)row.content.size + 1);
    assert_non_null(text);
    for (uint64_t at = 0; at < row.content.size;) {
        size_t len = 0;
        OK(content_read(r, at, text + at, (size_t)(row.content.size - at), &len, e));
        assert_true(len > 0);
        at += len;
    }
    version_row_done(&row);
    return text;
}

static inline void holds(const char *path, const char *text)
{
    scoped(freep) char *is = content_of(path, 0);
    assert_string_equal(is, text);
}

static inline void is_gone(const char *path)
{
    struct version_row row;
    FAILS(ERR_NOT_FOUND, files_stat(fx.files, &fx.ws, path, 0, &row, e));
}

#endif
