/* sockets.h -- the sockets a server listens on.
 *
 * A unix socket gets its mode before anybody can connect, takes the place of one that nobody answers
 * at any more, never of one in use or of another kind of file, and is removed when it is closed.
 */
#ifndef HTTP_SOCKETS_H
#define HTTP_SOCKETS_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/un.h>

struct err;
struct http_address;
struct http_peer;
struct sockaddr_storage;

struct listening {
    int fd; /* owned; -1: none */
    bool is_unix;
    char text[128]; /* "127.0.0.1:43121": with the port that was chosen */
    struct sockaddr_un path;
    struct stat made; /* the socket's file, to remove only our own */
};

/* Fails with ERR_INVALID when the address is malformed, ERR_CONFLICT when it is in use. Blocks to
 * look a name up. */
int listening_open(const struct http_address *address, struct listening *ret, struct err *e);
void listening_close(struct listening *l);

/* Who is at the other end of `fd`. `key` is what its connections are counted by: the IPv4 address,
 * or the first 64 bits of the IPv6 one. */
void listening_peer(const struct listening *l, int fd, const struct sockaddr_storage *from,
                    struct http_peer *ret, unsigned char key[16]);

#endif
