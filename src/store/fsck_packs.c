/* Packs, and what the database says of them: see fsck.h. */
#include <stdlib.h>
#include <string.h>

#include "base/scope.h"
#include "store/fsck_int.h"
#include "store/hash_set.h"
#include "store/meta_files.h"

typedef unsigned long long number; /* to be printed */

/* ---- records ---- */

struct pack_check {
    struct check *k;
    uint64_t records;
    uint64_t suspects; /* at the end, so far: of a crash, if nothing good follows */
    uint64_t suspect;  /* where the first of them is */
    uint8_t *raw;
    size_t raw_size;
};

static void tell_suspects(struct pack_check *p, uint64_t pack)
{
    if (p->suspects > 0)
        fsck_problem(p->k,
                     "vault %s: pack %llu: %llu records from %llu on are not what was written",
                     p->k->vault, (number)pack, (number)p->suspects, (number)p->suspect);
    p->suspects = 0;
}

static int visit_record(void *arg, const struct chunk_row *row, struct err *e)
{
    struct pack_check *p = arg;
    struct err why = {0};
    p->records++;
    if (p->k->o->is_quick)
        return 0;
    if (row->raw_len > p->raw_size) {
        uint8_t *grown = realloc(p->raw, row->raw_len);
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "check a pack");
        p->raw = grown;
        p->raw_size = row->raw_len;
    }
    if (packs_read_record(p->k->o->packs, p->k->vault, row, &p->k->ctx, p->raw, &why) == 0) {
        tell_suspects(p, row->pack);
        return 0;
    }
    if (!p->k->meta) {
        p->suspect = p->suspects++ ? p->suspect : row->offset;
        return 0;
    }
    /* What nobody names was never acknowledged: a crash leaves such. */
    if (packs_is_named_from(p->k->o->packs, p->k->vault, row->pack, row->offset))
        fsck_problem(p->k, "vault %s: record at %llu: %s", p->k->vault, (number)row->offset,
                     why.text);
    return 0;
}

/* ---- rows ---- */

static bool is_there(struct check *k, const struct pack_info *info, const struct chunk_row *row)
{
    uint8_t head[RECORD_HEAD];
    struct record r;
    struct err why = {0};
    return packs_read(k->o->packs, k->vault, info->number, row->offset, head, sizeof head, &why) ==
               0 &&
           record_decode(head, &r) && r.kind == row->kind && r.stored_len == row->stored_len &&
           r.raw_len == row->raw_len &&
           info->len - row->offset >= (uint64_t)RECORD_HEAD + row->stored_len &&
           (r.kind == CHUNK_RECIPE || memcmp(r.sha256, row->sha256, HASH_LEN) == 0);
}

/* Every row names a record that is there. */
static int check_rows(struct check *k, const struct pack_info *info, struct err *e)
{
    scoped(freep) struct chunk_row *rows = malloc(FSCK_ROWS * sizeof *rows);
    size_t count = FSCK_ROWS;
    uint64_t named = 0;
    if (!rows)
        return err_set(e, ERR_NO_MEMORY, "check a pack");
    for (uint64_t offset = 0; count == FSCK_ROWS;) {
        if (meta_chunk_list(k->meta, k->vault, info->number, offset, FSCK_ROWS, rows, &count, e))
            return -1;
        for (size_t i = 0; i < count; i++) {
            offset = rows[i].offset + 1;
            named += (uint64_t)RECORD_HEAD + rows[i].stored_len;
            if (is_there(k, info, &rows[i]))
                continue;
            if (hash_set_add(&k->gone, rows[i].sha256, (int)rows[i].kind, e))
                return -1;
            fsck_problem(k, "vault %s: pack %llu has no such record at %llu", k->vault,
                         (number)info->number, (number)rows[i].offset);
        }
    }
    k->result->garbage_bytes += info->len > named ? info->len - named : 0;
    return 0;
}

static int compare_infos(const void *a, const void *b)
{
    const struct pack_info *left = a, *right = b;
    return left->number < right->number ? -1 : left->number > right->number;
}

bool fsck_has_pack(const struct check *k, uint64_t pack)
{
    const struct pack_info key = {.number = pack};
    return k->pack_count > 0 &&
           bsearch(&key, k->packs, k->pack_count, sizeof *k->packs, compare_infos);
}

