#include "http/sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/server.h"

enum { BACKLOG = 4096 };

/* ---- unix ---- */

/* Removes the file of a server that died. One that lives is left alone, as is every other file. */
static int clear_stale(const struct sockaddr_un *path, struct err *e)
{
    struct stat st;
    if (lstat(path->sun_path, &st))
        return errno == ENOENT ? 0 : err_sys(e, errno, "look at the socket's path");
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, ERR_CONFLICT, "the socket's path is taken by something else");
    scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return err_sys(e, errno, "make a socket");
    if (connect(fd, (const struct sockaddr *)path, sizeof *path) == 0 || errno != ECONNREFUSED)
        return err_set(e, ERR_CONFLICT, "another server answers at the socket");
    if (unlink(path->sun_path) && errno != ENOENT)
        return err_sys(e, errno, "remove the socket of a server that has died");
    return 0;
}

static int open_unix(const struct http_address *address, struct listening *l, struct err *e)
{
    const char *path = address->text + strlen("unix:");
    if (!*path || strlen(path) >= sizeof l->path.sun_path)
        return err_set(e, ERR_INVALID, "a unix socket's path has 1 to %zu characters",
                       sizeof l->path.sun_path - 1);
    l->is_unix = true;
    l->path.sun_family = AF_UNIX;
    memcpy(l->path.sun_path, path, strlen(path) + 1);
    if (clear_stale(&l->path, e))
        return -1;
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return err_sys(e, errno, "make a socket");
    if (bind(l->fd, (const struct sockaddr *)&l->path, sizeof l->path))
        return err_sys(e, errno, "bind the socket");
    /* Until listen nobody can connect, so the umask of the moment does not matter. */
    if (lstat(path, &l->made) ||
        chmod(path, address->socket_mode ? (mode_t)address->socket_mode : 0600))
        return err_sys(e, errno, "set the mode of the socket");
    (void)snprintf(l->text, sizeof l->text, "%s", address->text);
    return 0;
}

static void remove_file(const struct listening *l)
{
    struct stat st;
    if (lstat(l->path.sun_path, &st) == 0 && st.st_ino == l->made.st_ino &&
        st.st_dev == l->made.st_dev)
        (void)unlink(l->path.sun_path); /* otherwise the next start finds it stale */
}

/* ---- TCP ---- */

/* "host:port" or "[host]:port", in two pieces. */
static int split(const char *text, char host[64], const char **ret_port, struct err *e)
{
    const char *colon = strrchr(text, ':');
    const char *begin = text, *end = colon;
    if (colon && text[0] == '[' && colon > text + 1 && colon[-1] == ']') {
        begin++;
        end--;
    } else if (colon && memchr(text, ':', (size_t)(colon - text))) {
        colon = NULL; /* an IPv6 address without its brackets */
    }
    if (!colon || end == begin || end - begin >= 64)
        return err_set(e, ERR_INVALID,
                       "listen address '%.80s' is not HOST:PORT, [HOST]:PORT or unix:PATH", text);
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';
    *ret_port = colon + 1;
    return 0;
}

/* What every connection inherits. Small answers go out at once, and a client that vanished without a
 * word (a phone out of reach) is noticed within a minute or so, whether we are sending or not. */
static void set_options(int fd)
{
    static const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},   {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 40}, {IPPROTO_TCP, TCP_KEEPINTVL, 10},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},   {IPPROTO_TCP, TCP_USER_TIMEOUT, 70000},
        {SOL_SOCKET, SO_REUSEADDR, 1},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) /* a refinement each */
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

static int bind_tcp(const struct addrinfo *a, struct listening *l, struct err *e)
{
    l->fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0)
        return err_sys(e, errno, "make a socket");
    set_options(l->fd);
    if (bind(l->fd, a->ai_addr, a->ai_addrlen)) {
        if (errno == EADDRINUSE)
            return err_set(e, ERR_CONFLICT, "the address is in use");
        if (errno == EADDRNOTAVAIL)
            return err_set(e, ERR_INVALID, "this machine does not have that address");
        return err_sys(e, errno, "bind the address");
    }
    return 0;
}

