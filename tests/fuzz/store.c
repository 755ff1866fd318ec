/* Fuzzes what is read from the engine's own directories: the head of a sleeping session's file, the
 * note beside an image, the list of files in one. What the first two accept must come out of their
 * writers as the same bytes. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "fuzz.h"
#include "session/deps.h"
#include "session/meta.h"
#include "session/sleeper.h"

/* True if it was accepted. */
static bool try_sleeper(const uint8_t *bytes, size_t len)
{
    struct sleeper s;
    struct err e = {0};
    uint64_t file_len = len;
    if (len >= SLEEPER_HEAD) /* of a file whose body fits, mostly */
        file_len = (uint64_t)SLEEPER_HEAD + get_u32(bytes + 56) + (get_u64(bytes + 48) & 0xffffff);
    if (sleeper_get(bytes, len, file_len, &s, &e)) {
        assert((e.code == ERR_DAMAGED || e.code == ERR_UNAVAILABLE) && e.text[0]);
        return false;
    }
    scoped(buf_done) struct buf again = BUF_INIT((size_t)SLEEPER_HEAD + SLEEPER_NAMES_MAX);
    assert(sleeper_put(&s, &again, &e) == 0);
    assert(again.len <= len && memcmp(again.bytes, bytes, again.len) == 0);
    sleeper_done(&s);
    return true;
}

/* A fuzzer does not find hashes: the same with the right one. */
static void try_rehashed(const uint8_t *bytes, size_t len)
{
    scoped(hash_done) struct hash h = {0};
    struct err e = {0};
    if (len < SLEEPER_HEAD || get_u32(bytes + 56) > len - SLEEPER_HEAD)
        return;
    scoped(freep) uint8_t *copy = malloc(len);
    assert(copy);
    memcpy(copy, bytes, len);
    size_t at = SLEEPER_HEAD - HASH_LEN;
    assert(hash_init(&h, &e) == 0 && hash_add(&h, copy, at, &e) == 0);
    assert(hash_add(&h, copy + SLEEPER_HEAD, get_u32(copy + 56), &e) == 0);
    assert(hash_end(&h, copy + at, &e) == 0);
    (void)try_sleeper(copy, len);
}

static void try_meta(const char *text, size_t len)
{
    struct meta m;
    struct err e = {0};
    if (meta_get(text, len, &m, &e)) {
        assert(e.code == ERR_DAMAGED);
        return;
    }
    scoped(buf_done) struct buf once = BUF_INIT(META_LEN_MAX), twice = BUF_INIT(META_LEN_MAX);
    meta_put(&m, &once);
    assert(meta_get(once.bytes, once.len, &m, &e) == 0);
    meta_put(&m, &twice);
    assert(once.len == twice.len && memcmp(once.bytes, twice.bytes, once.len) == 0);
}

static void try_deps(const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    struct err e = {0};
    struct dep d;
    while (dep_next(&at, end, &d, &e) == 1)
        assert(d.path >= text && d.path + d.path_len < end && d.path[0] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (!try_sleeper(bytes, len))
        try_rehashed(bytes, len);
    try_meta((const char *)bytes, len);
    try_deps((const char *)bytes, len);
    return 0;
}
