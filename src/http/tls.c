#include "http/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "base/err.h"
#include "base/scope.h"

/* ---- a socket for OpenSSL that cannot raise SIGPIPE ---- */

static int bio_fd(BIO *b)
{
    return (int)(intptr_t)BIO_get_data(b);
}

static int bio_result(BIO *b, ssize_t n, int retry)
{
    BIO_clear_retry_flags(b);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(b, retry | BIO_FLAGS_SHOULD_RETRY);
    return (int)n;
}

static int bio_write(BIO *b, const char *bytes, int len)
{
    ssize_t n = send(bio_fd(b), bytes, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT);
    return bio_result(b, n, BIO_FLAGS_WRITE);
}

static int bio_read(BIO *b, char *to, int size)
{
    ssize_t n = recv(bio_fd(b), to, (size_t)size, MSG_DONTWAIT);
    return bio_result(b, n, BIO_FLAGS_READ);
}

static long bio_ctrl(BIO *b, int command, long number, void *pointer)
{
    (void)b, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *method;

static void make_method(void)
{
    BIO_METHOD *m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "cicada socket");
    if (m && BIO_meth_set_write(m, bio_write) && BIO_meth_set_read(m, bio_read) &&
        BIO_meth_set_ctrl(m, bio_ctrl))
        method = m;
}

/* ---- certificates ---- */

/* Takes the first error of this thread's queue and empties it. */
static int fail(struct err *e, const char *what)
{
    unsigned long code = ERR_get_error();
    const char *why = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return err_set(e, ERR_INVALID, "%s: %s", what, why ? why : "unknown reason");
}

/* OpenSSL's own words for a file that cannot be read are of no use to anybody. */
static int check_readable(const char *path, const char *what, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_sys(e, errno, "read the TLS %s", what) : 0;
}

static int choose_http11(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                         const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";
    (void)ssl, (void)arg;
    unsigned char *chosen = NULL;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

static void freep_ctx(SSL_CTX **t)
{
    SSL_CTX_free(*t);
}

int tls_open(const char *cert, const char *key, struct ssl_ctx_st **ret, struct err *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, make_method);
    if (check_readable(cert, "certificate", e) || check_readable(key, "key", e))
        return -1;
    scoped(freep_ctx) SSL_CTX *t = SSL_CTX_new(TLS_server_method());
    if (!t || !method)
        return err_set(e, ERR_NO_MEMORY, "start TLS");
    (void)SSL_CTX_set_min_proto_version(t, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(t, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* Moving buffers: a write may go on with a copy of what it began with. */
    (void)SSL_CTX_set_mode(t, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(t, choose_http11, NULL);
    if (SSL_CTX_use_certificate_chain_file(t, cert) != 1)
        return fail(e, "the TLS certificate is not good");
    if (SSL_CTX_use_PrivateKey_file(t, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(t) != 1)
        return fail(e, "the TLS key is not good");
    *ret = take(t);
    return 0;
}

void tls_free(struct ssl_ctx_st *t)
{
    SSL_CTX_free(t);
}

int tls_accept(struct ssl_ctx_st *t, int fd, struct ssl_st **ret, struct err *e)
{
    BIO *b = BIO_new(method);
    SSL *ssl = SSL_new(t);
    if (!b || !ssl) {
        BIO_free(b);
        SSL_free(ssl);
        return err_set(e, ERR_NO_MEMORY, "start TLS");
    }
    BIO_set_data(b, (void *)(intptr_t)fd);
    BIO_set_init(b, 1);
    SSL_set_bio(ssl, b, b);
    SSL_set_accept_state(ssl);
    *ret = ssl;
    return 0;
}
