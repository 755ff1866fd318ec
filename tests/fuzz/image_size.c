/* Fuzzes the header of an image: whatever it is, it has a size that is not 0 and a type of ours, or nothing is
 * written; and what follows the header changes nothing. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "service/shrink.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct str image = {.ptr = (const char *)data, .len = size};
    uint32_t width = 0, height = 0;
    const char *mime = NULL;
    if (image_size(image, &width, &height, &mime)) {
        assert(width == 0 && height == 0 && !mime);
        return 0;
    }
    assert(width > 0 && height > 0 && strncmp(mime, "image/", 6) == 0);
    uint32_t again_width = 0, again_height = 0;
    const struct str less = {.ptr = image.ptr, .len = size - 1};
    if (image_size(less, &again_width, &again_height, NULL) == 0)
        assert(again_width == width && again_height == height);
    return 0;
}
