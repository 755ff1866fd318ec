/* notify.h -- telling systemd how the service is: the protocol of sd_notify(3), without a library.
 *
 *     notify_open(&n, e)                 before privileges are dropped
 *     notify_ready(&n, "listening on %s", address)
 *     notify_watchdog(&n)                every notify_watchdog_ms(&n), only while all is well
 *     notify_reloading(&n) ... notify_ready(&n, ...)
 *     notify_stopping(&n)
 *
 * Each is one datagram to $NOTIFY_SOCKET. Without that nothing is sent, and nothing ever fails
 * because of it: a service that cannot report is still a service. Does not block. Any thread.
 */
#ifndef DAEMON_NOTIFY_H
#define DAEMON_NOTIFY_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

struct err;

enum { NOTIFY_STATUS_MAX = 256 }; /* bytes of a status; more is cut */

struct notify {
    int fd; /* owned; -1: nobody wants to know */
    struct sockaddr_un address;
    socklen_t address_size;
    int64_t watchdog_us; /* 0: there is no watchdog */
};

#define NOTIFY_NONE ((struct notify){.fd = -1})

/* Reads NOTIFY_SOCKET (a path, or '@' and an abstract name), WATCHDOG_USEC and WATCHDOG_PID from
 * the environment. Without the first it returns 0 and NOTIFY_NONE. Fails with ERR_INVALID when they
 * are not what systemd would set. */
int notify_open(struct notify *ret, struct err *e);
void notify_close(struct notify *n);

/* READY=1 and STATUS=...; also after a reload. */
void notify_ready(const struct notify *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void notify_reloading(const struct notify *n);
void notify_stopping(const struct notify *n);
void notify_status(const struct notify *n, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* How often notify_watchdog should be called, half of what systemd waits; -1: never, as poll(2) and
 * epoll_wait(2) understand it. */
int notify_watchdog_ms(const struct notify *n);
void notify_watchdog(const struct notify *n);

#endif
