#include "base/id.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

int id_make(const char *prefix, char ret[ID_SIZE], struct err *e)
{
    static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";
    size_t len = strlen(prefix);
    assert(len + ID_RANDOM_LEN < ID_SIZE);

    uint8_t random[ID_RANDOM_LEN];
    ssize_t n;
    do
        n = getrandom(random, sizeof random, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)sizeof random)
        return err_sys(e, n < 0 ? errno : EIO, "random bytes for an id");

    memcpy(ret, prefix, len);
    for (size_t i = 0; i < ID_RANDOM_LEN; i++)
        ret[len + i] = letters[random[i] & 31];
    ret[len + ID_RANDOM_LEN] = '\0';
    return 0;
}
