#include "agent/model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <curl/curl.h>
#include <jansson.h>

#include "agent/model_int.h"
#include "agent/model_trouble.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"

/* ---- what was configured ---- */

static int no_memory(struct err *e)
{
    return err_set(e, ERR_NO_MEMORY, "remember the model's endpoint");
}

static int set_url(struct model *m, const char *url, struct err *e)
{
    static const char *const ends[] = {"/chat/completions", "/responses"};
    size_t len = strlen(url);
    bool is_web = strncasecmp(url, "http://", 7) == 0 || strncasecmp(url, "https://", 8) == 0;
    if (!is_web || len > MODEL_URL_MAX || strpbrk(url, " \t\r\n@?#"))
        return err_set(
            e, ERR_INVALID,
            "model.url is an address such as http://127.0.0.1:11434/v1, without a name, a key "
            "or a query in it; the key is model.key");
    while (len > 0 && url[len - 1] == '/')
        len--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) /* meant as the same */
        if (len > strlen(ends[i]) &&
            strncmp(url + len - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
            len -= strlen(ends[i]);
    m->url = strndup(url, len);
    return m->url ? 0 : no_memory(e);
}

static int set_key(struct model *m, const char *key, struct err *e)
{
    if (strlen(key) > MODEL_KEY_MAX || strpbrk(key, "\r\n"))
        return err_set(e, ERR_INVALID, "model.key is no key");
    m->key = strdup(key);
    return m->key ? 0 : no_memory(e);
}

static int set_headers(struct model *m, struct err *e)
{
    scoped(freep) char *bearer = NULL;
    if (asprintf(&bearer, "Authorization: Bearer %s", m->key) < 0) {
        bearer = NULL;
        return no_memory(e);
    }
    const char *const lines[] = {"Content-Type: application/json",
                                 "Accept: application/json, text/event-stream", "Expect:", bearer};
    int failed = 0;
    for (size_t i = 0; i < (*m->key ? 4U : 3U) && !failed; i++) {
        struct curl_slist *grown = curl_slist_append(m->headers, lines[i]);
        if (grown)
            m->headers = grown;
        else
            failed = no_memory(e);
    }
    explicit_bzero(bearer, strlen(bearer));
    return failed;
}

int model_open(const struct model_options *options, struct model **ret, struct err *e)
{
    const char *name = options->name ? options->name : "";
    if (!*name || strlen(name) >= sizeof((struct model_answer *)0)->name)
        return err_set(e, ERR_INVALID, "model.name is the name of a model, of up to %zu bytes",
                       sizeof((struct model_answer *)0)->name - 1);
    if (curl_global_init(CURL_GLOBAL_DEFAULT)) /* counts its calls */
        return err_set(e, ERR_INTERNAL, "start libcurl");
    struct model *m = calloc(1, sizeof *m);
    if (!m)
        return no_memory(e);
    m->api = options->api;
    m->timeout_ms = options->timeout_ms;
    m->whole_ms = MODEL_WHOLE_MS;
    m->retries = options->retries;
    m->has_images = options->has_images;
    lines_init(&m->lines);
    if (!(m->name = strdup(name)) || set_url(m, options->url ? options->url : "", e) ||
        set_key(m, options->key ? options->key : "", e) || set_headers(m, e)) {
        model_close(m);
        return -1;
    }
    *ret = m;
    return 0;
}

void model_close(struct model *m)
{
    if (!m)
        return;
    for (struct curl_slist *h = m->headers; h; h = h->next)
        explicit_bzero(h->data, strlen(h->data));
    if (m->key)
        explicit_bzero(m->key, strlen(m->key));
    curl_slist_free_all(m->headers);
    lines_done(&m->lines);
    free(m->key);
    free(m->url);
    free(m->name);
    free(m);
}

bool model_has_images(const struct model *m)
{
    return m->has_images;
}

const char *model_name(const struct model *m)
{
    return m->name;
}

/* ---- for all requests ---- */

int model_address(const struct model *m, const char *path, char **ret, struct err *e)
{
    if (asprintf(ret, "%s/%s", m->url, path) >= 0)
        return 0;
    *ret = NULL;
    return err_set(e, ERR_NO_MEMORY, "ask the model");
}

int model_silence(const struct model *m, const struct line_end *end, struct err *e)
{
    switch (end->how) {
    case LINE_HALTED:
    case LINE_STOPPED: return err_set(e, ERR_GONE, "the question to the model was called off");
    case LINE_SILENT:
        return err_set(
            e, ERR_UNAVAILABLE,
            "the model's endpoint says nothing for %u s; model.timeout_s is how long it may",
            m->timeout_ms / 1000);
    case LINE_ENDLESS:
        return err_set(e, ERR_UNAVAILABLE,
                       "the model's answer does not end; it may take %u minutes at most",
                       m->whole_ms / 60000);
    case LINE_UNREACHED:
        return err_set(
            e, ERR_UNAVAILABLE,
            "the model's endpoint cannot be reached (%s); check model.url and that it is running",
            end->why);
    case LINE_COMPLETE:
    case LINE_CUT: break;
    }
    return err_set(e, ERR_UNAVAILABLE,
                   "the model's endpoint ends in the middle of its answer; ask again");
}

uint32_t model_pause_ms(unsigned tries, uint32_t asked_ms)
{
    enum { FIRST_MS = 500, MOST_MS = 8000, ASKED_MOST_MS = 30000 };
    if (asked_ms)
        return asked_ms < ASKED_MOST_MS ? asked_ms : ASKED_MOST_MS;
    uint32_t ms = tries > 4 ? MOST_MS : (uint32_t)FIRST_MS << (tries > 0 ? tries - 1 : 0);
    return ms - (uint32_t)(clock_us() % (ms / 4)); /* not all at the same time */
}

/* ---- the list of models ---- */

static int add_bytes(void *arg, struct str bytes)
{
    struct buf *to = arg;
    buf_add(to, bytes.ptr, bytes.len);
    return to->failed ? -1 : 0;
}

static int read_list(struct str body, struct json_t **ret, struct err *e)
{
    struct err why = {0};
    scoped(json_decrefp) json_t *root = NULL;
    if (json_read(body.ptr ? body.ptr : "", body.len, &root, &why))
        return err_set(e, ERR_PROTOCOL,
                       "the model's endpoint answers with a list that is %s; check model.url",
                       why.text);
    json_t *list = json_object_get(root, "data");
    if (!json_is_array(list))
        return err_set(e, ERR_PROTOCOL,
                       "the model's endpoint has no list of models; check model.url");
    *ret = json_incref(list);
    return 0;
}

/* *ret_again_ms: it may be tried again after that; 0: not. */
static int list_once(struct model *m, struct line *l, const char *url, unsigned tries,
                     struct halt *halt, struct json_t **ret, uint32_t *ret_again_ms, struct err *e)
{
    scoped(buf_done) struct buf body = BUF_INIT(MODEL_BODY_MAX);
    const struct line_request r = {
        .url = url, .headers = m->headers, .silence_ms = m->timeout_ms, .whole_ms = m->whole_ms};
    const struct line_sink sink = {.bytes = add_bytes, .arg = &body};
    struct line_end end;
    struct model_trouble t;
    line_perform(l, &r, &sink, halt, &end);
    *ret_again_ms = 0;
    if (body.failed)
        return err_set(e, ERR_PROTOCOL, "the model's endpoint lists more than can be read");
    if (end.how == LINE_COMPLETE && end.status == 200)
        return read_list((struct str){body.bytes, body.len}, ret, e);
    *ret_again_ms = model_pause_ms(tries, end.retry_after_ms);
    if (end.how != LINE_COMPLETE)
        return model_silence(m, &end, e);
    model_trouble_read((struct str){body.bytes, body.len}, m->key, &t);
    t.status = end.status;
    if (!model_trouble_passes(&t))
        *ret_again_ms = 0;
    return model_trouble_say(&t, e);
}

int model_list(struct model *m, struct halt *halt, struct json_t **ret, struct err *e)
{
    scoped(freep) char *url = NULL;
    scoped(line_closep) struct line *l = NULL;
    uint32_t again_ms;
    if (model_address(m, "models", &url, e) || !(l = lines_get(&m->lines, e)))
        return -1;
    for (unsigned tries = 1;; tries++) {
        int failed = list_once(m, l, url, tries, halt, ret, &again_ms, e);
        if (failed && e->code != ERR_GONE && again_ms && tries <= m->retries &&
            !line_pause(l, again_ms, halt))
            continue;
        lines_give(&m->lines, take(l));
        return failed;
    }
}
