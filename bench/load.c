/* load.c -- sends one request over and over, checks every answer, and says how long they took.
 *
 *     bench-load [OPTION...] ADDRESS                 ADDRESS: 127.0.0.1:8700 or unix:/path
 *
 *     -X METHOD  -p PATH  -H 'NAME: VALUE'...        the request (GET /)
 *     -d BODY | -z BYTES                             its body; -z: so many zeros
 *     -s STATUS  -e TEXT                             what the answer has to be (200) and to contain
 *     -c CONNECTIONS                                 each waits for its answer, then asks again (1)
 *     -n COUNT | -t SECONDS                          how many in all, or how long (-n 1000)
 *     -w COUNT                                       before that, not counted (0)
 *     -i MICROSECONDS                                pause before each request (0); with -c 1 only
 *     -f                                             a fresh connection for each request
 *
 * Prints one JSON object. `wrong` counts answers that were not as they should be, `lost`
 * connections that ended before their answer; the first of these is told on stderr, and the exit
 * status is 1 when there was one. `times` has [upper end in microseconds, how many] for each bucket
 * of the histogram that is not empty, so that several runs can be added up.
 *
 * One thread, one epoll set: what is measured is the server, and the fewer threads compete with it
 * for its processors, the better. An answer has to have a Content-Length, as ours have.
 */
#include <assert.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "histogram.h"
#include "load.h"

enum { ANSWER_MAX = 1 << 20, PIECE = 256 << 10, EVENTS = 64 };

struct conn {
    int fd;      /* -1: none */
    size_t sent; /* of the request */
    uint64_t zeros_left;
    char *in; /* ANSWER_MAX + 1 bytes */
    size_t in_len;
    uint64_t begun_ns;
    bool is_asking, waits_for_room;
};

struct load {
    struct load_options o;
    struct buf request;
    int epoll_fd;
    struct conn *conns;
    uint64_t begun, done; /* requests */
    uint64_t start_ns, end_ns;
    uint64_t wrong, lost, bytes_in;
    struct histogram times;
};

static const char zeros[PIECE];

static uint64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- connections ---- */

static void hang_up(struct conn *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    c->fd = -1;
}

static void watch(struct load *l, struct conn *c, int how, uint32_t events)
{
    struct epoll_event ev = {.events = events, .data.ptr = c};
    if (epoll_ctl(l->epoll_fd, how, c->fd, &ev))
        err(1, "epoll_ctl");
}

static void dial(struct load *l, struct conn *c)
{
    int yes = 1;
    c->fd = socket(l->o.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0)
        err(1, "socket");
    if (connect(c->fd, (struct sockaddr *)&l->o.address, l->o.address_len))
        err(1, "connect");
    if (l->o.address.ss_family != AF_UNIX)
        (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    if (fcntl(c->fd, F_SETFL, O_NONBLOCK))
        err(1, "fcntl");
    watch(l, c, EPOLL_CTL_ADD, EPOLLIN);
    c->waits_for_room = false;
}

/* ---- asking ---- */

static bool may_ask(const struct load *l)
{
    if (l->begun < l->o.warmup)
        return true;
    return l->o.seconds ? now_ns() < l->end_ns : l->begun < l->o.warmup + l->o.count;
}

/* Sends what it can. An answer may come before all is sent; a connection that ended shows when it is
 * read. */
static void send_on(struct load *l, struct conn *c)
{
    ssize_t n = 0;
    while (c->sent < l->request.len &&
           (n = send(c->fd, l->request.bytes + c->sent, l->request.len - c->sent,
                     MSG_NOSIGNAL | (c->zeros_left ? MSG_MORE : 0))) > 0)
        c->sent += (size_t)n;
    while (c->sent == l->request.len && c->zeros_left &&
           (n = send(c->fd, zeros, c->zeros_left < PIECE ? (size_t)c->zeros_left : PIECE,
                     MSG_NOSIGNAL)) > 0)
        c->zeros_left -= (uint64_t)n;
    bool is_full = n < 0 && errno == EAGAIN;
    if (is_full != c->waits_for_room)
        watch(l, c, EPOLL_CTL_MOD, is_full ? EPOLLIN | EPOLLOUT : EPOLLIN);
    c->waits_for_room = is_full;
}

static void ask(struct load *l, struct conn *c)
{
    const struct timespec pause = {.tv_sec = (time_t)(l->o.pause_us / 1000000),
                                   .tv_nsec = (long)(l->o.pause_us % 1000000 * 1000)};
    if (l->o.pause_us)
        (void)nanosleep(&pause, NULL);
    if (l->begun++ == l->o.warmup)
        l->start_ns = now_ns();
    c->sent = c->in_len = 0;
    c->in[0] = '\0';
    c->zeros_left = l->o.zeros;
    c->is_asking = true;
    c->begun_ns = now_ns();
    if (c->fd < 0)
        dial(l, c);
    send_on(l, c);
}

/* ---- answers ---- */

static void complain(struct load *l, uint64_t *count, const struct conn *c, const char *what)
{
    if (l->wrong + l->lost == 0)
        warnx("%s: %.400s", what, c->in_len ? c->in : "(nothing came)");
    (*count)++;
}

/* The length of the whole answer, when that is known; 0: not yet. */
static size_t whole_length(const struct conn *c)
{
    const char *end = strstr(c->in, "\r\n\r\n");
    if (!end)
        return 0;
    size_t head_len = (size_t)(end - c->in) + 4;
    const char *length = strcasestr(c->in, "\r\nContent-Length:");
    return head_len + (length && length < end ? strtoull(length + 17, NULL, 10) : 0);
}

static bool is_good(const struct load *l, const struct conn *c)
{
    char status[16];
    (void)snprintf(status, sizeof status, "HTTP/1.1 %d", l->o.status);
    const char *body = strstr(c->in, "\r\n\r\n");
    return strncmp(c->in, status, strlen(status)) == 0 &&
           (!l->o.expected || (body && strstr(body, l->o.expected)));
}

static void next(struct load *l, struct conn *c)
{
    c->is_asking = false;
    l->done++;
    if (may_ask(l))
        ask(l, c);
}

static void take_answer(struct load *l, struct conn *c)
{
    uint64_t took_ns = now_ns() - c->begun_ns;
    if (!is_good(l, c))
        complain(l, &l->wrong, c, "a wrong answer");
    else if (l->done >= l->o.warmup)
        histogram_add(&l->times, took_ns);
    bool is_last = l->o.is_fresh || c->zeros_left || c->sent < l->request.len ||
                   strcasestr(c->in, "\r\nConnection: close");
    if (is_last)
        hang_up(c);
    next(l, c);
}

static void receive(struct load *l, struct conn *c)
{
    ssize_t n = recv(c->fd, c->in + c->in_len, ANSWER_MAX - c->in_len, 0);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0) {
        hang_up(c);
        if (c->is_asking) {
            complain(l, &l->lost, c, "the connection ended");
            next(l, c);
        }
        return;
    }
    c->in_len += (size_t)n;
    c->in[c->in_len] = '\0';
    l->bytes_in += (uint64_t)n;
}

