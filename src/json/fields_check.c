/* Single values of fields.h against their limits, and how mistakes are told. */
#include "json/fields_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/closest.h"
#include "base/err.h"
#include "base/scope.h"

enum { NAMES_MAX = 64, PATH_MAX_LEN = 120 };

/* Nesting is that of our tables, not of what a stranger sent. */
static void put_place(const struct place *p, struct buf *out)
{
    if (!p)
        return;
    put_place(p->up, out);
    if (p->name)
        buf_fmt(out, "%s%.40s", out->len ? "." : "", p->name);
    else
        buf_fmt(out, "[%zu]", p->index);
}

int place_bad(const struct place *p, struct err *e, const char *fmt, ...)
{
    char why[sizeof e->text];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    scoped(buf_done) struct buf path = BUF_INIT(PATH_MAX_LEN);
    put_place(p, &path);
    if (path.len == 0)
        return err_set(e, ERR_INVALID, "%s", why);
    return err_set(e, ERR_INVALID, "%s: %s", path.bytes, why);
}

const struct json_field *json_field_find(const struct json_field *table, const char *name,
                                         const struct place *p, struct err *e)
{
    const char *names[NAMES_MAX];
    int count = 0;
    for (const struct json_field *f = table; f->kind; f++) {
        if (strcmp(f->name, name) == 0)
            return f;
        if (count < NAMES_MAX)
            names[count++] = f->name;
    }
    const char *meant = closest_name(name, names, count);
    struct place here = {.up = p, .name = name};
    if (meant)
        (void)place_bad(&here, e, "there is no such field; did you mean %s?", meant);
    else
        (void)place_bad(&here, e, "there is no such field");
    return NULL;
}

void milli_text(int64_t v, char ret[MILLI_TEXT_SIZE])
{
    uint64_t size = v < 0 ? -(uint64_t)v : (uint64_t)v;
    const char *sign = v < 0 ? "-" : "";
    if (size % 1000 == 0) {
        (void)snprintf(ret, MILLI_TEXT_SIZE, "%s%" PRIu64, sign, size / 1000);
        return;
    }
    int len =
        snprintf(ret, MILLI_TEXT_SIZE, "%s%" PRIu64 ".%03d", sign, size / 1000, (int)(size % 1000));
    while (ret[len - 1] == '0')
        ret[--len] = '\0';
}

static void value_text(const struct json_field *f, int64_t v, char ret[MILLI_TEXT_SIZE])
{
    if (f->kind == JF_KIND_MILLI)
        milli_text(v, ret);
    else
        (void)snprintf(ret, MILLI_TEXT_SIZE, "%" PRId64, v);
}

int field_check_value(const struct json_field *f, int64_t v, const struct place *p, struct err *e)
{
    bool is_low = has_min(f) && v < f->min, is_high = f->max != 0 && v > f->max;
    if (!is_low && !is_high)
        return 0;
    char is[MILLI_TEXT_SIZE], min[MILLI_TEXT_SIZE], max[MILLI_TEXT_SIZE];
    value_text(f, v, is);
    value_text(f, f->min, min);
    value_text(f, f->max, max);
    if (f->max == 0)
        return place_bad(p, e, "%s is less than %s", is, min);
    return place_bad(p, e, "%s is not between %s and %s", is, min, max);
}

int field_check_size(const struct json_field *f, size_t size, const char *of_what,
                     const struct place *p, struct err *e)
{
    if (f->max > 0 && size > (uint64_t)f->max)
        return place_bad(p, e, "%zu %s; at most %" PRId64 " are allowed", size, of_what, f->max);
    if (f->min > 0 && size < (uint64_t)f->min)
        return place_bad(p, e, "%zu %s; at least %" PRId64 " needed", size, of_what, f->min);
    return 0;
}

int field_check_item(const struct json_field *f, size_t len, const struct place *p, struct err *e)
{
    if (f->item_max > 0 && len > f->item_max)
        return place_bad(p, e, "%zu bytes; at most %zu are allowed", len, f->item_max);
    return 0;
}

int field_choice(const struct json_field *f, const char *name, const struct place *p, int *ret,
                 struct err *e)
{
    scoped(buf_done) struct buf all = BUF_INIT(160);
    int count = 0;
    for (; f->choices[count]; count++) {
        if (strcmp(f->choices[count], name) == 0) {
            *ret = count;
            return 0;
        }
        buf_fmt(&all, "%s%s", count > 0 ? ", " : "", f->choices[count]);
    }
    const char *meant = closest_name(name, f->choices, count);
    return place_bad(p, e, "'%.40s' is none of %s%s%s%s", name, all.bytes ? all.bytes : "",
                     meant ? "; did you mean " : "", meant ? meant : "", meant ? "?" : "");
}
