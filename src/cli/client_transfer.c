/* One request and its answer with libcurl. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/parse.h"
#include "base/scope.h"
#include "cli/client_int.h"
#include "cli/pick.h"

enum {
    CONNECT_TIMEOUT_S = 10,
    SILENCE_MAX_S = 120, /* of a stream: the server sends a comment every few seconds */
    POLL_MS = 1000,
    PIECE_BYTES = 256 << 10, /* of raw bytes at a time */
};

bool transfer_add_line(struct curl_slist **list, const char *line)
{
    struct curl_slist *grown = line ? curl_slist_append(*list, line) : NULL;
    if (!grown) {
        curl_slist_free_all(*list);
        *list = NULL;
        return false;
    }
    *list = grown;
    return true;
}

bool transfer_add_header(struct curl_slist **list, const char *name, const char *value)
{
    scoped(freep) char *line = NULL;
    if (asprintf(&line, "%s: %s", name, value) < 0)
        line = NULL;
    return transfer_add_line(list, line);
}

static bool is_change(const struct call *call)
{
    return call->body || call->source || (call->method && strcmp(call->method, "GET") != 0);
}

static int make_headers(const struct transfer *t, const struct call *call, struct curl_slist **ret,
                        struct err *e)
{
    const struct address *a = &t->client->address;
    struct curl_slist *list = NULL;
    char bearer[ADDRESS_KEY_MAX + 16];
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", a->key);
    const char *accepted = call->taker ? "*/*" : "application/json";
    bool is_made =
        transfer_add_header(&list, "Accept", t->sink ? "text/event-stream" : accepted) &&
        (!call->source || transfer_add_header(&list, "Content-Type", "application/octet-stream")) &&
        (!call->body || transfer_add_header(&list, "Content-Type", "application/json")) &&
        (!*a->key || transfer_add_header(&list, "Authorization", bearer)) &&
        (!call->key || transfer_add_header(&list, "Idempotency-Key", call->key)) &&
        (!is_change(call) || !t->client->lock_tokens ||
         transfer_add_header(&list, "Lock-Token", t->client->lock_tokens)) &&
        (!call->last_id || transfer_add_header(&list, "Last-Event-ID", call->last_id));
    for (int i = 0; is_made && i < CALL_HEADERS_MAX && call->headers[i]; i++)
        is_made = transfer_add_line(&list, call->headers[i]);
    if (!is_made)
        return err_set(e, ERR_NO_MEMORY, "make a request");
    *ret = list;
    return 0;
}

const char *transfer_value(const char *line, size_t len, const char *name,
                           char space[TRANSFER_VALUE_SIZE])
{
    size_t name_len = strlen(name);
    if (len <= name_len || line[name_len] != ':' || strncasecmp(line, name, name_len) != 0)
        return NULL;
    const char *value = line + name_len + 1, *end = line + len;
    while (value < end && (*value == ' ' || *value == '\t'))
        value++;
    while (end > value && strchr(" \t\r\n", end[-1]))
        end--;
    (void)snprintf(space, TRANSFER_VALUE_SIZE, "%.*s", (int)(end - value), value);
    return space;
}

/* N of "bytes N-M/SIZE"; 0 if it is none. */
static uint64_t range_from(const char *value)
{
    char digits[24];
    struct err ignored = {0};
    uint64_t from = 0;
    if (strncmp(value, "bytes ", 6) != 0)
        return 0;
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(strcspn(value + 6, "-") % 24), value + 6);
    return parse_u64(digits, 0, INT64_MAX, &from, &ignored) ? 0 : from;
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t len = size * count;
    char space[TRANSFER_VALUE_SIZE];
    const char *value;
    if ((value = transfer_value(line, len, "Retry-After", space)))
        t->retry_s = answer_retry_s(value);
    else if ((value = transfer_value(line, len, "Content-Type", space)))
        t->is_events = strncasecmp(value, "text/event-stream", 17) == 0;
    else if ((value = transfer_value(line, len, "Content-Range", space)))
        t->from = range_from(value);
    return len;
}

int transfer_begin(struct transfer *t)
{
    const struct call_taker *taker = t->call->taker;
    if (!taker || t->is_taken)
        return 0;
    t->is_taken = true;
    return taker->begin(taker->arg, t->from, &t->sink_err);
}

/* Whether the answer is what was asked for: a refusal is JSON, whoever takes the answer. */
static bool is_for_taker(struct transfer *t)
{
    if (!t->call->taker)
        return false;
    (void)curl_easy_getinfo(t->client->easy, CURLINFO_RESPONSE_CODE, &t->status);
    return t->status >= 200 && t->status <= 299;
}

