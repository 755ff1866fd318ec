#include "agent/model_line.h"

#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "agent/halt.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"

struct line {
    CURLM *multi; /* has the connections */
    CURL *easy;
};

/* ---- keeping them ---- */

void lines_init(struct lines *all)
{
    *all = (struct lines){.idle_count = 0};
    (void)pthread_mutex_init(&all->lock, NULL); /* cannot fail in glibc */
}

static void line_free(struct line *l)
{
    if (!l)
        return;
    curl_easy_cleanup(l->easy);
    if (l->multi)
        (void)curl_multi_cleanup(l->multi); /* nothing to do about it */
    free(l);
}

void line_closep(struct line **l)
{
    line_free(*l);
}

void lines_done(struct lines *all)
{
    for (size_t i = 0; i < all->idle_count; i++)
        line_free(all->idle[i]);
    all->idle_count = 0;
    (void)pthread_mutex_destroy(&all->lock);
}

struct line *lines_get(struct lines *all, struct err *e)
{
    scoped(line_closep) struct line *l = NULL;
    (void)pthread_mutex_lock(&all->lock);
    if (all->idle_count > 0)
        l = all->idle[--all->idle_count];
    (void)pthread_mutex_unlock(&all->lock);
    if (l)
        return take(l);
    if ((l = calloc(1, sizeof *l))) {
        l->multi = curl_multi_init();
        l->easy = curl_easy_init();
    }
    if (!l || !l->multi || !l->easy) {
        (void)err_set(e, ERR_NO_MEMORY, "reach the model's endpoint");
        return NULL;
    }
    return take(l);
}

void lines_give(struct lines *all, struct line *l)
{
    (void)pthread_mutex_lock(&all->lock);
    if (all->idle_count < LINES_IDLE_MAX)
        all->idle[all->idle_count++] = take(l);
    (void)pthread_mutex_unlock(&all->lock);
    line_free(l);
}

/* ---- one transfer ---- */

struct transfer {
    CURL *easy;
    const struct line_sink *sink;
    int64_t last_us; /* when the last byte came */
    int status;
    bool is_stopped;
    bool is_endless; /* it took longer than it may in all */
};

/* An empty line ends the head; those of "100 Continue" and the like do not count. */
static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    long status = 0;
    char *type = NULL;
    size_t len = size * count;
    t->last_us = clock_us();
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    if (len > 2 || !memchr(bytes, '\n', len) || status < 200 || t->status)
        return len;
    t->status = (int)status;
    (void)curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
    t->is_stopped = t->sink->head && t->sink->head(t->sink->arg, t->status, type ? type : "");
    return t->is_stopped ? 0 : len;
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t len = size * count;
    t->last_us = clock_us();
    t->is_stopped = t->sink->bytes(t->sink->arg, (struct str){bytes, len}) != 0;
    return t->is_stopped ? 0 : len;
}

static void set_up(CURL *easy, const struct line_request *r, struct transfer *t)
{
    /* None of these fails with the libcurl we are built with, except for lack of memory, and then so
     * does the transfer. */
    curl_easy_reset(easy);
    (void)curl_easy_setopt(easy, CURLOPT_URL, r->url);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, r->headers);
    if (r->body.ptr) {
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, r->body.ptr);
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body.len);
    }
    (void)curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
    (void)curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)LINE_REACH_MS);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    /* Nobody waits for a name server that does not answer, not even to clean up. */
    (void)curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "cicada/" CICADA_VERSION);
}

static void wake(void *multi)
{
    (void)curl_multi_wakeup(multi); /* if even that fails, it waits for the next byte */
}

static void listen_to(struct halt *halt, CURLM *multi)
{
    if (halt)
        halt_on(halt, multi ? wake : NULL, multi);
}

/* Goes on until it is over; false: it is not, but there was enough silence, or enough of it, or a halt. */
static bool carry(CURLM *multi, struct transfer *t, const struct line_request *r, struct halt *halt)
{
    int64_t whole_us = clock_us() + (int64_t)r->whole_ms * 1000;
    for (int running = 1;;) {
        if (curl_multi_perform(multi, &running) || running == 0)
            return true;
        int64_t end_us = t->last_us + (int64_t)r->silence_ms * 1000;
        t->is_endless = clock_us() >= whole_us;
        end_us = end_us < whole_us ? end_us : whole_us;
        if ((halt && halt_is(halt)) || clock_us() >= end_us)
            return false;
        if (curl_multi_poll(multi, NULL, 0, clock_poll_ms(end_us), NULL))
            return true;
    }
}

static uint32_t retry_after(CURL *easy)
{
    struct curl_header *h = NULL;
    struct err ignored = {0};
    curl_off_t seconds = 0;
    uint64_t ms = 0;
    if (curl_easy_header(easy, "retry-after-ms", 0, CURLH_HEADER, -1, &h) == CURLHE_OK &&
        parse_u64(h->value, 0, 3600000, &ms, &ignored) == 0)
        return ms ? (uint32_t)ms : 1;
    (void)curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &seconds);
    return seconds > 3600 ? 3600000 : (uint32_t)seconds * 1000;
}

static enum line_how how_it_ended(const struct transfer *t, bool is_over, bool is_halted,
                                  CURLcode code)
{
    if (is_halted)
        return LINE_HALTED;
    if (t->is_stopped)
        return LINE_STOPPED;
    if (!is_over)
        return t->is_endless ? LINE_ENDLESS : LINE_SILENT;
    if (code == CURLE_OK)
        return LINE_COMPLETE;
    return t->status ? LINE_CUT : LINE_UNREACHED;
}

void line_perform(struct line *l, const struct line_request *r, const struct line_sink *sink,
                  struct halt *halt, struct line_end *ret)
{
    struct transfer t = {.easy = l->easy, .sink = sink, .last_us = clock_us()};
    CURLcode code = CURLE_OUT_OF_MEMORY;
    bool is_over = true;
    int left = 0;
    set_up(l->easy, r, &t);
    listen_to(halt, l->multi);
    *ret = (struct line_end){.status = 0};
    if (curl_multi_add_handle(l->multi, l->easy) == CURLM_OK) {
        is_over = carry(l->multi, &t, r, halt);
        const CURLMsg *m = curl_multi_info_read(l->multi, &left);
        if (m && m->msg == CURLMSG_DONE)
            code = m->data.result;
        *ret = (struct line_end){.status = t.status, .retry_after_ms = retry_after(l->easy)};
        (void)curl_multi_remove_handle(l->multi, l->easy); /* closes what is not complete */
    }
    listen_to(halt, NULL);
    ret->how = how_it_ended(&t, is_over, halt && halt_is(halt), code);
    ret->why = curl_easy_strerror(code);
}

bool line_pause(struct line *l, uint32_t ms, struct halt *halt)
{
    int64_t end_us = clock_us() + (int64_t)ms * 1000;
    listen_to(halt, l->multi);
    while (clock_us() < end_us && !(halt && halt_is(halt)))
        if (curl_multi_poll(l->multi, NULL, 0, clock_poll_ms(end_us), NULL))
            break;
    listen_to(halt, NULL);
    return halt && halt_is(halt);
}
