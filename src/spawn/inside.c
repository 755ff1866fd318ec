#include "spawn/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "sandbox/confine.h"
#include "sandbox/root.h"

/* Tells the spawner which step failed and ends. If even that cannot be told, the spawner sees a jail
 * that died while starting. */
static _Noreturn void fail(int report, const char *step, int why)
{
    struct inside_failure failure = {.why = why};
    size_t len = strnlen(step, sizeof failure.step - 1);
    memcpy(failure.step, step, len);
    (void)send(report, &failure, sizeof failure, MSG_NOSIGNAL);
    _exit(120);
}

static void need(int report, const char *step, int why)
{
    if (why)
        fail(report, step, why);
}

static void need_zero(int report, const char *step, long result)
{
    if (result != 0)
        fail(report, step, errno);
}

/* Puts the descriptors where the kernel expects them: 0 /dev/null, 1 and 2 the streams, the control
 * socket far up with image and delta behind it, the report at 3 until exec. Everything else is
 * closed. */
static int place_descriptors(const struct inside *in)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        fail(in->report, "open /dev/null", errno);
    if (dup2(null, 0) < 0 || dup2(in->out, 1) < 0 || dup2(in->err, 2) < 0)
        fail(in->report, "place the standard streams", errno);
    if (dup3(in->control, in->control_at, 0) < 0)
        fail(in->report, "place the control socket", errno);
    if (in->image >= 0 && dup3(in->image, in->control_at + 1, 0) < 0)
        fail(in->report, "place the image", errno);
    if (in->delta >= 0 && dup3(in->delta, in->control_at + 2, 0) < 0)
        fail(in->report, "place the delta", errno);
    int report = 3;
    if (in->report != report && dup3(in->report, report, O_CLOEXEC) < 0)
        fail(in->report, "place the report socket", errno);
    const int kept[] = {0, 1, 2, report, in->control_at, in->control_at + 1, in->control_at + 2};
    unsigned count = in->image < 0 ? 5 : in->delta < 0 ? 6 : 7; /* no delta without an image */
    need(report, "close descriptors", confine_descriptors(kept, count));
    return report;
}

enum { NICE = 5 };

/* Without a cpu cgroup: fewer cores and a low priority. */
static void limit_cpu(const struct inside *in, int report)
{
    if (in->cores == 0)
        return;
    cpu_set_t may, set;
    CPU_ZERO(&set);
    need_zero(report, "ask for the cores", sched_getaffinity(0, sizeof may, &may));
    unsigned wanted = in->cores;
    for (unsigned i = 0; i < CPU_SETSIZE && wanted > 0; i++) {
        unsigned core = (in->first_core + i) % CPU_SETSIZE;
        if (CPU_ISSET(core, &may)) {
            CPU_SET(core, &set);
            wanted--;
        }
    }
    need_zero(report, "stay on some cores", sched_setaffinity(0, sizeof set, &set));
    if (getpriority(PRIO_PROCESS, 0) < NICE) /* one that was started lower may not be raised */
        need_zero(report, "lower the priority", setpriority(PRIO_PROCESS, 0, NICE));
}

/* With namespaces: a session of its own, in the mounted directory, or parked, when there is none
 * yet, at the root. Without: in the first process's group, which is what gets killed, and in the
 * directory itself. */
static void enter_data(const struct inside *in, int report)
{
    char cwd[sizeof ROOT_DATA];
    const char *wanted = in->attach < 0 ? ROOT_DATA : "/";
    if (!in->has_namespaces)
        return; /* it is there already: the descriptor is closed by now */
    if (setsid() < 0)
        fail(report, "start a session", errno);
    need_zero(report, "enter /mnt/data", chdir(wanted));
    /* A directory outside the root would show here as "(unreachable)". */
    if (!getcwd(cwd, sizeof cwd) || strcmp(cwd, wanted) != 0)
        fail(report, "be in /mnt/data", ENOENT);
}

