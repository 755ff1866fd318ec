/* server.c -- a server with a route for everything that http/ promises.
 *
 *     serve [NAME=VALUE...]     listen=ADDRESS (may come twice), cert=, key=, and every limit
 *
 * Prints the addresses it listens on, one a line, then an empty line. SIGTERM stops it, SIGHUP reads
 * the certificate again.
 *
 *   /                    "hello"; with ?close the answer is not begun (500)
 *   /echo                the body back, in pieces as they come
 *   /all?max=N           the whole body, or 413
 *   /discard             how many bytes came
 *   /refuse              401 before the body is read
 *   /hash                SHA-256 of the body
 *   /about               the request as the handler sees it, one "name=value" a line
 *   /file                bytes of $file (file=PATH), with Range and ETag
 *   /pieces?n=N          N chunks "piece K\n"
 *   /flood?n=N           N MiB of answer; whether it got through is in /state
 *   /slow                answers when the client has hung up, or after /release
 *   /events?n=N          parked: N events, one for each /wake; without n until the client leaves
 *   /wake?n=N            N events for everybody who is parked
 *   /big?n=N             parked: N MiB in events as fast as they are read
 *   /multipart           what the parts are
 *   /static              "plain content", also as "zipped" for who accepts gzip
 *   /half                promises 10 bytes and gives 5
 *   /state               counters, one "name=value" a line
 */
#include <assert.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "http/multipart.h"
#include "http/range.h"
#include "http/server.h"
#include "http/sse.h"
#include "http/static.h"

enum { MIB = 1 << 20 };

static struct http_server *server;
static const char *file_path;
static atomic_uint hangups, floods_through, floods_gone, streams_gone, bodies_gone;

/* ---- helpers ---- */

static uint64_t number(const struct http_request *r, const char *name, uint64_t preset)
{
    struct err e;
    uint64_t value = preset;
    scoped(buf_done) struct buf text = BUF_INIT(32);
    if (http_query_get(r, name, &text, &e) == 1 && text.bytes)
        (void)parse_u64(text.bytes, 0, UINT64_MAX, &value, &e);
    return value;
}

static void answer(struct http_exchange *x, const struct err *e)
{
    struct err ignored;
    if (!http_has_begun(x))
        (void)http_send(x, err_http(e->code), "text/plain", e->text, strlen(e->text), &ignored);
}

static int say(struct http_exchange *x, int status, const char *text, struct err *e)
{
    return http_send(x, status, "text/plain", text, strlen(text), e);
}

/* ---- plain routes ---- */

static int hello(struct http_exchange *x, struct err *e)
{
    scoped(buf_done) struct buf ignored = BUF_INIT(32);
    if (http_query_get(http_request(x), "close", &ignored, e) == 1)
        return 0;
    return say(x, 200, "hello", e);
}

static int echo(struct http_exchange *x, struct err *e)
{
    char piece[65536];
    const struct http_request *r = http_request(x);
    size_t len = 0;
    if (http_begin(x, 200, "application/octet-stream", r->has_length ? (int64_t)r->length : -1, e))
        return -1;
    do {
        if (http_read(x, piece, sizeof piece, &len, e) || http_write(x, piece, len, e))
            return -1;
    } while (len);
    return http_end(x, e);
}

static int all(struct http_exchange *x, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(64 * MIB);
    if (http_read_all(x, (size_t)number(http_request(x), "max", MIB), &body, e))
        return -1;
    return http_send(x, 200, "application/octet-stream", body.bytes, body.len, e);
}

static int discard(struct http_exchange *x, struct err *e)
{
    enum { SIZE = 256 << 10 };
    scoped(freep) char *piece = malloc(SIZE);
    assert(piece);
    uint64_t total = 0;
    size_t len = 0;
    do {
        if (http_read(x, piece, SIZE, &len, e)) {
            if (e->code == ERR_GONE)
                bodies_gone++;
            return -1;
        }
        total += len;
    } while (len);
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, total);
    return say(x, 200, text, e);
}

