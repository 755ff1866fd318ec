/* numbers_said.c -- whether a number of an output is the one that an answer says. */
#include <math.h>

#include "ask/numbers.h"

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

static bool fits(const struct number *said, double seen, bool *ret_is_exact)
{
    double v = said->value;
    if (!said->is_signed)
        seen = fabs(seen);
    *ret_is_exact = is_near(v, seen);
    if (*ret_is_exact)
        return true;
    /* A small whole number is rarely a rounded one, and nearly every output has something near it. */
    bool is_small = said->is_plain && fabs(v) < 10;
    return !is_small && fabs(v - seen) <= said->unit * 0.5 * (1 + 1e-9);
}

bool number_is_said(const struct number *said, const struct number *seen, bool *ret_is_exact)
{
    if (fits(said, seen->value, ret_is_exact))
        return true;
    if (said->is_percent && !seen->is_percent)
        return fits(said, seen->value * 100, ret_is_exact);
    if (seen->is_percent && !said->is_percent)
        return fits(said, seen->value / 100, ret_is_exact);
    return false;
}
