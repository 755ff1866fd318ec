/* api.h -- the server's doors: from an HTTP request to an answer.
 *
 *     api_open(&options, &api, e)
 *     struct http_options http = {.handle = api_handle, .refuse = api_refuse, .arg = api};
 *
 * Every request goes through the same stations (pipeline.c): where to (op.h), from where (guard.c:
 * Host and Origin), who (people.h), may they, how often (rates.h), decode (json/fields.h), the
 * handler, encode, the log line.
 */
#ifndef API_API_H
#define API_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct api;
struct auditor;
struct buf;
struct call;
struct err;
struct events;
struct files;
struct http_exchange;
struct issuer;
struct log;
struct metrics;
struct passwords;
struct people;
struct rates;
struct search;
struct service;
struct upkeep;
struct webhooks;

struct api_texts {
    const char *const *items;
    size_t count;
};

struct api_options {
    struct service *service; /* all of these are borrowed */
    struct people *people;
    struct rates *rates;
    struct passwords *passwords;
    struct files *files;
    struct upkeep *upkeep;
    struct search *search;
    struct events *events;
    struct webhooks *webhooks;
    struct auditor *auditor;
    struct issuer *issuer; /* of tokens; NULL: none, only keys are good */
    struct log *log;
    struct metrics *metrics;
    struct api_texts hosts;   /* names besides those of loopback under which this server is known */
    struct api_texts origins; /* web pages of others that may use it; "*": all */
    uint64_t body_max;
    /* /mcp (mcp/mcp.h): answers c, whatever its method. NULL: there is none. */
    int (*mcp)(void *arg, struct call *c, struct err *e);
    void *mcp_arg;
    bool
        mcp_is_open; /* it needs no key: it serves what the conformance suite wants, nothing else */
    /* Everything below /v1 and /openai/v1 (openai/openai.h), and how its failures are told. NULL: there is none. */
    int (*openai)(void *arg, struct call *c, struct err *e);
    void (*openai_tell)(struct call *c, const struct err *e, const char *hint);
    void *openai_arg;
    /* Questions and answers (ask/ask.h); op is one of enum ask_op. NULL: there are none. */
    int (*ask)(void *arg, int op, struct call *c, struct err *e);
    void *ask_arg;
    const uint8_t *sign_key; /* of signed addresses (workspace/sign.h) */
    const char *public_url;  /* what links begin with; "": the Host they were asked for with */
    const char *listen;      /* the first address, for who asks over the unix socket; "": none */
    int spool_fd;            /* a directory for what has to be put aside; -1: none */
    uid_t local_uid;         /* whose unix-socket peers need no key, besides root */
    /* Whether the server is ready for requests, or why not; for /readyz. */
    bool (*is_ready)(void *arg, const char **ret_why);
    /* Brings the figures up to date that are kept elsewhere, before /metrics is written. */
    void (*refresh)(void *arg);
    void *arg;
};

int api_open(const struct api_options *options, struct api **ret, struct err *e);
void api_close(struct api *a);

void api_handle(void *arg, struct http_exchange *x);
void api_refuse(void *arg, int status, const char *reason, struct buf *headers, struct buf *out);

#endif
