#include "cli/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

#include "cli/stop.h"

/* Waits until `fd` takes bytes. False when it does not and we are asked to stop meanwhile. */
static bool wait_writable(int fd, struct stop *stop)
{
    for (;;) {
        struct pollfd fds[] = {{fd, POLLOUT, 0}, {stop ? stop_fd(stop) : -1, POLLIN, 0}};
        int ready = poll(fds, 2, -1);
        if (ready < 0 && errno != EINTR)
            return true; /* let write say what is wrong */
        if (ready > 0 && fds[0].revents)
            return true;
        if (ready > 0)
            return false;
    }
}

/* A pipe that is ready takes PIPE_BUF bytes without blocking, hence the small pieces. */
int outlet_write(int fd, struct stop *stop, const char *bytes, size_t len)
{
    while (len > 0) {
        if (!wait_writable(fd, stop))
            return ECANCELED;
        ssize_t n = write(fd, bytes, len < PIPE_BUF ? len : PIPE_BUF);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
        if (n > 0) {
            bytes += n;
            len -= (size_t)n;
        }
    }
    return 0;
}
