/* data.h -- the directory everything durable is in, and the one with the socket.
 *
 *     DATA/                 0700, the service user's; locked by the store (store/store.h)
 *         sleepers/         sessions asleep (session/sleeper.h)
 *             images/       links to the images they need (session/images.h)
 *         live/             working copies of sessions that are awake
 *         tmp/              drafts; emptied by data_sweep
 *         ballast/          room that is given up when the disk is full (store/ballast.h)
 *
 * DATA is what [server] data says; "auto" is /var/lib/cicada as root, otherwise
 * $XDG_DATA_HOME/cicada or ~/.local/share/cicada. The socket lies in /run/cicada as root, otherwise
 * in $XDG_RUNTIME_DIR/cicada, and where that is not set in /tmp/cicada-UID.
 *
 * A directory is believed only when it belongs to the service user and nobody else may write to it;
 * the last step of the path is not followed if it is a link. One that root made and that is empty
 * is given to the service user (systemd makes them like that); one that is root's and holds
 * something is refused: it may be /etc, by a slip.
 *
 * All calls block on disk. Messages name directories, because they are read by whoever started the
 * server; they are never sent to a client.
 */
#ifndef DAEMON_DATA_H
#define DAEMON_DATA_H

#include <limits.h>

struct drop_user;
struct err;

struct data {
    char path[PATH_MAX]; /* absolute */
    int fd;              /* of DATA; all owned, -1: closed */
    int sleepers_fd, live_fd, tmp_fd;
};

#define DATA_NONE ((struct data){.fd = -1, .sleepers_fd = -1, .live_fd = -1, .tmp_fd = -1})

/* Where DATA is: `configured`, or what "auto" means to who we were started as. Fails with
 * ERR_NOT_FOUND when there is no home either, ERR_INVALID for a path that is not absolute. */
int data_path(const char *configured, char ret[PATH_MAX], struct err *e);

/* Makes what is missing and checks what is there. As root, before the drop: then what it makes
 * belongs to `owner`. Fails with ERR_DENIED for a directory that is not the service's alone. */
int data_open(const char *path, const struct drop_user *owner, struct data *ret, struct err *e);
void data_close(struct data *d);

/* One more directory in DATA, 0700, made if it is missing; *ret_fd is the caller's. Fails like
 * data_open. */
int data_dir(const struct data *d, const char *name, const struct drop_user *owner, int *ret_fd,
             struct err *e);

/* As root: where mounts cannot map ids the files of a session that is awake are its own on the disk
 * (src/spawn/handover.c), and stay so when server and spawner were killed. Gives them back to `owner`, whose
 * working copies they are. Not while another server has the lock of the store. What cannot be given back
 * is left, and its session says so. */
void data_reclaim(const struct data *d, const struct drop_user *owner);

/* Empties tmp/. Only with the lock of the store: another server may be at work. */
void data_sweep(const struct data *d);

/* The directory of the socket, as long as we are who we were started as. Makes nothing. */
int runtime_path(char ret[PATH_MAX], struct err *e);

/* Makes and checks it: 0700, as root 0755 (who may talk is decided by the socket's own mode). Fails
 * like data_open. A socket that a killed server left in it is not removed. */
int runtime_make(const char *path, const struct drop_user *owner, struct err *e);

#endif
