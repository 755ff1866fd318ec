/* wide.h -- loops that are compiled twice: for what every processor of its kind has, and for one with
 * wider registers. The compiler makes vectors of them; nothing is written by hand.
 *
 *     BODY int sum(...) { ... }
 *     static int sum_plain(...) { return sum(...); }
 *     WIDE static int sum_wide(...) { return sum(...); }
 *     int x_sum(...) { return is_wide() ? sum_wide(...) : sum_plain(...); }
 *
 * Written out instead of target_clones, which needs a resolver that runs before sanitizers do.
 */
#ifndef MEANING_WIDE_H
#define MEANING_WIDE_H

#include <stdbool.h>

#define BODY static inline __attribute__((always_inline))

#ifdef __x86_64__
#define WIDE __attribute__((target("avx2")))
static inline bool is_wide(void)
{
    return __builtin_cpu_supports("avx2");
}
#else
#define WIDE
static inline bool is_wide(void)
{
    return false;
}
#endif

#endif
