#include "opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"

void die(const char *what, const struct err *e)
{
    fprintf(stderr, "%s: %s: %s\n", what, err_wire(e->code), e->text);
    exit(1);
}

/* ---- opening ---- */

static void on_stop(void *arg, const char *why)
{
    struct opened *o = arg;
    fprintf(stderr, "stopped: %s\n", why);
    atomic_fetch_add(&o->stops, 1);
}

static int open_all(struct opened *o, const char *dir, struct err *e)
{
    const struct store_options store = {.dir = dir, .on_stop = on_stop, .arg = o};
    if (store_open(&store, &o->store, e))
        return -1;
    struct meta *meta = store_meta(o->store);
    o->contents = store_contents(o->store);
    o->packs = store_packs(o->store);
    const struct people_options people = {
        .meta = meta, .admin_secret = "cik_of-a-test-of-the-store", .now_us = clock_wall_us()};
    if (people_open(&people, &o->people, e))
        return -1;
    static const uint8_t sign_key[32] = {1};
    const struct files_options files = {.meta = meta,
                                        .contents = o->contents,
                                        .people = o->people,
                                        .space_fd = -1,
                                        .file_max = (uint64_t)1 << 40,
                                        .sign_key = sign_key};
    if (files_open(&files, &o->files, e))
        return -1;
    people_local(o->people, &o->who);
    return files_workspace(o->files, &o->who, NULL, RIGHT_WRITE, &o->ws, e);
}

int opened_begin(struct opened *o, const char *dir, struct err *e)
{
    *o = (struct opened){0};
    if (open_all(o, dir, e) == 0)
        return 0;
    opened_end(o);
    return -1;
}

void opened_end(struct opened *o)
{
    workspace_row_done(&o->ws);
    if (o->files)
        files_close(o->files);
    if (o->people)
        people_close(o->people);
    store_close(o->store);
    *o = (struct opened){0};
}

struct meta *opened_meta(const struct opened *o)
{
    return store_meta(o->store);
}

int opened_look(const struct opened *o, struct workspace_row *ret, struct err *e)
{
    return meta_workspace_get(opened_meta(o), o->ws.id, ret, e);
}

struct author opened_author(const struct opened *o)
{
    struct author a = {0};
    memcpy(a.principal, o->who.principal, sizeof a.principal);
    return a;
}

/* ---- contents ---- */

int opened_verify(const struct opened *o, const char *vault, const struct content *content,
                  struct err *e)
{
    scoped(content_closep) struct content_reader *r = NULL;
    scoped(hash_done) struct hash h = {0};
    if (content_open(o->contents, vault, content, &r, e) || hash_init(&h, e))
        return -1;
    uint64_t at = 0;
    for (size_t len = 1; len > 0; at += len) {
        static _Thread_local uint8_t bytes[256 << 10];
        if (content_read(r, at, bytes, sizeof bytes, &len, e) || hash_add(&h, bytes, len, e))
            return -1;
    }
    uint8_t digest[HASH_LEN];
    if (hash_end(&h, digest, e))
        return -1;
    if (at != content->size || memcmp(digest, content->sha256, HASH_LEN) != 0)
        return err_set(e, ERR_DAMAGED, "%llu of %llu bytes, and not those that were written",
                       (unsigned long long)at, (unsigned long long)content->size);
    return 0;
}

/* ---- dice ---- */

uint64_t dice_next(struct dice *d) /* splitmix64 */
{
    uint64_t z = d->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

uint64_t dice_below(struct dice *d, uint64_t limit)
{
    return dice_next(d) % limit;
}

void dice_fill(struct dice *d, int is_noise, void *to, size_t len)
{
    uint8_t *at = to;
    for (; len > 0;) {
        uint64_t word = dice_next(d);
        size_t piece = len < 8 ? len : 8;
        if (!is_noise)
            word &= 0x0f0f0f0f0f0f0f0f; /* sixteen letters */
        memcpy(at, &word, piece);
        at += piece;
        len -= piece;
    }
}
