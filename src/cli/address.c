#include "cli/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"

static const char system_socket[] = "/run/cicada/cicada.sock";

/* The value of a variable; NULL if it is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static int set_key(struct address *a, struct err *e)
{
    const char *key = variable("CICADA_API_KEY");
    if (!key)
        return 0;
    if (strlen(key) > ADDRESS_KEY_MAX || strpbrk(key, " \t\r\n"))
        return err_set(e, ERR_INVALID,
                       "CICADA_API_KEY is no key: it contains blanks or is too long");
    (void)snprintf(a->key, sizeof a->key, "%s", key);
    return 0;
}

/* The part of a URL behind its scheme; NULL if that is none of ours. */
static const char *behind_scheme(const char *url)
{
    static const char *const schemes[] = {"http://", "https://"};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
        if (strncasecmp(url, schemes[i], strlen(schemes[i])) == 0)
            return url + strlen(schemes[i]);
    return NULL;
}

bool address_is_loopback(const char *url)
{
    static const char *const hosts[] = {"localhost", "127.0.0.1", "[::1]"};
    const char *rest = behind_scheme(url);
    for (size_t i = 0; rest && i < sizeof hosts / sizeof *hosts; i++) {
        size_t len = strlen(hosts[i]);
        if (strncasecmp(rest, hosts[i], len) == 0 && (!rest[len] || strchr(":/", rest[len])))
            return true;
    }
    return false;
}

static int from_url(const char *url, struct address *a, struct err *e)
{
    const char *rest = behind_scheme(url);
    size_t len = strlen(url);
    if (!rest || !*rest || len > ADDRESS_URL_MAX || strpbrk(rest, "?#@ \t\r\n"))
        return err_set(
            e, ERR_INVALID,
            "CICADA_URL is '%.100s'; it should look like https://host:8700 (the key goes "
            "to CICADA_API_KEY)",
            url);
    *a = (struct address){.kind = ADDRESS_URL, .is_named = true};
    (void)snprintf(a->url, sizeof a->url, "%s", url);
    while (len > 0 && a->url[len - 1] == '/')
        a->url[--len] = '\0';
    return set_key(a, e);
}

struct address address_of_socket(const char *path)
{
    struct address a = {.kind = ADDRESS_SOCKET, .url = "http://localhost"};
    (void)snprintf(a.socket, sizeof a.socket, "%s", path);
    return a;
}

bool address_answers(const char *socket_path, uid_t *ret_uid)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    if (strlen(socket_path) > ADDRESS_SOCKET_MAX)
        return false;
    memcpy(name.sun_path, socket_path, strlen(socket_path));
    scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    /* EAGAIN: its queue is full, so there is somebody, and busy. */
    if (connect(fd, (const struct sockaddr *)&name, sizeof name) && errno != EAGAIN)
        return false;
    struct ucred who;
    socklen_t len = sizeof who;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len))
        return false;
    *ret_uid = who.uid;
    return true;
}

static int from_socket(const char *path, struct address *a, struct err *e)
{
    if (strlen(path) > ADDRESS_SOCKET_MAX)
        return err_set(e, ERR_INVALID,
                       "CICADA_SOCKET is longer than the %d bytes a socket may have",
                       ADDRESS_SOCKET_MAX);
    *a = address_of_socket(path);
    a->is_named = true;
    return set_key(a, e);
}

/* The directory of the user's own socket. */
static int own_dir(char ret[ADDRESS_SOCKET_MAX + 1], struct err *e)
{
    const char *runtime = variable("XDG_RUNTIME_DIR");
    int len = runtime && runtime[0] == '/'
                  ? snprintf(ret, ADDRESS_SOCKET_MAX + 1, "%s/cicada", runtime)
                  : snprintf(ret, ADDRESS_SOCKET_MAX + 1, "/tmp/cicada-%u", (unsigned)geteuid());
    if (len < 0 || len > ADDRESS_SOCKET_MAX - (int)sizeof "/cicada.sock")
        return err_set(e, ERR_INVALID, "XDG_RUNTIME_DIR is too long for a socket below it");
    return 0;
}

int address_own(bool makes_dir, char ret[ADDRESS_SOCKET_MAX + 1], struct err *e)
{
    char dir[ADDRESS_SOCKET_MAX + 1];
    struct stat st;
    if (own_dir(dir, e))
        return -1;
    if (makes_dir && mkdir(dir, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the directory for the server's socket");
    if (lstat(dir, &st))
        return err_sys(e, errno, "the directory of the server's socket");
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
        return err_set(e, ERR_DENIED,
                       "%.100s should be a directory that only you can enter; remove it, or set "
                       "XDG_RUNTIME_DIR",
                       dir);
    (void)snprintf(ret, ADDRESS_SOCKET_MAX + 1, "%.*s/cicada.sock", ADDRESS_SOCKET_MAX - 13, dir);
    return 0;
}

static bool is_ours(uid_t server)
{
    return geteuid() == 0 || server == geteuid();
}

int address_find(struct address *ret, struct err *e)
{
    const char *url = variable("CICADA_URL"), *named = variable("CICADA_SOCKET");
    char own[ADDRESS_SOCKET_MAX + 1];
    struct err ignored = {0};
    uid_t server;
    *ret = (struct address){.kind = ADDRESS_NONE};
    if (url)
        return from_url(url, ret, e);
    if (named && strcmp(named, "off") == 0) {
        ret->is_named = true;
        return 0;
    }
    if (named)
        return from_socket(named, ret, e);
    if (address_answers(system_socket, &server) &&
        (is_ours(server) || variable("CICADA_API_KEY"))) {
        *ret = address_of_socket(system_socket);
        return is_ours(server) ? 0 : set_key(ret, e);
    }
    if (address_own(/* makes_dir= */ false, own, &ignored) == 0 && address_answers(own, &server))
        *ret = address_of_socket(own);
    return 0;
}
