#include "image/maps.h"

#include <sys/mman.h>

/* A hexadecimal or decimal number that ends with `stop`. False if it is none, or too large. */
static bool number(const char **at, const char *end, unsigned base, char stop, uint64_t *ret)
{
    uint64_t value = 0;
    const char *p = *at;
    for (; p < end && *p != stop; p++) {
        unsigned digit = *p >= '0' && *p <= '9'   ? (unsigned)(*p - '0')
                         : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
                                                  : 16;
        if (digit >= base || __builtin_mul_overflow(value, base, &value) ||
            __builtin_add_overflow(value, digit, &value))
            return false;
    }
    if (p == end || p == *at)
        return false;
    *at = p + 1;
    *ret = value;
    return true;
}

/* rwxp or ---s. */
static bool rights(const char **at, const char *end, struct mapping *m)
{
    const char *p = *at;
    if (end - p < 5 || p[4] != ' ' || (p[3] != 'p' && p[3] != 's'))
        return false;
    m->prot = (uint8_t)((p[0] == 'r' ? PROT_READ : 0) | (p[1] == 'w' ? PROT_WRITE : 0) |
                        (p[2] == 'x' ? PROT_EXEC : 0));
    m->is_shared = p[3] == 's';
    *at = p + 5;
    return true;
}

int maps_next(const char **at, const char *end, struct mapping *ret)
{
    struct mapping m = {0};
    const char *p = *at, *line = p;
    uint64_t major, minor;
    if (p == end)
        return 0;
    while (line < end && *line != '\n')
        line++;
    if (line == end || !number(&p, line, 16, '-', &m.start) || !number(&p, line, 16, ' ', &m.end) ||
        !rights(&p, line, &m) || !number(&p, line, 16, ' ', &m.offset) ||
        !number(&p, line, 16, ':', &major) || !number(&p, line, 16, ' ', &minor) || major > 4095 ||
        minor > (1 << 20) - 1 || m.start >= m.end)
        return -1;
    /* The inode is followed by blanks, even where there is no name. */
    if (!number(&p, line, 10, ' ', &m.inode))
        return -1;
    m.device = (uint32_t)(major << 20 | minor);
    while (p < line && *p == ' ')
        p++;
    m.name = p;
    m.name_len = (size_t)(line - p);
    *ret = m;
    *at = line + 1;
    return 1;
}

bool maps_is_named(const struct mapping *m, const char *name)
{
    size_t i = 0;
    while (i < m->name_len && name[i] && m->name[i] == name[i])
        i++;
    return i == m->name_len && !name[i];
}

bool maps_is_special(const struct mapping *m)
{
    if (m->start >= (uint64_t)1 << 63)
        return true;
    /* [anon:name] is ordinary memory that was given a name, [anon_shmem:name] too. */
    bool is_anon = m->name_len > 5 && m->name[1] == 'a' && m->name[2] == 'n' && m->name[3] == 'o' &&
                   m->name[4] == 'n';
    return m->name_len > 0 && m->name[0] == '[' && !is_anon && !maps_is_named(m, "[heap]") &&
           !maps_is_named(m, "[stack]");
}

bool maps_is_deleted(const struct mapping *m)
{
    static const char mark[] = " (deleted)";
    size_t len = sizeof mark - 1;
    if (m->name_len < len)
        return false;
    for (size_t i = 0; i < len; i++)
        if (m->name[m->name_len - len + i] != mark[i])
            return false;
    return true;
}
