/* config_value.c -- the value of a key: from text, to text, in words. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "daemon/config_int.h"

#define SEPARATORS " \t\r\n,"

static void *field(struct config *c, const struct config_key *k)
{
    return (char *)c + k->at;
}

static const void *const_field(const struct config *c, const struct config_key *k)
{
    return (const char *)c + k->at;
}

static void list_done(struct config_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
    *list = (struct config_list){0};
}

void config_key_done(struct config *c, const struct config_key *k)
{
    if (k->kind == KEY_LIST) {
        list_done(field(c, k));
    } else if (k->kind == KEY_TEXT) {
        char **text = field(c, k);
        free(take(*text));
    }
}

static int out_of_range(const struct config_key *k, const char *text, struct err *e)
{
    scoped(buf_done) struct buf range = BUF_INIT(256);
    config_key_range(k, &range);
    return err_set(e, ERR_INVALID, "%.40s is not in the range %s", text,
                   range.bytes ? range.bytes : "");
}

/* Digits of base eight, with or without a 0 in front. */
static int parse_mode(const char *text, uint64_t *ret, struct err *e)
{
    uint64_t mode = 0;
    size_t len = strspn(text, "01234567");
    if (len == 0 || len > 5 || text[len])
        return err_set(e, ERR_INVALID, "'%.40s' is not a mode such as 0660", text);
    for (const char *p = text; *p; p++)
        mode = mode * 8 + (uint64_t)(*p - '0');
    *ret = mode;
    return 0;
}

static int parse_choice(const struct config_key *k, const char *text, uint64_t *ret, struct err *e)
{
    for (uint64_t i = 0; k->choices[i]; i++)
        if (strcmp(k->choices[i], text) == 0) {
            *ret = i;
            return 0;
        }
    scoped(buf_done) struct buf range = BUF_INIT(256);
    config_key_range(k, &range);
    return err_set(e, ERR_INVALID, "'%.40s' is none of %s", text, range.bytes ? range.bytes : "");
}

static int parse_mb(const char *text, uint64_t *ret, struct err *e)
{
    uint64_t bytes;
    if (parse_size(text, MIB, &bytes, e))
        return -1;
    if (bytes % MIB)
        return err_set(e, ERR_INVALID, "%.40s is not a whole number of MiB", text);
    *ret = bytes / MIB;
    return 0;
}

static int parse_number(const struct config_key *k, const char *text, uint64_t *ret, struct err *e)
{
    switch (k->kind) {
    case KEY_MB: return parse_mb(text, ret, e);
    case KEY_MILLI: return parse_milli(text, ret, e);
    case KEY_BYTES: return parse_size(text, 1, ret, e);
    case KEY_MODE: return parse_mode(text, ret, e);
    case KEY_CHOICE: return parse_choice(k, text, ret, e);
    default: return parse_u64(text, 0, UINT64_MAX, ret, e);
    }
}

static int set_number(struct config *c, const struct config_key *k, const char *text, struct err *e)
{
    uint64_t v;
    if (parse_number(k, text, &v, e))
        return -1;
    if (k->kind != KEY_CHOICE && (v < k->min || v > k->max))
        return out_of_range(k, text, e);
    if (k->kind == KEY_BYTES)
        *(uint64_t *)field(c, k) = v;
    else
        *(uint32_t *)field(c, k) = (uint32_t)v;
    return 0;
}

static int set_text(struct config *c, const struct config_key *k, const char *text, struct err *e)
{
    size_t len = strlen(text);
    if (len < k->min)
        return err_set(e, ERR_INVALID, "a value is missing");
    if (k->check && k->check(text, e))
        return -1;
    if (len > k->max)
        return err_set(e, ERR_INVALID, "longer than %llu characters", (unsigned long long)k->max);
    char *copy = strdup(text);
    if (!copy)
        return err_set(e, ERR_NO_MEMORY, "read the configuration");
    char **at = field(c, k);
    free(*at);
    *at = copy;
    return 0;
}

/* Host names and origins are the same in capitals; addresses have none; a path must keep its. */
static char *copy_item(const char *text, size_t len)
{
    char *item = strndup(text, len);
    bool is_path = len > 5 && strncmp(text, "unix:", 5) == 0;
    for (char *p = item; p && !is_path && *p; p++)
        *p = (char)tolower((unsigned char)*p);
    return item;
}

