/* What is needed, and what is not: see gc.h. */
#include "store/gc.h"

#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/scope.h"
#include "store/gc_int.h"

/* ---- what is needed ---- */

/* A recipe that cannot be read fails the round: what it names would look like garbage. */
static int need_content(struct gc_round *r, const struct content *content, struct err *e)
{
    if (content->size == 0)
        return 0;
    if (content_is_whole(content))
        return hash_set_add(&r->needed, content->sha256, CHUNK_DATA, e);
    scoped(freep) uint8_t *bytes = NULL;
    struct recipe recipe;
    if (hash_set_add(&r->needed, content->sha256, CHUNK_RECIPE, e) ||
        contents_recipe(r->c, r->vault, content, &r->ctx, &bytes, &recipe, e))
        return -1;
    for (uint32_t i = 0; i < recipe.count; i++) {
        struct recipe_piece piece;
        recipe_piece_get(&recipe, i, &piece);
        if (hash_set_add(&r->needed, piece.sha256, CHUNK_DATA, e))
            return -1;
    }
    return 0;
}

/* A content that a version names and no row does is damage, too. */
static int mark_needed(struct gc_round *r, struct err *e)
{
    scoped(freep) struct content *page = malloc(GC_ROWS * sizeof *page);
    size_t count = 0;
    if (!page)
        return err_set(e, ERR_NO_MEMORY, "look for what is needed");
    for (uint8_t after[HASH_LEN], *from = NULL;; from = after) {
        if (meta_content_list(r->c->meta, r->vault, from, GC_ROWS, page, &count, e))
            return -1;
        for (size_t i = 0; i < count; i++)
            if (need_content(r, &page[i], e)) {
                if (e->code == ERR_NOT_FOUND)
                    e->code = ERR_DAMAGED;
                return err_wrap(e, "look for what is needed");
            }
        if (count < GC_ROWS || gc_is_stopping(r))
            return 0;
        memcpy(after, page[count - 1].sha256, HASH_LEN);
    }
}

/* ---- what is not ---- */

/* Keys of rows to mark, or to unmark. */
struct marks {
    struct chunk_key keys[2][GC_ROWS];
    size_t counts[2];
    struct chunk_row rows[GC_ROWS];
};

static int mark_page(struct gc_round *r, struct marks *m, size_t count, struct err *e)
{
    m->counts[0] = m->counts[1] = 0;
    for (size_t i = 0; i < count; i++) {
        const struct chunk_row *row = &m->rows[i];
        bool is_dead = !hash_set_has(&r->needed, row->sha256, (int)row->kind);
        r->result->dead += is_dead;
        if (is_dead == (row->dead_us != 0))
            continue;
        struct chunk_key *key = &m->keys[is_dead][m->counts[is_dead]++];
        memcpy(key->sha256, row->sha256, HASH_LEN);
        key->kind = row->kind;
    }
    r->result->chunks += count;
    for (int is_dead = 0; is_dead < 2; is_dead++)
        if (m->counts[is_dead] > 0 &&
            meta_chunk_mark(r->c->meta, r->vault, m->keys[is_dead], m->counts[is_dead],
                            is_dead != 0, r->o->now_us, e))
            return -1;
    return 0;
}

static int mark_pack(struct gc_round *r, struct marks *m, uint64_t pack, struct err *e)
{
    size_t count = GC_ROWS;
    for (uint64_t offset = 0; count == GC_ROWS && !gc_is_stopping(r);) {
        if (meta_chunk_list(r->c->meta, r->vault, pack, offset, GC_ROWS, m->rows, &count, e) ||
            mark_page(r, m, count, e))
            return -1;
        if (count > 0)
            offset = m->rows[count - 1].offset + 1;
    }
    return 0;
}

static int mark(struct gc_round *r, const struct pack_info *packs, size_t count, struct err *e)
{
    scoped(freep) struct marks *m = malloc(sizeof *m);
    if (!m)
        return err_set(e, ERR_NO_MEMORY, "mark what is not needed");
    for (size_t i = 0; i < count && !gc_is_stopping(r); i++)
        if (mark_pack(r, m, packs[i].number, e))
            return -1;
    return 0;
}

/* Only after all of them were marked and unmarked. */
static int sweep(struct gc_round *r, struct err *e)
{
    uint64_t count = GC_ROWS;
    while (count == GC_ROWS && !gc_is_stopping(r)) {
        if (meta_chunk_sweep(r->c->meta, r->vault, r->o->now_us - r->o->grace_us, GC_ROWS, &count,
                             e))
            return -1;
        r->result->swept += count;
        r->result->dead -= count < r->result->dead ? count : r->result->dead;
    }
    return 0;
}

/* ---- all of it ---- */

static int collect(struct gc_round *r, struct err *e)
{
    scoped(freep) struct pack_info *packs = NULL;
    size_t count = 0;
    /* The list first: a pack that is made meanwhile is not in it. Rows that are dead already are in
     * packs of the list, because only gc marks and moves them. */
    if (packs_list(r->c->packs, r->vault, &packs, &count, e) || mark_needed(r, e))
        return -1;
    return mark(r, packs, count, e) || sweep(r, e) || gc_tidy_packs(r, packs, count, e) ? -1 : 0;
}

static int collect_vault(const struct gc_options *o, const char *vault, struct gc_result *result,
                         struct err *e)
{
    struct gc_round r = {.o = o, .c = o->contents, .vault = vault, .result = result};
    int failed = collect(&r, e);
    result->vaults++;
    hash_set_done(&r.needed);
    ZSTD_freeDCtx(r.ctx);
    return failed ? err_wrap(e, "collect garbage in vault %s", vault) : 0;
}

int gc_run(const struct gc_options *options, struct gc_result *ret, struct err *e)
{
    scoped(freep) char(*vaults)[ID_SIZE] = NULL;
    size_t count = 0;
    struct err damage = {0};
    *ret = (struct gc_result){0};
    if (packs_vaults(options->contents->packs, &vaults, &count, e))
        return err_wrap(e, "collect garbage");
    for (size_t i = 0; i < count; i++) {
        struct err why = {0};
        if (options->stops && atomic_load_explicit(options->stops, memory_order_relaxed))
            break;
        if (!collect_vault(options, vaults[i], ret, &why))
            continue;
        if (why.code != ERR_DAMAGED) {
            *e = why;
            return -1;
        }
        damage = why;
    }
    if (damage.code)
        *e = damage;
    return damage.code ? -1 : 0;
}
