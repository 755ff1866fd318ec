#include "cli/stop.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "base/scope.h"
#include "session/kernel.h"

struct stop {
    int signal_fd, asked_fd, quit_fd;
    bool has_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* protects is_asked and kernel */
    bool is_asked;
    struct kernel *kernel; /* borrowed; NULL: nothing to cancel */
};

enum { AGAIN_MS = 100 };

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    return set;
}

static void die_of(int signal_number)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t set = stop_signals();
    (void)sigaction(signal_number, &by_default, NULL);
    (void)pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    (void)raise(signal_number);
}

/* Cancels the run that goes on, if there is one. True if somebody has asked. */
static bool cancel(struct stop *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_asked = s->is_asked;
    if (is_asked && s->kernel)
        kernel_cancel(s->kernel);
    pthread_mutex_unlock(&s->lock);
    return is_asked;
}

static void ask(struct stop *s, int signal_number)
{
    pthread_mutex_lock(&s->lock);
    bool is_second = s->is_asked;
    s->is_asked = true;
    pthread_mutex_unlock(&s->lock);
    if (is_second)
        die_of(signal_number);
    (void)eventfd_write(s->asked_fd, 1);
}

/* A cancel that comes between the decision to run and the run's begin would be lost, so it is said
 * again until the kernel is not watched any more. */
static void *watch(void *arg)
{
    struct stop *s = arg;
    for (;;) {
        struct pollfd fds[] = {{s->signal_fd, POLLIN, 0}, {s->quit_fd, POLLIN, 0}};
        int ready = poll(fds, 2, cancel(s) ? AGAIN_MS : -1);
        if (ready < 0 && errno != EINTR)
            return NULL;
        if (ready > 0 && fds[1].revents)
            return NULL;
        struct signalfd_siginfo got;
        if (ready > 0 && read(s->signal_fd, &got, sizeof got) == (ssize_t)sizeof got)
            ask(s, (int)got.ssi_signo);
    }
}

static int open_fds(struct stop *s, struct err *e)
{
    sigset_t set = stop_signals();
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
    s->asked_fd = eventfd(0, EFD_CLOEXEC);
    s->quit_fd = eventfd(0, EFD_CLOEXEC);
    if (s->signal_fd < 0 || s->asked_fd < 0 || s->quit_fd < 0)
        return err_sys(e, errno, "watch signals");
    return 0;
}

static int start_thread(struct stop *s, struct err *e)
{
    sigset_t set = stop_signals();
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    (void)sigaction(SIGPIPE, &ignore, NULL);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL);
    int failed = pthread_create(&s->thread, NULL, watch, s);
    if (failed)
        return err_sys(e, failed, "watch signals");
    s->has_thread = true;
    return 0;
}

int stop_new(struct stop **ret, struct err *e)
{
    struct stop *s = malloc(sizeof *s);
    if (!s)
        return err_set(e, ERR_NO_MEMORY, "watch signals");
    *s = (struct stop){.signal_fd = -1, .asked_fd = -1, .quit_fd = -1};
    pthread_mutex_init(&s->lock, NULL);
    if (open_fds(s, e) || start_thread(s, e)) {
        stop_free(s);
        return -1;
    }
    *ret = s;
    return 0;
}

void stop_free(struct stop *s)
{
    if (!s)
        return;
    if (s->has_thread) {
        (void)eventfd_write(s->quit_fd, 1);
        (void)pthread_join(s->thread, NULL);
    }
    fd_closep(&s->signal_fd);
    fd_closep(&s->asked_fd);
    fd_closep(&s->quit_fd);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

void stop_watch(struct stop *s, struct kernel *k)
{
    pthread_mutex_lock(&s->lock);
    s->kernel = k;
    pthread_mutex_unlock(&s->lock);
}

bool stop_is_asked(struct stop *s)
{
    pthread_mutex_lock(&s->lock);
    bool is_asked = s->is_asked;
    pthread_mutex_unlock(&s->lock);
    return is_asked;
}

int stop_fd(const struct stop *s)
{
    return s->asked_fd;
}
