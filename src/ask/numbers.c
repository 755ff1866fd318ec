#include "ask/numbers.h"

#include <math.h>
#include <string.h>

enum { EXPONENT_MAX = 300, DIGITS_MAX = 400 };

#define LARGEST 1e100

/* What is being read: a text, and how far. */
struct reader {
    const char *text;
    size_t len, at;
};

static char at(const struct reader *r, size_t where)
{
    return where < r->len ? r->text[where] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Whether that text stands there. */
static bool is_at(const struct reader *r, size_t where, const char *word)
{
    size_t len = strlen(word);
    return where <= r->len && r->len - where >= len && memcmp(r->text + where, word, len) == 0;
}

/* ---- the digits ---- */

static double power_of_ten(int exponent)
{
    double v = 1;
    for (int i = 0; i < exponent && i < EXPONENT_MAX; i++)
        v *= 10;
    return v;
}

static double scaled(double v, int exponent)
{
    return exponent >= 0 ? v * power_of_ten(exponent) : v / power_of_ten(-exponent);
}

static bool is_group(const struct reader *r, size_t where)
{
    return is_digit(at(r, where)) && is_digit(at(r, where + 1)) && is_digit(at(r, where + 2)) &&
           !is_digit(at(r, where + 3));
}

/* Bytes of a separator of thousands, with a group of three behind it; 0: there is none. */
static size_t separator(const struct reader *r, size_t digits)
{
    static const char *const all[] = {",", "_", "'", "\xe2\x80\xaf", "\xc2\xa0", "\xe2\x80\x89"};
    for (size_t i = 0; digits <= 3 && i < sizeof all / sizeof *all; i++)
        if (is_at(r, r->at, all[i]) && is_group(r, r->at + strlen(all[i])))
            return strlen(all[i]);
    return 0;
}

static void take_digit(struct reader *r, struct number *n, double *mantissa)
{
    *mantissa = *mantissa * 10 + (r->text[r->at++] - '0');
    n->digits++;
}

/* The digits before the point. */
static void take_whole(struct reader *r, struct number *n, double *mantissa)
{
    size_t run = 0;
    for (;;) {
        for (; is_digit(at(r, r->at)) && n->digits < DIGITS_MAX; run++)
            take_digit(r, n, mantissa);
        size_t skip = run > 0 ? separator(r, run) : 0;
        if (!skip)
            return;
        n->is_plain = false;
        r->at += skip;
        run = 0;
    }
}

static int take_exponent(struct reader *r)
{
    size_t where = r->at + 1;
    bool is_minus = at(r, where) == '-';
    int v = 0;
    if (at(r, r->at) != 'e' && at(r, r->at) != 'E')
        return 0;
    if (is_minus || at(r, where) == '+')
        where++;
    if (!is_digit(at(r, where)))
        return 0;
    for (; is_digit(at(r, where)); where++)
        v = v < EXPONENT_MAX ? v * 10 + (at(r, where) - '0') : v;
    r->at = where;
    return is_minus ? -v : v;
}

/* Digits, point, exponent. */
static void take_value(struct reader *r, struct number *n)
{
    double mantissa = 0;
    int places = 0;
    take_whole(r, n, &mantissa);
    if (at(r, r->at) == '.' && is_digit(at(r, r->at + 1))) {
        n->is_plain = false;
        for (r->at++; is_digit(at(r, r->at)) && n->digits < DIGITS_MAX; places++)
            take_digit(r, n, &mantissa);
    }
    size_t before = r->at;
    int exponent = take_exponent(r);
    n->is_plain = n->is_plain && r->at == before;
    n->value = scaled(mantissa, exponent - places);
    n->unit = scaled(1, exponent - places);
}

/* ---- what stands around it ---- */

static bool is_currency(const struct reader *r, size_t where, size_t *ret_len)
{
    static const char *const all[] = {"$", "\xe2\x82\xac", "\xc2\xa3", "\xc2\xa5"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_at(r, where, all[i])) {
            *ret_len = strlen(all[i]);
            return true;
        }
    return false;
}

/* Moves n->start before a sign and a currency. */
static void take_front(const struct reader *r, struct number *n)
{
    size_t len = 0;
    for (size_t back = 1; back <= 3 && back <= n->start; back++)
        if (is_currency(r, n->start - back, &len) && len == back) {
            n->start -= back;
            n->is_plain = false;
            break;
        }
    bool is_ascii = n->start > 0 && r->text[n->start - 1] == '-';
    bool is_minus = n->start > 2 && is_at(r, n->start - 3, "\xe2\x88\x92");
    size_t sign = is_ascii ? 1 : is_minus ? 3 : 0;
    char before = n->start > sign ? r->text[n->start - sign - 1] : ' ';
    if (!sign || is_digit(before) || is_letter(before) || before == ')')
        return; /* a range such as 5-10, or a name */
    n->start -= sign;
    n->is_signed = true;
    n->value = -n->value;
}

struct scale {
    const char *word;
    double factor;
};

static const struct scale scales[] = {
    {"thousand", 1e3}, {"million", 1e6}, {"billion", 1e9}, {"trillion", 1e12},
    {"mn", 1e6},       {"bn", 1e9},      {"tn", 1e12},     {"k", 1e3},
    {"K", 1e3},        {"M", 1e6},       {"B", 1e9},
};

/* A percent sign, or a word that makes it larger, perhaps after a blank. */
static void take_back(struct reader *r, struct number *n)
{
    size_t where = r->at;
    if (is_at(r, where, "\xc2\xa0") || is_at(r, where, "\xe2\x80\xaf"))
        where += is_at(r, where, "\xc2\xa0") ? 2 : 3;
    else if (at(r, where) == ' ')
        where++;
    if (at(r, where) == '%' || is_at(r, where, "percent")) {
        n->is_percent = true;
        n->is_plain = false;
        r->at = where + (at(r, where) == '%' ? 1 : 7);
        return;
    }
    for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
        size_t len = strlen(scales[i].word);
        bool is_word = is_at(r, where, scales[i].word) && !is_letter(at(r, where + len)) &&
                       !is_digit(at(r, where + len));
        if (!is_word || (len == 1 && where != r->at))
            continue;
        n->value *= scales[i].factor;
        n->unit *= scales[i].factor;
        n->is_scaled = true;
        n->is_plain = false;
        r->at = where + len;
        return;
    }
}