static int name_tcp(struct listening *l, struct err *e)
{
    struct sockaddr_storage bound;
    socklen_t len = sizeof bound;
    char host[64], port[8];
    if (getsockname(l->fd, (struct sockaddr *)&bound, &len) ||
        getnameinfo((struct sockaddr *)&bound, len, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV))
        return err_set(e, ERR_INTERNAL, "ask for the socket's address");
    bool is_v6 = bound.ss_family == AF_INET6;
    (void)snprintf(l->text, sizeof l->text, is_v6 ? "[%s]:%s" : "%s:%s", host, port);
    return 0;
}

static int open_tcp(const char *text, struct listening *l, struct err *e)
{
    char host[64];
    const char *port = NULL;
    uint64_t number = 0;
    if (split(text, host, &port, e))
        return -1;
    if (parse_u64(port, 0, 65535, &number, e)) /* getaddrinfo takes 65536 for 0 */
        return err_wrap(e, "the port");
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int why = getaddrinfo(host, port, &hints, &found);
    if (why)
        return err_set(e, ERR_INVALID, "listen address '%.80s': %s", text, gai_strerror(why));
    int failed = bind_tcp(found, l, e);
    freeaddrinfo(found);
    return failed ? -1 : name_tcp(l, e);
}

/* ---- both ---- */

int listening_open(const struct http_address *address, struct listening *ret, struct err *e)
{
    struct listening l = {.fd = -1};
    bool is_unix = strncmp(address->text, "unix:", 5) == 0;
    if (is_unix ? open_unix(address, &l, e) : open_tcp(address->text, &l, e))
        goto fail;
    if (listen(l.fd, BACKLOG)) {
        err_sys(e, errno, "listen");
        goto fail;
    }
    *ret = l;
    return 0;

fail:
    listening_close(&l);
    return err_wrap(e, "listen on %.100s", is_unix ? "the unix socket" : address->text);
}

void listening_close(struct listening *l)
{
    if (l->fd >= 0 && l->is_unix && l->made.st_ino)
        remove_file(l);
    fd_closep(&l->fd);
    l->fd = -1;
}

static void name_v4(struct in_addr address, struct http_peer *ret, unsigned char key[16])
{
    (void)inet_ntop(AF_INET, &address, ret->address, sizeof ret->address);
    ret->is_loopback = (ntohl(address.s_addr) >> 24) == 127;
    memcpy(key + 12, &address, 4);
}

static void name_v6(const struct in6_addr *address, struct http_peer *ret, unsigned char key[16])
{
    if (IN6_IS_ADDR_V4MAPPED(address)) {
        struct in_addr v4;
        memcpy(&v4, address->s6_addr + 12, 4);
        name_v4(v4, ret, key);
        return;
    }
    (void)inet_ntop(AF_INET6, address, ret->address, sizeof ret->address);
    ret->is_loopback = IN6_IS_ADDR_LOOPBACK(address);
    memcpy(key, address, 8); /* who has one address there usually has all 2^64 */
}

void listening_peer(const struct listening *l, int fd, const struct sockaddr_storage *from,
                    struct http_peer *ret, unsigned char key[16])
{
    *ret = (struct http_peer){.is_unix = l->is_unix, .uid = (uid_t)-1};
    memset(key, 0, 16);
    if (l->is_unix) {
        struct ucred who = {0};
        socklen_t len = sizeof who;
        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0)
            ret->uid = who.uid;
        memcpy(ret->address, "unix", sizeof "unix");
    } else if (from->ss_family == AF_INET6) {
        name_v6(&((const struct sockaddr_in6 *)from)->sin6_addr, ret, key);
    } else {
        name_v4(((const struct sockaddr_in *)from)->sin_addr, ret, key);
    }
}
