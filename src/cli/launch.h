/* launch.h -- a server of the user's own, started when one is needed and there is none.
 *
 * It is this program again, `cicada serve --listen unix:PATH --idle-exit 300`, in a session of its own
 * so that no terminal takes it along. It goes on when we have ended, and ends when nobody used it for
 * a while. Of several that start one at the same time only one does: they take turns at a lock beside
 * the socket, and whoever comes later finds a server that answers.
 */
#ifndef CLI_LAUNCH_H
#define CLI_LAUNCH_H

struct err;

struct launch {
    const char *program;     /* to execute */
    const char *socket_path; /* to listen on; its directory exists */
    const char *log_path;    /* gets what it prints, anew each time; NULL: nobody does */
    unsigned timeout_ms;     /* until it answers */
};

/* Returns when the server answers. Fails with ERR_UNAVAILABLE and the last line of its log when it
 * ended instead, or when the time is over, and then it is killed. Forks: not from a process with threads.
 * Blocks. */
int launch_server(const struct launch *l, struct err *e);

#endif
