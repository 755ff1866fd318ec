#include "cli/client.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/scope.h"
#include "cli/client_int.h"
#include "cli/note.h"
#include "cli/pick.h"
#include "json/read.h"

enum {
    TRIES_MAX = 6,
    RETRY_BUDGET_S = 60, /* of waiting for a server that is full, all in all */
    ASIDE_TIMEOUT_S = 10,
    EVENT_MAX = JSON_READ_SIZE_MAX,
};

static void warn_if_readable_by_others(const struct client *c)
{
    const struct address *a = &c->address;
    if (a->kind == ADDRESS_URL && *a->key && strncmp(a->url, "https:", 6) != 0 &&
        !address_is_loopback(a->url))
        note(c->notes, "the key travels unencrypted: CICADA_URL is not https");
}

int client_open(const struct address *address, struct notes *notes, struct client **ret,
                struct err *e)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) /* counts its calls */
        return err_set(e, ERR_INTERNAL, "start libcurl");
    struct client *c = malloc(sizeof *c);
    if (!c)
        return err_set(e, ERR_NO_MEMORY, "make a client");
    *c = (struct client){.address = *address, .notes = notes, .watch = {.fd = -1}};
    c->multi = curl_multi_init();
    c->easy = curl_easy_init();
    if (!c->multi || !c->easy) {
        client_free(c);
        return err_set(e, ERR_NO_MEMORY, "make a client");
    }
    warn_if_readable_by_others(c);
    *ret = c;
    return 0;
}

void client_free(struct client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->easy);
    curl_easy_cleanup(c->aside);
    if (c->multi)
        (void)curl_multi_cleanup(c->multi);
    explicit_bzero(c->address.key, sizeof c->address.key);
    free(c);
}

void client_watch(struct client *c, const struct watch *watch)
{
    c->watch = *watch;
}

void client_lock(struct client *c, const char *tokens)
{
    c->lock_tokens = tokens && *tokens ? tokens : NULL;
}

bool client_is_waiting(const struct client *c)
{
    return c->is_waiting;
}

const char *client_hint(const struct client *c)
{
    return c->hint;
}

void client_encode(struct buf *path, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~";
    for (; *text; text++)
        if (strchr(plain, *text))
            buf_add(path, text, 1);
        else
            buf_fmt(path, "%%%02X", (unsigned char)*text);
}

static bool is_safe(const struct call *call)
{
    bool is_get = !call->method && !call->body && !call->source;
    return is_get || call->key || (call->method && strcmp(call->method, "DELETE") == 0) ||
           (call->method && strcmp(call->method, "GET") == 0);
}

static bool is_refused(const struct transfer *t)
{
    return t->result == CURLE_OK && (t->status < 200 || t->status > 299);
}

/* The connection broke before the answer was whole, and once more may help. */
static bool is_broken(const struct transfer *t)
{
    return t->result == CURLE_GOT_NOTHING || t->result == CURLE_RECV_ERROR ||
           t->result == CURLE_SEND_ERROR || t->result == CURLE_PARTIAL_FILE;
}

static const char *place(const struct client *c)
{
    return c->address.kind == ADDRESS_SOCKET ? "the server's socket" : c->address.url;
}

/* What a failed transfer means. */
static int explain(struct client *c, const struct transfer *t, struct err *e)
{
    c->hint[0] = '\0';
    if (t->sink_err.code != ERR_NONE) {
        *e = t->sink_err;
        return -1;
    }
    if (t->result == CURLE_ABORTED_BY_CALLBACK)
        return err_set(e, ERR_GONE, "cancelled");
    if (t->result == CURLE_WRITE_ERROR)
        return err_set(e, ERR_LIMIT, "the answer of the server is larger than %d MiB",
                       EVENT_MAX >> 20);
    if (t->result == CURLE_OK)
        return answer_refusal(t->status, t->body.bytes, t->body.len, c->hint, e);
    const char *why = *c->curl_text ? c->curl_text : curl_easy_strerror(t->result);
    if (t->result == CURLE_COULDNT_CONNECT || t->result == CURLE_COULDNT_RESOLVE_HOST) {
        (void)snprintf(c->hint, sizeof c->hint, "is it running? `cicada serve` starts one; %s",
                       c->address.is_named ? "CICADA_URL and CICADA_SOCKET say where it is"
                                           : "it may just have gone: try again");
        return err_set(e, ERR_UNAVAILABLE, "cannot reach %s: %s", place(c), why);
    }
    if (t->result == CURLE_OPERATION_TIMEDOUT)
        return err_set(e, ERR_UNAVAILABLE, "no answer from %s in time", place(c));
    return err_set(e, ERR_UNAVAILABLE, "the connection to %s broke: %s", place(c), why);
}

/* Lets the watch look at what came. False when it cancels the call. */
static bool look_after_watch(struct client *c)
{
    enum watch_verdict verdict = c->watch.ready(c->watch.arg);
    if (verdict == WATCH_ENDS)
        c->watch.fd = -1;
    return verdict != WATCH_CANCELS_CALL;
}

