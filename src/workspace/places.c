#include "workspace/places.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "base/err.h"
#include "base/footprint.h"
#include "base/scope.h"

enum { OPEN_DIR = O_RDONLY | O_DIRECTORY | O_CLOEXEC };

const char *const place_names[PLACE_COUNT] = {"images", "sleepers", "checkouts",
                                              "live",   "uploads",  "tmp"};

int places_measure(int data_fd, const char *images_path, const atomic_bool *stops,
                   uint64_t ret[PLACE_COUNT], struct err *e)
{
    scoped(footprint_done) struct footprint f = {.stops = stops};
    uint64_t bytes[PLACE_COUNT] = {0};
    for (enum place i = 0; i < PLACE_COUNT; i++) {
        bool is_elsewhere = i == PLACE_IMAGES;
        if (is_elsewhere && !images_path)
            continue;
        scoped(fd_closep) int fd = is_elsewhere
                                       ? open(images_path, OPEN_DIR)
                                       : openat(data_fd, place_names[i], OPEN_DIR | O_NOFOLLOW);
        if (fd >= 0 && footprint_add(&f, fd, &bytes[i], e))
            return -1;
    }
    for (enum place i = 0; i < PLACE_COUNT; i++)
        ret[i] = bytes[i];
    return 0;
}
