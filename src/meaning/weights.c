/* weights.c -- the file of weights, byte by byte. Numbers are little-endian, floats IEEE 754,
 * between -1000 and 1000.
 *
 *     offset  bytes
 *          0      8  "CICADAW1"
 *          8      4  P, pieces: 1 to 65535
 *         12      4  R, rows of embeddings: 1 to 65535
 *         16      4  E, width of an embedding     \
 *         20      4  D, width after the first step | multiples of 4, at most 2048
 *         24      4  F, width inside a layer      /
 *         28      4  H, heads: divides E and D
 *         32      4  T, tokens that are looked at: 1 to 512
 *         36      4  B, bytes of all pieces
 *         40     32  name of the model, filled up with NULs, at least one
 *         72     32  SHA-256 of everything from offset 128
 *        104     24  zeros
 *        128         the parts, each at a multiple of 64, with zeros in between:
 *
 *     pieces       P times: offset u32, length u16, row u16, score f32; offsets count from the
 *                  beginning of the next part; in the order of their bytes
 *     their bytes  B bytes of UTF-8
 *     embeddings   f32[R], of each row, to multiply with;  i8[R][E]
 *     timing       f32[E/2], for sine and cosine of a token's position
 *     dense        matrix E to D
 *     layer 0      norm E;  matrix E to 3E;  matrix E to D;  norm D;  matrix D to F;  matrix F to D
 *     layer 1      norm D;  matrix D to 3D;  matrix D to D;  norm D;  matrix D to F;  matrix F to D
 *     last         matrix D to D
 *
 * A norm of width n is f32[n], to multiply with, and f32[n], to add. A matrix from n to m is f32[m],
 * to multiply with, f32[m], to add, and i8[m][n]. Each of these arrays is a part. The file ends with
 * the last one.
 */
#include "meaning/weights.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/utf8.h"

enum {
    HEAD_SIZE = 128,
    NAME_AT = 40,
    SUM_AT = 72,
    ZEROS_AT = 104,
    PART_ALIGN = 64,
    PIECE_SIZE = 12,
};

/* No number is larger, so that nothing that is computed with them leaves what a float can be. */
#define FLOAT_MOST 1000.0F

static const char magic[8] = "CICADAW1";

/* Where in the file we are. Once something is missing, everything is. */
struct cursor {
    struct weights *w;
    const uint8_t *bytes;
    size_t len, at;
    bool is_short, is_odd; /* it ended; a float is none or too large */
};

/* The next part, `count` times `size` bytes; NULL when the file ends before. */
static const uint8_t *cut(struct cursor *c, size_t count, size_t size)
{
    size_t at = (c->at + PART_ALIGN - 1) / PART_ALIGN * PART_ALIGN, len;
    if (c->is_short || __builtin_mul_overflow(count, size, &len) || at > c->len ||
        len > c->len - at) {
        c->is_short = true;
        return NULL;
    }
    c->at = at + len;
    return c->bytes + at;
}

static float get_f32(const uint8_t *at)
{
    uint32_t bits = get_u32(at);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Copies a part of floats; there is room for all of them. */
static const float *cut_floats(struct cursor *c, size_t count)
{
    const uint8_t *from = cut(c, count, 4);
    float *to = c->w->floats + c->w->float_count;
    if (!from)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        to[i] = get_f32(from + 4 * i);
        c->is_odd |= !(fabsf(to[i]) <= FLOAT_MOST);
    }
    c->w->float_count += count;
    return to;
}

static struct norm cut_norm(struct cursor *c, uint32_t width)
{
    struct norm n = {.width = width, .scale = cut_floats(c, width)};
    n.bias = cut_floats(c, width);
    return n;
}

static struct matrix cut_matrix(struct cursor *c, uint32_t in, uint32_t out)
{
    struct matrix m = {.in = in, .out = out, .scale = cut_floats(c, out)};
    m.bias = cut_floats(c, out);
    m.cells = (const int8_t *)cut(c, (size_t)in * out, 1);
    return m;
}

