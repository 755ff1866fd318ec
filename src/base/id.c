#include "base/id.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/err.h"

int id_make_long(const char *prefix, size_t count, char ret[ID_SIZE], struct err *e)
{
    static const char letters[] = "0123456789abcdefghjkmnpqrstvwxyz";
    size_t len = strlen(prefix);
    assert(len + count < ID_SIZE);

    uint8_t random[ID_SIZE];
    ssize_t n;
    do
        n = getrandom(random, count, 0);
    while (n < 0 && errno == EINTR);
    if (n != (ssize_t)count)
        return err_sys(e, n < 0 ? errno : EIO, "random bytes for an id");

    memcpy(ret, prefix, len);
    for (size_t i = 0; i < count; i++)
        ret[len + i] = letters[random[i] & 31];
    ret[len + count] = '\0';
    explicit_bzero(random, sizeof random);
    return 0;
}

int id_make(const char *prefix, char ret[ID_SIZE], struct err *e)
{
    return id_make_long(prefix, ID_RANDOM_LEN, ret, e);
}