static int hash(struct http_exchange *x, struct err *e)
{
    char piece[65536], hex[HASH_HEX_SIZE];
    uint8_t digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    size_t len = 0;
    if (hash_init(&h, e))
        return -1;
    do {
        if (http_read(x, piece, sizeof piece, &len, e) || hash_add(&h, piece, len, e))
            return -1;
    } while (len);
    if (hash_end(&h, digest, e))
        return -1;
    hash_hex(digest, hex);
    return say(x, 200, hex, e);
}

static int refuse(struct http_exchange *x, struct err *e)
{
    http_add_header(x, "WWW-Authenticate", "Bearer%s", "\r\nX-Bad: 1");
    return say(x, 401, "who are you?", e);
}

static void line(struct buf *b, const char *name, struct str value)
{
    buf_str(b, name);
    buf_str(b, "=");
    buf_add(b, value.ptr, value.len);
    buf_str(b, "\n");
}

static int about(struct http_exchange *x, struct err *e)
{
    const struct http_request *r = http_request(x);
    scoped(buf_done) struct buf b = BUF_INIT(MIB);
    line(&b, "method", r->method);
    line(&b, "path", r->path);
    line(&b, "query", r->query);
    line(&b, "host", r->host);
    line(&b, "address", str_of(r->peer->address));
    buf_fmt(&b, "unix=%d\nuid=%u\nloopback=%d\ntls=%d\nbody=%d\nlength=%" PRIu64 "\n",
            r->peer->is_unix, r->peer->uid, r->peer->is_loopback, r->peer->is_tls, r->has_body,
            r->has_length ? r->length : 0);
    for (size_t i = 0; i < r->header_count; i++) {
        buf_add(&b, r->headers[i].name.ptr, r->headers[i].name.len);
        line(&b, ":", r->headers[i].value);
    }
    return http_send(x, 200, "text/plain", b.bytes, b.len, e);
}

/* ---- answers ---- */

