#include "meaning/endpoint.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "meaning/embeddings.h"
#include "meaning/meaning.h"

enum {
    IDLE_MAX = 4, /* connections that wait for the next request */
    REACH_TIMEOUT_S = 10,
    ANSWER_TIMEOUT_S = 60,
    URL_MAX = 2000,
    KEY_MAX = 4000,
    /* A control character of a text is six bytes of JSON. */
    REQUEST_MAX = EMBEDDINGS_COUNT_MAX * (6 * MEANING_TEXT_MAX + 8) + 1024,
};

struct endpoint {
    char *url, *bearer; /* owned; a whole header line, NULL: none */
    char model[MEANING_MODEL_SIZE];
    struct curl_slist *headers;
    pthread_mutex_t lock; /* protects the rest */
    CURL *idle[IDLE_MAX];
    size_t idle_count;
};

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t end_len = strlen(end);
    return len >= end_len && memcmp(text + len - end_len, end, end_len) == 0;
}

/* Both ".../v1" and ".../v1/embeddings" are meant as the same. */
static int make_url(const char *text, char **ret, struct err *e)
{
    size_t len = strlen(text);
    bool is_web = strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
    if (!is_web || len > URL_MAX || strpbrk(text, " \t\r\n@?#"))
        return err_set(e, ERR_INVALID,
                       "an embeddings endpoint is an address such as "
                       "https://api.example.com/v1/embeddings, without a name, a key or a query");
    while (len > 0 && text[len - 1] == '/')
        len--;
    const char *end = ends_with(text, len, "/embeddings") ? "" : "/embeddings";
    if (asprintf(ret, "%.*s%s", (int)len, text, end) < 0) {
        *ret = NULL;
        return err_set(e, ERR_NO_MEMORY, "remember the embeddings endpoint");
    }
    return 0;
}

static int make_headers(struct endpoint *p, const char *key, struct err *e)
{
    if (key && (strlen(key) > KEY_MAX || strpbrk(key, "\r\n")))
        return err_set(e, ERR_INVALID, "the key of the embeddings endpoint is no key");
    if (key && asprintf(&p->bearer, "Authorization: Bearer %s", key) < 0)
        p->bearer = NULL;
    const char *const lines[] = {"Content-Type: application/json", "Accept: application/json",
                                 "Expect:", p->bearer};
    for (size_t i = 0; i < (key ? 4U : 3U); i++) {
        struct curl_slist *grown = lines[i] ? curl_slist_append(p->headers, lines[i]) : NULL;
        if (!grown)
            return err_set(e, ERR_NO_MEMORY, "remember the embeddings endpoint");
        p->headers = grown;
    }
    return 0;
}

int endpoint_new(const struct meaning_options *options, struct endpoint **ret, struct err *e)
{
    const char *key = options->key && *options->key ? options->key : NULL;
    if (!options->model || !*options->model || strlen(options->model) >= MEANING_MODEL_SIZE)
        return err_set(e, ERR_INVALID,
                       "an embeddings endpoint needs the name of a model, of up to "
                       "%d characters: set search.model",
                       MEANING_MODEL_SIZE - 1);
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) /* counts its calls */
        return err_set(e, ERR_INTERNAL, "start libcurl");
    struct endpoint *p = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, ERR_NO_MEMORY, "remember the embeddings endpoint");
    (void)pthread_mutex_init(&p->lock, NULL); /* cannot fail in glibc */
    (void)snprintf(p->model, sizeof p->model, "%s", options->model);
    if (make_url(options->url, &p->url, e) || make_headers(p, key, e)) {
        endpoint_free(p);
        return -1;
    }
    *ret = p;
    return 0;
}

void endpoint_free(struct endpoint *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->idle_count; i++)
        curl_easy_cleanup(p->idle[i]);
    if (p->bearer)
        explicit_bzero(p->bearer, strlen(p->bearer));
    curl_slist_free_all(p->headers);
    (void)pthread_mutex_destroy(&p->lock);
    free(p->bearer);
    free(p->url);
    free(p);
}

/* ---- connections ---- */

static CURL *take_connection(struct endpoint *p)
{
    CURL *easy = NULL;
    (void)pthread_mutex_lock(&p->lock);
    if (p->idle_count > 0)
        easy = p->idle[--p->idle_count];
    (void)pthread_mutex_unlock(&p->lock);
    return easy ? easy : curl_easy_init();
}

static void give_back(struct endpoint *p, CURL *easy)
{
    (void)pthread_mutex_lock(&p->lock);
    if (p->idle_count < IDLE_MAX)
        p->idle[p->idle_count++] = take(easy);
    (void)pthread_mutex_unlock(&p->lock);
    curl_easy_cleanup(easy);
}

/* ---- one request ---- */

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct buf *answer = arg;
    buf_add(answer, bytes, size * count);
    return answer->failed ? 0 : size * count;
}