static int add_item(struct config_list *list, const struct config_key *k, const char *text,
                    size_t len, struct err *e)
{
    if (list->count == k->max)
        return err_set(e, ERR_INVALID, "at most %llu entries", (unsigned long long)k->max);
    scoped(freep) char *item = copy_item(text, len);
    char **grown = item ? realloc(list->items, (list->count + 1) * sizeof *grown) : NULL;
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "read the configuration");
    list->items = grown;
    if (k->check && k->check(item, e))
        return -1;
    list->items[list->count++] = take(item);
    return 0;
}

static int set_list(struct config *c, const struct config_key *k, const char *text, struct err *e)
{
    scoped(list_done) struct config_list list = {0};
    const char *at = strcmp(text, "off") == 0 ? "" : text;
    for (size_t len; at += strspn(at, SEPARATORS), (len = strcspn(at, SEPARATORS)) > 0; at += len)
        if (add_item(&list, k, at, len, e))
            return -1;
    config_key_done(c, k);
    *(struct config_list *)field(c, k) = list;
    list = (struct config_list){0};
    return 0;
}

/* What no value may contain, whatever it is. */
static int check_characters(const struct config_key *k, const char *text, struct err *e)
{
    size_t len = strlen(text);
    if (len > CONFIG_VALUE_MAX)
        return err_set(e, ERR_INVALID, "longer than %d bytes", CONFIG_VALUE_MAX);
    if (*text == '"' || *text == '\'')
        return err_set(e, ERR_INVALID, "leave the quotation marks out");
    if (!utf8_is_valid(text, len))
        return err_set(e, ERR_INVALID, "not UTF-8");
    for (const char *p = text; *p; p++)
        if (((unsigned char)*p < ' ' || *p == 0x7f) && !(k->kind == KEY_LIST && strchr("\t\n", *p)))
            return err_set(e, ERR_INVALID, "contains a control character");
    return 0;
}

int config_key_set(struct config *c, const struct config_key *k, const char *text, struct err *e)
{
    if (check_characters(k, text, e))
        return -1;
    switch (k->kind) {
    case KEY_TEXT: return set_text(c, k, text, e);
    case KEY_LIST: return set_list(c, k, text, e);
    default: return set_number(c, k, text, e);
    }
}

static void put_list(const struct config_list *list, struct buf *out)
{
    for (size_t i = 0; i < list->count; i++)
        buf_fmt(out, "%s%s", i ? ", " : "", list->items[i]);
    if (list->count == 0)
        buf_str(out, "off");
}

static void put_milli(uint64_t v, struct buf *out)
{
    unsigned milli = (unsigned)(v % 1000), places = 3;
    buf_fmt(out, "%" PRIu64, v / 1000);
    for (; milli && milli % 10 == 0; milli /= 10)
        places--;
    if (milli)
        buf_fmt(out, ".%0*u", (int)places, milli);
}

/* 64M rather than 67108864, where it is exactly that. */
static void put_bytes(uint64_t v, struct buf *out)
{
    static const char suffixes[] = " KMG";
    size_t i = 0;
    while (v && v % 1024 == 0 && suffixes[i + 1]) {
        v /= 1024;
        i++;
    }
    buf_fmt(out, i ? "%" PRIu64 "%c" : "%" PRIu64, v, suffixes[i]);
}

static void put_number(const struct config_key *k, uint64_t v, struct buf *out)
{
    switch (k->kind) {
    case KEY_MILLI: put_milli(v, out); break;
    case KEY_BYTES: put_bytes(v, out); break;
    case KEY_MODE: buf_fmt(out, "%04" PRIo64, v); break;
    case KEY_CHOICE: buf_str(out, k->choices[v]); break;
    default: buf_fmt(out, "%" PRIu64, v); break;
    }
}

void config_key_get(const struct config *c, const struct config_key *k, struct buf *out)
{
    const void *at = const_field(c, k);
    if (k->kind == KEY_TEXT)
        buf_str(out, *(char *const *)at);
    else if (k->kind == KEY_LIST)
        put_list(at, out);
    else
        put_number(k, k->kind == KEY_BYTES ? *(const uint64_t *)at : *(const uint32_t *)at, out);
}

void config_key_range(const struct config_key *k, struct buf *out)
{
    if (k->kind == KEY_TEXT) {
        buf_str(out, "text");
    } else if (k->kind == KEY_LIST) {
        buf_str(out, "list");
    } else if (k->kind == KEY_CHOICE) {
        for (size_t i = 0; k->choices[i]; i++)
            buf_fmt(out, "%s%s", i == 0 ? "" : k->choices[i + 1] ? ", " : " or ", k->choices[i]);
    } else {
        put_number(k, k->min, out);
        buf_str(out, " to ");
        put_number(k, k->max, out);
    }
}
