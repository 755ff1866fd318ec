#include "cli/eval_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/eval_regex.h"
#include "cli/eval_tasks.h"
#include "cli/note.h"

enum { NUMBER_SIZE = 64, SHOWN_NUMBERS = 5, SHOWN_TEXT = 80 };

/* ---- numbers in a text ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct digits {
    char text[NUMBER_SIZE];
    size_t len;
};

/* A number that is too long to be kept is cut: nobody expects it. */
static void add(struct digits *d, char c)
{
    if (d->len < NUMBER_SIZE - 1)
        d->text[d->len++] = c;
}

/* Three digits, and no fourth. */
static bool is_group(const char *at)
{
    return is_digit(at[0]) && is_digit(at[1]) && is_digit(at[2]) && !is_digit(at[3]);
}

/* Digits, with commas between thousands. */
static const char *take_whole(const char *at, struct digits *d)
{
    const char *begin = at;
    for (; is_digit(*at); at++)
        add(d, *at);
    if (at == begin || at - begin > 3)
        return at;
    while (*at == ',' && is_group(at + 1)) {
        add(d, at[1]);
        add(d, at[2]);
        add(d, at[3]);
        at += 4;
    }
    return at;
}

static const char *take_rest(const char *at, struct digits *d)
{
    if (*at == '.' && is_digit(at[1])) {
        add(d, *at++);
        for (; is_digit(*at); at++)
            add(d, *at);
    }
    if (*at == 'e' || *at == 'E') {
        bool is_signed = at[1] == '-' || at[1] == '+';
        if (!is_digit(at[1 + is_signed]))
            return at;
        add(d, *at++);
        if (is_signed)
            add(d, *at++);
        for (; is_digit(*at); at++)
            add(d, *at);
    }
    return at;
}

/* A minus before a number: the one of ASCII or that of typesetters, and not the hyphen of a word. */
static bool is_minus(const char *text, const char *at)
{
    static const char minus[] = "\xe2\x88\x92";
    size_t back = (size_t)(at - text);
    if (back >= 3 && memcmp(at - 3, minus, 3) == 0)
        return true;
    if (back < 1 || at[-1] != '-')
        return false;
    char before = back >= 2 ? at[-2] : ' ';
    return !(before >= 'a' && before <= 'z') && !(before >= 'A' && before <= 'Z');
}

bool next_number(const char **at, double *ret)
{
    const char *text = *at, *p = text;
    while (*p && !is_digit(*p) && !(*p == '.' && is_digit(p[1])))
        p++;
    if (!*p)
        return false;
    struct digits d = {0};
    if (is_minus(text, p))
        add(&d, '-');
    p = take_rest(take_whole(p, &d), &d);
    d.text[d.len] = '\0';
    *ret = strtod(d.text, NULL);
    *at = p + (*p == '-'); /* of 3-4, which is no minus */
    return true;
}

/* ---- expectations ---- */

/* Printed and read again, a number is not always the same to its last bit. */
static bool is_near(double got, double wanted, double tolerance)
{
    return fabs(got - wanted) <= tolerance + 1e-9 * fabs(wanted);
}

static bool fits_number(const struct task *t, const char *answer, struct buf *why)
{
    scoped(buf_done) struct buf others = BUF_INIT(1024);
    double got;
    size_t count = 0;
    for (const char *at = answer; next_number(&at, &got);) {
        if (is_near(got, t->number, t->tolerance))
            return true;
        if (count++ < SHOWN_NUMBERS)
            buf_fmt(&others, "%s%.12g", count > 1 ? ", " : "", got);
    }
    buf_fmt(why, "expected %.12g", t->number);
    if (t->tolerance > 0)
        buf_fmt(why, " within %.6g", t->tolerance);
    if (count == 0)
        buf_str(why, "; the answer has no number");
    else
        buf_fmt(why, "; the answer has %s%s", others.bytes ? others.bytes : "",
                count > SHOWN_NUMBERS ? " and others" : "");
    return false;
}

static void quote(struct buf *to, const char *text, size_t len)
{
    buf_str(to, "\"");
    printable(text, len < SHOWN_TEXT ? len : SHOWN_TEXT, to);
    buf_str(to, len < SHOWN_TEXT ? "\"" : "...\"");
}

/* Without the blanks around it. */
static const char *trimmed(const char *text, size_t *ret_len)
{
    static const char blanks[] = " \t\r\n";
    text += strspn(text, blanks);
    size_t len = strlen(text);
    while (len > 0 && strchr(blanks, text[len - 1]))
        len--;
    *ret_len = len;
    return text;
}

static bool fits_text(const struct task *t, const char *answer, struct buf *why)
{
    size_t wanted_len, got_len;
    const char *wanted = trimmed(t->text, &wanted_len), *got = trimmed(answer, &got_len);
    if (wanted_len == got_len && memcmp(wanted, got, got_len) == 0)
        return true;
    buf_str(why, "expected ");
    quote(why, wanted, wanted_len);
    buf_str(why, "; the answer is ");
    quote(why, got, got_len);
    return false;
}

static bool fits_parts(const struct task *t, const char *answer, struct buf *why)
{
    size_t missing = 0;
    for (size_t i = 0; i < json_array_size(t->parts); i++) {
        const char *part = json_string_value(json_array_get(t->parts, i));
        if (strcasestr(answer, part))
            continue;
        buf_str(why, missing++ ? ", " : "not in the answer: ");
        quote(why, part, strlen(part));
    }
    return missing == 0;
}

static int fits_regex(const struct task *t, const char *answer, bool *ret, struct buf *why,
                      struct err *e)
{
    scoped(pattern_freep) struct pattern *p = NULL;
    if (pattern_new(t->text, &p, e))
        return -1;
    int fits = pattern_fits(p, answer, strlen(answer), e);
    if (fits == 0) {
        buf_str(why, "nothing in the answer fits ");
        quote(why, t->text, strlen(t->text));
    }
    *ret = fits == 1;
    return fits < 0 ? -1 : 0;
}

static bool fits_file(const struct task *t, const char *sha256, struct buf *why)
{
    if (!sha256)
        buf_fmt(why, "there is no file %s", t->text);
    else if (t->sha256 && strcmp(t->sha256, sha256) != 0)
        buf_fmt(why, "the file %s is another: its SHA-256 is %.64s", t->text, sha256);
    else
        return true;
    return false;
}

int check_answer(const struct task *t, const char *answer, const char *sha256, bool *ret_is_solved,
                 struct buf *why, struct err *e)
{
    switch (t->kind) {
    case TASK_NUMBER: *ret_is_solved = fits_number(t, answer, why); break;
    case TASK_TEXT: *ret_is_solved = fits_text(t, answer, why); break;
    case TASK_CONTAINS: *ret_is_solved = fits_parts(t, answer, why); break;
    case TASK_REGEX: return fits_regex(t, answer, ret_is_solved, why, e);
    case TASK_FILE: *ret_is_solved = fits_file(t, sha256, why); break;
    }
    return 0;
}
