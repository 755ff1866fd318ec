/* Fuzzes what an embeddings endpoint answers. The first two bytes are how many vectors are expected and
 * of how many numbers; the rest is the answer. */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"
#include "meaning/embeddings.h"
#include "meaning/meaning.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    static int8_t vectors[EMBEDDINGS_COUNT_MAX * 256];
    char message[EMBEDDINGS_MESSAGE_SIZE];
    struct err e = {0};
    uint32_t dim = 0;
    if (len < 2)
        return 0;
    const struct str answer = {(const char *)bytes + 2, len - 2};
    if (embeddings_read(answer, bytes[0] % EMBEDDINGS_COUNT_MAX + 1U, bytes[1] + 1U, vectors, &e))
        assert(e.code == ERR_PROTOCOL && e.text[0]);
    if (embeddings_dim(answer, &dim, &e) == 0)
        assert(dim > 0 && dim <= MEANING_DIM_MAX);
    embeddings_message(answer, message);
    assert(strlen(message) < EMBEDDINGS_MESSAGE_SIZE && !strchr(message, '\n'));
    return 0;
}
