/* weights_fixture.h -- for tests: a file of weights of a few hundred bytes, in memory.
 *
 * Widths are 4 and 8, inside 4, 2 heads, FIXTURE_TOKENS tokens. Cells are small numbers that differ, so
 * that another order of anything gives another result.
 */
#ifndef MEANING_WEIGHTS_FIXTURE_H
#define MEANING_WEIGHTS_FIXTURE_H

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "meaning/weights.h"

enum { FIXTURE_MAX = 32 << 10, FIXTURE_TOKENS = 6, FIXTURE_ROWS = 16 };

struct fixture {
    uint8_t bytes[FIXTURE_MAX];
    size_t len;
    size_t pieces_at, floats_at; /* where the first piece and the first float stand */
    unsigned next;
};

struct fixture_piece {
    const char *text;
    float score;
};

static inline void fixture_align(struct fixture *f)
{
    f->len = (f->len + 63) / 64 * 64;
}

static inline void fixture_f32(uint8_t *at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u32(at, bits);
}

static inline void fixture_floats(struct fixture *f, size_t count)
{
    fixture_align(f);
    assert(f->len + 4 * count <= FIXTURE_MAX);
    for (size_t i = 0; i < count; i++, f->len += 4)
        fixture_f32(f->bytes + f->len, 0.004F * (float)(++f->next % 7 + 1));
}

static inline void fixture_cells(struct fixture *f, size_t count)
{
    fixture_align(f);
    assert(f->len + count <= FIXTURE_MAX);
    for (size_t i = 0; i < count; i++)
        f->bytes[f->len++] = (uint8_t)(++f->next * 37 % 255 - 127);
}

static inline void fixture_matrix(struct fixture *f, size_t in, size_t out)
{
    fixture_floats(f, out);
    fixture_floats(f, out);
    fixture_cells(f, in * out);
}

static inline void fixture_layer(struct fixture *f, size_t width)
{
    fixture_floats(f, width);
    fixture_floats(f, width);
    fixture_matrix(f, width, 3 * width);
    fixture_matrix(f, width, 8);
    fixture_floats(f, 8);
    fixture_floats(f, 8);
    fixture_matrix(f, 8, 4);
    fixture_matrix(f, 4, 8);
}

/* Pieces in order; each has the row after its place. */
static inline void fixture_pieces(struct fixture *f, const struct fixture_piece *p, size_t count)
{
    uint8_t *at = f->bytes + f->len;
    uint32_t text_at = 0;
    char text[1024];
    f->pieces_at = f->len;
    for (size_t i = 0; i < count; i++, at += 12) {
        size_t len = strlen(p[i].text);
        assert(text_at + len <= sizeof text);
        memcpy(text + text_at, p[i].text, len);
        put_u32(at, text_at);
        put_u16(at + 4, (uint16_t)len);
        put_u16(at + 6, (uint16_t)(i + 1));
        fixture_f32(at + 8, p[i].score);
        text_at += (uint32_t)len;
    }
    f->len += 12 * count;
    fixture_align(f);
    memcpy(f->bytes + f->len, text, text_at);
    f->len += text_at;
    put_u32(f->bytes + 36, text_at);
}

static inline struct fixture *fixture_new(const struct fixture_piece *pieces, size_t count)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert(f && count < FIXTURE_ROWS);
    const uint32_t head[] = {(uint32_t)count, FIXTURE_ROWS, 4, 8, 4, 2, FIXTURE_TOKENS};
    memcpy(f->bytes, "CICADAW1", 8);
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        put_u32(f->bytes + 8 + 4 * i, head[i]);
    memcpy(f->bytes + 40, "tiny", 4);
    f->len = 128;
    fixture_pieces(f, pieces, count);
    fixture_align(f);
    f->floats_at = f->len;
    fixture_floats(f, FIXTURE_ROWS);
    fixture_cells(f, FIXTURE_ROWS * 4);
    fixture_floats(f, 2);
    fixture_matrix(f, 4, 8);
    fixture_layer(f, 4);
    fixture_layer(f, 8);
    fixture_matrix(f, 8, 8);
    return f;
}

#endif
