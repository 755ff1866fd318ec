/* Packs with too little in them: what is needed goes to another, then they go. See gc.h for the order. */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "store/ballast.h"
#include "store/gc_int.h"

/* Copies of one pack's records: what was read from where, and where it went. */
struct copying {
    struct gc_round *r;
    struct lease *lease; /* NULL: none at the moment */
    struct chunk_move moves[GC_ROWS];
    size_t count;
    struct chunk_row rows[GC_ROWS];
};

/* What was copied is on disk before any row says where. */
static int settle(struct copying *c, struct err *e)
{
    if (c->count == 0)
        return 0;
    if (lease_sync(c->lease, e) ||
        meta_chunk_move(c->r->c->meta, c->r->vault, c->moves, c->count, e))
        return -1;
    c->count = 0;
    return 0;
}

/* Read twice, once to check it: what is damaged must not be copied under a good name. */
static int read_record(struct gc_round *r, const struct chunk_row *row, struct record *ret,
                       uint8_t **ret_payload, struct err *e)
{
    scoped(freep) uint8_t *raw = malloc((size_t)row->raw_len + 1);
    scoped(freep) uint8_t *payload = malloc((size_t)row->stored_len + 1);
    uint8_t head[RECORD_HEAD];
    if (!raw || !payload)
        return err_set(e, ERR_NO_MEMORY, "copy a chunk");
    if (packs_read_record(r->c->packs, r->vault, row, &r->ctx, raw, e) ||
        packs_read(r->c->packs, r->vault, row->pack, row->offset, head, sizeof head, e) ||
        packs_read(r->c->packs, r->vault, row->pack, row->offset + RECORD_HEAD, payload,
                   row->stored_len, e))
        return -1;
    if (!record_decode(head, ret))
        return err_set(e, ERR_DAMAGED, "a chunk is not where its row says");
    *ret_payload = take(payload);
    return 0;
}

static int copy_record(struct copying *c, const struct chunk_row *row, struct err *e)
{
    struct gc_round *r = c->r;
    scoped(freep) uint8_t *payload = NULL;
    struct record record;
    if (c->lease && lease_is_full(c->lease)) {
        if (settle(c, e))
            return -1;
        lease_release(take(c->lease));
    }
    if ((!c->lease && packs_lease(r->c->packs, r->vault, &c->lease, e)) ||
        read_record(r, row, &record, &payload, e))
        return -1;
    struct chunk_move *move = &c->moves[c->count];
    move->from = move->to = *row;
    if (lease_append(c->lease, &record, payload, &move->to.offset, e))
        return -1;
    move->to.pack = lease_pack(c->lease);
    c->count++;
    return c->count == GC_ROWS ? settle(c, e) : 0;
}

static int copy_rows(struct copying *c, uint64_t pack, struct err *e)
{
    struct gc_round *r = c->r;
    size_t count = GC_ROWS;
    for (uint64_t offset = 0; count == GC_ROWS;) {
        if (meta_chunk_list(r->c->meta, r->vault, pack, offset, GC_ROWS, c->rows, &count, e))
            return -1;
        for (size_t i = 0; i < count; i++) {
            if (copy_record(c, &c->rows[i], e))
                return -1;
            offset = c->rows[i].offset + 1;
        }
    }
    return settle(c, e);
}

/* What rows name of a pack goes to another. */
static int copy_pack(struct gc_round *r, uint64_t pack, struct err *e)
{
    scoped(freep) struct copying *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "copy chunks");
    c->r = r;
    int failed = copy_rows(c, pack, e);
    lease_release(c->lease); /* what was not settled is taken back */
    if (!failed)
        r->result->packs_copied++;
    return failed;
}

static int copy_with_room(struct gc_round *r, uint64_t pack, struct err *e)
{
    if (copy_pack(r, pack, e) == 0)
        return 0;
    if (e->code != ERR_NO_SPACE || !ballast_give(r->o->ballast))
        return -1;
    *e = (struct err){0};
    return copy_pack(r, pack, e); /* what was moved already is not in it any more */
}

/* ---- which ---- */

static int compare_uses(const void *a, const void *b)
{
    const struct pack_use *left = a, *right = b;
    return left->pack < right->pack ? -1 : left->pack > right->pack;
}

/* Bytes of the pack that rows name; they are sorted. */
static uint64_t used_of(const struct pack_use *uses, size_t count, uint64_t pack)
{
    const struct pack_use key = {.pack = pack};
    const struct pack_use *use =
        count > 0 ? bsearch(&key, uses, count, sizeof *uses, compare_uses) : NULL;
    return use ? use->bytes : 0;
}

static bool is_worth_it(const struct gc_round *r, uint64_t len, uint64_t used)
{
    uint64_t garbage = len > used ? len - used : 0;
    return used == 0 || (garbage >= GC_REPACK_MIN && garbage > len / 100 * GC_REPACK_PERCENT) ||
           (garbage >= GC_THOROUGH_MIN && r->o->is_thorough);
}

