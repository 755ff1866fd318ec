/* libc.c -- the few functions of the C library that the compiler, zstd and sandbox/seal.c call.
 *
 * zstd works in memory it is given, so nothing is allocated; what it prints or aborts with is never
 * reached. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "image/loader/loader.h"
#include "image/raw.h"

void *memcpy(void *restrict to, const void *restrict from, size_t len);
void *memmove(void *to, const void *from, size_t len);
void *memset(void *to, int byte, size_t len);
int memcmp(const void *a, const void *b, size_t len);
void *malloc(size_t len);
void *calloc(size_t count, size_t len);
void free(void *p);
int *__errno_location(void);
long syscall(long number, ...);
_Noreturn void __stack_chk_fail(void);

void *memcpy(void *restrict to, const void *restrict from, size_t len)
{
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(len) : : "memory");
    return to;
}

void *memmove(void *to, const void *from, size_t len)
{
    if ((uintptr_t)to - (uintptr_t)from >= len)
        return memcpy(to, from, len);
    for (size_t i = len; i > 0; i--)
        ((volatile char *)to)[i - 1] = ((const char *)from)[i - 1];
    return to;
}

void *memset(void *to, int byte, size_t len)
{
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(len) : "a"(byte) : "memory");
    return to;
}

int memcmp(const void *a, const void *b, size_t len)
{
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < len; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

void *malloc(size_t len)
{
    (void)len;
    return NULL;
}

void *calloc(size_t count, size_t len)
{
    (void)count;
    (void)len;
    return NULL;
}

void free(void *p)
{
    (void)p;
}

int *__errno_location(void)
{
    static int number;
    return &number;
}

/* For sandbox/seal.c, which passes three arguments. */
long syscall(long number, ...)
{
    va_list ap;
    va_start(ap, number);
    uint64_t a = va_arg(ap, uint64_t), b = va_arg(ap, uint64_t), c = va_arg(ap, uint64_t);
    va_end(ap);
    long result = raw3(number, a, b, c);
    if (result >= 0)
        return result;
    errno = (int)-result;
    return -1;
}

_Noreturn void __stack_chk_fail(void)
{
    loader_fail("the loader's stack is damaged", 0);
}
