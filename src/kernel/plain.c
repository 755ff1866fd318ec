#include "kernel/plain.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "image/maps.h"
#include "kernel/control.h"
#include "kernel/stream.h"
#include "kernel/workers.h"

enum {
    MAPS_MAX = 16 << 10, /* on the stack, for a moment; a session that has more is not plain */
    OWN_FILES = 5,       /* three streams, the control socket, and the caller's */
};

static bool is_null(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static bool is_engines(int fd)
{
    struct stat st;
    struct stream_pipe pipe = stream_pipe(fd);
    return fstat(fd, &st) == 0 && st.st_dev == pipe.device && st.st_ino == pipe.inode;
}

/* The size of that directory is how many there are (Linux 6.2; before that 0). */
static bool has_own_files_only(int own_fd)
{
    struct stat all;
    return own_fd >= 0 && own_fd != control_fd() && fcntl(own_fd, F_GETFD) >= 0 &&
           fcntl(control_fd(), F_GETFD) >= 0 && is_null(STDIN_FILENO) &&
           is_engines(STDOUT_FILENO) && is_engines(STDERR_FILENO) &&
           stat("/proc/self/fd", &all) == 0 && all.st_size == OWN_FILES;
}

static bool has_children(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0 || errno != ECHILD;
}

/* The number of bytes, at most `size`; -1 when it cannot be read. */
static ssize_t read_whole(const char *path, char *text, size_t size)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = fd < 0 ? -1 : 1;
    while (n > 0 && len < size) {
        n = read(fd, text + len, size - len);
        len += n > 0 ? (size_t)n : 0;
    }
    return n < 0 ? -1 : (ssize_t)len;
}

static bool has_timers(void)
{
    static const __itimer_which_t kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    struct itimerval left;
    char first;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (getitimer(kinds[i], &left) || left.it_value.tv_sec || left.it_value.tv_usec)
            return true;
    return read_whole("/proc/self/timers", &first, 1) > 0; /* a kernel without the file: none */
}

/* Memory that others write to, or semaphores in it. */
static bool is_shared(const struct mapping *m)
{
    static const char semaphores[] = "/dev/shm/sem.";
    size_t len = strlen(semaphores);
    return (m->is_shared && (m->prot & PROT_WRITE)) ||
           (m->name_len > len && memcmp(m->name, semaphores, len) == 0);
}

static bool has_shared_memory(void)
{
    char text[MAPS_MAX];
    ssize_t len = read_whole("/proc/self/maps", text, sizeof text);
    if (len <= 0 || len == sizeof text)
        return true;
    const char *at = text;
    struct mapping m;
    int more;
    while ((more = maps_next(&at, text + len, &m)) == 1)
        if (is_shared(&m))
            return true;
    return more != 0;
}

bool plain_is(int own_fd)
{
    return workers_all_threads() == 1 && has_own_files_only(own_fd) && !has_children() &&
           !has_timers() && !has_shared_memory();
}
