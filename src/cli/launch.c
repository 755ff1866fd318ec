#include "cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/address.h"

enum {
    TRY_MS = 10,      /* between two looks whether it answers */
    ANSWER_MS = 2000, /* that it may take to answer one */
    LOG_TAIL = 4096,  /* bytes of its log in which the last line is looked for */
};

static const char idle_exit_s[] = "300";

static int take_turn(const char *socket_path, int *ret_fd, struct err *e)
{
    char path[ADDRESS_SOCKET_MAX + 8];
    (void)snprintf(path, sizeof path, "%s.lock", socket_path);
    scoped(fd_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, errno, "open the lock beside the server's socket");
    int failed;
    do
        failed = flock(fd, LOCK_EX); /* whoever has it gives up after timeout_ms */
    while (failed && errno == EINTR);
    if (failed)
        return err_sys(e, errno, "lock the place of the server's socket");
    *ret_fd = take_fd(&fd);
    return 0;
}

/* In the child: no return. Only what may be called between fork and exec. */
static void become_server(const struct launch *l, int null_fd, int log_fd, const char *listen_word)
{
    const char *const words[] = {"cicada",      "serve",     "--listen", listen_word,
                                 "--idle-exit", idle_exit_s, NULL};
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)setsid();
    if (dup3(null_fd, STDIN_FILENO, 0) < 0 || dup3(log_fd, STDOUT_FILENO, 0) < 0 ||
        dup3(log_fd, STDERR_FILENO, 0) < 0 || chdir("/"))
        _exit(126);
    execv(l->program, (char *const *)words);
    _exit(127);
}

static int start(const struct launch *l, pid_t *ret, struct err *e)
{
    char listen_word[ADDRESS_SOCKET_MAX + 8];
    (void)snprintf(listen_word, sizeof listen_word, "unix:%s", l->socket_path);
    scoped(fd_closep) int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    scoped(fd_closep) int log_fd =
        l->log_path ? open(l->log_path,
                           O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600)
                    : -1;
    if (null_fd < 0)
        return err_sys(e, errno, "open /dev/null");
    pid_t child = fork();
    if (child < 0)
        return err_sys(e, errno, "start a server");
    if (child == 0)
        become_server(l, null_fd, log_fd >= 0 ? log_fd : null_fd, listen_word);
    *ret = child;
    return 0;
}

/* True if a request on the socket is answered with 200. */
static bool is_healthy(const char *socket_path)
{
    static const char request[] =
        "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    static const char good[] = "HTTP/1.1 200";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct timeval patience = {.tv_sec = ANSWER_MS / 1000};
    struct err ignored = {0};
    char answer[sizeof good];
    size_t len;
    memcpy(name.sun_path, socket_path, strlen(socket_path));
    scoped(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) ||
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) ||
        connect(fd, (const struct sockaddr *)&name, sizeof name))
        return false;
    return send(fd, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)sizeof request - 1 &&
           fd_read_all(fd, answer, sizeof good - 1, &len, &ignored) == 0 &&
           len == sizeof good - 1 && memcmp(answer, good, len) == 0;
}

/* The last line of the log that is not empty, cut to what fits. */
static void last_line(const char *log_path, char ret[160])
{
    char tail[LOG_TAIL + 1];
    struct err ignored = {0};
    size_t len = 0;
    struct stat st;
    ret[0] = '\0';
    scoped(fd_closep) int fd = log_path ? open(log_path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 || fstat(fd, &st))
        return;
    if (st.st_size > LOG_TAIL)
        (void)lseek(fd, -LOG_TAIL, SEEK_END);
    if (fd_read_all(fd, tail, LOG_TAIL, &len, &ignored))
        return;
    while (len > 0 && tail[len - 1] == '\n')
        len--;
    tail[len] = '\0';
    const char *line = strrchr(tail, '\n');
    line = line ? line + 1 : tail;
    (void)snprintf(ret, 160, "%.159s", strncmp(line, "cicada: ", 8) == 0 ? line + 8 : line);
}

static int tell_end(const struct launch *l, pid_t child, struct err *e)
{
    int status = 0;
    char line[160];
    (void)waitpid(child, &status, 0);
    last_line(l->log_path, line);
    if (*line)
        return err_set(e, ERR_UNAVAILABLE, "the server that was started ended at once: %s", line);
    if (WIFSIGNALED(status))
        return err_set(e, ERR_UNAVAILABLE, "the server that was started was killed by signal %d",
                       WTERMSIG(status));
    return err_set(e, ERR_UNAVAILABLE, "the server that was started ended at once with code %d",
                   WEXITSTATUS(status));
}

/* Until it answers. Nothing tells us when it begins to listen, hence the looking. */
static int await_answer(const struct launch *l, pid_t child, struct err *e)
{
    int64_t deadline_us = clock_us() + (int64_t)l->timeout_ms * 1000;
    scoped(fd_closep) int pid_fd = (int)syscall(SYS_pidfd_open, child, 0);
    while (!is_healthy(l->socket_path)) {
        struct pollfd fd = {pid_fd, POLLIN, 0};
        int ended = poll(&fd, 1, TRY_MS);
        if (ended > 0)
            return tell_end(l, child, e);
        if (clock_us() > deadline_us) {
            (void)kill(child, SIGKILL);
            (void)waitpid(child, NULL, 0);
            return err_set(e, ERR_UNAVAILABLE,
                           "the server that was started did not answer within %u s",
                           l->timeout_ms / 1000);
        }
    }
    return 0;
}

int launch_server(const struct launch *l, struct err *e)
{
    scoped(fd_closep) int turn_fd = -1;
    pid_t child = -1;
    if (take_turn(l->socket_path, &turn_fd, e))
        return -1;
    if (is_healthy(l->socket_path))
        return 0; /* somebody was faster */
    if (start(l, &child, e))
        return -1;
    return await_answer(l, child, e);
}
