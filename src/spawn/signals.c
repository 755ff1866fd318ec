/* Interrupting and, where there is no pid namespace, hunting down the processes of a jail. */
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "spawn/jail_int.h"

/* From linux/pidfd.h of 6.9; older headers do not have it. */
#define PIDFD_SIGNAL_PROCESS_GROUP_FLAG (1U << 2)

void jail_drop(struct jail *j, int *fd)
{
    if (*fd < 0)
        return;
    (void)epoll_ctl(j->epoll_fd, EPOLL_CTL_DEL, *fd, NULL); /* not all of them are watched */
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