static _Noreturn void become_kernel(const struct inside *in)
{
    if (!in->has_namespaces && fchdir(in->data_dir))
        fail(in->report, "enter the data directory", errno);
    int report = place_descriptors(in);

    need(report, "reset signals", confine_signals());
    limit_cpu(in, report);
    const struct confine_limits limits = {.file_bytes = in->limits->file_bytes,
                                          .open_files = in->limits->open_files,
                                          .pids = in->pids,
                                          .data_bytes = in->data_bytes};
    need(report, "set resource limits", confine_rlimits(&limits));
    need(report, "empty the bounding set", confine_bounding_set());
    if (in->uid != (uid_t)-1)
        need(report, "change identity", confine_identity(in->uid, (gid_t)in->uid));
    need(report, "drop capabilities", confine_capabilities());
    need(report, "die with the parent", confine_parent_death());
    (void)umask(022); /* cannot fail */
    enter_data(in, report);
    need(report, "set no_new_privs", confine_no_new_privs());
    const char *path = "restrict";
    int why = landlock_restrict(in->rules, in->rule_count, &path);
    if (why && path == in->program) /* where it lies on the host is nobody's business */
        fail(report, "let the session read the kernel program", why);
    if (why)
        fail(report, path ? path : "restrict with Landlock", why);
    if (in->has_fixed_layout)
        need(report, "switch address randomisation off", confine_fixed_layout());
    need(report, "load the system call filter", filter_load(in->filter));

    (void)execve(in->program, in->argv, in->env);
    fail(report, "execute the kernel program", errno);
}

/* Pid 1 from now on: no privileges, no descriptors, a handful of system calls. It ends when the
 * kernel does, and with it every process of the jail; or when there is nobody left, whoever the
 * kernel was. */
static void reap_one(const struct inside *in)
{
    siginfo_t info;
    struct rusage used;
    memset(&info, 0, sizeof info);
    if (syscall(SYS_waitid, P_ALL, 0, &info, WEXITED, &used)) {
        if (errno == ECHILD)
            syscall(SYS_exit_group, 0);
    } else if (info.si_pid == __atomic_load_n(&in->words->kernel, __ATOMIC_ACQUIRE)) {
        in->words->status = info.si_status;
        in->words->used = used;
        __atomic_store_n(&in->words->cause, info.si_code, __ATOMIC_RELEASE);
        syscall(SYS_exit_group, 0);
    }
}

/* Docker's filter answers clone3 with ENOSYS; then the pidfd comes a moment later. The child cannot
 * be gone by then: nobody but us reaps it. */
static pid_t clone_kernel(int *ret_pidfd)
{
    struct clone_args args = {.flags = CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
                              .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
                              .exit_signal = SIGCHLD};
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    if (pid >= 0 || errno != ENOSYS)
        return pid;
    pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid > 0)
        *ret_pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return pid;
}

/* The spawner makes the mount of the data directory and hands it over. */
static void receive_data(int sock)
{
    char word;
    size_t len = 0, fd_count = 0;
    int mount = -1;
    struct err e = {0};
    if (fd_recv(sock, &word, 1, &len, &mount, 1, &fd_count, &e) || len != 1 || fd_count != 1)
        fail(sock, "receive the data directory", EPROTO); /* or nobody is there to be told */
    need(sock, "mount /mnt/data", root_attach(mount));
}

static void enter_root(const struct inside *in)
{
    /* Made here and not by clone, so that its root is the group we were put into by now. */
    need_zero(in->report, "make a cgroup namespace", unshare(CLONE_NEWCGROUP));
    if (in->uid != (uid_t)-1)
        need(in->report, "become root of the namespace", confine_identity(0, 0));
    const char *step;
    int why = root_enter(in->limits->tmp_bytes, &step);
    need(in->report, step, why);
    for (size_t i = 0; i < JAIL_LIBRARIES; i++)
        if (in->libraries[i] >= 0)
            need(in->report, "mount the libraries it was baked with",
                 root_cover(in->libraries[i], jail_libraries[i].path));
    if (in->attach < 0)
        receive_data(in->report);
}

static void take_group_along(int number)
{
    (void)number;
    (void)syscall(SYS_kill, 0, SIGKILL);
}

/* When the spawner dies, so does the jail. With a pid namespace SIGKILL is enough; without, we have to
 * live a moment longer to take the group along. */
static void die_with_spawner(const struct inside *in, int report)
{
    if (in->has_namespaces)
        need(report, "die with the spawner", confine_parent_death());
    else
        need_zero(report, "die with the spawner", prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0));
}

/* Without namespaces: every process of the session is a descendant and in this group, for the filter
 * lets none of them leave it. SIGINT for the group is not meant for its leader. */
