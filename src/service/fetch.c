#include "service/fetch.h"

#include <curl/curl.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

struct fetching {
    struct buf *out;
    const atomic_bool *is_over;
};

static void easyp(CURL **easy)
{
    curl_easy_cleanup(*easy);
}

static void slistp(struct curl_slist **list)
{
    curl_slist_free_all(*list);
}

static size_t on_bytes(char *bytes, size_t size, size_t count, void *arg)
{
    struct fetching *f = arg;
    buf_add(f->out, bytes, size * count);
    return f->out->failed ? 0 : size * count;
}

static int on_progress(void *arg, curl_off_t all_down, curl_off_t down, curl_off_t all_up,
                       curl_off_t up)
{
    const struct fetching *f = arg;
    (void)all_down, (void)down, (void)all_up, (void)up;
    return atomic_load_explicit(f->is_over, memory_order_relaxed);
}

static bool set_up(CURL *c, const char *url, struct fetching *f, struct curl_slist *headers)
{
    return !(
        curl_easy_setopt(c, CURLOPT_URL, url) || curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers) ||
        curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") ||
        curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) ||
        curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED) ||
        curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) ||
        /* Nobody waits for a name server that does not answer, not even to clean up. */
        curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L) ||
        curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, (long)FETCH_CONNECT_MS) ||
        curl_easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)FETCH_MS) ||
        curl_easy_setopt(c, CURLOPT_USERAGENT, "cicada/" CICADA_VERSION) ||
        curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_bytes) ||
        curl_easy_setopt(c, CURLOPT_WRITEDATA, f) || curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L) ||
        curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, on_progress) ||
        curl_easy_setopt(c, CURLOPT_XFERINFODATA, f));
}

int fetch_document(const char *url, const atomic_bool *is_over, struct buf *ret, struct err *e)
{
    long status = 0;
    struct fetching f = {.out = ret, .is_over = is_over};
    scoped(slistp) struct curl_slist *headers =
        curl_slist_append(NULL, "Accept: application/json, application/jwk-set+json");
    scoped(easyp) CURL *easy = curl_easy_init();
    if (!headers || !easy || !set_up(easy, url, &f, headers))
        return err_set(e, ERR_NO_MEMORY, "fetch %s", url);
    CURLcode code = curl_easy_perform(easy);
    if (ret->failed)
        return err_set(e, ERR_LIMIT, "%s answers with more than %zu bytes", url, ret->max);
    if (code != CURLE_OK)
        return err_set(e, ERR_UNAVAILABLE, "%s: %s", url, curl_easy_strerror(code));
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status == 200 ? 0 : err_set(e, ERR_UNAVAILABLE, "%s answers %ld", url, status);
}
