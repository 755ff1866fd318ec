/* Fuzzes the reader of weights: what it accepts can be encoded with, whatever the numbers are. The
 * text is the input itself, so that bytes which are no text are read as one, too. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/scope.h"
#include "fuzz.h"
#include "meaning/encoder.h"
#include "meaning/vector.h"
#include "meaning/weights.h"

static void try_text(struct encoder *enc, const struct weights *w, struct str text)
{
    struct err e = {0};
    scoped(freep) float *vector = malloc(w->width * sizeof *vector);
    scoped(freep) int8_t *narrow = malloc(w->width);
    assert(vector && narrow);
    int failed = encoder_text(enc, text, vector, &e);
    assert(!failed);
    for (uint32_t i = 0; i < w->width; i++)
        assert(fabsf(vector[i]) <= 1.001F); /* false for what is no number */
    vector_narrow(vector, w->width, narrow);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct err e = {0};
    struct weights *w = NULL;
    if (weights_read(bytes, len, &w, &e)) {
        assert(e.code == ERR_DAMAGED && e.text[0]);
        return 0;
    }
    scoped(encoder_freep) struct encoder *enc = NULL;
    int failed = encoder_new(w, &enc, &e);
    assert(!failed);
    try_text(enc, w, str_of("ab b\xc3\xa9 a"));
    try_text(enc, w, (struct str){(const char *)bytes, len});
    weights_close(w);
    return 0;
}
