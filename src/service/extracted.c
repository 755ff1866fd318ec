/* extracted.c -- what the extractor says about a document: checked in full, piece by piece. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/str.h"
#include "service/extractor.h"
#include "json/read.h"

enum { NUMBER_MAX = 100000000 }; /* of lines, pages, ... */

static void json_done(json_t **o)
{
    json_decref(*o);
}

void extracted_done(struct extracted *t)
{
    for (size_t i = 0; i < t->count; i++)
        free((void *)(uintptr_t)t->chunks[i].text); /* one block with its label and title */
    free(t->chunks);
    *t = (struct extracted){0};
}

static bool number_of(const json_t *o, const char *key, uint32_t *ret)
{
    const json_t *n = json_object_get(o, key);
    json_int_t value = json_integer_value(n);
    if (!json_is_integer(n) || value < 0 || value > NUMBER_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

static bool text_of(const json_t *o, const char *key, size_t max, struct str *ret)
{
    const json_t *s = json_object_get(o, key);
    if (!json_is_string(s) || json_string_length(s) > max)
        return false;
    *ret = (struct str){.ptr = json_string_value(s), .len = json_string_length(s)};
    return memchr(ret->ptr, '\0', ret->len) == NULL;
}

static int make_room(struct extracted *t)
{
    if (t->count < t->room)
        return 0;
    size_t room = t->room ? 2 * t->room : 64;
    struct text_chunk *more = realloc(t->chunks, room * sizeof *more);
    if (!more)
        return -1;
    t->chunks = more;
    t->room = room;
    return 0;
}

/* Text, label and title in one block. */
static int keep(struct extracted *t, struct text_chunk chunk, const struct str texts[3])
{
    char *block = malloc(texts[0].len + texts[1].len + texts[2].len + 3), *at = block;
    if (!block || make_room(t)) {
        free(block);
        return -1;
    }
    for (size_t i = 0; i < 3; i++) {
        memcpy(at, texts[i].ptr, texts[i].len);
        at[texts[i].len] = '\0';
        at += texts[i].len + 1;
    }
    chunk.text = block;
    chunk.len = texts[0].len;
    chunk.label = texts[1].len ? block + texts[0].len + 1 : NULL;
    chunk.title = block + texts[0].len + texts[1].len + 2;
    t->chunks[t->count++] = chunk;
    t->bytes += chunk.len;
    return 0;
}

static int take_piece(struct extracted *t, const json_t *o)
{
    uint32_t place = 0;
    struct text_chunk chunk = {0};
    struct str texts[3];
    if (!number_of(o, "p", &place) || place > PLACE_PARAGRAPH || !number_of(o, "a", &chunk.first) ||
        !number_of(o, "b", &chunk.last) || !number_of(o, "c", &chunk.column) ||
        chunk.last < chunk.first || !text_of(o, "x", CHUNK_TEXT_MAX, &texts[0]) ||
        !text_of(o, "l", CHUNK_LABEL_MAX, &texts[1]) ||
        !text_of(o, "t", CHUNK_LABEL_MAX, &texts[2]))
        return -1;
    if (t->count >= DOC_CHUNKS_MAX || t->bytes + texts[0].len > DOC_TEXT_MAX)
        return -1;
    chunk.place = (enum place)place;
    return keep(t, chunk, texts);
}

/* How it ended: "end", "skip" or "fail". */
static int take_end(struct extracted *t, const json_t *o)
{
    struct str why = STR_NONE;
    if (text_of(o, "end", DOC_REASON_MAX, &why))
        t->state = DOC_READY;
    else if (text_of(o, "skip", DOC_REASON_MAX, &why))
        t->state = DOC_SKIPPED;
    else if (text_of(o, "fail", DOC_REASON_MAX, &why))
        t->state = DOC_FAILED;
    else
        return -1;
    (void)snprintf(t->reason, sizeof t->reason, "%.*s", (int)why.len, why.ptr);
    t->is_over = true;
    return 0;
}

int extracted_line(struct extracted *t, const char *line, size_t len)
{
    struct err ignored = {0};
    scoped(json_done) json_t *o = NULL;
    if (t->is_over || len > EXTRACTOR_LINE_MAX || json_read(line, len, &o, &ignored) ||
        !json_is_object(o))
        return -1;
    return json_object_get(o, "x") ? take_piece(t, o) : take_end(t, o);
}
