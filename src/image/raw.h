/* raw.h -- system calls without a C library.
 *
 * Code that takes a process apart, or puts one together, must not depend on the memory it works on:
 * no errno, no locks, no allocation. These return what the kernel returns: a value, or minus an errno.
 */
#ifndef IMAGE_RAW_H
#define IMAGE_RAW_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

static inline long raw6(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                        uint64_t f)
{
    long result;
    register uint64_t r10 __asm__("r10") = d;
    register uint64_t r8 __asm__("r8") = e;
    register uint64_t r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

static inline long raw3(long number, uint64_t a, uint64_t b, uint64_t c)
{
    return raw6(number, a, b, c, 0, 0, 0);
}

static inline uint64_t raw_address(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static inline long raw_open(const char *path, int flags)
{
    return raw6(SYS_openat, (uint64_t)(int64_t)-100 /* AT_FDCWD */, raw_address(path),
                (uint64_t)flags, 0, 0, 0);
}

static inline long raw_close(int fd)
{
    return raw3(SYS_close, (uint64_t)fd, 0, 0);
}

static inline long raw_mmap(uint64_t at, uint64_t len, int prot, int flags, int fd, uint64_t offset)
{
    return raw6(SYS_mmap, at, len, (uint64_t)prot, (uint64_t)flags, (uint64_t)(int64_t)fd, offset);
}

static inline long raw_munmap(uint64_t at, uint64_t len)
{
    return raw3(SYS_munmap, at, len, 0);
}

static inline long raw_read(int fd, void *to, size_t len)
{
    return raw3(SYS_read, (uint64_t)fd, raw_address(to), len);
}

static inline long raw_pread(int fd, void *to, size_t len, uint64_t offset)
{
    return raw6(SYS_pread64, (uint64_t)fd, raw_address(to), len, offset, 0, 0);
}

enum { RAW_EINTR = 4 };

/* All of it: 0, or -1. */
static inline int raw_pread_all(int fd, void *to, size_t len, uint64_t offset)
{
    for (size_t done = 0; done < len;) {
        long n = raw_pread(fd, (char *)to + done, len - done, offset + done);
        if (n == -RAW_EINTR)
            continue;
        if (n <= 0)
            return -1;
        done += (size_t)n;
    }
    return 0;
}

/* 0, or minus the errno. */
static inline long raw_write_all(int fd, const void *from, size_t len)
{
    for (size_t done = 0; done < len;) {
        long n = raw3(SYS_write, (uint64_t)fd, raw_address((const char *)from + done), len - done);
        if (n == -RAW_EINTR)
            continue;
        if (n < 0)
            return n;
        done += (size_t)n;
    }
    return 0;
}

#endif
