/* gc_fixture.h -- for tests of gc, fsck, scrub and backups: a store in a directory of its own, files put
 * into it and read again, damage done to it. */
#ifndef STORE_GC_FIXTURE_H
#define STORE_GC_FIXTURE_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/contents.h"
#include "store/fsck.h"
#include "store/gc.h"
#include "store/meta_files.h"
#include "store/meta_fixture.h"
#include "store/packs.h"
#include "store/store.h"

static const char vault[] = "prn_a";

static struct {
    struct scratch scratch;
    struct store *store;
    struct meta *meta;
    struct contents *contents;
    struct packs *packs;
} at;

static inline void store_again(void)
{
    store_close(at.store);
    struct store_options o = {.dir = at.scratch.path};
    OK(store_open(&o, &at.store, e));
    at.meta = store_meta(at.store);
    at.contents = store_contents(at.store);
    at.packs = store_packs(at.store);
}

static inline int store_setup(void **state)
{
    (void)state;
    at.scratch = scratch_new_fast();
    at.store = NULL;
    store_again();
    add_principal(at.meta, "prn_a", "ws_a", "", NULL, 1);
    return 0;
}

static inline int store_teardown(void **state)
{
    (void)state;
    store_close(at.store);
    scratch_done(&at.scratch);
    return 0;
}

/* ---- contents ---- */

/* Bytes that are the same for the same seed, and do not shrink. */
static inline uint8_t *bytes_of(uint64_t seed, size_t len)
{
    uint8_t *bytes = malloc(len + 8);
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < len; i += 8) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        memcpy(bytes + i, &x, 8);
    }
    return bytes;
}

static inline struct commit_row upload_commit(void)
{
    struct commit_row k = {.kind = COMMIT_UPLOAD, .created_us = clock_wall_us()};
    set_id(k.workspace, "ws_a");
    set_id(k.author.principal, "prn_a");
    return k;
}

static inline int store_bytes(struct contents *c, struct batch *b, uint64_t seed, size_t len,
                              struct content *ret, struct err *e)
{
    (void)c;
    scoped(freep) uint8_t *bytes = bytes_of(seed, len);
    return batch_begin(b, len, e) || batch_write(b, bytes, len, e) || batch_end(b, ret, e) ? -1 : 0;
}

/* One file, of which `seed` says what is in it. */
static inline int put_seed(const char *path, uint64_t seed, size_t len, struct err *e)
{
    scoped(batch_freep) struct batch *b = NULL;
    struct file_change change = {.op = OP_PUT, .path = path};
    struct commit_row k = upload_commit();
    uint64_t rev;
    if (batch_new(at.contents, vault, &b, e) ||
        store_bytes(at.contents, b, seed, len, &change.content, e) || batch_sync(b, e) ||
        meta_commit(at.meta, &k, &change, 1, b, &rev, e))
        return -1;
    free(change.ret_path);
    return 0;
}

static inline void put_file(const char *path, uint64_t seed, size_t len)
{
    OK(put_seed(path, seed, len, e));
}

static inline void delete_file(const char *path)
{
    struct file_change change = {.op = OP_DELETE, .path = path};
    struct commit_row k = upload_commit();
    uint64_t rev;
    OK(meta_commit(at.meta, &k, &change, 1, NULL, &rev, e));
    free(change.ret_path);
}

static inline void empty_trash(void)
{
    uint64_t count;
    OK(meta_purge_trash(at.meta, "ws_a", INT64_MAX, 100000, &count, e));
}

static inline void purge_file(const char *path)
{
    delete_file(path);
    empty_trash();
}

/* What is there is what was put. */
static inline void holds_seed(const char *path, uint64_t seed, size_t len)
{
    scoped(content_closep) struct content_reader *r = NULL;
    scoped(freep) uint8_t *wanted = bytes_of(seed, len);
    scoped(freep) uint8_t *got = malloc(len + 1);
    struct file_row f;
    size_t done = 0;
    OK(meta_file_get(at.meta, "ws_a", path, &f, e));
    OK(content_open(at.contents, vault, &f.content, &r, e));
    OK(content_read(r, 0, got, len + 1, &done, e));
    assert_int_equal(done, len);
    assert_memory_equal(got, wanted, len);
    file_row_done(&f);
}

/* ---- gc ---- */

/* Time that goes on with every call, faster than any real one. */
static inline struct gc_result gc_with(int64_t grace_us, int64_t settle_us)
{
    static _Atomic int64_t ahead_us;
    struct gc_result result;
    const struct gc_options o = {.contents = at.contents,
                                 .grace_us = grace_us,
                                 .settle_us = settle_us,
                                 .now_us = clock_wall_us() + atomic_fetch_add(&ahead_us, 1000000)};
    OK(gc_run(&o, &result, e));
    return result;
}

static inline struct gc_result gc_now(void)
{
    return gc_with(0, 0);
}

static inline uint64_t disk_bytes(void)
{
    scoped(freep) struct pack_info *list = NULL;
    size_t count = 0;
    uint64_t sum = 0;
    OK(packs_list(at.packs, vault, &list, &count, e));
    for (size_t i = 0; i < count; i++)
        sum += list[i].len;
    return sum;
}

/* ---- fsck ---- */

static char told[4096]; /* what fsck or scrub said last */

static inline void hear(void *arg, const char *what)
{
    (void)arg;
    size_t len = strlen(told);
    (void)snprintf(told + len, sizeof told - len, "%s\n", what);
}

enum fsck_way { WITH_DATABASE, QUICK, PACKS_ALONE };

static char lost[200]; /* "path 1; path 2; " */

static inline void hear_lost(void *arg, const struct fsck_lost *l)
{
    (void)arg;
    size_t len = strlen(lost);
    (void)snprintf(lost + len, sizeof lost - len, "%.*s %llu; ", (int)l->path.len, l->path.ptr,
                   (unsigned long long)l->version);
}

static inline struct fsck_result fsck_as(enum fsck_way way)
{
    struct fsck_result result;
    const struct fsck_options o = {.contents = way == PACKS_ALONE ? NULL : at.contents,
                                   .packs = at.packs,
                                   .is_quick = way == QUICK,
                                   .tell = hear,
                                   .lost = hear_lost};
    told[0] = lost[0] = '\0';
    OK(fsck_run(&o, &result, e));
    return result;
}

static inline void nothing_is_wrong(void)
{
    for (enum fsck_way way = WITH_DATABASE; way <= PACKS_ALONE; way++) {
        struct fsck_result result = fsck_as(way);
        if (result.problems > 0)
            fail_msg("fsck %d: %s", (int)way, told);
    }
}

#endif
