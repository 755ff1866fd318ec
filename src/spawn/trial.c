#include "spawn/trial.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/scope.h"
#include "sandbox/confine.h"
#include "sandbox/overlay.h"
#include "spawn/userns.h"

/* Pid 1 of a namespace pair mounts a proc and a tmpfs, as every jail does. */
static int try_mounts(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return errno;
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "subset=pid"))
        return errno;
    if (mount("tmp", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k"))
        return errno;
    return 0;
}

static int wait_status(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
}

/* In a child of its own: unsharing one namespace must not influence the next trial. */
static int try_unshare(int flag)
{
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0)
        _exit(unshare(flag) ? errno : 0);
    return wait_status(pid);
}

static int try_pid_and_mounts(void)
{
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, 0, 0, 0, 0);
    if (pid < 0)
        return errno;
    if (pid == 0)
        _exit(try_mounts());
    return wait_status(pid);
}

void trial_namespaces(bool is_root, int32_t failure[MECH_COUNT])
{
    /* The child writes its findings where we can read them. */
    int32_t *found = mmap(NULL, sizeof(int32_t) * MECH_COUNT, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static const int all[] = {MECH_USER_NS, MECH_MOUNT_NS, MECH_PID_NS, MECH_IPC_NS, MECH_NET_NS};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        failure[all[i]] = EPERM;
    if (found == MAP_FAILED)
        return;
    memcpy(found, failure, sizeof(int32_t) * MECH_COUNT);

    pid_t pid = fork();
    if (pid == 0) {
        found[MECH_USER_NS] = is_root ? try_unshare(CLONE_NEWUSER) : userns_enter(0);
        if (found[MECH_USER_NS] == 0) {
            found[MECH_IPC_NS] = try_unshare(CLONE_NEWIPC);
            found[MECH_NET_NS] = try_unshare(CLONE_NEWNET);
            found[MECH_MOUNT_NS] = found[MECH_PID_NS] = try_pid_and_mounts();
        }
        _exit(0);
    }
    if (pid > 0)
        (void)wait_status(pid);
    memcpy(failure, found, sizeof(int32_t) * MECH_COUNT);
    (void)munmap(found, sizeof(int32_t) * MECH_COUNT);
}

int trial_seccomp(void)
{
    /* With a null program a kernel that has filters says EFAULT. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == 0)
        return EINVAL;
    return errno == EFAULT ? 0 : errno;
}

int trial_pidfd(void)
{
    scoped(fd_closep) int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (fd < 0)
        return errno;
    return syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) ? errno : 0;
}

int trial_overlay(bool is_root)
{
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0) {
        int why = is_root ? 0 : userns_enter(CLONE_NEWNS);
        if (is_root && unshare(CLONE_NEWNS))
            why = errno;
        _exit(why ? why : overlay_try(is_root));
    }
    return wait_status(pid);
}

int trial_image(void)
{
    unsigned size = 0;
    pid_t pid = fork();
    if (pid < 0)
        return errno;
    if (pid == 0) {
        int why = confine_fixed_layout();
        /* Asks how large the map is, which whoever can set one may ask without privileges. */
        if (!why && prctl(PR_SET_MM, PR_SET_MM_MAP_SIZE, &size, 0, 0))
            why = errno;
        _exit(why);
    }
    return wait_status(pid);
}
