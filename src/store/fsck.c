/* The whole of it, and contents: see fsck.h. */
#include "store/fsck.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/scope.h"
#include "store/fsck_int.h"
#include "store/meta_files.h"

enum { PIECE = 1 << 20 };

void fsck_problem(struct check *k, const char *fmt, ...)
{
    char text[400];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    k->result->problems++;
    if (k->o->tell)
        k->o->tell(k->o->arg, text);
}

/* ---- contents that versions name ---- */

static int read_through(struct check *k, const struct content *content, struct err *e)
{
    scoped(content_closep) struct content_reader *r = NULL;
    scoped(hash_done) struct hash whole = {0};
    uint8_t sha256[HASH_LEN];
    uint64_t at = 0;
    if (content_open(k->o->contents, k->vault, content, &r, e) || hash_init(&whole, e))
        return -1;
    for (size_t len = 1; len > 0; at += len)
        if (content_read(r, at, k->piece, PIECE, &len, e) || hash_add(&whole, k->piece, len, e))
            return -1;
    if (hash_end(&whole, sha256, e))
        return -1;
    if (at != content->size || memcmp(sha256, content->sha256, HASH_LEN) != 0)
        return err_set(e, ERR_DAMAGED, "what is read is not what was written");
    return 0;
}

static int find_row(struct check *k, const uint8_t sha256[HASH_LEN], enum chunk_kind kind,
                    uint64_t raw_len, struct err *e)
{
    struct chunk_key key = {.kind = kind};
    struct chunk_row row;
    memcpy(key.sha256, sha256, HASH_LEN);
    int found = meta_chunk_read(k->meta, k->vault, &key, &row, e);
    if (found < 0)
        return -1;
    if (!found || (kind == CHUNK_DATA && row.raw_len != raw_len) ||
        hash_set_has(&k->gone, sha256, (int)kind))
        return err_set(e, ERR_DAMAGED, "a piece of it is missing");
    if (!fsck_has_pack(k, row.pack))
        return err_set(e, ERR_DAMAGED, "pack %llu, with a piece of it, is missing",
                       (unsigned long long)row.pack);
    return 0;
}

/* Rows were compared with records by then: here it is enough that there are all, in packs that are
 * there. */
static int look_up(struct check *k, const struct content *content, struct err *e)
{
    scoped(freep) uint8_t *bytes = NULL;
    struct recipe recipe;
    if (content_is_whole(content))
        return find_row(k, content->sha256, CHUNK_DATA, content->size, e);
    if (contents_recipe(k->o->contents, k->vault, content, &k->ctx, &bytes, &recipe, e))
        return -1;
    for (uint32_t i = 0; i < recipe.count; i++) {
        struct recipe_piece piece;
        recipe_piece_get(&recipe, i, &piece);
        if (find_row(k, piece.sha256, CHUNK_DATA, piece.len, e))
            return -1;
    }
    return 0;
}

struct naming {
    struct check *k;
    const char *hex, *why;
};

static void name_lost(void *arg, const struct content_name *name)
{
    const struct naming *n = arg;
    n->k->o->lost(n->k->o->arg, &(struct fsck_lost){.workspace = name->workspace,
                                                    .workspace_name = name->workspace_name,
                                                    .path = name->path,
                                                    .version = name->version,
                                                    .is_newest = name->is_newest,
                                                    .is_in_trash = name->is_in_trash,
                                                    .sha256 = n->hex,
                                                    .why = n->why});
}

static void check_content(struct check *k, const struct content *content)
{
    struct err e = {0};
    char hex[HASH_HEX_SIZE];
    int failed = 0;
    if (content->size > 0)
        failed = k->o->is_quick ? look_up(k, content, &e) : read_through(k, content, &e);
    if (!failed) {
        k->result->contents++;
        k->result->content_bytes += content->size;
        return;
    }
    hash_hex(content->sha256, hex);
    fsck_problem(k, "vault %s: content %s of %llu bytes: %s", k->vault, hex,
                 (unsigned long long)content->size, e.text);
    struct naming naming = {k, hex, e.text};
    struct err unnamed = {0};
    if (k->o->lost &&
        meta_content_names(k->meta, k->vault, content->sha256, name_lost, &naming, &unnamed))
        fsck_problem(k, "vault %s: whose content %s was cannot be read: %s", k->vault, hex,
                     unnamed.text);
}

