/* address.h -- where the server is.
 *
 * $CICADA_URL, such as https://host:8700, with the key in $CICADA_API_KEY; or $CICADA_SOCKET, the path
 * of a unix socket ("off": none is looked for). Without these it is looked for where one usually
 * listens, and the first that answers is taken:
 *
 *     /run/cicada/cicada.sock              the system's
 *     $XDG_RUNTIME_DIR/cicada/cicada.sock  the user's own; without that variable
 *     /tmp/cicada-UID/cicada.sock
 *
 * A directory of the user's own has to belong to the user and nobody else may enter it: whoever could
 * put a socket there would be told everything. On a unix socket of a server that runs as the same user
 * no key is needed, and none is sent.
 */
#ifndef CLI_ADDRESS_H
#define CLI_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;

enum {
    ADDRESS_URL_MAX = 512,
    ADDRESS_SOCKET_MAX = 107, /* what fits into a sockaddr_un */
    ADDRESS_KEY_MAX = 256,
};

enum address_kind { ADDRESS_NONE, ADDRESS_URL, ADDRESS_SOCKET };

struct address {
    enum address_kind kind;
    bool is_named;                       /* by the environment: it is used or nothing is */
    char url[ADDRESS_URL_MAX + 1];       /* without a slash at the end */
    char socket[ADDRESS_SOCKET_MAX + 1]; /* ADDRESS_SOCKET: url is http://localhost */
    char key[ADDRESS_KEY_MAX + 1];       /* "": none is sent */
};

/* What the environment names, or else what answers; ADDRESS_NONE if nothing does. Fails with
 * ERR_INVALID when a variable makes no sense. Connects to sockets, but waits for nothing. */
int address_find(struct address *ret, struct err *e);

/* The path of the user's own socket. With `makes_dir` its directory is made if it is missing. Fails
 * with ERR_DENIED when the directory is not the user's alone. */
int address_own(bool makes_dir, char ret[ADDRESS_SOCKET_MAX + 1], struct err *e);

/* An address for a socket of the user's own server. */
struct address address_of_socket(const char *path);

/* True if somebody listens there; *ret_uid is who, as far as the system knows. */
bool address_answers(const char *socket_path, uid_t *ret_uid);

/* True if the host of the URL is this machine. */
bool address_is_loopback(const char *url);

#endif
