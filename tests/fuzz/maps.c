/* Fuzzes the reader of /proc/self/maps: whatever the text is, every mapping it gives lies in order
 * within itself and its name within the text. */
#include <assert.h>

#include "image/maps.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    struct mapping m;
    int got;
    while ((got = maps_next(&at, end, &m)) == 1) {
        assert(m.start < m.end && at <= end);
        assert(m.name >= (const char *)data && m.name + m.name_len < end);
        (void)maps_is_special(&m);
        if (maps_is_deleted(&m))
            assert(m.name_len >= 10);
    }
    assert(got == -1 || at == end);
    return 0;
}
