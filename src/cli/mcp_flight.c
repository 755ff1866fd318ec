/* One request of the bridge, as libcurl makes it. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/scope.h"
#include "cli/answer.h"
#include "cli/client_int.h"
#include "cli/mcp_bridge_int.h"
#include "cli/pick.h"

enum {
    CONNECT_TIMEOUT_S = 10,
    SILENCE_MAX_S = 120,  /* of a stream: the server sends a comment every few seconds */
    BRIEF_TIMEOUT_S = 30, /* of what is answered at once */
    HEADERS_MAX = 64 << 10,
};

struct flight *flight_new(struct bridge *b, enum flight_kind kind, char *body, size_t len)
{
    struct flight *f = malloc(sizeof *f);
    if (!f) {
        free(body);
        return NULL;
    }
    *f = (struct flight){.bridge = b,
                         .kind = kind,
                         .body = body,
                         .len = len,
                         .headers = BUF_INIT(HEADERS_MAX),
                         .events = SSE_READER(BRIDGE_ANSWER_MAX),
                         .answer = BUF_INIT(BRIDGE_ANSWER_MAX)};
    struct flight **end = &b->flights;
    while (*end)
        end = &(*end)->next;
    *end = f;
    if (kind == FLIGHT_MESSAGE) {
        b->flight_count++;
        b->flight_bytes += len;
    }
    return f;
}

static void unlist(struct flight *f)
{
    struct flight **at = &f->bridge->flights;
    while (*at != f)
        at = &(*at)->next;
    *at = f->next;
}

void flight_push(struct flight *f)
{
    unlist(f);
    f->next = f->bridge->flights;
    f->bridge->flights = f;
}

void flight_close(struct flight *f)
{
    if (f->easy) {
        (void)curl_multi_remove_handle(f->bridge->multi, f->easy);
        curl_easy_cleanup(f->easy);
        f->easy = NULL;
    }
    curl_slist_free_all(f->list);
    f->list = NULL;
}

/* What belongs to one transfer. */
static void close_transfer(struct flight *f)
{
    flight_close(f);
    sse_done(&f->events);
    buf_done(&f->answer);
}

void flight_free(struct flight *f)
{
    unlist(f);
    close_transfer(f);
    if (f->kind == FLIGHT_MESSAGE) {
        f->bridge->flight_count--;
        f->bridge->flight_bytes -= f->len;
    }
    json_decref(f->id);
    buf_done(&f->headers);
    free(f->body);
    free(f);
}

static bool is_get(const struct flight *f)
{
    return f->kind == FLIGHT_LISTEN || f->is_resumed;
}

bool flight_is_sent(const struct flight *f)
{
    curl_off_t sent = 0;
    if (f->state != FLIGHT_RUNNING || is_get(f))
        return true;
    (void)curl_easy_getinfo(f->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return (size_t)sent >= f->len;
}

/* Lines that repeat parts of the message. */
static bool add_repeated(struct curl_slist **list, const struct buf *headers)
{
    char line[HEADERS_MAX];
    for (size_t at = 0; at < headers->len;) {
        size_t len = strcspn(headers->bytes + at, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)len, headers->bytes + at);
        if (!transfer_add_line(list, line))
            return false;
        at += len + 1;
    }
    return true;
}

static bool add_session(struct curl_slist **list, const struct flight *f)
{
    const struct bridge *b = f->bridge;
    if (f->is_modern || f->is_initialize || f->kind == FLIGHT_REOPEN)
        return true;
    return (!*b->session || transfer_add_header(list, "Mcp-Session-Id", b->session)) &&
           (!*b->version || transfer_add_header(list, "MCP-Protocol-Version", b->version)) &&
           (!is_get(f) || !*f->last_id || transfer_add_header(list, "Last-Event-ID", f->last_id));
}

