#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/scope.h"
#include "sandbox/cgroup_int.h"

enum { SWEEP_WAIT_US = 1000000 };

bool cgroup_each_member(int dir_fd, bool (*each)(pid_t pid, void *arg), void *arg)
{
    scoped(fd_closep) int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char chunk[4096];
    long pid = 0; /* of the line being read, which may begin in one chunk and end in the next */
    ssize_t n;
    while (fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0)
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] >= '0' && chunk[i] <= '9') {
                pid = pid * 10 + (chunk[i] - '0');
            } else if (chunk[i] == '\n') {
                if (pid > 0 && !each((pid_t)pid, arg)) /* 0: outside of our pid namespace */
                    return false;
                pid = 0;
            }
        }
    return true;
}

static bool kill_one(pid_t pid, void *arg)
{
    if (pid == getpid())
        return true;
    ++*(unsigned *)arg;
    (void)kill(pid, SIGKILL); /* gone already: as wanted */
    return true;
}

unsigned cgroup_kill_members(int dir_fd)
{
    unsigned count = 0;
    (void)cgroup_each_member(dir_fd, kill_one, &count);
    return count;
}

bool cgroup_remove(const struct cgroup_ops *ops, int parent_fd, const char *name,
                   int64_t deadline_us)
{
    scoped(fd_closep) int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    for (;;) {
        if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
            return true;
        int left_ms = clock_poll_ms(deadline_us);
        if (errno != EBUSY || left_ms == 0)
            return false;
        if (!ops->kill_all(fd))
            (void)cgroup_kill_members(fd);
        ops->wait_for_exit(fd, left_ms);
    }
}

struct process {
    char state;
    unsigned long long start;
};

/* "pid (name) state ppid ...": the name may hold blanks and parentheses, so from the last one on. The
 * start time is the 22nd field of all. */
static bool read_process(const char *pid, struct process *ret)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    if (cgroup_get(AT_FDCWD, path, text, sizeof text))
        return false;
    const char *rest = strrchr(text, ')');
    return rest && sscanf(rest,
                          ") %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                          "%*d %*d %llu",
                          &ret->state, &ret->start) == 2;
}

static unsigned long long pid_namespace(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) ? 0 : (unsigned long long)st.st_ino;
}

int cgroup_own_name(char ret[CGROUP_NAME_SIZE])
{
    struct process self;
    if (!read_process("self", &self))
        return ESRCH;
    (void)snprintf(ret, CGROUP_NAME_SIZE, "cicada-%d-%llu-%llu", (int)getpid(), self.start,
                   pid_namespace());
    return 0;
}

/* A zombie is gone: its parent may take its time. In doubt it lives. */
bool cgroup_is_leftover(const char *name)
{
    int pid, end = 0;
    unsigned long long start, namespace;
    if (sscanf(name, "cicada-%d-%llu-%llu%n", &pid, &start, &namespace, &end) != 3 || name[end] ||
        pid <= 0 || namespace != pid_namespace())
        return false;
    if (kill(pid, 0) && errno == ESRCH)
        return true;
    char text[16];
    struct process process;
    (void)snprintf(text, sizeof text, "%d", pid);
    if (!read_process(text, &process))
        return false;
    return process.start != start || process.state == 'Z' || process.state == 'X';
}

static void closedirp(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

static DIR *open_dir(int parent_fd, const char *name)
{
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir && fd >= 0)
        (void)close(fd);
    return dir;
}

/* A spawner's directory holds the sessions' and nothing deeper: a session sees no control groups. */
void cgroup_remove_tree(const struct cgroup_ops *ops, int parent_fd, const char *name,
                        int64_t deadline_us)
{
    scoped(closedirp) DIR *dir = open_dir(parent_fd, name);
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
            (void)cgroup_remove(ops, dirfd(dir), entry->d_name, deadline_us);
    (void)cgroup_remove(ops, parent_fd, name, deadline_us);
}

void cgroup_sweep(const struct cgroup_ops *ops, int parent_fd)
{
    int64_t deadline_us = clock_us() + SWEEP_WAIT_US;
    scoped(closedirp) DIR *dir = open_dir(parent_fd, ".");
    if (!dir)
        return;
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (cgroup_is_leftover(entry->d_name))
            cgroup_remove_tree(ops, parent_fd, entry->d_name, deadline_us);
}