/* A server may answer before it has read the body; what is measured is that it takes all of it. */
static bool is_over(const struct load *l, const struct conn *c)
{
    size_t whole = c->is_asking ? whole_length(c) : 0;
    if (whole > ANSWER_MAX)
        errx(1, "an answer of %zu bytes is too large", whole);
    return whole && c->in_len >= whole && (!c->zeros_left || !is_good(l, c));
}

static void on_event(struct load *l, struct conn *c, uint32_t events)
{
    if (events & EPOLLOUT)
        send_on(l, c);
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        receive(l, c);
    if (is_over(l, c))
        take_answer(l, c);
}

static void run(struct load *l)
{
    assert(l->conns);
    l->end_ns = now_ns() + l->o.seconds * 1000000000u;
    for (size_t i = 0; i < l->o.connections && may_ask(l); i++)
        ask(l, &l->conns[i]);
    while (l->done < l->begun) {
        struct epoll_event events[EVENTS];
        int count = epoll_wait(l->epoll_fd, events, EVENTS, -1);
        for (int i = 0; i < count; i++)
            on_event(l, events[i].data.ptr, events[i].events);
    }
    l->end_ns = now_ns();
}

/* ---- the whole of it ---- */

static void build_request(struct load *l)
{
    const struct load_options *o = &l->o;
    size_t body_len = o->body ? strlen(o->body) : 0;
    buf_fmt(&l->request, "%s %s HTTP/1.1\r\nHost: localhost\r\n", o->method, o->path);
    buf_add(&l->request, o->headers.bytes, o->headers.len);
    if (o->body || o->zeros)
        buf_fmt(&l->request, "Content-Length: %" PRIu64 "\r\n", body_len + o->zeros);
    buf_str(&l->request, "\r\n");
    buf_add(&l->request, o->body, body_len);
    if (l->request.failed || o->headers.failed)
        errx(2, "the request is too long");
}

static void make_conns(struct load *l)
{
    struct rlimit files;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files); /* if it is not enough, a connection says so */
    l->conns = calloc(l->o.connections, sizeof *l->conns);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!l->conns || l->epoll_fd < 0)
        err(1, "make connections");
    for (size_t i = 0; i < l->o.connections; i++) {
        l->conns[i] = (struct conn){.fd = -1, .in = malloc(ANSWER_MAX + 1)};
        if (!l->conns[i].in)
            err(1, "make connections");
    }
}

static void report(const struct load *l)
{
    double seconds = (double)(l->end_ns - l->start_ns) / 1e9;
    const struct histogram *h = &l->times;
    printf("{\"count\": %" PRIu64 ", \"wrong\": %" PRIu64 ", \"lost\": %" PRIu64
           ", \"seconds\": %.3f, \"per_s\": %.1f, \"bytes_in\": %" PRIu64
           ", \"p50_us\": %.1f, \"p90_us\": %.1f, \"p99_us\": %.1f, \"max_us\": %.1f, \"times\": [",
           h->count, l->wrong, l->lost, seconds, (double)h->count / seconds, l->bytes_in,
           (double)histogram_at(h, 0.5) / 1e3, (double)histogram_at(h, 0.9) / 1e3,
           (double)histogram_at(h, 0.99) / 1e3, (double)h->max_ns / 1e3);
    const char *comma = "";
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        if (h->buckets[i]) {
            printf("%s[%.1f, %" PRIu64 "]", comma, (double)histogram_end(i) / 1e3, h->buckets[i]);
            comma = ", ";
        }
    printf("]}\n");
}

int main(int argc, char **argv)
{
    static struct load l = {.request = BUF_INIT(64 << 20)};
    load_options_read(&l.o, argc, argv);
    build_request(&l);
    make_conns(&l);
    run(&l);
    report(&l);
    return l.wrong || l.lost;
}
