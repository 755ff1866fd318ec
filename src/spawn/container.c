/* Jails in a container that may make no namespaces: Landlock, seccomp and rlimits around a process
 * group. There is one file system, so /mnt/data is not a mount: the code starts in its data
 * directory, and an image may link /mnt/data to /proc/self/cwd to give it its usual name. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "spawn/jail_int.h"

/* The last two are filled in: the kernel program and the data directory, which is the cwd. */
static const struct landlock_rule shared_rules[] = {
    {"/usr", LANDLOCK_READ, false},
    {"/bin", LANDLOCK_READ, true},
    {"/lib", LANDLOCK_READ, true},
    {"/lib32", LANDLOCK_READ, true},
    {"/lib64", LANDLOCK_READ, true},
    {"/etc/alternatives", LANDLOCK_READ, true},
    {"/etc/fonts", LANDLOCK_READ, true},
    {"/etc/ld.so.cache", LANDLOCK_READ, true},
    {"/etc/matplotlibrc", LANDLOCK_READ, true},
    {"/etc/mime.types", LANDLOCK_READ, true},
    {"/etc/ssl/openssl.cnf", LANDLOCK_READ, true}, /* Node does not start when it may not see it */
    {"/proc/cpuinfo", LANDLOCK_READ, true},
    {"/proc/meminfo", LANDLOCK_READ, true},
    {"/proc/self", LANDLOCK_DEV, false},
    {"/dev/null", LANDLOCK_DEV, false},
    {"/dev/zero", LANDLOCK_DEV, true},
    {"/dev/full", LANDLOCK_DEV, true},
    {"/dev/random", LANDLOCK_READ, true},
    {"/dev/urandom", LANDLOCK_READ, true},
};
enum { SHARED_RULES = sizeof shared_rules / sizeof *shared_rules };

int container_home(int data_fd, char home[PATH_MAX], struct err *e)
{
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", data_fd);
    ssize_t n = readlink(link, home, PATH_MAX - 1);
    if (n < 0)
        return err_sys(e, errno, "name the data directory");
    home[n] = '\0';
    return 0;
}

/* RLIMIT_NPROC counts every process of a uid. Where sessions share one, those that exist already
 * are added to what this one may have. */
static uint32_t processes_of(uid_t uid)
{
    uint32_t count = 0;
    DIR *proc = opendir("/proc");
    if (!proc)
        return 0;
    for (struct dirent *entry; (entry = readdir(proc));) {
        struct stat st;
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            fstatat(dirfd(proc), entry->d_name, &st, 0) == 0 && st.st_uid == uid)
            count++;
    }
    (void)closedir(proc);
    return count;
}

int start_in_container(struct host *host, struct jail *j, struct inside *in, struct err *e)
{
    static struct landlock_rule rules[SHARED_RULES + 2];
    memcpy(rules, shared_rules, sizeof shared_rules);
    rules[SHARED_RULES] = (struct landlock_rule){host->kernel_path, LANDLOCK_READ, false};
    rules[SHARED_RULES + 1] = (struct landlock_rule){".", LANDLOCK_WRITE, false};
    in->rules = rules;
    in->rule_count = SHARED_RULES + 2;
    in->program = host->kernel_path;
    if (host->is_root) {
        in->uid = host_uid(host, j->slot);
        if (jail_hand_over(j, in->uid, e))
            return -1;
    } else {
        in->pids += processes_of(geteuid());
    }
    j->init = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (j->init < 0)
        return err_sys(e, errno, "fork the first process");
    if (j->init == 0)
        inside_first(in);
    j->init_fd = (int)syscall(SYS_pidfd_open, j->init, 0);
    if (j->init_fd >= 0)
        return 0;
    err_sys(e, errno, "open the first process's pidfd");
    (void)kill(j->init, SIGKILL);
    (void)waitpid(j->init, NULL, 0);
    j->init = 0;
    return -1;
}

void container_sweep(struct jail *j)
{
    /* The filter lets no process leave the group, so one signal reaches all of them, also those that
     * are being forked right now. */
    (void)kill(-j->init, SIGKILL);
    /* What lost its parent has become our child: all of them are waited for, the leader too. */
    while (waitpid(-j->init, NULL, 0) > 0 || errno == EINTR) {
    }
}
