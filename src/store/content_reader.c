/* Reading contents: see contents.h. One chunk is kept unpacked, so that small reads cost one each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "base/scope.h"
#include "store/contents_int.h"

struct content_reader {
    struct contents *contents;
    char vault[ID_SIZE];
    struct content content;
    uint8_t *recipe_bytes; /* NULL: it is one chunk */
    struct recipe recipe;
    uint64_t *starts; /* of the pieces, recipe.count */
    ZSTD_DCtx *ctx;
    uint8_t *chunk; /* the piece `chunk_index`, unpacked; NULL: none */
    uint32_t chunk_index, chunk_len;
};

static int open_recipe(struct content_reader *r, struct err *e)
{
    if (contents_recipe(r->contents, r->vault, &r->content, &r->ctx, &r->recipe_bytes, &r->recipe,
                        e))
        return -1;
    r->starts = malloc(r->recipe.count * sizeof *r->starts);
    if (!r->starts)
        return err_set(e, ERR_NO_MEMORY, "read a content");
    uint64_t start = 0;
    for (uint32_t i = 0; i < r->recipe.count; i++) {
        struct recipe_piece piece;
        recipe_piece_get(&r->recipe, i, &piece);
        r->starts[i] = start;
        start += piece.len;
    }
    return 0;
}

static int load(struct content_reader *r, uint32_t index, struct err *e)
{
    struct chunk_key key = {.kind = CHUNK_DATA};
    struct recipe_piece piece = {.len = (uint32_t)r->content.size};
    memcpy(piece.sha256, r->content.sha256, HASH_LEN);
    if (r->recipe_bytes)
        recipe_piece_get(&r->recipe, index, &piece);
    memcpy(key.sha256, piece.sha256, HASH_LEN);
    uint8_t *chunk = NULL;
    uint32_t len = 0;
    if (contents_fetch(r->contents, r->vault, &key, &r->ctx, &chunk, &len, e)) {
        if (e->code == ERR_NOT_FOUND && r->recipe_bytes)
            return err_set(e, ERR_DAMAGED, "a piece of this content is missing");
        return -1;
    }
    free(r->chunk);
    r->chunk = chunk;
    r->chunk_index = index;
    r->chunk_len = len;
    if (len == piece.len)
        return 0;
    free(take(r->chunk));
    return err_set(e, ERR_DAMAGED, "a piece of this content has the wrong length");
}

int content_open(struct contents *c, const char *vault, const struct content *content,
                 struct content_reader **ret, struct err *e)
{
    struct content_reader *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(e, ERR_NO_MEMORY, "read a content");
    r->contents = c;
    r->content = *content;
    (void)snprintf(r->vault, sizeof r->vault, "%s", vault);
    int failed = 0;
    if (!content_is_whole(content))
        failed = open_recipe(r, e);
    else if (content->size > 0)
        failed = load(r, 0, e);
    if (failed) {
        content_close(r);
        return -1;
    }
    *ret = r;
    return 0;
}

void content_close(struct content_reader *r)
{
    if (!r)
        return;
    ZSTD_freeDCtx(r->ctx);
    free(r->recipe_bytes);
    free(r->starts);
    free(r->chunk);
    free(r);
}

/* The piece in which that byte is. */
static uint32_t piece_at(const struct content_reader *r, uint64_t offset)
{
    if (!r->recipe_bytes)
        return 0;
    uint32_t low = 0, high = r->recipe.count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (r->starts[middle] <= offset)
            low = middle;
        else
            high = middle;
    }
    return low;
}

int content_read(struct content_reader *r, uint64_t offset, void *to, size_t size, size_t *ret_len,
                 struct err *e)
{
    size_t done = 0;
    while (done < size && offset < r->content.size) {
        uint32_t index = piece_at(r, offset);
        if ((!r->chunk || r->chunk_index != index) && load(r, index, e))
            return -1;
        size_t inside = (size_t)(offset - (r->recipe_bytes ? r->starts[index] : 0));
        size_t step = r->chunk_len - inside;
        if (step > size - done)
            step = size - done;
        memcpy((uint8_t *)to + done, r->chunk + inside, step);
        offset += step;
        done += step;
    }
    *ret_len = done;
    return 0;
}
