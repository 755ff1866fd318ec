/* transfer.h -- one delivery to a webhook: a signed POST that cannot be led astray.
 *
 *     POST /hook HTTP/1.1
 *     Content-Type: application/json
 *     Cicada-Event: putFile
 *     Cicada-Delivery: whk_...-1234                the same each time this event is tried
 *     Cicada-Signature: t=1767225600,v1=HEX        HMAC-SHA256 of "1767225600." and the body
 *
 * Only http and https, to addresses that outside.h lets through, asked when the socket is made: after the
 * name was resolved, for each address that is tried. No redirects, no proxies, no credentials in the
 * URL, no connection that was used before. The answer's body is read up to a limit and dropped.
 */
#ifndef SERVICE_TRANSFER_H
#define SERVICE_TRANSFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct err;
struct outside;
struct transfer;

enum {
    TRANSFER_CONNECT_MS = 5000,
    TRANSFER_MS = 15000,            /* all of it */
    TRANSFER_ANSWER_MAX = 64 << 10, /* bytes of an answer; more is not read */
    TRANSFER_URL_MAX = 2048,
    TRANSFER_ERROR_SIZE = 160,
};

/* Whether an URL may be used at all; ERR_INVALID, with why not. Of a name nobody knows yet where it leads. */
int transfer_check_url(const struct outside *o, const char *url, struct err *e);

struct transfer_what {
    const char *url, *secret;
    const char *delivery, *type;
    const char *body; /* borrowed until transfer_free, as `outside` is */
    size_t len;
    int64_t now_s;
};

struct transfer_result {
    bool is_delivered;               /* 2xx */
    int status;                      /* 0: none came */
    char error[TRANSFER_ERROR_SIZE]; /* "": delivered. Says nothing about the inside of a network */
};

int transfer_new(const struct outside *o, const struct transfer_what *what, struct transfer **ret,
                 struct err *e);
void transfer_free(struct transfer *t); /* NULL is fine; it is in no multi handle any more */

/* libcurl's handle of it, for a multi handle; its private pointer is the transfer. */
void *transfer_handle(struct transfer *t);
/* How it went, with the CURLcode it ended with. */
void transfer_ended(struct transfer *t, int code, struct transfer_result *ret);
/* All at once. Blocks for up to TRANSFER_MS. */
void transfer_now(struct transfer *t, struct transfer_result *ret);

/* Hex of the signature, as in the header. */
int transfer_sign(const char *secret, int64_t t_s, const char *body, size_t len,
                  char ret[HASH_HEX_SIZE], struct err *e);

#endif
