/* index_run.c -- the text of a run: its code, and what it printed. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "service/extractor.h"
#include "service/indexer.h"
#include "store/rows.h"
#include "json/read.h"

static void json_done(json_t **o)
{
    json_decref(*o);
}

static int add_chunk(struct extracted *t, enum place place, const char *text, size_t len,
                     uint32_t first, uint32_t last, struct err *e)
{
    scoped(buf_done) struct buf clean = BUF_INIT(4 * CHUNK_TEXT_MAX);
    struct text_chunk *more = realloc(t->chunks, (t->count + 1) * sizeof *more);
    if (!more)
        return err_set(e, ERR_NO_MEMORY, "index a run");
    t->chunks = more;
    utf8_clean(text, len, &clean);
    if (buf_check(&clean, e))
        return -1;
    for (size_t i = 0; i < clean.len; i++)
        if (clean.bytes[i] == '\0')
            clean.bytes[i] = ' ';
    struct text_chunk chunk = {.place = place, .first = first, .last = last};
    chunk.text = buf_take(&clean, &chunk.len);
    if (chunk.len > CHUNK_TEXT_MAX)
        chunk.len = utf8_cut(chunk.text, CHUNK_TEXT_MAX);
    t->chunks[t->count++] = chunk;
    return 0;
}

/* Cuts at ends of lines; a line that is longer is cut anywhere. */
static int add_text(struct extracted *t, enum place place, const char *text, size_t len,
                    struct err *e)
{
    uint32_t first = 1;
    size_t from = 0;
    len = len < INDEXER_RUN_TEXT_MAX ? len : utf8_cut(text, INDEXER_RUN_TEXT_MAX);
    while (from < len) {
        size_t end = from;
        uint32_t lines = 0;
        while (end < len && end - from < CHUNK_TEXT_TARGET) {
            const char *line = memchr(text + end, '\n', len - end);
            size_t next = line ? (size_t)(line + 1 - text) : len;
            if (next - from > CHUNK_TEXT_TARGET && end > from)
                break;
            end = next - from <= CHUNK_TEXT_MAX / 4
                      ? next
                      : from + utf8_cut(text + from, CHUNK_TEXT_TARGET);
            lines += line && end == next;
        }
        if (add_chunk(t, place, text + from, end - from, first, first + (lines ? lines - 1 : 0), e))
            return -1;
        first += lines;
        from = end;
    }
    return 0;
}

static int add_member(struct extracted *t, const json_t *o, const char *key, struct err *e)
{
    const json_t *s = json_object_get(o, key);
    if (!json_is_string(s))
        return 0;
    return add_text(t, PLACE_OUTPUT, json_string_value(s), json_string_length(s), e);
}

static int add_output(struct extracted *t, const struct run_row *run, struct err *e)
{
    struct err ignored = {0}; /* too large for one look: its code is found nevertheless */
    scoped(json_done) json_t *o = NULL;
    if (!run->object || json_read(run->object, run->object_len, &o, &ignored))
        return 0;
    const json_t *error = json_object_get(o, "error");
    return add_member(t, o, "stdout", e) || add_member(t, o, "stderr", e) ||
                   add_member(t, error, "name", e) || add_member(t, error, "message", e)
               ? -1
               : 0;
}

int index_run_text(const struct run_row *run, struct extracted *ret, struct err *e)
{
    struct extracted t = {.state = DOC_READY};
    if ((run->code && add_text(&t, PLACE_CODE, run->code, run->code_len, e)) ||
        add_output(&t, run, e)) {
        extracted_done(&t);
        return -1;
    }
    if (t.count == 0) {
        t.state = DOC_SKIPPED;
        (void)snprintf(t.reason, sizeof t.reason, "there is no text in it");
    }
    *ret = t;
    return 0;
}