static struct layer cut_layer(struct cursor *c, uint32_t width)
{
    const struct weights *w = c->w;
    struct layer l = {.width = width, .before = cut_norm(c, width)};
    l.qkv = cut_matrix(c, width, 3 * width);
    l.out = cut_matrix(c, width, w->width);
    l.between = cut_norm(c, w->width);
    l.grow = cut_matrix(c, w->width, w->inner_width);
    l.shrink = cut_matrix(c, w->inner_width, w->width);
    return l;
}

static int damaged(struct err *e, const char *why)
{
    return err_set(e, ERR_DAMAGED, "not a file of weights: %s", why);
}

static bool is_width(uint32_t n)
{
    return n > 0 && n % 4 == 0 && n <= WEIGHTS_WIDTH_MAX;
}

static bool are_zeros(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i])
            return false;
    return true;
}

static int read_head(const uint8_t *b, size_t len, struct weights *w, struct err *e)
{
    if (len < HEAD_SIZE || memcmp(b, magic, sizeof magic) != 0)
        return damaged(e, "it begins otherwise");
    w->piece_count = get_u32(b + 8);
    w->row_count = get_u32(b + 12);
    w->first_width = get_u32(b + 16);
    w->width = get_u32(b + 20);
    w->inner_width = get_u32(b + 24);
    w->heads = get_u32(b + 28);
    w->tokens_max = get_u32(b + 32);
    memcpy(w->name, b + NAME_AT, WEIGHTS_NAME_SIZE);
    bool is_good = w->piece_count && w->piece_count <= WEIGHTS_PIECES_MAX && w->row_count &&
                   w->row_count <= WEIGHTS_PIECES_MAX && is_width(w->first_width) &&
                   is_width(w->width) && is_width(w->inner_width) && w->heads &&
                   w->first_width % w->heads == 0 && w->width % w->heads == 0 && w->tokens_max &&
                   w->tokens_max <= WEIGHTS_TOKENS_MAX && w->name[0] &&
                   !w->name[WEIGHTS_NAME_SIZE - 1] && utf8_is_valid(w->name, strlen(w->name)) &&
                   are_zeros(b + ZEROS_AT, HEAD_SIZE - ZEROS_AT);
    return is_good ? 0 : damaged(e, "a number in its head is impossible");
}

/* How many floats the parts hold together. */
static size_t count_floats(const struct weights *w)
{
    size_t e = w->first_width, d = w->width, f = w->inner_width;
    size_t first = 2 * e + 2 * 3 * e + 2 * d + 2 * d + 2 * f + 2 * d;
    size_t second = 2 * d + 2 * 3 * d + 2 * d + 2 * d + 2 * f + 2 * d;
    return w->row_count + e / 2 + 2 * d + first + second + 2 * d;
}

