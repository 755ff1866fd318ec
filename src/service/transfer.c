#include "service/transfer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/parse.h"
#include "base/scope.h"
#include "service/outside.h"

enum { HOST_SIZE = 256 };

struct transfer {
    CURL *easy;
    struct curl_slist *headers;
    const struct outside *outside;
    char host[HOST_SIZE]; /* of the URL, without brackets */
    size_t received;
    bool is_refused; /* an address it leads to was */
};

/* ---- URLs, read by whoever connects to them ---- */

static void curl_urlp(CURLU **u)
{
    curl_url_cleanup(*u);
}

static void curl_textp(char **text)
{
    curl_free(*text);
}

/* A part of it, or NULL. */
static char *part(CURLU *u, CURLUPart what, unsigned flags)
{
    char *text = NULL;
    return curl_url_get(u, what, &text, flags) == CURLUE_OK ? text : NULL;
}

static bool has_part(CURLU *u, CURLUPart what)
{
    scoped(curl_textp) char *text = part(u, what, 0);
    return text != NULL;
}

static int parse_url(const char *url, CURLU **ret, struct err *e)
{
    scoped(curl_urlp) CURLU *u = curl_url();
    if (!u)
        return err_set(e, ERR_NO_MEMORY, "read an URL");
    if (strlen(url) > TRANSFER_URL_MAX)
        return err_set(e, ERR_INVALID, "url: at most %d characters", TRANSFER_URL_MAX);
    for (const char *p = url; *p; p++)
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127)
            return err_set(e, ERR_INVALID, "url: write other characters than ASCII as %%XX");
    if (curl_url_set(u, CURLUPART_URL, url, 0) != CURLUE_OK)
        return err_set(e, ERR_INVALID, "url: not one such as https://example.org/hook");
    scoped(curl_textp) char *scheme = part(u, CURLUPART_SCHEME, 0);
    if (!scheme || (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
        return err_set(e, ERR_INVALID, "url: only http and https are possible");
    if (has_part(u, CURLUPART_USER) || has_part(u, CURLUPART_PASSWORD))
        return err_set(e, ERR_INVALID,
                       "url: no name and password in it; what is sent is signed instead");
    if (has_part(u, CURLUPART_ZONEID))
        return err_set(e, ERR_INVALID, "url: an address of a link cannot be used");
    *ret = take(u);
    return 0;
}

/* The host without brackets. An IPv4 address written in an odd way (one number, octal, hexadecimal) comes out
 * of libcurl as four decimal ones. */
static int host_of(CURLU *u, char ret[HOST_SIZE], struct err *e)
{
    scoped(curl_textp) char *host = part(u, CURLUPART_HOST, 0);
    size_t len = host ? strlen(host) : 0;
    const char *from = host;
    if (len > 2 && host[0] == '[' && host[len - 1] == ']') {
        from++;
        len -= 2;
    }
    if (len == 0 || len >= HOST_SIZE)
        return err_set(e, ERR_INVALID, "url: it names no host");
    memcpy(ret, from, len);
    ret[len] = '\0';
    return 0;
}

static int check_port(CURLU *u, struct err *e)
{
    struct err ignored = {0};
    uint64_t port = 0;
    scoped(curl_textp) char *text = part(u, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    if (!text || parse_u64(text, 1, 65535, &port, &ignored) || !outside_may_port((uint16_t)port))
        return err_set(e, ERR_INVALID, "url: the port is one of another service than the web");
    return 0;
}

int transfer_check_url(const struct outside *o, const char *url, struct err *e)
{
    scoped(curl_urlp) CURLU *u = NULL;
    char host[HOST_SIZE];
    if (parse_url(url, &u, e) || host_of(u, host, e) || check_port(u, e))
        return -1;
    if (!outside_may_name(o, host))
        return err_set(e, ERR_INVALID,
                       "url: this address is not on the public internet; the server's operator can "
                       "allow it: [webhooks] allow_private");
    return 0;
}

/* ---- signing ---- */

int transfer_sign(const char *secret, int64_t t_s, const char *body, size_t len,
                  char ret[HASH_HEX_SIZE], struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(len + 64);
    uint8_t digest[EVP_MAX_MD_SIZE];
    unsigned digest_len = 0;
    buf_fmt(&text, "%lld.", (long long)t_s);
    buf_add(&text, body, len);
    if (buf_check(&text, e))
        return -1;
    if (!HMAC(EVP_sha256(), secret, (int)strlen(secret), (const uint8_t *)text.bytes, text.len,
              digest, &digest_len) ||
        digest_len != HASH_LEN)
        return err_set(e, ERR_INTERNAL, "libcrypto offers no HMAC-SHA256");
    hash_hex(digest, ret);
    return 0;
}

/* ---- libcurl's questions ---- */

/* A socket for the very address that will be connected to. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct transfer *t = arg;
    if (purpose != CURLSOCKTYPE_IPCXN || !outside_may(t->outside, t->host, &address->addr)) {
        t->is_refused = true;
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t drop(char *bytes, size_t size, size_t count, void *arg)
{
    struct transfer *t = arg;
    (void)bytes;
    t->received += size * count;
    return t->received > TRANSFER_ANSWER_MAX ? 0 : size * count;
}

/* ---- a transfer ---- */

static bool add_header(struct transfer *t, const char *name, const char *value)
{
    char line[512];
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(t->headers, line);
    if (longer)
        t->headers = longer;
    return longer != NULL;
}

static int add_headers(struct transfer *t, const struct transfer_what *w, struct err *e)
{
    char hex[HASH_HEX_SIZE], signature[HASH_HEX_SIZE + 64];
    if (transfer_sign(w->secret, w->now_s, w->body, w->len, hex, e))
        return -1;
    (void)snprintf(signature, sizeof signature, "t=%lld,v1=%s", (long long)w->now_s, hex);
    if (add_header(t, "Content-Type", "application/json") &&
        add_header(t, "User-Agent", "cicada-webhook/1") && add_header(t, "Expect", "") &&
        add_header(t, "Cicada-Event", w->type) && add_header(t, "Cicada-Delivery", w->delivery) &&
        add_header(t, "Cicada-Signature", signature))
        return 0;
    return err_set(e, ERR_NO_MEMORY, "deliver an event");
}

static bool set_up(struct transfer *t, const struct transfer_what *w)
{
    CURL *c = t->easy;
    return !(curl_easy_setopt(c, CURLOPT_URL, w->url) || curl_easy_setopt(c, CURLOPT_PRIVATE, t) ||
             curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") ||
             curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) ||
             curl_easy_setopt(c, CURLOPT_PROXY, "") || curl_easy_setopt(c, CURLOPT_NOPROXY, "*") ||
             curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ||
             curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) ||
             /* Nobody waits for a name server that does not answer, not even to clean up. */
             curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) ||
             curl_easy_setopt(c, CURLOPT_FRESH_CONNECT, 1L) ||
             curl_easy_setopt(c, CURLOPT_FORBID_REUSE, 1L) ||
             curl_easy_setopt(c, CURLOPT_DNS_CACHE_TIMEOUT, 0L) ||
             curl_easy_setopt(c, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) ||
             curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)TRANSFER_CONNECT_MS) ||
             curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)TRANSFER_MS) ||
             curl_easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket) ||
             curl_easy_setopt(c, CURLOPT_OPENSOCKETDATA, t) ||
             curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, drop) ||
             curl_easy_setopt(c, CURLOPT_WRITEDATA, t) ||
             curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers) ||
             curl_easy_setopt(c, CURLOPT_POST, 1L) ||
             curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)w->len) ||
             curl_easy_setopt(c, CURLOPT_POSTFIELDS, w->body));
}

