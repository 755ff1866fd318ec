/* scrub.c -- reads packs again, a little at a time, to notice what the disk has forgotten. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <zstd.h>

#include "base/err.h"
#include "base/scope.h"
#include "store/fsck.h"
#include "store/packs_int.h"

struct scrub {
    struct packs *packs;
    struct scrub_state state;
    char (*vaults)[ID_SIZE]; /* of this round; NULL: it has not begun */
    size_t vault_count, vault;
    struct pack_info *list; /* of the vault; NULL: not yet */
    size_t count, at;
    uint64_t offset; /* in that pack: records before it were looked at */
    ZSTD_DCtx *ctx;
};

int scrub_new(struct packs *packs, struct scrub **ret, struct err *e)
{
    struct scrub *s = calloc(1, sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "scrub");
    s->packs = packs;
    *ret = s;
    return 0;
}

void scrub_free(struct scrub *s)
{
    if (!s)
        return;
    free(s->vaults);
    free(s->list);
    ZSTD_freeDCtx(s->ctx);
    free(s);
}

void scrub_look(const struct scrub *s, struct scrub_state *ret)
{
    *ret = s->state;
}

/* One step through one pack. */
struct reading {
    struct scrub *s;
    const char *vault;
    uint64_t left;     /* bytes that may still be read */
    int64_t before_us; /* packs that were written to since then are left alone */
    void (*tell)(void *arg, const char *what);
    void *arg;
};

__attribute__((format(printf, 2, 3))) static void found_damage(struct reading *r, const char *fmt,
                                                               ...)
{
    char text[200];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    r->s->state.damaged++;
    if (r->tell)
        r->tell(r->arg, text);
}

/* Nobody has written to it, or removed it, up to now: what is wrong with it is no work in progress. */
static bool is_settled(struct reading *r, uint64_t pack)
{
    struct pack_info info;
    struct err gone = {0};
    return packs_look(r->s->packs, r->vault, pack, &info, &gone) == 0 &&
           info.changed_us < r->before_us;
}

static int visit(void *arg, const struct chunk_row *row, struct err *e)
{
    struct reading *r = arg;
    struct scrub *s = r->s;
    struct err why = {0};
    uint64_t len = RECORD_HEAD + (uint64_t)row->stored_len;
    if (row->offset < s->offset)
        return 0;
    if (r->left == 0)
        return err_set(e, ERR_BUSY, "enough for now");
    scoped(freep) uint8_t *raw = malloc((size_t)row->raw_len + 1);
    if (!raw)
        return err_set(e, ERR_NO_MEMORY, "scrub");
    if (packs_read_record(s->packs, r->vault, row, &s->ctx, raw, &why) && why.code == ERR_DAMAGED &&
        is_settled(r, row->pack) && packs_is_named_from(s->packs, r->vault, row->pack, row->offset))
        found_damage(r, "vault %s: pack %llu: record at %llu is damaged", r->vault,
                     (unsigned long long)row->pack, (unsigned long long)row->offset);
    s->offset = row->offset + 1;
    s->state.bytes += len;
    r->left -= len < r->left ? len : r->left;
    return 0;
}

/* A pack was walked through to its end: is it the end that it should have? */
static void check_end(struct reading *r, uint64_t pack, const struct pack_walked *walked)
{
    const struct packs_owner *owner = &r->s->packs->owner;
    struct err ignored = {0};
    bool is_named = false;
    if (walked->damaged == 0 && owner->named &&
        owner->named(owner->arg, r->vault, pack, walked->end, &is_named, &ignored))
        return;
    if ((walked->damaged > 0 || is_named) && is_settled(r, pack))
        found_damage(r, "vault %s: pack %llu: records are missing", r->vault,
                     (unsigned long long)pack);
}

/* *ret_goes_on: the pack is not done with, there was too much in it for now. */
static int scrub_pack(struct reading *r, const struct pack_info *info, bool *ret_goes_on,
                      struct err *e)
{
    struct scrub *s = r->s;
    struct pack_walked walked;
    struct err why = {0};
    *ret_goes_on = false;
    if (info->changed_us >= r->before_us)
        return 0;
    if (packs_walk(s->packs, r->vault, info->number, visit, r, &walked, &why) == 0) {
        check_end(r, info->number, &walked);
        return 0;
    }
    *ret_goes_on = why.code == ERR_BUSY && r->left == 0;
    if (why.code == ERR_DAMAGED) /* the disk does not give it back */
        found_damage(r, "vault %s: %s", r->vault, why.text);
    if (*ret_goes_on || why.code == ERR_DAMAGED || why.code == ERR_NOT_FOUND) /* gc removed it */
        return 0;
    *e = why;
    return -1;
}

/* The next pack of the round, unless that is over. */
static int next_pack(struct scrub *s, bool *ret_over, struct err *e)
{
    *ret_over = false;
    if (!s->vaults && packs_vaults(s->packs, &s->vaults, &s->vault_count, e))
        return -1;
    while (s->vault < s->vault_count) {
        if (!s->list && packs_list(s->packs, s->vaults[s->vault], &s->list, &s->count, e))
            return -1;
        if (s->at < s->count)
            return 0;
        free(take(s->list));
        s->at = s->offset = 0;
        s->vault++;
    }
    *ret_over = true;
    return 0;
}

static void end_round(struct scrub *s, int64_t now_us)
{
    free(take(s->vaults));
    s->vault = s->vault_count = 0;
    s->state.rounds++;
    s->state.round_at_us = now_us;
}

int scrub_step(struct scrub *s, uint64_t bytes_max, int64_t now_us,
               void (*tell)(void *arg, const char *what), void *arg, struct err *e)
{
    struct reading r = {.s = s,
                        .left = bytes_max,
                        .before_us = now_us - (int64_t)SCRUB_SETTLE_S * 1000000,
                        .tell = tell,
                        .arg = arg};
    while (r.left > 0) {
        bool is_over, goes_on;
        if (next_pack(s, &is_over, e))
            return err_wrap(e, "scrub");
        if (is_over) {
            end_round(s, now_us);
            return 0;
        }
        r.vault = s->vaults[s->vault];
        if (scrub_pack(&r, &s->list[s->at], &goes_on, e))
            return err_wrap(e, "scrub");
        if (goes_on)
            return 0;
        s->at++;
        s->offset = 0;
    }
    return 0;
}