static size_t on_read(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    const struct call_source *source = t->call->source;
    size_t len = 0;
    if (source->get(source->arg, bytes, size * count, &len, &t->sink_err))
        return CURL_READFUNC_ABORT;
    return len;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    size_t len = size * count;
    if (t->sink && t->is_events) {
        if (sse_feed(&t->events, bytes, len, t->sink, &t->sink_err))
            return CURL_WRITEFUNC_ERROR;
        return len;
    }
    if (is_for_taker(t)) {
        const struct call_taker *taker = t->call->taker;
        if (transfer_begin(t) || taker->put(taker->arg, bytes, len, &t->sink_err))
            return CURL_WRITEFUNC_ERROR;
        return len;
    }
    buf_add(&t->body, bytes, len);
    return t->body.failed ? CURL_WRITEFUNC_ERROR : len;
}

void transfer_reach(CURL *easy, const struct address *a)
{
    if (a->kind == ADDRESS_SOCKET)
        curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, a->socket);
    if (a->kind == ADDRESS_SOCKET || address_is_loopback(a->url))
        curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "cicada/" CICADA_VERSION);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
}

static void set_timeouts(CURL *easy, const struct transfer *t, const struct call *call)
{
    long timeout_s = call->timeout_s ? call->timeout_s : CALL_TIMEOUT_S;
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    if (t->sink || call->source || call->taker) {
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
        curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_MAX_S);
    } else {
        curl_easy_setopt(easy, CURLOPT_TIMEOUT, timeout_s);
    }
}

static void set_source(CURL *easy, struct transfer *t, const struct call_source *source)
{
    bool is_known = source->len != CALL_LEN_UNKNOWN;
    curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(easy, CURLOPT_INFILESIZE_LARGE, is_known ? (curl_off_t)source->len : -1);
    curl_easy_setopt(easy, CURLOPT_READFUNCTION, on_read);
    curl_easy_setopt(easy, CURLOPT_READDATA, t);
    curl_easy_setopt(easy, CURLOPT_UPLOAD_BUFFERSIZE, (long)PIECE_BYTES);
}

static void set_request(CURL *easy, struct transfer *t, const struct call *call)
{
    if (call->source) {
        set_source(easy, t, call->source);
    } else if (call->body) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body->len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, call->body->bytes);
    } else if (call->method && strcmp(call->method, "POST") == 0) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, 0L);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "");
    }
    if (call->method)
        curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, call->method);
}

int transfer_prepare(struct transfer *t, CURL *easy, const struct call *call,
                     struct curl_slist **ret_headers, struct err *e)
{
    char url[ADDRESS_URL_MAX + CALL_PATH_MAX + 1];
    int len = snprintf(url, sizeof url, "%s%s", t->client->address.url, call->path);
    if (len < 0 || (size_t)len >= sizeof url)
        return err_set(e, ERR_INVALID, "a name in the request is too long");
    if (make_headers(t, call, ret_headers, e))
        return -1;
    curl_easy_reset(easy); /* open connections stay */
    transfer_reach(easy, &t->client->address);
    set_timeouts(easy, t, call);
    set_request(easy, t, call);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *ret_headers);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, t);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, t);
    if (call->taker)
        curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)PIECE_BYTES);
    t->client->curl_text[0] = '\0';
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, t->client->curl_text);
    return 0;
}

/* True when the transfer has ended; t->result says how. */
static bool is_over(struct transfer *t, CURLM *multi)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));)
        if (m->msg == CURLMSG_DONE) {
            t->result = m->data.result;
            return true;
        }
    return false;
}

/* Waits for the network or the watch. False when the watch has cancelled the call. */
static bool wait_for_something(struct client *c)
{
    struct curl_waitfd extra = {.fd = c->watch.fd, .events = CURL_WAIT_POLLIN};
    bool is_watching = c->watch.fd >= 0;
    int ready;
    (void)curl_multi_poll(c->multi, &extra, is_watching, POLL_MS, &ready);
    if (!is_watching || !extra.revents)
        return true;
    enum watch_verdict verdict = c->watch.ready(c->watch.arg);
    if (verdict == WATCH_ENDS)
        c->watch.fd = -1;
    return verdict != WATCH_CANCELS_CALL;
}

void transfer_run(struct transfer *t)
{
    struct client *c = t->client;
    int running = 0;
    t->result = CURLE_OUT_OF_MEMORY;
    if (curl_multi_add_handle(c->multi, c->easy))
        return;
    for (;;) {
        if (curl_multi_perform(c->multi, &running) || is_over(t, c->multi))
            break;
        if (running > 0 && !wait_for_something(c)) {
            t->result = CURLE_ABORTED_BY_CALLBACK;
            break;
        }
    }
    (void)curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &t->status);
    (void)curl_multi_remove_handle(c->multi, c->easy);
}
