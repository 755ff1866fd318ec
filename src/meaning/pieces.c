#include "meaning/pieces.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "meaning/weights.h"

/* The best way to write the text up to a byte: its score, and the last piece of it. */
struct best {
    double score;
    uint32_t from; /* where that piece begins; NOWHERE: there is no way yet */
    uint16_t token;
};

enum { NOWHERE = UINT32_MAX };

/* Pieces that begin with what was read so far: a range of the table, which is sorted. */
struct range {
    uint32_t low, high;
};

/* The first piece of the range whose byte at `at` is not below `byte`. */
static uint32_t first_from(const struct weights *w, struct range r, size_t at, unsigned byte)
{
    while (r.low < r.high) {
        uint32_t middle = r.low + (r.high - r.low) / 2;
        struct str text = w->pieces[middle].text;
        if (text.len <= at || (unsigned char)text.ptr[at] < byte)
            r.low = middle + 1;
        else
            r.high = middle;
    }
    return r.low;
}

static struct range narrow(const struct weights *w, struct range r, size_t at, unsigned char byte)
{
    uint32_t low = first_from(w, r, at, byte);
    return (struct range){low, first_from(w, (struct range){low, r.high}, at, byte + 1U)};
}

/* Offers every piece that begins at `from` to where it ends. Of equals the later one wins. */
static void try_pieces(const struct weights *w, struct str text, size_t from, struct best *best)
{
    struct range r = {0, w->piece_count};
    for (size_t at = 0; from + at < text.len && r.low < r.high; at++) {
        r = narrow(w, r, at, (unsigned char)text.ptr[from + at]);
        if (r.low == r.high)
            return;
        const struct piece *p = &w->pieces[r.low]; /* the shortest stands first */
        struct best *end = &best[from + at + 1];
        double score = best[from].score + (double)p->score;
        if (p->text.len == at + 1 && (end->from == NOWHERE || score >= end->score))
            *end = (struct best){score, (uint32_t)from, (uint16_t)p->number};
    }
}

static bool is_inside(unsigned char byte) /* of a character */
{
    return (byte & 0xC0) == 0x80;
}

/* Fills `best` for every place between two characters. */
static void find_best(const struct weights *w, struct str text, struct best *best)
{
    size_t last = 0; /* where the character before this place begins */
    for (size_t at = 0; at <= text.len; at++) {
        if (at > 0 && at < text.len && is_inside((unsigned char)text.ptr[at]))
            continue;
        if (best[at].from == NOWHERE)
            best[at] = (struct best){best[last].score, (uint32_t)last, PIECE_UNKNOWN};
        if (at < text.len)
            try_pieces(w, text, at, best);
        last = at;
    }
}

/* Turns the chain of pieces around: from[] then leads from front to end. */
static void turn(struct best *best, size_t len)
{
    uint32_t next = NOWHERE;
    for (size_t at = len; at != 0;) {
        uint32_t from = best[at].from;
        best[at].from = next;
        next = (uint32_t)at;
        at = from;
    }
    best[0].from = next;
}

int pieces_cut(const struct weights *w, struct str text, uint16_t *ret, size_t max,
               size_t *ret_count, struct err *e)
{
    scoped(freep) struct best *best = malloc((text.len + 1) * sizeof *best);
    size_t count = 0;
    if (!best)
        return err_set(e, ERR_NO_MEMORY, "cut a text into pieces");
    for (size_t at = 0; at <= text.len; at++)
        best[at] = (struct best){.from = NOWHERE};
    best[0].from = 0;
    find_best(w, text, best);
    turn(best, text.len);
    for (uint32_t at = best[0].from; at != NOWHERE && count < max; at = best[at].from) {
        uint16_t token = best[at].token;
        if (token != PIECE_UNKNOWN || count == 0 || ret[count - 1] != PIECE_UNKNOWN)
            ret[count++] = token;
    }
    *ret_count = count;
    return 0;
}
