#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"

uint64_t memory_available(void)
{
    char text[4096];
    size_t len = 0;
    unsigned long long kib;
    struct err ignored = {0};
    scoped(fd_closep) int fd = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fd_read_all(fd, text, sizeof text - 1, &len, &ignored))
        return 0;
    text[len] = '\0';
    const char *line = strstr(text, "MemAvailable:");
    return line && sscanf(line, "MemAvailable: %llu", &kib) == 1 ? (uint64_t)kib << 10 : 0;
}