/* The footer is no garbage: with small records it is as long as they are. */
static int look_closer(struct gc_round *r, const struct pack_info *info, uint64_t used, bool *ret,
                       struct err *e)
{
    struct pack_walked walked;
    if (used > 0 && packs_walk(r->c->packs, r->vault, info->number, NULL, NULL, &walked, e))
        return -1;
    *ret = used == 0 || is_worth_it(r, walked.is_sealed ? walked.end : info->len, used);
    return 0;
}

/* Nobody can lease the pack any more, so nothing new is written to it. */
static int empty_pack(struct gc_round *r, uint64_t pack, bool *ret_can_go, struct err *e)
{
    struct chunk_row row;
    size_t count = 0;
    *ret_can_go = false;
    if (contents_writes_to(r->c, r->vault, pack))
        return 0;
    if (meta_chunk_list(r->c->meta, r->vault, pack, 0, 1, &row, &count, e))
        return -1;
    if (count > 0 && (copy_with_room(r, pack, e) ||
                      meta_chunk_list(r->c->meta, r->vault, pack, 0, 1, &row, &count, e)))
        return err_wrap(e, "repack %llu", (unsigned long long)pack);
    *ret_can_go = count == 0;
    return 0;
}

static int remove_pack(struct gc_round *r, const struct pack_info *info, uint64_t used,
                       struct err *e)
{
    struct err busy = {0};
    bool can_go = false;
    if (packs_retire(r->c->packs, r->vault, info->number, &busy))
        return 0; /* somebody writes to it: the next round looks again */
    int failed = empty_pack(r, info->number, &can_go, e);
    if (failed || !can_go) {
        packs_return(r->c->packs, r->vault, info->number);
        if (!failed || e->code != ERR_NO_SPACE)
            return failed;
        *e = (struct err){0}; /* others may need less */
        r->result->packs_left++;
        return 0;
    }
    if (packs_remove(r->c->packs, r->vault, info->number, e))
        return -1;
    r->result->packs_removed++;
    r->result->bytes_freed += info->len > used ? info->len - used : 0;
    return 0;
}

/* One pack: nothing, copied and removed, or removed. */
static int tidy_pack(struct gc_round *r, const struct pack_info *listed, uint64_t used,
                     struct err *e)
{
    struct pack_info info;
    struct err gone = {0};
    bool is_garbage = false;
    if (packs_look(r->c->packs, r->vault, listed->number, &info, &gone))
        return 0;
    if (info.len != listed->len)
        return 0; /* somebody wrote to it, or this round copied to it: what is used is not known */
    bool is_young = info.changed_us > r->o->now_us - r->o->settle_us && r->o->settle_us > 0;
    if (is_young || info.len == 0 || !is_worth_it(r, info.len, used) ||
        contents_writes_to(r->c, r->vault, info.number))
        return 0;
    if (look_closer(r, &info, used, &is_garbage, e))
        return -1;
    return is_garbage ? remove_pack(r, &info, used, e) : 0;
}

struct candidate {
    const struct pack_info *pack;
    uint64_t used;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;
    return left->used < right->used ? -1 : left->used > right->used;
}

/* What is used of each, the least first. */
static int weigh(struct gc_round *r, const struct pack_info *packs, size_t count,
                 struct candidate **ret, struct err *e)
{
    scoped(freep) struct pack_use *uses = NULL;
    size_t use_count = 0;
    if (meta_pack_use(r->c->meta, r->vault, &uses, &use_count, e))
        return -1;
    struct candidate *all = malloc((count + 1) * sizeof *all);
    if (!all)
        return err_set(e, ERR_NO_MEMORY, "look what is used of packs");
    for (size_t i = 0; i < count; i++)
        all[i] = (struct candidate){&packs[i], used_of(uses, use_count, packs[i].number)};
    qsort(all, count, sizeof *all, compare_candidates);
    *ret = all;
    return 0;
}

/* All that are used, or all that are not. A damaged one stays as it is, and the others are done. */
static int tidy_some(struct gc_round *r, const struct pack_info *packs, size_t count, bool is_used,
                     struct err *damage, struct err *e)
{
    scoped(freep) struct candidate *all = NULL;
    if (weigh(r, packs, count, &all, e))
        return -1;
    for (size_t i = 0; i < count && !gc_is_stopping(r); i++) {
        struct err why = {0};
        if ((all[i].used > 0) != is_used || !tidy_pack(r, all[i].pack, all[i].used, &why))
            continue;
        *(why.code == ERR_DAMAGED ? damage : e) = why;
        if (why.code != ERR_DAMAGED)
            return -1;
    }
    return 0;
}

/* Those that nobody uses first: or what is copied would go to one of them. */
int gc_tidy_packs(struct gc_round *r, const struct pack_info *packs, size_t count, struct err *e)
{
    struct err damage = {0};
    if (tidy_some(r, packs, count, /* is_used= */ false, &damage, e) ||
        tidy_some(r, packs, count, /* is_used= */ true, &damage, e))
        return -1;
    if (damage.code)
        *e = damage;
    return damage.code ? -1 : 0;
}