static void set_up(struct endpoint *p, CURL *easy, const struct buf *request, long timeout_s,
                   struct buf *answer)
{
    /* None of these fails with the libcurl we are built with, except for lack of memory, and then so
     * does the transfer. */
    (void)curl_easy_setopt(easy, CURLOPT_URL, p->url);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, p->headers);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request->bytes);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->len);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_bytes);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, answer);
    (void)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)REACH_TIMEOUT_S);
    (void)curl_easy_setopt(easy, CURLOPT_TIMEOUT, timeout_s);
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "cicada/" CICADA_VERSION);
}

static int unreachable(CURLcode result, const struct buf *answer, struct err *e)
{
    if (answer->failed)
        return err_set(e, ERR_PROTOCOL, "the embeddings endpoint answers with more than %d MiB",
                       EMBEDDINGS_ANSWER_MAX >> 20);
    return err_set(
        e, ERR_UNAVAILABLE,
        "the embeddings endpoint cannot be reached (%s); check search.encoder, or set it "
        "to local",
        curl_easy_strerror(result));
}

static int refused(long status, const struct buf *answer, struct err *e)
{
    char message[EMBEDDINGS_MESSAGE_SIZE];
    if (status == 401 || status == 403) /* what it says may show the key */
        return err_set(e, ERR_UNAVAILABLE,
                       "the embeddings endpoint does not accept the key (%ld); check search.key",
                       status);
    if (status == 429)
        return err_set(e, ERR_UNAVAILABLE, "the embeddings endpoint asks for a pause (429)");
    embeddings_message((struct str){answer->bytes, answer->len}, message);
    return err_set(e, ERR_UNAVAILABLE,
                   "the embeddings endpoint refuses (%ld%s%s); check search.encoder and "
                   "search.model",
                   status, *message ? ": " : "", message);
}

static int exchange(struct endpoint *p, const struct str *texts, size_t count, long timeout_s,
                    struct buf *answer, struct err *e)
{
    scoped(buf_done) struct buf request = BUF_INIT(REQUEST_MAX);
    embeddings_request(p->model, texts, count, &request);
    if (buf_check(&request, e))
        return err_wrap(e, "ask for embeddings");
    CURL *easy = take_connection(p);
    if (!easy)
        return err_set(e, ERR_NO_MEMORY, "ask for embeddings");
    set_up(p, easy, &request, timeout_s, answer);
    CURLcode result = curl_easy_perform(easy);
    long status = 0;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    give_back(p, easy);
    if (result != CURLE_OK)
        return unreachable(result, answer, e);
    return status == 200 ? 0 : refused(status, answer, e);
}

int endpoint_dim(struct endpoint *p, uint32_t *ret, struct err *e)
{
    scoped(buf_done) struct buf answer = BUF_INIT(EMBEDDINGS_ANSWER_MAX);
    const struct str text = str_of("cicada");
    if (exchange(p, &text, 1, REACH_TIMEOUT_S, &answer, e))
        return -1;
    return embeddings_dim((struct str){answer.bytes, answer.len}, ret, e);
}

/* ---- many texts ---- */

/* Texts of one request, and where their vectors go. */
struct batch {
    struct str texts[EMBEDDINGS_COUNT_MAX];
    size_t places[EMBEDDINGS_COUNT_MAX];
    size_t count;
};

static int send_batch(struct endpoint *p, struct batch *b, uint32_t dim, int8_t *ret, struct err *e)
{
    scoped(buf_done) struct buf answer = BUF_INIT(EMBEDDINGS_ANSWER_MAX);
    scoped(freep) int8_t *vectors = malloc(b->count * dim + 1);
    if (!vectors)
        return err_set(e, ERR_NO_MEMORY, "ask for embeddings");
    if (exchange(p, b->texts, b->count, ANSWER_TIMEOUT_S, &answer, e) ||
        embeddings_read((struct str){answer.bytes, answer.len}, b->count, dim, vectors, e))
        return -1;
    for (size_t i = 0; i < b->count; i++)
        memcpy(ret + b->places[i] * dim, vectors + i * dim, dim);
    b->count = 0;
    return 0;
}

static bool is_empty(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!strchr(" \t\r\n", text.ptr[i]) || !text.ptr[i])
            return false;
    return true;
}

int endpoint_encode(struct endpoint *p, const struct str *texts, size_t count, uint32_t dim,
                    int8_t *ret, struct err *e)
{
    struct batch b = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        struct str text = texts[i];
        if (text.len > MEANING_TEXT_MAX)
            text.len = utf8_cut(text.ptr, MEANING_TEXT_MAX);
        if (is_empty(text)) {
            memset(ret + i * dim, 0, dim);
            continue;
        }
        b.texts[b.count] = text;
        b.places[b.count++] = i;
        if (b.count == EMBEDDINGS_COUNT_MAX && send_batch(p, &b, dim, ret, e))
            return -1;
    }
    return b.count > 0 ? send_batch(p, &b, dim, ret, e) : 0;
}
