/* lock_run.c -- a command while a lock is held. We wait for three things: the end of the command, signals,
 * which we pass on, and the moment to renew the lock. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/client.h"
#include "cli/exit.h"
#include "cli/fileref.h"
#include "cli/locks_int.h"
#include "cli/note.h"
#include "cli/remote.h"

enum { NOT_FOUND_CODE = 127, NOT_RUN_CODE = 126, AGAIN_S = 5 };

struct running {
    struct remote *remote;
    const struct own_lock *lock;
    pid_t pid;
    int pid_fd, signal_fd; /* owned */
    sigset_t before;       /* what was blocked */
    int64_t renew_at_us, expires_at_us;
};

/* POST or DELETE at the lock, with its token. */
static int act(struct remote *r, const struct own_lock *l, const char *method, const char *action,
               struct err *e)
{
    scoped(buf_done) struct buf url = BUF_INIT(CALL_PATH_MAX);
    workspace_url(l->workspace, "locks/", &url);
    client_encode(&url, l->id);
    buf_str(&url, action);
    const struct call call = {.method = method, .path = url.bytes};
    client_lock(r->client, l->token);
    return buf_check(&url, e) ? -1 : client_call(r->client, &call, /* ret= */ NULL, e);
}

int lock_release_own(struct remote *r, const struct own_lock *l, struct err *e)
{
    return act(r, l, "DELETE", "", e);
}

/* ---- renewing ---- */

static void plan(struct running *w)
{
    int64_t now_us = clock_us(), ttl_us = (int64_t)w->lock->ttl_s * 1000000;
    w->renew_at_us = now_us + ttl_us / 3;
    w->expires_at_us = now_us + ttl_us;
}

static void renew(struct running *w)
{
    struct err e = {0};
    struct notes *notes = &w->remote->notes;
    if (act(w->remote, w->lock, "POST", "/renew", &e) == 0) {
        plan(w);
        return;
    }
    w->renew_at_us = clock_us() + AGAIN_S * 1000000LL;
    bool is_lost = e.code == ERR_NOT_FOUND || w->renew_at_us >= w->expires_at_us;
    note_problem(notes, "cannot renew the lock: %s", e.text);
    if (is_lost) {
        note(notes, "the command goes on, but what it stores with the lock will be refused");
        w->renew_at_us = CLOCK_NEVER;
    }
}

/* ---- the command ---- */

/* Those of an outer `cicada lock` stay good. */
static int set_environment(const char *token, struct err *e)
{
    char all[LOCK_TOKENS_SIZE];
    const char *outer = getenv(LOCK_ENVIRONMENT);
    int len = outer && *outer ? snprintf(all, sizeof all, "%s,%s", outer, token)
                              : snprintf(all, sizeof all, "%s", token);
    if (len < 0 || (size_t)len >= sizeof all)
        return err_set(e, ERR_LIMIT, "too many locks inside of each other");
    return setenv(LOCK_ENVIRONMENT, all, 1) ? err_sys(e, errno, "set " LOCK_ENVIRONMENT) : 0;
}

static int hear_signals(struct running *w, struct err *e)
{
    static const int heard[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof heard / sizeof *heard; i++)
        (void)sigaddset(&set, heard[i]);
    if (sigprocmask(SIG_BLOCK, &set, &w->before))
        return err_sys(e, errno, "block signals");
    w->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return w->signal_fd < 0 ? err_sys(e, errno, "hear signals") : 0;
}

/* 0, or the code that a shell has for a command that cannot be run. */
static int start(struct running *w, char *const *command, struct err *e)
{
    posix_spawnattr_t attr;
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attr, &w->before);
    int why = posix_spawnp(&w->pid, command[0], /* actions= */ NULL, &attr, command, environ);
    (void)posix_spawnattr_destroy(&attr);
    if (why) {
        note_problem(&w->remote->notes, "cannot run %s: %s", command[0], strerrordesc_np(why));
        return why == ENOENT ? NOT_FOUND_CODE : NOT_RUN_CODE;
    }
    w->pid_fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
    if (w->pid_fd < 0) {
        (void)err_sys(e, errno, "watch the command");
        (void)kill(w->pid, SIGTERM);
        (void)waitpid(w->pid, NULL, 0);
        return -1;
    }
    return 0;
}

/* A terminal sends its signals to the command itself, too. */
static void pass_on(struct running *w)
{
    struct signalfd_siginfo got;
    while (read(w->signal_fd, &got, sizeof got) == sizeof got)
        if (got.ssi_code != SI_KERNEL)
            (void)kill(w->pid, (int)got.ssi_signo);
}

static int await_end(struct running *w)
{
    int status = 0;
    for (;;) {
        struct pollfd fds[2] = {{.fd = w->pid_fd, .events = POLLIN},
                                {.fd = w->signal_fd, .events = POLLIN}};
        int ready = poll(fds, 2, clock_poll_ms(w->renew_at_us));
        if (ready > 0 && fds[1].revents)
            pass_on(w);
        if (ready > 0 && fds[0].revents)
            break;
        if (clock_us() >= w->renew_at_us)
            renew(w);
    }
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int lock_run(struct remote *r, const struct own_lock *l, char *const *command, struct err *e)
{
    struct running w = {.remote = r, .lock = l, .pid_fd = -1, .signal_fd = -1};
    struct err ignored = {0};
    int code = -1;
    plan(&w);
    if (set_environment(l->token, e) == 0 && hear_signals(&w, e) == 0) {
        code = start(&w, command, e);
        if (code == 0)
            code = await_end(&w);
    }
    if (lock_release_own(r, l, &ignored))
        note(&r->notes, "the lock was not released (%s); it ends by itself", ignored.text);
    fd_closep(&w.pid_fd);
    fd_closep(&w.signal_fd);
    return code;
}
