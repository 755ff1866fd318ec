/* parser.h -- the head of a request: from bytes to a struct, or to the status that refuses it.
 *
 *     head_scan(&scan, bytes, len, &head_len, &fault)     as bytes arrive; 0 in head_len: more
 *     head_parse(bytes, head_len, &head, &fault)          once, when it is whole
 *
 * No I/O and no memory of its own: everything in a head points into the caller's bytes. It is
 * strict where leniency becomes request smuggling behind another server: line ends are CRLF and
 * nothing else, no folded lines, no blanks around a name, one Host, one Content-Length of digits
 * only, never with Transfer-Encoding, which is "chunked" and nothing else. One empty line before
 * the request line is skipped, as RFC 9112 2.2 asks. Both functions return 0, or -1 with the fault
 * filled; after a fault the connection has to be closed, nobody knows where the next request begins.
 */
#ifndef HTTP_PARSER_H
#define HTTP_PARSER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "http/exchange.h"

enum {
    HEAD_MAX = 16 << 10, /* with its last empty line; one more byte is 431 */
    HEAD_HEADERS_MAX = 64,
    HEAD_TARGET_MAX = 8 << 10, /* 414 */
    HEAD_METHOD_MAX = 32,      /* 501 */
};

struct head_fault {
    int status;
    const char *reason; /* for the body of the answer; a constant */
};

struct head_scan {
    uint16_t line;    /* where the line begins that has no end yet */
    uint16_t seen;    /* no need to look before this again */
    bool has_request; /* the request line is whole and was found good */
};

struct head {
    struct http_request request; /* its peer is not set */
    struct http_header headers[HEAD_HEADERS_MAX];
    bool is_http11;
    bool keeps_alive; /* what the client wants */
    bool is_chunked;
    bool expects_continue;
};

/* `bytes` are all bytes since the end of the last request, also those already scanned. *ret_len is
 * the length of the head when it is whole, otherwise 0. */
int head_scan(struct head_scan *s, const char *bytes, size_t len, size_t *ret_len,
              struct head_fault *fault);

/* `bytes` is a whole head, as head_scan found it. */
int head_parse(const char *bytes, size_t len, struct head *ret, struct head_fault *fault);

#endif
