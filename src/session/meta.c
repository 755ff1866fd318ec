#include "session/meta.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "base/scope.h"

enum { WORD_SIZE = 96 };

void meta_put(const struct meta *m, struct buf *out)
{
    const struct checked *c = &m->checked;
    buf_fmt(out, "cicada image 1\nformat %u\nkernel %s\nloader %s\ncpu %s\n", m->made_by.format,
            m->made_by.kernel, m->made_by.loader, m->made_by.cpu);
    buf_fmt(out, "made %lld\nmark %016llx\n", (long long)m->made_wall_us,
            (unsigned long long)m->mark);
    buf_fmt(out, "checked %s %llu %llu %llu %lld %lld\n", c->boot, (unsigned long long)c->dev,
            (unsigned long long)c->inode, (unsigned long long)c->size, (long long)c->mtime_ns,
            (long long)c->ctime_ns);
}

/* The text as it is read: words, separated by a space or the end of a line. */
struct scan {
    const char *at, *end;
    bool is_bad;
};

/* The next word, which has to end with `stop`. */
static void word(struct scan *s, char stop, char *ret, size_t size)
{
    size_t len = 0;
    ret[0] = '\0';
    while (s->at + len < s->end && s->at[len] > ' ' && s->at[len] <= '~')
        len++;
    if (s->is_bad || len == 0 || len >= size || s->at + len == s->end || s->at[len] != stop) {
        s->is_bad = true;
        return;
    }
    memcpy(ret, s->at, len);
    ret[len] = '\0';
    s->at += len + 1;
}

static void expect(struct scan *s, char stop, const char *what)
{
    char got[WORD_SIZE];
    word(s, stop, got, sizeof got);
    s->is_bad |= strcmp(got, what) != 0;
}

static uint64_t number(struct scan *s, char stop, uint64_t max)
{
    char got[WORD_SIZE];
    uint64_t n = 0;
    struct err ignored = {0};
    word(s, stop, got, sizeof got);
    s->is_bad |= parse_u64(got, 0, max, &n, &ignored) != 0;
    return n;
}

static bool is_hex(const char *text)
{
    return text[strspn(text, "0123456789abcdef")] == '\0';
}

static void hex(struct scan *s, const char *key, char *ret, size_t size)
{
    expect(s, ' ', key);
    word(s, '\n', ret, size);
    s->is_bad |= !is_hex(ret);
}

static uint64_t hex_number(struct scan *s, const char *key)
{
    char got[17];
    uint64_t n = 0;
    hex(s, key, got, sizeof got);
    s->is_bad |= strlen(got) != 16;
    for (const char *p = got; *p && !s->is_bad; p++)
        n = n << 4 | (uint64_t)(*p <= '9' ? *p - '0' : *p - 'a' + 10);
    return n;
}

static void scan_checked(struct scan *s, struct checked *ret)
{
    expect(s, ' ', "checked");
    word(s, ' ', ret->boot, sizeof ret->boot);
    ret->dev = number(s, ' ', UINT64_MAX);
    ret->inode = number(s, ' ', UINT64_MAX);
    ret->size = number(s, ' ', INT64_MAX);
    ret->mtime_ns = (int64_t)number(s, ' ', INT64_MAX);
    ret->ctime_ns = (int64_t)number(s, '\n', INT64_MAX);
}

int meta_get(const char *text, size_t len, struct meta *ret, struct err *e)
{
    struct scan s = {.at = text, .end = text + len};
    struct meta m = {0};
    expect(&s, ' ', "cicada");
    expect(&s, ' ', "image");
    expect(&s, '\n', "1");
    expect(&s, ' ', "format");
    m.made_by.format = (uint32_t)number(&s, '\n', UINT32_MAX);
    hex(&s, "kernel", m.made_by.kernel, sizeof m.made_by.kernel);
    hex(&s, "loader", m.made_by.loader, sizeof m.made_by.loader);
    hex(&s, "cpu", m.made_by.cpu, sizeof m.made_by.cpu);
    expect(&s, ' ', "made");
    m.made_wall_us = (int64_t)number(&s, '\n', INT64_MAX);
    m.mark = hex_number(&s, "mark");
    scan_checked(&s, &m.checked);
    if (s.is_bad || s.at != s.end)
        return err_set(e, ERR_DAMAGED, "the note beside the image is damaged");
    *ret = m;
    return 0;
}

static int64_t nanoseconds(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

int checked_now(const struct stat *st, struct checked *ret, struct err *e)
{
    struct checked c = {.dev = st->st_dev,
                        .inode = st->st_ino,
                        .size = (uint64_t)st->st_size,
                        .mtime_ns = nanoseconds(&st->st_mtim),
                        .ctime_ns = nanoseconds(&st->st_ctim)};
    scoped(fd_closep) int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    if (fd < 0)
        return err_sys(e, errno, "find out which boot this is");
    if (fd_read_all(fd, c.boot, sizeof c.boot - 1, &len, e))
        return -1;
    c.boot[strcspn(c.boot, "\n")] = '\0';
    *ret = c;
    return 0;
}

bool checked_equal(const struct checked *a, const struct checked *b)
{
    return strcmp(a->boot, b->boot) == 0 && a->dev == b->dev && a->inode == b->inode &&
           a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}
