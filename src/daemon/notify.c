#include "daemon/notify.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"

enum { MESSAGE_MAX = NOTIFY_STATUS_MAX + 64 };

/* Paths have to be absolute; '@' stands for the NUL that begins an abstract name. */
static int read_address(const char *name, struct notify *n, struct err *e)
{
    size_t len = strlen(name);
    if ((*name != '/' && *name != '@') || len < 2 || len >= sizeof n->address.sun_path)
        return err_set(e, ERR_INVALID, "NOTIFY_SOCKET is neither a path nor an abstract name");
    n->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(n->address.sun_path, name, len);
    if (*name == '@')
        n->address.sun_path[0] = '\0';
    size_t end = *name == '/' ? len + 1 : len;
    n->address_size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + end);
    return 0;
}

/* A watchdog that was meant for another process, such as our parent, is not ours to feed. */
static int read_watchdog(struct notify *n, struct err *e)
{
    const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
    uint64_t interval_us, whose;
    if (!us)
        return 0;
    if (parse_u64(us, 1, INT64_MAX, &interval_us, e))
        return err_wrap(e, "WATCHDOG_USEC");
    if (pid && parse_u64(pid, 1, INT32_MAX, &whose, e))
        return err_wrap(e, "WATCHDOG_PID");
    if (!pid || (pid_t)whose == getpid())
        n->watchdog_us = (int64_t)interval_us;
    return 0;
}

int notify_open(struct notify *ret, struct err *e)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct notify n = NOTIFY_NONE;
    if (!name || !*name) {
        *ret = n;
        return 0;
    }
    if (read_address(name, &n, e) || read_watchdog(&n, e))
        return -1;
    n.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n.fd < 0)
        return err_sys(e, errno, "open the socket to systemd");
    *ret = n;
    return 0;
}

void notify_close(struct notify *n)
{
    fd_closep(&n->fd);
    *n = NOTIFY_NONE;
}

/* Who does not listen misses it. */
static void tell(const struct notify *n, const char *text)
{
    if (n->fd >= 0)
        (void)sendto(n->fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&n->address,
                     n->address_size);
}

/* `front`, then STATUS= and the text on one line: a line end would begin another assignment. */
__attribute__((format(printf, 3, 0))) static void
tell_status(const struct notify *n, const char *front, const char *fmt, va_list ap)
{
    char status[NOTIFY_STATUS_MAX], text[MESSAGE_MAX];
    (void)vsnprintf(status, sizeof status, fmt, ap);
    for (char *p = status; *p; p++)
        if ((unsigned char)*p < ' ')
            *p = ' ';
    (void)snprintf(text, sizeof text, "%sSTATUS=%s", front, status);
    tell(n, text);
}

void notify_ready(const struct notify *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell_status(n, "READY=1\n", fmt, ap);
    va_end(ap);
}

void notify_status(const struct notify *n, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    tell_status(n, "", fmt, ap);
    va_end(ap);
}

/* systemd wants to know since when, to tell this reload from the one before. */
void notify_reloading(const struct notify *n)
{
    struct timespec now;
    char text[MESSAGE_MAX];
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail for this clock */
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    tell(n, text);
}

void notify_stopping(const struct notify *n)
{
    tell(n, "STOPPING=1\nSTATUS=stopping");
}

int notify_watchdog_ms(const struct notify *n)
{
    if (n->watchdog_us == 0)
        return -1;
    int64_t half_ms = n->watchdog_us / 2000;
    return half_ms < 1 ? 1 : half_ms > INT32_MAX ? INT32_MAX : (int)half_ms;
}

void notify_watchdog(const struct notify *n)
{
    if (n->watchdog_us)
        tell(n, "WATCHDOG=1");
}
