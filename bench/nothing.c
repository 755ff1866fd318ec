/* nothing.c -- the smallest thing that can be started: greets on its control socket, waits until
 * that closes, and exits.
 *
 * It takes the place of the kernel, and of the loader, when the jail alone is to be measured, and is
 * linked statically so that loading it costs next to nothing either way.
 */
#include <stdint.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"

int main(void)
{
    struct err e = {0};
    uint64_t fd = 0;
    const char *number = getenv("CICADA_CONTROL_FD");
    if (!number || parse_u64(number, 0, INT32_MAX, &fd, &e))
        return 2;
    char byte;
    return write((int)fd, "!", 1) == 1 && read((int)fd, &byte, 1) == 0 ? 0 : 1;
}