static int make_headers(struct flight *f, struct err *e)
{
    const struct address *a = &f->bridge->address;
    char bearer[ADDRESS_KEY_MAX + 16];
    (void)snprintf(bearer, sizeof bearer, "Bearer %s", a->key);
    bool is_made =
        (is_get(f) ? transfer_add_line(&f->list, "Accept: text/event-stream")
                   : transfer_add_line(&f->list, "Accept: application/json, text/event-stream") &&
                         transfer_add_line(&f->list, "Content-Type: application/json") &&
                         transfer_add_line(&f->list, "Expect:")) &&
        (!*a->key || transfer_add_header(&f->list, "Authorization", bearer)) &&
        add_repeated(&f->list, &f->headers) && add_session(&f->list, f);
    explicit_bzero(bearer, sizeof bearer);
    return is_made ? 0 : err_set(e, ERR_NO_MEMORY, "make a request");
}

static size_t on_header(char *line, size_t size, size_t count, void *arg)
{
    struct flight *f = arg;
    size_t len = size * count;
    char space[TRANSFER_VALUE_SIZE];
    const char *value;
    if ((value = transfer_value(line, len, "Content-Type", space)))
        f->is_events = strncasecmp(value, "text/event-stream", 17) == 0;
    else if ((value = transfer_value(line, len, "Retry-After", space)))
        f->retry_s = answer_retry_s(value);
    else if ((value = transfer_value(line, len, "Mcp-Session-Id", space)))
        (void)snprintf(f->session, sizeof f->session, "%s", value);
    return len;
}

static int on_event(void *arg, const struct sse_event *event, struct err *e)
{
    struct flight *f = arg;
    (void)snprintf(f->last_id, sizeof f->last_id, "%s", event->id);
    f->tries = 0;
    return event->len > 0 ? flight_message(f, event->text, event->len, e) : 0;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
    struct flight *f = arg;
    size_t len = size * count;
    const struct sse_sink sink = {on_event, f};
    struct err e = {0};
    if (f->is_events) {
        if (sse_feed(&f->events, bytes, len, &sink, &e) == 0)
            return len;
        (void)snprintf(f->curl_text, sizeof f->curl_text, "%s", e.text);
        return CURL_WRITEFUNC_ERROR;
    }
    buf_add(&f->answer, bytes, len);
    return f->answer.failed ? CURL_WRITEFUNC_ERROR : len;
}

static void set_timeouts(struct flight *f)
{
    CURL *easy = f->easy;
    bool is_brief =
        f->kind == FLIGHT_REOPEN || f->kind == FLIGHT_OWN || (f->kind == FLIGHT_MESSAGE && !f->id);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
    if (is_brief) {
        curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)BRIEF_TIMEOUT_S);
        return;
    }
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)SILENCE_MAX_S);
}

static void set_request(struct flight *f)
{
    CURL *easy = f->easy;
    char url[ADDRESS_URL_MAX + CALL_PATH_MAX + 1];
    (void)snprintf(url, sizeof url, "%s%s", f->bridge->address.url, f->bridge->path);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    if (!is_get(f)) {
        curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)f->len);
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, f->body);
    }
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, f->list);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, f);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, f);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, f->curl_text);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, f);
}

int flight_launch(struct flight *f, struct err *e)
{
    struct bridge *b = f->bridge;
    close_transfer(f);
    f->is_events = false;
    f->status = 0;
    f->retry_s = 0;
    f->session[0] = f->curl_text[0] = '\0';
    f->serial = b->serial;
    if (buf_check(&f->headers, e) || make_headers(f, e))
        return -1;
    f->easy = curl_easy_init();
    if (!f->easy)
        return err_set(e, ERR_NO_MEMORY, "make a request");
    transfer_reach(f->easy, &b->address);
    set_timeouts(f);
    set_request(f);
    if (curl_multi_add_handle(b->multi, f->easy))
        return err_set(e, ERR_NO_MEMORY, "make a request");
    f->state = FLIGHT_RUNNING;
    return 0;
}