/* Waits until the deadline. False when the watch cancels the call meanwhile. */
static bool wait_until(struct client *c, int64_t deadline_us)
{
    for (;;) {
        struct pollfd fd = {c->watch.fd, POLLIN, 0};
        int ready = poll(&fd, 1, clock_poll_ms(deadline_us));
        if (ready == 0)
            return true;
        if (ready > 0 && !look_after_watch(c))
            return false;
    }
}

/* Waits before the next try. False when there should be none. */
static bool wait_for_retry(struct client *c, struct transfer *t, unsigned *waited_s)
{
    unsigned wait_s = t->retry_s ? t->retry_s : 1;
    if (*waited_s + wait_s > RETRY_BUDGET_S)
        return false;
    *waited_s += wait_s;
    note(c->notes, "the server is busy; trying again in %u s", wait_s);
    c->is_waiting = true;
    bool is_time = wait_until(c, clock_us() + (int64_t)wait_s * 1000000);
    c->is_waiting = false;
    if (!is_time)
        t->result = CURLE_ABORTED_BY_CALLBACK;
    return is_time;
}

/* True if the call should be made again. */
static bool try_again(struct client *c, const struct call *call, struct transfer *t, int tries,
                      unsigned *waited_s)
{
    if (!is_safe(call) || tries >= TRIES_MAX)
        return false;
    if (is_refused(t) && (t->status == 429 || t->status == 503))
        return wait_for_retry(c, t, waited_s);
    return is_broken(t) && tries == 1 && !t->is_events && !t->is_taken;
}

static void transfer_done(struct transfer *t)
{
    buf_done(&t->body);
    sse_done(&t->events);
}

/* One attempt; *t is filled. Fails only when it could not even be tried. */
static int attempt(struct client *c, const struct call *call, const struct sse_sink *sink,
                   struct transfer *t, struct err *e)
{
    struct curl_slist *headers = NULL;
    transfer_done(t);
    *t = (struct transfer){.client = c,
                           .call = call,
                           .sink = sink,
                           .body = BUF_INIT(JSON_READ_SIZE_MAX),
                           .events = SSE_READER(EVENT_MAX)};
    if (transfer_prepare(t, c->easy, call, &headers, e))
        return -1;
    transfer_run(t);
    curl_slist_free_all(headers);
    return 0;
}

static int perform(struct client *c, const struct call *call, const struct sse_sink *sink,
                   struct transfer *t, struct err *e)
{
    unsigned waited_s = 0;
    int tries = 0;
    c->hint[0] = '\0';
    do {
        if (attempt(c, call, sink, t, e))
            return -1;
        tries++;
    } while (try_again(c, call, t, tries, &waited_s));
    if (!t->result && !is_refused(t) && transfer_begin(t)) /* an answer without a byte */
        t->result = CURLE_WRITE_ERROR;
    return t->result || is_refused(t) ? explain(c, t, e) : 0;
}

int client_call(struct client *c, const struct call *call, struct json_t **ret, struct err *e)
{
    scoped(transfer_done) struct transfer t = {0};
    json_t *value = NULL;
    if (perform(c, call, /* sink= */ NULL, &t, e))
        return -1;
    if (t.body.len > 0 && json_read(t.body.bytes, t.body.len, &value, e))
        return answer_refusal(t.status, NULL, 0, c->hint, e);
    if (ret)
        *ret = value;
    else
        json_decref(value);
    return 0;
}

int client_stream(struct client *c, const struct call *call, const struct sse_sink *sink,
                  struct err *e)
{
    scoped(transfer_done) struct transfer t = {0};
    if (perform(c, call, sink, &t, e))
        return -1;
    if (t.is_events)
        return 0;
    if (t.body.len == 0)
        return answer_refusal(t.status, NULL, 0, c->hint, e);
    const struct sse_event whole = {
        .name = CLIENT_ANSWER, .id = "", .text = t.body.bytes, .len = t.body.len};
    return sink->put(sink->arg, &whole, e);
}

int client_aside(struct client *c, const struct call *call, struct err *e)
{
    scoped(transfer_done) struct transfer t = {.client = c,
                                               .call = call,
                                               .body = BUF_INIT(JSON_READ_SIZE_MAX),
                                               .events = SSE_READER(EVENT_MAX)};
    struct curl_slist *headers = NULL;
    if (!c->aside && !(c->aside = curl_easy_init()))
        return err_set(e, ERR_NO_MEMORY, "make a request");
    struct call brief = *call;
    brief.timeout_s = ASIDE_TIMEOUT_S;
    if (transfer_prepare(&t, c->aside, &brief, &headers, e))
        return -1;
    t.result = curl_easy_perform(c->aside);
    (void)curl_easy_getinfo(c->aside, CURLINFO_RESPONSE_CODE, &t.status);
    curl_slist_free_all(headers);
    return t.result || is_refused(&t) ? explain(c, &t, e) : 0;
}
