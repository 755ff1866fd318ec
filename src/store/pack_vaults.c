/* Which packs of which vault may be appended to, and who does. */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/packs_int.h"

static size_t bucket_of(const char *name)
{
    uint32_t hash = 2166136261; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619;
    return hash % VAULT_BUCKETS;
}

/* With the lock. */
static struct vault *find(struct packs *p, const char *name)
{
    struct vault *v = p->vaults[bucket_of(name)];
    while (v && strcmp(v->name, name) != 0)
        v = v->next;
    return v;
}

/* With the lock. */
static struct vault *find_or_add(struct packs *p, const char *name)
{
    struct vault *v = find(p, name);
    if (v || !(v = calloc(1, sizeof *v)))
        return v;
    (void)snprintf(v->name, sizeof v->name, "%s", name);
    struct vault **bucket = &p->vaults[bucket_of(name)];
    v->next = *bucket;
    *bucket = v;
    return v;
}

static int grow(void **items, size_t *size, size_t count, size_t item_size)
{
    if (count < *size)
        return 0;
    size_t wanted = *size ? 2 * *size : 4;
    void *more = realloc(*items, wanted * item_size);
    if (!more)
        return -1;
    *items = more;
    *size = wanted;
    return 0;
}

static int add_spare(struct vault *v, const struct spare *spare)
{
    if (grow((void **)&v->spares, &v->spare_size, v->spare_count, sizeof *v->spares))
        return -1;
    v->spares[v->spare_count++] = *spare;
    return 0;
}

/* Without the lock: nobody else touches a vault that is loading. */
static int load(struct packs *p, struct vault *v, struct err *e)
{
    scoped(freep) struct pack_info *packs = NULL;
    size_t count;
    if (packs_list(p, v->name, &packs, &count, e))
        return -1;
    v->spare_count = 0;
    v->number_max = count > 0 ? packs[count - 1].number : 0;
    for (size_t i = 0; i < count; i++) {
        struct spare found = {.number = packs[i].number, .is_made = true};
        if (packs[i].len < PACK_FULL && add_spare(v, &found))
            return err_set(e, ERR_NO_MEMORY, "read a vault");
    }
    return 0;
}

/* With the lock, which is let go while the disk works. */
static int load_once(struct packs *p, struct vault *v, struct err *e)
{
    while (v->is_loading)
        pthread_cond_wait(&p->loaded, &p->lock);
    if (v->is_loaded)
        return 0;
    v->is_loading = true;
    pthread_mutex_unlock(&p->lock);
    int failed = load(p, v, e);
    pthread_mutex_lock(&p->lock);
    v->is_loading = false;
    v->is_loaded = !failed;
    pthread_cond_broadcast(&p->loaded);
    return failed;
}

/* Those whose end is known first, the fullest of them, so that packs become full. */
static size_t choose(const struct vault *v)
{
    size_t best = 0;
    for (size_t i = 1; i < v->spare_count; i++) {
        const struct spare *a = &v->spares[i], *b = &v->spares[best];
        if (a->is_known != b->is_known ? a->is_known : a->is_known && a->end > b->end)
            best = i;
    }
    return best;
}

/* With the lock. */
static int take_one(struct vault *v, struct spare *ret, struct err *e)
{
    if (grow((void **)&v->leased, &v->leased_size, v->leased_count, sizeof *v->leased))
        return err_set(e, ERR_NO_MEMORY, "lease a pack");
    if (v->spare_count > 0) {
        size_t chosen = choose(v);
        *ret = v->spares[chosen];
        v->spares[chosen] = v->spares[--v->spare_count];
    } else {
        *ret = (struct spare){.number = ++v->number_max, .is_known = true};
    }
    v->leased[v->leased_count++] = ret->number;
    return 0;
}

int vault_take(struct packs *p, const char *name, struct vault **ret, struct spare *ret_spare,
               struct err *e)
{
    pthread_mutex_lock(&p->lock);
    struct vault *v = find_or_add(p, name);
    int failed = v ? load_once(p, v, e) : err_set(e, ERR_NO_MEMORY, "lease a pack");
    if (!failed)
        failed = take_one(v, ret_spare, e);
    pthread_mutex_unlock(&p->lock);
    if (!failed)
        *ret = v;
    return failed;
}

void vault_give(struct packs *p, struct vault *v, const struct spare *pack, bool has_room)
{
    pthread_mutex_lock(&p->lock);
    size_t i = 0;
    while (i < v->leased_count && v->leased[i] != pack->number)
        i++;
    assert(i < v->leased_count);
    v->leased[i] = v->leased[--v->leased_count];
    if (has_room)
        (void)add_spare(v, pack); /* without memory for it, another one will be made */
    pthread_mutex_unlock(&p->lock);
}

int vault_forget(struct packs *p, const char *name, uint64_t number, struct err *e)
{
    pthread_mutex_lock(&p->lock);
    struct vault *v = find_or_add(p, name);
    int result = v ? load_once(p, v, e) : err_set(e, ERR_NO_MEMORY, "give up a pack");
    for (size_t i = 0; !result && i < v->leased_count; i++)
        if (v->leased[i] == number)
            result = err_set(e, ERR_BUSY, "somebody writes to this pack");
    for (size_t i = 0; !result && i < v->spare_count; i++)
        if (v->spares[i].number == number) {
            v->spares[i] = v->spares[--v->spare_count];
            break;
        }
    pthread_mutex_unlock(&p->lock);
    return result;
}

uint64_t vault_next(struct packs *p, const char *name)
{
    pthread_mutex_lock(&p->lock);
    struct vault *v = find(p, name);
    assert(v);
    uint64_t next = ++v->number_max;
    pthread_mutex_unlock(&p->lock);
    return next;
}

/* Its end is found out when it is taken. */
void vault_remember(struct packs *p, const char *name, uint64_t number)
{
    const struct spare found = {.number = number, .is_made = true};
    pthread_mutex_lock(&p->lock);
    struct vault *v = find(p, name);
    if (v && v->is_loaded)
        (void)add_spare(v, &found); /* without memory for it, another one will be made */
    pthread_mutex_unlock(&p->lock);
}

void vaults_done(struct packs *p)
{
    for (size_t i = 0; i < VAULT_BUCKETS; i++)
        while (p->vaults[i]) {
            struct vault *v = p->vaults[i];
            p->vaults[i] = v->next;
            assert(v->leased_count == 0);
            free(v->spares);
            free(v->leased);
            free(v);
        }
}
