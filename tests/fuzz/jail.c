/* Fuzzes the four decoders between engine and spawner. What one of them accepts must encode to a
 * message that it accepts again and that encodes to the same bytes. */
#include "wire/jail.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "fuzz.h"

#define TRY(name, NAME)                                                 \
    static void try_##name(const uint8_t *bytes, size_t len)            \
    {                                                                   \
        struct jail_##name first = {0}, second = {0};                   \
        struct err e = {0};                                             \
        if (jail_##name##_get(bytes, len, &first, &e)) {                \
            assert(e.code == ERR_PROTOCOL && e.text[0]);                \
            return;                                                     \
        }                                                               \
        assert(len == JAIL_##NAME##_SIZE);                              \
        uint8_t once[JAIL_##NAME##_SIZE], twice[JAIL_##NAME##_SIZE];    \
        jail_##name##_put(&first, once);                                \
        assert(jail_##name##_get(once, sizeof once, &second, &e) == 0); \
        jail_##name##_put(&second, twice);                              \
        assert(memcmp(once, twice, sizeof once) == 0);                  \
    }

TRY(hello, HELLO)
TRY(spec, SPEC)
TRY(request, REQUEST)
TRY(event, EVENT)

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    try_hello(bytes, len);
    try_spec(bytes, len);
    try_request(bytes, len);
    try_event(bytes, len);
    return 0;
}