/* ---- what is none ---- */

static bool is_name_before(const struct reader *r, size_t start)
{
    char c = start > 0 ? r->text[start - 1] : ' ';
    char d = start > 1 ? r->text[start - 2] : ' ';
    if (is_letter(c) || c == '_' || c == '/' || c == '#' || c == '@' || (unsigned char)c == 0xff)
        return true;
    if (c == '-' && (is_letter(d) || d == '_'))
        return true; /* utf-8, gpt-4 */
    return (c == '.' || c == ':') && is_digit(d);
}

static bool is_ordinal(const struct reader *r)
{
    static const char *const all[] = {"st", "nd", "rd", "th"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (is_at(r, r->at, all[i]) && !is_letter(at(r, r->at + 2)))
            return true;
    return false;
}

/* 3.11.2, 2024.csv, 12:30, 2026-07-01, 07/2026, 0x1f, 2d_plot */
static bool is_name_after(const struct reader *r, const struct number *n)
{
    char c = at(r, r->at), d = at(r, r->at + 1);
    if (c == '_' || is_ordinal(r))
        return true;
    if ((c == '.' || c == ':' || c == '/') && (is_digit(d) || (c == '.' && is_letter(d))))
        return true;
    if (c == '-' && n->is_plain && n->digits == 4 && is_digit(d))
        return is_digit(at(r, r->at + 2)) && at(r, r->at + 3) == '-';
    return n->value == 0 && n->digits == 1 && (c == 'x' || c == 'X' || c == 'b' || c == 'o') &&
           (is_digit(d) || is_letter(d));
}

/* Moves on to where a word ends that is no number. */
static void skip_word(struct reader *r)
{
    for (char c = at(r, r->at); is_letter(c) || is_digit(c) || (c && strchr("_.-:/", c));
         c = at(r, r->at)) {
        bool is_joint = !is_letter(c) && !is_digit(c) && c != '_';
        char next = at(r, r->at + 1);
        if (is_joint && !is_letter(next) && !is_digit(next))
            return;
        r->at++;
    }
}

bool number_next(const char *text, size_t len, size_t *where, struct number *ret)
{
    struct reader r = {text, len, *where};
    while (r.at < r.len) {
        if (!is_digit(text[r.at])) {
            r.at++;
            continue;
        }
        struct number n = {.start = r.at, .is_plain = true};
        bool is_name = is_name_before(&r, n.start);
        take_value(&r, &n);
        if (is_name || is_name_after(&r, &n)) {
            skip_word(&r);
            continue;
        }
        take_front(&r, &n);
        take_back(&r, &n);
        if (!(fabs(n.value) < LARGEST)) /* no quantity of anything */
            continue;
        n.end = r.at;
        *where = r.at;
        *ret = n;
        return true;
    }
    *where = r.at;
    return false;
}
