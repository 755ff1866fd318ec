/* Fuzzes what the extractor says about a document, line by line: whatever it is, what is taken over is within
 * its limits, has its ends where they should be, and is text. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/utf8.h"
#include "service/extractor.h"

#include "fuzz.h"

static void check(const struct text_chunk *c)
{
    assert(c->len <= CHUNK_TEXT_MAX && strlen(c->text) == c->len);
    assert(utf8_is_valid(c->text, c->len));
    assert(c->place >= PLACE_NONE && c->place <= PLACE_PARAGRAPH && c->first <= c->last);
    assert(!c->label || strlen(c->label) <= CHUNK_LABEL_MAX);
    assert(strlen(c->title) <= CHUNK_LABEL_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    struct extracted t = {0};
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((line ? line : end) - at);
        if (extracted_line(&t, at, len))
            break;
        at += len + (line != NULL);
    }
    for (size_t i = 0; i < t.count; i++)
        check(&t.chunks[i]);
    assert(strlen(t.reason) <= DOC_REASON_MAX);
    extracted_done(&t);
    return 0;
}