static void lead_group(const struct inside *in)
{
    const struct sigaction ignore = {.sa_handler = SIG_IGN};
    const struct sigaction take_along = {.sa_handler = take_group_along};
    if (setsid() < 0)
        fail(in->report, "start a session", errno);
    need_zero(in->report, "ignore SIGINT", sigaction(SIGINT, &ignore, NULL));
    need_zero(in->report, "catch SIGTERM", sigaction(SIGTERM, &take_along, NULL));
    need_zero(in->report, "adopt orphans", prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0));
}

/* What a process that has nothing to hide would still show: who ends with whom, and whether others
 * may look into it. */
static void hide(const struct inside *in, int report)
{
    die_with_spawner(in, report);
    need_zero(report, "hide pid 1", prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
    need(report, "set no_new_privs for pid 1", confine_no_new_privs());
    need_zero(report, "name pid 1", prctl(PR_SET_NAME, "cicada-init", 0, 0, 0));
}

/* Closes everything but the two, which are in no order. */
static int keep_two(int one, int other)
{
    const int kept[] = {one < other ? one : other, one < other ? other : one};
    return confine_descriptors(kept, 2);
}

/* Waits, with as little as possible, for the data directory, and mounts it. False when the kernel
 * has ended before that: then there is nothing to wait for. */
static bool wait_parked(const struct inside *in, int kernel_fd)
{
    const int attach = in->attach;
    need(in->report, "keep only the right to mount", confine_to_mounting());
    hide(in, in->report);
    need(in->report, "close pid 1's descriptors", keep_two(attach, kernel_fd));
    need(attach, "load the filter of a parked pid 1", filter_load_parked());

    struct pollfd ready[] = {{.fd = attach, .events = POLLIN}, {.fd = kernel_fd, .events = POLLIN}};
    while (syscall(SYS_poll, ready, 2, -1) < 0 && errno == EINTR) {
    }
    if (ready[1].revents)
        return false;
    receive_data(attach);
    return true;
}

/* Gives up what is left, and tells so if it was parked. The descriptors go last: when the spawner
 * sees the end of file, there is nothing left to be done here. Returns to whoever reaps: under the
 * filters a sanitizer could not do what it does before a call that does not return. */
static void settle(const struct inside *in, int report, bool is_attached)
{
    need(report, "drop pid 1's capabilities", confine_capabilities());
    hide(in, report);
    if (is_attached && send(report, "a", 1, MSG_NOSIGNAL) != 1)
        fail(report, "say that /mnt/data is mounted", errno);
    need(report, "load pid 1's filter", filter_load_init());
    /* From here on nobody can be told; a failure ends pid 1 and so the jail. */
    if (confine_descriptors(NULL, 0))
        _exit(121);
}

_Noreturn void inside_first(const struct inside *in)
{
    /* Before the go there are no id maps and no cgroup. If the spawner dies first, so do we. */
    die_with_spawner(in, in->report);
    char go;
    if (recv(in->report, &go, 1, 0) != 1)
        _exit(123);
    /* By itself: moving another process waits for a grace period of the kernel, some 15 ms. */
    if (in->group)
        need(in->report, "join the control group", cgroup_join(in->group));
    if (in->has_namespaces)
        enter_root(in);
    else
        lead_group(in);

    int pidfd = -1;
    pid_t kernel = clone_kernel(&pidfd);
    if (kernel < 0)
        fail(in->report, "start the kernel's process", errno);
    if (kernel == 0)
        become_kernel(in);

    __atomic_store_n(&in->words->kernel, kernel, __ATOMIC_RELEASE);
    struct err e = {0};
    if (fd_send(in->report, "k", 1, &pidfd, 1, &e))
        fail(in->report, "hand over the kernel's pidfd", EPIPE);
    /* Without a pid namespace the kernel dies with us by a signal, which only its own user may send. */
    if (!in->has_namespaces && in->uid != (uid_t)-1)
        need(in->report, "change the first process's identity",
             confine_identity(in->uid, (gid_t)in->uid));
    if (in->attach < 0)
        settle(in, in->report, /* is_attached= */ false);
    else
        settle(in, in->attach, wait_parked(in, pidfd));
    for (;;)
        reap_one(in);
}