/* Every pack that rows name is there. */
static int check_missing(struct check *k, struct err *e)
{
    scoped(freep) struct pack_use *uses = NULL;
    size_t use_count = 0;
    if (meta_pack_use(k->meta, k->vault, &uses, &use_count, e))
        return -1;
    for (size_t i = 0; i < use_count; i++)
        if (!fsck_has_pack(k, uses[i].pack))
            fsck_problem(k, "vault %s: pack %llu is missing, with %llu records that are named",
                         k->vault, (number)uses[i].pack, (number)uses[i].records);
    return 0;
}

static int check_pack(struct check *k, const struct pack_info *info, struct err *e)
{
    struct pack_check p = {.k = k};
    struct pack_walked walked = {0};
    int failed = packs_walk(k->o->packs, k->vault, info->number, visit_record, &p, &walked, e);
    free(p.raw);
    if (failed)
        return -1;
    if (walked.is_sealed) /* then all of it was synced */
        tell_suspects(&p, info->number);
    if (walked.damaged > 0)
        fsck_problem(k, "vault %s: pack %llu: records are missing in %llu places", k->vault,
                     (number)info->number, (number)walked.damaged);
    k->result->packs++;
    k->result->records += p.records;
    k->result->bytes += info->len;
    return k->meta ? check_rows(k, info, e) : 0;
}

int fsck_packs(struct check *k, struct err *e)
{
    for (size_t i = 0; i < k->pack_count; i++)
        if (check_pack(k, &k->packs[i], e)) {
            if (e->code != ERR_DAMAGED)
                return -1;
            fsck_problem(k, "vault %s: %s", k->vault, e->text);
            *e = (struct err){0};
        }
    return k->meta ? check_missing(k, e) : 0;
}

/* ---- contents that recipes name: from packs alone ---- */

struct recipe_check {
    struct check *k;
    struct hash_set chunks;
    bool is_second; /* chunks are known by now: look at the recipes */
};

static int check_recipe(struct recipe_check *c, const struct chunk_row *row, struct err *e)
{
    struct check *k = c->k;
    struct err why = {0};
    struct recipe recipe;
    scoped(freep) uint8_t *raw = malloc((size_t)row->raw_len + 1);
    uint32_t missing = 0;
    if (!raw)
        return err_set(e, ERR_NO_MEMORY, "check a recipe");
    if (packs_read_record(k->o->packs, k->vault, row, &k->ctx, raw, &why))
        return 0; /* that was told when the pack was checked */
    if (recipe_decode(raw, row->raw_len, &recipe, &why)) {
        fsck_problem(k, "vault %s: pack %llu: recipe at %llu: %s", k->vault, (number)row->pack,
                     (number)row->offset, why.text);
        return 0;
    }
    for (uint32_t i = 0; i < recipe.count; i++) {
        struct recipe_piece piece;
        recipe_piece_get(&recipe, i, &piece);
        missing += !hash_set_has(&c->chunks, piece.sha256, CHUNK_DATA);
    }
    k->result->incomplete += missing > 0;
    k->result->contents += missing == 0;
    k->result->content_bytes += missing == 0 ? recipe.content.size : 0;
    return 0;
}

static int visit_for_recipes(void *arg, const struct chunk_row *row, struct err *e)
{
    struct recipe_check *c = arg;
    if (!c->is_second)
        return row->kind == CHUNK_DATA ? hash_set_add(&c->chunks, row->sha256, CHUNK_DATA, e) : 0;
    return row->kind == CHUNK_RECIPE ? check_recipe(c, row, e) : 0;
}

int fsck_recipes(struct check *k, struct err *e)
{
    struct recipe_check c = {.k = k};
    struct pack_walked ignored;
    int failed = 0;
    for (int pass = 0; pass < 2; pass++) {
        c.is_second = pass == 1;
        for (size_t i = 0; i < k->pack_count && !failed; i++)
            failed = packs_walk(k->o->packs, k->vault, k->packs[i].number, visit_for_recipes, &c,
                                &ignored, e);
    }
    hash_set_done(&c.chunks);
    return failed;
}
