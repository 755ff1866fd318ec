#include "workspace/lru.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

int lru_init(struct lru *l, size_t entry_size, size_t max, struct err *e)
{
    *l = (struct lru){.entry_size = entry_size, .max = max, .bucket_count = 2 * max};
    if (getrandom(&l->seed, sizeof l->seed, 0) != (ssize_t)sizeof l->seed)
        return err_sys(e, errno, "random bytes for a table");
    l->buckets = calloc(l->bucket_count, sizeof(struct lru_entry *));
    return l->buckets ? 0 : err_set(e, ERR_NO_MEMORY, "make a table");
}

void lru_done(struct lru *l)
{
    for (struct lru_entry *at = l->newest, *older; at; at = older) {
        older = at->older;
        free(at);
    }
    free(l->buckets);
    *l = (struct lru){0};
}

static struct lru_entry **bucket_of(const struct lru *l, const char *name)
{
    uint64_t h = l->seed;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 0x9e3779b97f4a7c15u;
    h ^= h >> 32;
    return &l->buckets[h % l->bucket_count];
}

static void link_newest(struct lru *l, struct lru_entry *it)
{
    it->newer = NULL;
    it->older = l->newest;
    *(l->newest ? &l->newest->newer : &l->oldest) = it;
    l->newest = it;
}

static void unlink_age(struct lru *l, struct lru_entry *it)
{
    *(it->newer ? &it->newer->older : &l->newest) = it->older;
    *(it->older ? &it->older->newer : &l->oldest) = it->newer;
}

struct lru_entry *lru_get(struct lru *l, const char *name)
{
    for (struct lru_entry *it = *bucket_of(l, name); it; it = it->next)
        if (strcmp(it->name, name) == 0) {
            unlink_age(l, it);
            link_newest(l, it);
            return it;
        }
    return NULL;
}

void lru_drop(struct lru *l, const char *name)
{
    for (struct lru_entry **at = bucket_of(l, name), *it; (it = *at); at = &it->next)
        if (strcmp(it->name, name) == 0) {
            *at = it->next;
            unlink_age(l, it);
            free(it);
            l->count--;
            return;
        }
}

int lru_make(struct lru *l, const char *name, struct lru_entry **ret, struct err *e)
{
    struct lru_entry *it = lru_get(l, name);
    if (!it) {
        if (l->count >= l->max)
            lru_drop(l, l->oldest->name);
        it = calloc(1, l->entry_size);
        if (!it)
            return err_set(e, ERR_NO_MEMORY, "an entry of a table");
        (void)snprintf(it->name, sizeof it->name, "%s", name);
        struct lru_entry **bucket = bucket_of(l, it->name);
        it->next = *bucket;
        *bucket = it;
        link_newest(l, it);
        l->count++;
    }
    *ret = it;
    return 0;
}
