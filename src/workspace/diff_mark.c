/* Which lines have to go and which to come (E. Myers, An O(ND) Difference Algorithm and Its Variations,
 * Algorithmica 1, 1986, section 4b).
 *
 * Think of a grid with the lines of `a` along x and those of `b` along y: a step to the right takes a
 * line of `a` away, a step down puts one of `b` in, a diagonal keeps a line that is in both. The way
 * with the fewest steps from the one corner to the other is searched from both ends at once; where the
 * two searches meet, the grid is cut into two smaller ones. Diagonal k is all points with x - y = k, and
 * a search remembers for each how far it got along it: two arrays are all the memory there is.
 *
 * Both parts of a cut need half the steps of the whole, so the stack of grids still to do stays shallow.
 */
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/diff_int.h"

enum { STACK_MAX = 64, NOWHERE = INT32_MIN };

struct grid {
    int32_t x0, x1, y0, y1;
};

struct search {
    const uint32_t *a, *b;
    int32_t *forward,
        *backward; /* x by diagonal; can be asked for k from -len_b - 1 to len_a + 1 */
    uint64_t work; /* steps that are left */
};

struct point {
    int32_t x, y;
};

/* The diagonals a search has been on. */
struct span {
    int32_t low, high;
};

/* One step more on each side; on the edges of the grid the outer diagonals are left again. Every
 * second diagonal is new, the others keep what the step before found. */
static void widen(struct span *s, int32_t least, int32_t most, int32_t *reached)
{
    if (s->low > least)
        reached[--s->low - 1] = NOWHERE;
    else
        s->low++;
    if (s->high < most)
        reached[++s->high + 1] = NOWHERE;
    else
        s->high--;
}

static int32_t step_forward(const struct search *s, const struct grid *g, int32_t k)
{
    int32_t right = s->forward[k - 1], down = s->forward[k + 1];
    right = right == NOWHERE || right >= g->x1 ? NOWHERE : right + 1;
    down = down == NOWHERE || down - k > g->y1 ? NOWHERE : down;
    int32_t x = right > down ? right : down;
    while (x != NOWHERE && x < g->x1 && x - k < g->y1 && s->a[x] == s->b[x - k])
        x++;
    return x;
}

static int32_t step_backward(const struct search *s, const struct grid *g, int32_t k)
{
    int32_t left = s->backward[k + 1], up = s->backward[k - 1];
    left = left == NOWHERE || left <= g->x0 ? NOWHERE : left - 1;
    up = up == NOWHERE || up - k < g->y0 ? NOWHERE : up;
    int32_t x = left == NOWHERE || (up != NOWHERE && up < left) ? up : left;
    while (x != NOWHERE && x > g->x0 && x - k > g->y0 && s->a[x - 1] == s->b[x - k - 1])
        x--;
    return x;
}

static bool pay(struct search *s, uint64_t steps)
{
    if (s->work < steps)
        return false;
    s->work -= steps;
    return true;
}

static bool is_in(const struct span *s, int32_t k)
{
    return s->low <= k && k <= s->high;
}

/* Where the two searches meet; false when the work is used up. */
static bool find_middle(struct search *s, const struct grid *g, struct point *ret)
{
    int32_t least = g->x0 - g->y1, most = g->x1 - g->y0;
    struct span f = {g->x0 - g->y0, g->x0 - g->y0}, b = {g->x1 - g->y1, g->x1 - g->y1};
    bool is_odd = (f.low - b.low) & 1;
    s->forward[f.low] = g->x0;
    s->backward[b.low] = g->x1;
    for (;;) {
        if (!pay(s, (uint64_t)(f.high - f.low + b.high - b.low) + 4))
            return false;
        widen(&f, least, most, s->forward);
        for (int32_t k = f.high; k >= f.low; k -= 2) {
            int32_t x = s->forward[k] = step_forward(s, g, k);
            if (is_odd && is_in(&b, k) && x != NOWHERE && s->backward[k] != NOWHERE &&
                s->backward[k] <= x) {
                *ret = (struct point){x, x - k};
                return true;
            }
        }
        widen(&b, least, most, s->backward);
        for (int32_t k = b.high; k >= b.low; k -= 2) {
            int32_t x = s->backward[k] = step_backward(s, g, k);
            if (!is_odd && is_in(&f, k) && x != NOWHERE && s->forward[k] != NOWHERE &&
                x <= s->forward[k]) {
                *ret = (struct point){x, x - k};
                return true;
            }
        }
    }
}

/* Takes away what is the same at both ends. */
static void trim(const struct search *s, struct grid *g)
{
    while (g->x0 < g->x1 && g->y0 < g->y1 && s->a[g->x0] == s->b[g->y0]) {
        g->x0++;
        g->y0++;
    }
    while (g->x0 < g->x1 && g->y0 < g->y1 && s->a[g->x1 - 1] == s->b[g->y1 - 1]) {
        g->x1--;
        g->y1--;
    }
}

static void mark_all(const struct grid *g, struct diff_lines *a, struct diff_lines *b)
{
    for (int32_t x = g->x0; x < g->x1; x++)
        a->is_changed[x] = true;
    for (int32_t y = g->y0; y < g->y1; y++)
        b->is_changed[y] = true;
}

static void mark(struct search *s, struct diff_lines *a, struct diff_lines *b)
{
    struct grid stack[STACK_MAX];
    size_t depth = 1;
    stack[0] = (struct grid){0, (int32_t)a->count, 0, (int32_t)b->count};
    while (depth > 0) {
        struct grid g = stack[--depth];
        trim(s, &g);
        struct point cut;
        if (g.x0 == g.x1 || g.y0 == g.y1 || depth + 2 > STACK_MAX || !find_middle(s, &g, &cut) ||
            (cut.x == g.x0 && cut.y == g.y0) || (cut.x == g.x1 && cut.y == g.y1)) {
            mark_all(&g, a, b);
            continue;
        }
        stack[depth++] = (struct grid){cut.x, g.x1, cut.y, g.y1};
        stack[depth++] = (struct grid){g.x0, cut.x, g.y0, cut.y};
    }
}

int diff_mark(struct diff_lines *a, struct diff_lines *b, uint64_t work_max, struct err *e)
{
    size_t diagonals = (size_t)a->count + b->count + 3;
    scoped(freep) int32_t *forward = malloc(diagonals * sizeof *forward);
    scoped(freep) int32_t *backward = malloc(diagonals * sizeof *backward);
    if (!forward || !backward)
        return err_set(e, ERR_NO_MEMORY, "compare two texts");
    struct search s = {.a = a->ids,
                       .b = b->ids,
                       .forward = forward + b->count + 1,
                       .backward = backward + b->count + 1,
                       .work = work_max};
    mark(&s, a, b);
    return 0;
}