static int file(struct http_exchange *x, struct err *e)
{
    const struct http_request *r = http_request(x);
    scoped(fd_closep) int fd = open(file_path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_set(e, ERR_NOT_FOUND, "no file");
    struct http_range range;
    struct str wanted = http_header_get(r, "range");
    enum http_ranged how = http_range_parse(wanted, (uint64_t)st.st_size, &range);
    http_add_header(x, "Accept-Ranges", "bytes");
    if (how == HTTP_RANGE_BAD) {
        http_add_header(x, "Content-Range", "bytes */%" PRIu64, (uint64_t)st.st_size);
        return say(x, 416, "", e);
    }
    if (how == HTTP_RANGE_ONE)
        http_add_header(x, "Content-Range", "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range.first,
                        range.first + range.len - 1, (uint64_t)st.st_size);
    if (http_begin(x, how == HTTP_RANGE_ONE ? 206 : 200, "application/octet-stream",
                   (int64_t)range.len, e) ||
        http_write_file(x, fd, range.first, range.len, e))
        return -1;
    return http_end(x, e);
}

static int pieces(struct http_exchange *x, struct err *e)
{
    uint64_t n = number(http_request(x), "n", 3);
    if (http_begin(x, 200, "text/plain", -1, e))
        return -1;
    for (uint64_t i = 0; i < n; i++) {
        char text[32];
        int len = snprintf(text, sizeof text, "piece %" PRIu64 "\n", i);
        if (http_write(x, text, (size_t)len, e))
            return -1;
    }
    return http_end(x, e);
}

static int flood(struct http_exchange *x, struct err *e)
{
    uint64_t n = number(http_request(x), "n", 64);
    scoped(freep) char *piece = calloc(1, MIB);
    assert(piece);
    if (http_begin(x, 200, "application/octet-stream", (int64_t)(n * MIB), e))
        return -1;
    for (uint64_t i = 0; i < n; i++)
        if (http_write(x, piece, MIB, e)) {
            if (e->code == ERR_GONE)
                floods_gone++;
            return -1;
        }
    floods_through++;
    return http_end(x, e);
}

static int half(struct http_exchange *x, struct err *e)
{
    if (http_begin(x, 200, "text/plain", 10, e) || http_write(x, "12345", 5, e))
        return -1;
    return http_end(x, e);
}

static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t slow_change = PTHREAD_COND_INITIALIZER;
static unsigned slow_released, slow_waiting;

struct slow {
    bool is_hung;
};

static void on_hangup(void *arg)
{
    struct slow *s = arg;
    hangups++;
    pthread_mutex_lock(&slow_lock);
    s->is_hung = true;
    pthread_cond_broadcast(&slow_change);
    pthread_mutex_unlock(&slow_lock);
}

static int slow(struct http_exchange *x, struct err *e)
{
    struct slow s = {0};
    http_on_hangup(x, on_hangup, &s);
    pthread_mutex_lock(&slow_lock);
    unsigned before = slow_released;
    slow_waiting++;
    while (!s.is_hung && slow_released == before)
        pthread_cond_wait(&slow_change, &slow_lock);
    slow_waiting--;
    pthread_mutex_unlock(&slow_lock);
    http_on_hangup(x, NULL, NULL);
    return say(x, 200, s.is_hung ? "hung" : "released", e);
}

static int release(struct http_exchange *x, struct err *e)
{
    pthread_mutex_lock(&slow_lock);
    slow_released++;
    pthread_cond_broadcast(&slow_change);
    pthread_mutex_unlock(&slow_lock);
    return say(x, 200, "released", e);
}

/* ---- parked ---- */

struct watcher {
    struct watcher *next;
    struct http_stream *stream;
    uint64_t wanted, sent, waiting; /* protected by watchers_lock */
    uint64_t bytes;                 /* of /big */
    bool is_gone;
};

static pthread_mutex_t watchers_lock = PTHREAD_MUTEX_INITIALIZER;
static struct watcher *watchers;

static enum http_pulled pull_events(void *arg, struct buf *out)
{
    struct watcher *w = arg;
    enum http_pulled what = HTTP_LATER;
    pthread_mutex_lock(&watchers_lock);
    while (w->waiting && w->sent < w->wanted) {
        char text[64];
        int len = snprintf(text, sizeof text, "event %" PRIu64, w->sent);
        sse_event(out, w->sent + 1, "tick", text, (size_t)len);
        w->waiting--;
        w->sent++;
    }
    if (w->sent == w->wanted)
        what = HTTP_ENDED;
    pthread_mutex_unlock(&watchers_lock);
    return what;
}

static enum http_pulled pull_big(void *arg, struct buf *out)
{
    struct watcher *w = arg;
    static const char piece[HTTP_PULL_MAX];
    size_t len = w->bytes < sizeof piece ? (size_t)w->bytes : sizeof piece;
    buf_add(out, piece, len);
    w->bytes -= len;
    w->sent += len;
    return w->bytes ? HTTP_PULLED : HTTP_ENDED;
}

static void watcher_free(struct watcher *w)
{
    http_stream_unref(w->stream);
    free(w);
}

static void watcher_gone(void *arg)
{
    struct watcher *w = arg;
    streams_gone++;
    pthread_mutex_lock(&watchers_lock);
    for (struct watcher **at = &watchers; *at; at = &(*at)->next)
        if (*at == w) {
            *at = w->next;
            break;
        }
    bool has_stream = w->stream;
    w->is_gone = true;
    pthread_mutex_unlock(&watchers_lock);
    if (has_stream)
        watcher_free(w);
}

static int park(struct http_exchange *x, struct watcher *w,
                enum http_pulled (*pull)(void *, struct buf *), struct err *e)
{
    struct http_source source = {.pull = pull, .gone = watcher_gone, .arg = w};
    http_add_header(x, "Cache-Control", "no-store");
    struct http_stream *stream = NULL;
    if (http_begin(x, 200, "text/event-stream", -1, e) ||
        http_park(x, &source, /* is_events= */ true, &stream, e)) {
        free(w);
        return -1;
    }
    pthread_mutex_lock(&watchers_lock);
    w->stream = stream;
    w->next = watchers;
    watchers = w;
    pthread_mutex_unlock(&watchers_lock);
    return 0;
}

static int events(struct http_exchange *x, struct err *e)
{
    struct watcher *w = calloc(1, sizeof *w);
    assert(w);
    w->wanted = number(http_request(x), "n", UINT64_MAX);
    return park(x, w, pull_events, e);
}

static int big(struct http_exchange *x, struct err *e)
{
    struct watcher *w = calloc(1, sizeof *w);
    assert(w);
    w->bytes = number(http_request(x), "n", 1) * MIB;
    return park(x, w, pull_big, e);
}

static int wake(struct http_exchange *x, struct err *e)
{
    uint64_t n = number(http_request(x), "n", 1);
    pthread_mutex_lock(&watchers_lock);
    for (struct watcher *w = watchers; w; w = w->next) {
        w->waiting += n;
        http_stream_wake(w->stream);
    }
    pthread_mutex_unlock(&watchers_lock);
    return say(x, 200, "woken", e);
}

/* ---- parts ---- */

static int read_body(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    return http_read(arg, to, size, ret_len, e);
}

static int multipart(struct http_exchange *x, struct err *e)
{
    struct str type = http_header_get(http_request(x), "content-type");
    scoped(multipart_freep) struct multipart *m = NULL;
    if (multipart_new(type, read_body, x, &m, e))
        return -1;
    scoped(buf_done) struct buf b = BUF_INIT(MIB);
    const struct multipart_part *part = NULL;
    for (;;) {
        if (multipart_next(m, &part, e))
            return -1;
        if (!part)
            break;
        buf_fmt(&b, "%s|%s|%s|", part->name, part->filename ? part->filename : "-", part->type);
        char piece[1024];
        size_t len = 0, total = 0;
        do {
            if (multipart_read(m, piece, sizeof piece, &len, e))
                return -1;
            total += len;
        } while (len);
        buf_fmt(&b, "%zu\n", total);
    }
    return http_send(x, 200, "text/plain", b.bytes, b.len, e);
}

static int static_file(struct http_exchange *x, struct err *e)
{
    static const char text[] = "plain content";
    struct static_file f;
    if (static_embed(text, sizeof text - 1, "text/plain", &f, e))
        return -1;
    f.forms[STATIC_GZIP] = (struct static_form){.bytes = "zipped", .len = 6, .is_there = true};
    f.is_immutable = true;
    return static_send(x, &f, e);
}

/* ---- state ---- */

static int state(struct http_exchange *x, struct err *e)
{
    struct http_server_info i;
    http_server_look(server, &i);
    pthread_mutex_lock(&slow_lock);
    unsigned waiting = slow_waiting;
    pthread_mutex_unlock(&slow_lock);
    scoped(buf_done) struct buf b = BUF_INIT(4096);
    buf_fmt(&b,
            "connections=%u\nworkers=%u\nworkers_busy=%u\nparked=%u\naccepted=%" PRIu64
            "\nrequests=%" PRIu64 "\nrefused=%" PRIu64 "\n",
            i.connections, i.workers, i.workers_busy, i.parked, i.accepted, i.requests, i.refused);
    buf_fmt(&b, "hangups=%u\nfloods_through=%u\nfloods_gone=%u\nstreams_gone=%u\nbodies_gone=%u\n",
            hangups, floods_through, floods_gone, streams_gone, bodies_gone);
    buf_fmt(&b, "slow=%u\n", waiting);
    return http_send(x, 200, "text/plain", b.bytes, b.len, e);
}

/* ---- the server ---- */

static const struct {
    const char *path;
    int (*fn)(struct http_exchange *x, struct err *e);
} routes[] = {
    {"/", hello},
    {"/echo", echo},
    {"/all", all},
    {"/discard", discard},
    {"/hash", hash},
    {"/refuse", refuse},
    {"/about", about},
    {"*", about},
    {"/file", file},
    {"/pieces", pieces},
    {"/flood", flood},
    {"/half", half},
    {"/slow", slow},
    {"/release", release},
    {"/events", events},
    {"/big", big},
    {"/wake", wake},
    {"/state", state},
    {"/multipart", multipart},
    {"/static", static_file},
};

static void handle(void *arg, struct http_exchange *x)
{
    struct err e = {0};
    (void)arg;
    for (size_t i = 0; i < sizeof routes / sizeof *routes; i++)
        if (str_is(http_request(x)->path, routes[i].path)) {
            if (routes[i].fn(x, &e))
                answer(x, &e);
            return;
        }
    (void)say(x, 404, "no such route", &e);
}

static void refusal(void *arg, int status, const char *reason, struct buf *headers, struct buf *out)
{
    (void)arg;
    buf_str(headers, "X-Refused: yes\r\n");
    buf_fmt(out, "{\"status\":%d,\"reason\":\"%s\"}", status, reason);
}

struct signals {
    int stop_fd;
    sigset_t set;
};

static void *wait_for_signals(void *arg)
{
    struct signals *s = arg;
    for (;;) {
        int number = 0;
        struct err e = {0};
        if (sigwait(&s->set, &number))
            continue;
        if (number == SIGHUP) {
            int failed = http_server_reload(server, &e);
            fprintf(stdout, "reload %s\n", failed ? e.text : "ok");
            fflush(stdout);
        } else {
            (void)eventfd_write(s->stop_fd, 1);
            return NULL;
        }
    }
}

struct arguments {
    struct http_address addresses[4];
    struct http_options options;
};

static bool take_limit(struct http_limits *l, const char *name, const char *value)
{
    struct err e;
    uint64_t n = 0;
    const struct {
        const char *name;
        uint32_t *at;
    } limits[] = {
        {"connections_max", &l->connections_max},
        {"per_address_max", &l->per_address_max},
        {"workers_max", &l->workers_max},
        {"head_ms", &l->head_ms},
        {"idle_ms", &l->idle_ms},
        {"progress_ms", &l->progress_ms},
        {"heartbeat_ms", &l->heartbeat_ms},
        {"drain_ms", &l->drain_ms},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(limits[i].name, name) == 0) {
            if (parse_u64(value, 0, UINT32_MAX, &n, &e))
                errx(2, "%s", e.text);
            *limits[i].at = (uint32_t)n;
            return true;
        }
    return false;
}

static void take_argument(struct arguments *a, char *text)
{
    char *value = strchr(text, '=');
    if (!value)
        errx(2, "not NAME=VALUE: %s", text);
    *value++ = '\0';
    if (strcmp(text, "listen") == 0 && a->options.address_count < 4)
        a->addresses[a->options.address_count++].text = value;
    else if (strcmp(text, "cert") == 0)
        a->options.tls_cert = value;
    else if (strcmp(text, "key") == 0)
        a->options.tls_key = value;
    else if (strcmp(text, "file") == 0)
        file_path = value;
    else if (!take_limit(&a->options.limits, text, value))
        errx(2, "unknown name: %s", text);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    struct arguments a = {
        .options = {.limits = HTTP_LIMITS_DEFAULT, .handle = handle, .refuse = refusal}};
    a.options.addresses = a.addresses;
    for (int i = 1; i < argc; i++)
        take_argument(&a, argv[i]);
    if (!a.options.address_count)
        a.addresses[a.options.address_count++].text = "127.0.0.1:0";

    struct signals s = {.stop_fd = eventfd(0, EFD_CLOEXEC)};
    sigemptyset(&s.set);
    sigaddset(&s.set, SIGTERM);
    sigaddset(&s.set, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, &s.set, NULL);
    if (http_server_open(&a.options, &server, &e))
        errx(1, "%s", e.text);
    pthread_t waiter;
    if (pthread_create(&waiter, NULL, wait_for_signals, &s))
        errx(1, "no thread");
    for (size_t i = 0; i < a.options.address_count; i++)
        printf("%s\n", http_server_address(server, i));
    printf("\n");
    fflush(stdout);
    if (http_server_run(server, s.stop_fd, &e))
        errx(1, "%s", e.text);
    http_server_close(server);
    (void)pthread_join(waiter, NULL);
    (void)close(s.stop_fd);
    return 0;
}
