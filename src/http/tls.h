/* tls.h -- certificates: what a server shows to its clients. TLS 1.2 and 1.3, HTTP/1.1 only.
 *
 * A tls can be replaced while it is in use: connections hold on to what they began with.
 */
#ifndef HTTP_TLS_H
#define HTTP_TLS_H

struct err;
struct ssl_ctx_st;
struct ssl_st;

/* Reads a PEM chain and its key. Fails with ERR_INVALID when they do not belong together, with what
 * open(2) failed with when they cannot be read. Blocks on disk. */
int tls_open(const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *e);
void tls_free(struct ssl_ctx_st *t);

/* One server side of a connection over `fd`, which stays the caller's. */
int tls_accept(struct ssl_ctx_st *t, int fd, struct ssl_st **ret, struct err *e);

#endif