int transfer_new(const struct outside *o, const struct transfer_what *what, struct transfer **ret,
                 struct err *e)
{
    scoped(curl_urlp) CURLU *u = NULL;
    struct transfer *t = calloc(1, sizeof *t);
    if (!t)
        return err_set(e, ERR_NO_MEMORY, "deliver an event");
    t->outside = o;
    /* Also what was fine when it was set: the configuration may be another. */
    if (transfer_check_url(o, what->url, e) || parse_url(what->url, &u, e) ||
        host_of(u, t->host, e) || add_headers(t, what, e))
        goto fail;
    t->easy = curl_easy_init();
    if (!t->easy || !set_up(t, what)) {
        (void)err_set(e, ERR_NO_MEMORY, "deliver an event");
        goto fail;
    }
    *ret = t;
    return 0;

fail:
    transfer_free(t);
    return -1;
}

void transfer_free(struct transfer *t)
{
    if (!t)
        return;
    curl_easy_cleanup(t->easy);
    curl_slist_free_all(t->headers);
    free(t);
}

void *transfer_handle(struct transfer *t)
{
    return t->easy;
}

static void explain(const struct transfer *t, CURLcode code, struct transfer_result *r)
{
    if (t->is_refused && r->status == 0)
        (void)snprintf(r->error, sizeof r->error,
                       "the address its name leads to is not on the public internet");
    else if (r->status >= 300 && r->status < 400)
        (void)snprintf(r->error, sizeof r->error, "it answered %d; redirects are not followed",
                       r->status);
    else if (r->status > 0)
        (void)snprintf(r->error, sizeof r->error, "it answered %d", r->status);
    else if (code == CURLE_OPERATION_TIMEDOUT)
        (void)snprintf(r->error, sizeof r->error, "no answer in time");
    else
        (void)snprintf(r->error, sizeof r->error, "%s", curl_easy_strerror(code));
}

void transfer_ended(struct transfer *t, int code, struct transfer_result *ret)
{
    long status = 0;
    (void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
    /* An answer that is too long, too slow, or breaks off is an answer: what it says is in its status. */
    bool has_answer = status >= 200;
    *ret = (struct transfer_result){.status = has_answer ? (int)status : 0};
    ret->is_delivered = has_answer && status < 300;
    if (!ret->is_delivered)
        explain(t, (CURLcode)code, ret);
}

void transfer_now(struct transfer *t, struct transfer_result *ret)
{
    transfer_ended(t, (int)curl_easy_perform(t->easy), ret);
}
