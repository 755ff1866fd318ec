/* Fuzzes tables of fields: whatever is accepted is within its limits and freed once; whatever is
 * refused says where and leaves nothing behind. What begins with a
 * brace is an object, anything else a query. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"
#include "json/fields.h"
#include "json/read.h"

#include "fuzz.h"

struct item {
    const char *path;
    struct str content;
    struct json_texts tags;
};

struct inner {
    int64_t memory_mb, cpu_milli;
};

struct thing {
    const char *code;
    struct str input;
    bool queue, has_queue;
    int64_t count, wait_ms;
    int language;
    unsigned scopes;
    struct json_texts words;
    struct json_pairs env;
    struct inner limits;
    struct json_structs files;
    struct json_t *any;
};

static const char *const languages[] = {"python", "bash", NULL};
static const char *const scopes[] = {"run", "files:read", "admin", NULL};

static const struct json_field item_fields[] = {
    {JF_TEXT(struct item, path), .required = true, .min = 1, .max = 8},
    {JF_STR(struct item, content), .max = 6},
    {JF_TEXTS(struct item, tags), .max = 2, .item_max = 3},
    {0},
};

static const struct json_field inner_fields[] = {
    {JF_INT(struct inner, memory_mb), .min = 32, .max = 1024, .preset = 64},
    {JF_MILLI(struct inner, cpu_milli, "cpu"), .min = 50, .max = 8000, .preset = 1000},
    {0},
};

static const struct json_field fields[] = {
    {JF_TEXT(struct thing, code), .max = 20, .preset_text = "1"},
    {JF_STR(struct thing, input), .max = 10},
    {JF_BOOL(struct thing, queue), .has_at = JF_HAS(struct thing, has_queue)},
    {JF_INT(struct thing, count), .min = -5, .max = 5},
    {JF_MILLI(struct thing, wait_ms, "wait_s"), .max = 60000},
    {JF_CHOICE(struct thing, language, languages)},
    {JF_FLAGS(struct thing, scopes, scopes), .max = 4},
    {JF_TEXTS(struct thing, words), .max = 3, .item_max = 4},
    {JF_PAIRS(struct thing, env), .max = 2, .item_max = 5},
    {JF_OBJECT(struct thing, limits, inner_fields)},
    {JF_OBJECTS(struct thing, files, struct item, item_fields), .max = 2},
    {JF_JSON(struct thing, any)},
    {0},
};

static void check_texts(const struct json_texts *t, size_t count_max, size_t len_max)
{
    assert(t->count <= count_max);
    for (size_t i = 0; i < t->count; i++)
        assert(strlen(t->items[i]) <= len_max);
}

static void check_thing(const struct thing *t)
{
    assert(strlen(t->code) <= 20 && t->input.len <= 10);
    assert(t->count >= -5 && t->count <= 5);
    assert(t->wait_ms >= 0 && t->wait_ms <= 60000);
    assert(t->language == 0 || t->language == 1);
    assert(t->scopes < 8);
    check_texts(&t->words, 3, 4);
    assert(t->env.count <= 2);
    for (size_t i = 0; i < t->env.count; i++)
        assert(strlen(t->env.items[i].name) <= 5 && strlen(t->env.items[i].value) <= 5);
    assert(t->limits.memory_mb >= 32 && t->limits.memory_mb <= 1024);
    assert(t->limits.cpu_milli >= 50 && t->limits.cpu_milli <= 8000);
    assert(t->files.count <= 2);
    const struct item *files = t->files.items;
    for (size_t i = 0; i < t->files.count; i++) {
        assert(strlen(files[i].path) >= 1 && strlen(files[i].path) <= 8);
        assert(files[i].content.len <= 6);
        check_texts(&files[i].tags, 2, 3);
    }
}

static void read_object(const char *text, size_t len)
{
    struct err e = {0};
    json_t *v = NULL;
    if (json_read(text, len, &v, &e))
        return;
    struct thing t;
    if (fields_read(fields, v, &t, &e)) {
        assert((e.code == ERR_INVALID || e.code == ERR_NO_MEMORY) && *e.text);
    } else {
        check_thing(&t);
        fields_done(fields, &t);
    }
    json_decref(v);
}

/* name=value lines. */
static void read_query(char *text)
{
    struct json_pair pairs[8];
    size_t count = 0;
    for (char *line; count < 8 && (line = strsep(&text, "\n"));) {
        char *name = strsep(&line, "=");
        pairs[count++] = (struct json_pair){name, line ? line : ""};
    }
    struct thing t;
    struct err e = {0};
    if (fields_from_pairs(fields, pairs, count, &t, &e)) {
        assert((e.code == ERR_INVALID || e.code == ERR_NO_MEMORY) && *e.text);
        return;
    }
    check_thing(&t);
    fields_done(fields, &t);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    if (len == 0)
        return 0;
    if (bytes[0] == '{') {
        read_object((const char *)bytes, len);
        return 0;
    }
    scoped(freep) char *text = malloc(len + 1);
    if (!text)
        return 0;
    memcpy(text, bytes, len);
    text[len] = '\0';
    read_query(text);
    return 0;
}
