/* caller.c -- who asked, kept for what goes on after their request (inner.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/inner.h"
#include "base/clock.h"
#include "base/err.h"
#include "http/exchange.h"

struct caller {
    struct api *api;
    struct who who;
    char id[ID_SIZE];
    char host[256], agent[256];
    struct http_peer peer;
    struct http_header header; /* User-Agent */
    struct http_request request;
};

static void keep_text(char *to, size_t size, struct str text)
{
    size_t len = text.len < size ? text.len : size - 1;
    if (len > 0)
        memcpy(to, text.ptr, len);
    to[len] = '\0';
}

int caller_new(const struct call *c, struct caller **ret, struct err *e)
{
    struct caller *k = calloc(1, sizeof *k);
    if (!k)
        return err_set(e, ERR_NO_MEMORY, "remember who asked");
    k->api = c->api;
    k->who = c->who;
    memcpy(k->id, c->id, sizeof k->id);
    k->peer = *c->request->peer;
    keep_text(k->host, sizeof k->host, c->request->host);
    keep_text(k->agent, sizeof k->agent, http_header_get(c->request, "User-Agent"));
    k->header = (struct http_header){str_of("User-Agent"), str_of(k->agent)};
    k->request = (struct http_request){.method = str_of("POST"),
                                       .path = str_of("/"),
                                       .host = str_of(k->host),
                                       .headers = &k->header,
                                       .header_count = *k->agent ? 1 : 0,
                                       .peer = &k->peer};
    *ret = k;
    return 0;
}

void caller_free(struct caller *k)
{
    free(k);
}

const struct http_request *caller_http(const struct caller *k)
{
    return &k->request;
}

struct service *caller_service(const struct caller *k)
{
    return k->api->o.service;
}

const struct who *caller_who(const struct caller *k)
{
    return &k->who;
}

const char *caller_request(const struct caller *k)
{
    return k->id;
}

int caller_inner(struct caller *k, const struct inner *r, struct inner_answer *ret, struct err *e)
{
    int64_t now_us = clock_wall_us();
    bool is_expired = k->who.key_expires_us > 0 && k->who.key_expires_us <= now_us;
    if (is_expired || !people_still_knows(k->api->o.people, &k->who, now_us))
        return err_set(e, ERR_DENIED, "whoever asked is not let in any more");
    struct call c = {.api = k->api, .request = &k->request, .who = k->who};
    memcpy(c.id, k->id, sizeof c.id);
    return api_inner(&c, r, ret, e);
}