static int compare(struct str a, struct str b)
{
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static bool is_piece(const struct weights *w, uint32_t i)
{
    const struct piece *p = &w->pieces[i];
    return p->text.len > 0 && p->number < w->row_count && fabsf(p->score) <= FLOAT_MOST &&
           utf8_is_valid(p->text.ptr, p->text.len) && (i == 0 || compare(p[-1].text, p->text) < 0);
}

static int read_pieces(struct cursor *c, uint32_t text_len, struct err *e)
{
    struct weights *w = c->w;
    const uint8_t *table = cut(c, w->piece_count, PIECE_SIZE);
    const char *text = (const char *)cut(c, text_len, 1);
    if (!table || !text)
        return damaged(e, "it ends too early");
    w->pieces = calloc(w->piece_count, sizeof *w->pieces);
    if (!w->pieces)
        return err_set(e, ERR_NO_MEMORY, "read weights");
    for (uint32_t i = 0; i < w->piece_count; i++, table += PIECE_SIZE) {
        uint32_t at = get_u32(table), len = get_u16(table + 4);
        if (at > text_len || len > text_len - at)
            return damaged(e, "a piece lies outside of it");
        w->pieces[i] = (struct piece){{text + at, len}, get_f32(table + 8), get_u16(table + 6)};
        if (!is_piece(w, i))
            return damaged(e, "a piece is impossible or out of order");
        if (len > w->piece_len_max)
            w->piece_len_max = len;
    }
    return 0;
}

static int read_parts(struct cursor *c, struct err *e)
{
    struct weights *w = c->w;
    w->row_scale = cut_floats(c, w->row_count);
    w->rows = (const int8_t *)cut(c, (size_t)w->row_count * w->first_width, 1);
    w->timing = cut_floats(c, w->first_width / 2);
    w->dense = cut_matrix(c, w->first_width, w->width);
    w->layers[0] = cut_layer(c, w->first_width);
    w->layers[1] = cut_layer(c, w->width);
    w->last = cut_matrix(c, w->width, w->width);
    if (c->is_short)
        return damaged(e, "it ends too early");
    if (c->at != c->len)
        return damaged(e, "something follows its end");
    return c->is_odd ? damaged(e, "a number in it is impossible") : 0;
}

static int read_all(const uint8_t *bytes, size_t len, struct weights *w, struct err *e)
{
    struct cursor c = {.w = w, .bytes = bytes, .len = len, .at = HEAD_SIZE};
    if (read_head(bytes, len, w, e))
        return -1;
    size_t count = count_floats(w);
    if (count == 0 || count > len / 4)
        return damaged(e, "it ends too early");
    w->floats = calloc(count, sizeof *w->floats);
    if (!w->floats)
        return err_set(e, ERR_NO_MEMORY, "read weights");
    return read_pieces(&c, get_u32(bytes + 36), e) || read_parts(&c, e) ? -1 : 0;
}

int weights_read(const uint8_t *bytes, size_t len, struct weights **ret, struct err *e)
{
    struct weights *w = calloc(1, sizeof *w);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "read weights");
    if (read_all(bytes, len, w, e)) {
        weights_close(w);
        return -1;
    }
    *ret = w;
    return 0;
}

static int check_sum(const uint8_t *bytes, size_t len, struct err *e)
{
    scoped(hash_done) struct hash h = {0};
    uint8_t sum[HASH_LEN];
    if (len < HEAD_SIZE)
        return damaged(e, "it is too short");
    if (hash_init(&h, e) || hash_add(&h, bytes + HEAD_SIZE, len - HEAD_SIZE, e) ||
        hash_end(&h, sum, e))
        return -1;
    return memcmp(sum, bytes + SUM_AT, HASH_LEN) == 0 ? 0 : damaged(e, "its sum is wrong");
}

static int map(const char *path, const uint8_t **ret, size_t *ret_len, struct err *e)
{
    struct stat st;
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "open the file of weights");
    if (!S_ISREG(st.st_mode) || st.st_size < HEAD_SIZE || st.st_size > WEIGHTS_FILE_MAX)
        return damaged(e, "its size is impossible");
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return err_sys(e, errno, "map the file of weights");
    *ret = at;
    *ret_len = (size_t)st.st_size;
    return 0;
}

int weights_open(const char *path, struct weights **ret, struct err *e)
{
    const uint8_t *bytes = NULL;
    size_t len = 0;
    struct weights *w = NULL;
    if (map(path, &bytes, &len, e))
        return -1;
    if (check_sum(bytes, len, e) || weights_read(bytes, len, &w, e)) {
        (void)munmap((void *)bytes, len);
        return -1;
    }
    assert(w);
    w->mapped = bytes;
    w->mapped_len = len;
    *ret = w;
    return 0;
}

void weights_close(struct weights *w)
{
    if (!w)
        return;
    if (w->mapped)
        (void)munmap((void *)w->mapped, w->mapped_len);
    free(w->floats);
    free(w->pieces);
    free(w);
}