static int check_contents(struct check *k, struct err *e)
{
    scoped(freep) struct content *page = malloc(FSCK_ROWS * sizeof *page);
    size_t count = 0;
    if (!page)
        return err_set(e, ERR_NO_MEMORY, "check contents");
    for (uint8_t after[HASH_LEN], *from = NULL;; from = after) {
        if (meta_content_list(k->meta, k->vault, from, FSCK_ROWS, page, &count, e))
            return -1;
        for (size_t i = 0; i < count; i++)
            check_content(k, &page[i]);
        if (count < FSCK_ROWS)
            return 0;
        memcpy(after, page[count - 1].sha256, HASH_LEN);
    }
}

/* ---- all of it ---- */

static int check_vault(struct check *k, struct err *e)
{
    scoped(freep) struct pack_info *packs = NULL;
    size_t count = 0;
    if (packs_list(k->o->packs, k->vault, &packs, &count, e))
        return -1;
    k->packs = packs;
    k->pack_count = count;
    hash_set_done(&k->gone);
    if (fsck_packs(k, e))
        return -1;
    return k->meta ? check_contents(k, e) : fsck_recipes(k, e);
}

/* A database or a disk that cannot be read is a problem, and the rest is looked at. */
static int tolerate(struct check *k, int failed, struct err *e)
{
    if (!failed || e->code != ERR_DAMAGED)
        return failed;
    fsck_problem(k, "%s", e->text);
    *e = (struct err){0};
    return 0;
}

static int check_vaults(struct check *k, const char (*vaults)[ID_SIZE], size_t count,
                        const char (*known)[ID_SIZE], size_t known_count, struct err *e)
{
    for (size_t i = 0; i < count; i++) {
        bool is_known = false;
        for (size_t n = 0; n < known_count && !is_known; n++)
            is_known = strcmp(vaults[i], known[n]) == 0;
        k->vault = vaults[i];
        if (!is_known && tolerate(k, check_vault(k, e), e))
            return -1;
    }
    return 0;
}

static void tell_problem(void *arg, const char *what)
{
    fsck_problem(arg, "%s", what);
}

/* Vaults of the disk first, then those that only the database knows. */
static int check_all(struct check *k, struct err *e)
{
    scoped(freep) char(*found)[ID_SIZE] = NULL;
    scoped(freep) char(*named)[ID_SIZE] = NULL;
    size_t found_count = 0, named_count = 0;
    if (k->meta && (tolerate(k, meta_check(k->meta, tell_problem, k, e), e) ||
                    tolerate(k, meta_vault_list(k->meta, &named, &named_count, e), e)))
        return -1;
    if (packs_vaults(k->o->packs, &found, &found_count, e))
        return -1;
    return check_vaults(k, found, found_count, NULL, 0, e) ||
                   check_vaults(k, named, named_count, found, found_count, e)
               ? -1
               : 0;
}

int fsck_run(const struct fsck_options *options, struct fsck_result *ret, struct err *e)
{
    struct fsck_result result = {0};
    struct check k = {.o = options,
                      .meta = options->contents ? options->contents->meta : NULL,
                      .result = &result,
                      .piece = malloc(PIECE)};
    int failed = k.piece ? check_all(&k, e) : err_set(e, ERR_NO_MEMORY, "no room to read");
    free(k.piece);
    hash_set_done(&k.gone);
    ZSTD_freeDCtx(k.ctx);
    if (failed)
        return err_wrap(e, "check the store");
    *ret = result;
    return 0;
}
