/* main.c -- see loader.h. */
#include <asm/prctl.h>

#include "image/loader/loader.h"
#include "image/raw.h"

void loader_main(const uint64_t *stack);

static size_t length(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

_Noreturn void loader_fail(const char *why, long number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t n = number < 0 ? (uint64_t)-number : (uint64_t)number;
    digits[--at] = '\n';
    do {
        digits[--at] = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    (void)raw_write_all(2, why, length(why));
    if (number)
        (void)raw_write_all(2, " ", 1);
    if (number)
        (void)raw_write_all(2, digits + at, sizeof digits - at);
    else
        (void)raw_write_all(2, "\n", 1);
    for (;;)
        (void)raw3(SYS_exit_group, 97, 0, 0);
}

static bool is(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static uint64_t parse(const char *text, uint64_t most)
{
    uint64_t n = 0;
    for (; *text >= '0' && *text <= '9' && n <= most / 10; text++)
        n = n * 10 + (uint64_t)(*text - '0');
    if (*text || n == 0 || n > most)
        loader_fail("cicada-load is started by cicada", 0);
    return n;
}

/* zstd's objects look for their stack protector's value in thread-local storage. */
static void make_thread_storage(void)
{
    static uint64_t storage[16];
    storage[0] = raw_address(storage);
    (void)raw3(SYS_getrandom, raw_address(&storage[5]), 8, 0); /* at fs:0x28; any value does */
    long failed = raw3(SYS_arch_prctl, ARCH_SET_FS, raw_address(storage), 0);
    if (failed)
        loader_fail("set the thread pointer: error", failed);
}

void loader_main(const uint64_t *stack)
{
    struct start s = {.count = stack[0], .argv = (const char *const *)(stack + 1)};
    s.env = s.argv + s.count + 1;
    const char *const *end = s.env;
    while (*end)
        end++;
    s.auxv = (const uint64_t *)(end + 1);
    if (s.count != 3 && s.count != 4)
        loader_fail("cicada-load is started by cicada", 0);
    make_thread_storage();
    int control = (int)parse(s.argv[1], 1 << 20);
    if (is(s.argv[2], "bake"))
        loader_bake(&s);
    bool has_delta = is(s.argv[2], "delta");
    if (has_delta != (s.count == 4) || (!has_delta && !is(s.argv[2], "image")))
        loader_fail("cicada-load is started by cicada", 0);
    loader_load(control, has_delta, has_delta ? parse(s.argv[3], UINT64_MAX / 2) : 0);
}
