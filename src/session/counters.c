#include "session/counters.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

enum { TEXT_SIZE = 1024 }; /* cpu.stat has some ten lines */

void counters_done(struct counters *c)
{
    for (size_t i = 0; i < JAIL_COUNTERS; i++)
        fd_closep(&c->fds[i]);
    *c = COUNTERS_NONE;
}

static bool read_text(int fd, char text[TEXT_SIZE])
{
    ssize_t n = fd < 0 ? -1 : pread(fd, text, TEXT_SIZE - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return n > 0;
}

static bool read_number(const char *at, uint64_t *ret)
{
    uint64_t n = 0;
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, *at - '0', &n))
            return false;
    *ret = n;
    return true;
}

static bool read_count(int fd, uint64_t *ret)
{
    char text[TEXT_SIZE];
    return read_text(fd, text) && read_number(text, ret);
}

static bool read_cpu_us(int fd, uint64_t *ret)
{
    static const char key[] = "usage_usec ";
    char text[TEXT_SIZE];
    uint64_t ns;
    if (!read_text(fd, text))
        return false;
    const char *line = strstr(text, key);
    if (line)
        return read_number(line + strlen(key), ret);
    if (!read_number(text, &ns))
        return false;
    *ret = ns / 1000;
    return true;
}

int counters_read(const struct counters *c, struct jail_event *event)
{
    uint64_t cpu_us, now, peak;
    if (!read_cpu_us(c->fds[JAIL_COUNTER_CPU], &cpu_us) ||
        !read_count(c->fds[JAIL_COUNTER_MEMORY], &now) ||
        !read_count(c->fds[JAIL_COUNTER_PEAK], &peak))
        return -1;
    event->cpu_us = cpu_us;
    event->memory_now = now;
    event->memory_peak = peak;
    return 0;
}
