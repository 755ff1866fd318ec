/* numbers.h -- numbers in prose and in output, as people and programs write them.
 *
 *     struct number n;
 *     for (size_t at = 0; number_next(text, len, &at, &n);)
 *         ...
 *
 * 1,234.5   -7   $5   12 %   3.2e-4   1.2 million   4.5bn   10ms. What is part of a name (Q3, x_2, report2.csv), of a version
 * (3.11.2), of a date or a time, is no number, nor is an ordinal (1st).
 *
 * Pure: no memory, no locale. Any bytes may come.
 */
#ifndef ASK_NUMBERS_H
#define ASK_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>

struct number {
    size_t start,
        end;      /* bytes: all that was written, with sign, currency, percent sign and scale */
    double value; /* with the scale: 1.2 million is 1200000; 12 % is 12 */
    double unit;  /* of its last digit: of 1.2 million it is 100000 */
    bool is_percent;
    bool is_signed;  /* a minus was written */
    bool is_plain;   /* nothing but digits */
    bool is_scaled;  /* "million", "bn" */
    unsigned digits; /* how many were written */
};

/* The next one at or after *at; moves *at behind it. False: there is none. */
bool number_next(const char *text, size_t len, size_t *at, struct number *ret);

/* Whether `seen`, of an output, is what `said`, of an answer, says: the same when rounded to as many digits, as a percentage of
 * a fraction or the reverse, without its sign. *ret_is_exact: no rounding was needed. */
bool number_is_said(const struct number *said, const struct number *seen, bool *ret_is_exact);

#endif
