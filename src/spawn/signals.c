/* A jail's descriptors in the loop, and interrupting it. */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "spawn/jail_int.h"

/* From linux/pidfd.h of 6.9; older headers do not have it. */
#define PIDFD_SIGNAL_PROCESS_GROUP_FLAG (1U << 2)

int jail_watch(struct jail *j, enum jail_source source, int fd, struct err *e)
{
    j->watch[source] = (struct jail_watch){.jail = j, .source = source};
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &j->watch[source]};
    if (fd >= 0 && epoll_ctl(j->host->epoll_fd, EPOLL_CTL_ADD, fd, &event))
        return err_sys(e, errno, "watch the jail");
    return 0;
}

void jail_unwatch(struct jail *j, int fd)
{
    (void)epoll_ctl(j->host->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* not all of them are watched */
}

void jail_drop(struct jail *j, int *fd)
{
    if (*fd < 0)
        return;
    jail_unwatch(j, *fd);
    (void)close(*fd);
    *fd = -1;
}

void jail_interrupt(struct jail *j)
{
    if (j->life != LIFE_LIVE)
        return;
    /* The kernel leads its group; in a container the first process does, which ignores SIGINT. */
    int leader = j->has_namespaces ? j->kernel_fd : j->init_fd;
    if (syscall(SYS_pidfd_send_signal, leader, SIGINT, NULL, PIDFD_SIGNAL_PROCESS_GROUP_FLAG))
        (void)syscall(SYS_pidfd_send_signal, j->kernel_fd, SIGINT, NULL, 0); /* before Linux 6.9 */
}
