#include "sandbox/root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "sandbox/root_int.h"

/* Where the template is put together: any directory that exists everywhere. It is covered only in
 * our own mount namespace. */
#define BENCH "/tmp"

/* glibc 2.36 has wrappers for these, musl and older glibc do not; numbers work everywhere. */
static int sys_open_tree(int dir_fd, const char *path, unsigned flags)
{
    return (int)syscall(SYS_open_tree, dir_fd, path, flags);
}

static int sys_move_mount(int from_fd, const char *to)
{
    return (int)syscall(SYS_move_mount, from_fd, "", AT_FDCWD, to, MOVE_MOUNT_F_EMPTY_PATH);
}

static int set_attr(int fd, uint64_t set, int idmap_fd, unsigned flags)
{
    struct mount_attr attr = {.attr_set = set};
    if (idmap_fd >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (unsigned)idmap_fd;
    }
    return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | flags, &attr, sizeof attr);
}

/* Binds `from` on `to` with everything mounted below it. */
static int bind(int from_fd, const char *from, const char *to, uint64_t attr, struct err *e)
{
    scoped(fd_closep) int fd = sys_open_tree(from_fd, from,
                                             OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
                                                 (*from ? 0 : AT_EMPTY_PATH));
    if (fd < 0)
        return err_sys(e, errno, "open_tree for %s", to);
    if (set_attr(fd, attr, -1, AT_RECURSIVE))
        return err_sys(e, errno, "mount_setattr for %s", to);
    if (sys_move_mount(fd, to))
        return err_sys(e, errno, "move_mount on %s", to);
    return 0;
}

static int write_file(const char *path, const char *text, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return err_sys(e, errno, "create %s", path);
    return fd_write_all(fd, text, strlen(text), e);
}

/* A tmpfs that is the template's root: its files are few and it becomes read-only. */
static int make_bench(struct err *e)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return err_sys(e, errno, "make mounts private");
    if (mount("root", BENCH, "tmpfs", MS_NOSUID, "size=1m,nr_inodes=256,mode=755"))
        return err_sys(e, errno, "mount the root");
    return 0;
}

static int make_directories(struct err *e)
{
    static const char *const dirs[] = {
        "usr",           "etc",        "proc",    "dev", "tmp", "mnt",       "mnt/data",
        "opt",           "opt/cicada", "dev/shm", "run", "var", "etc/fonts", "etc/alternatives",
        "etc/python3.11"};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        char path[64];
        snprintf(path, sizeof path, BENCH "/%s", dirs[i]);
        if (mkdir(path, 0755))
            return err_sys(e, errno, "make /%s", dirs[i]);
    }
    if (symlink("/tmp", BENCH "/var/tmp"))
        return err_sys(e, errno, "link /var/tmp");
    return 0;
}

/* /bin, /lib and so on: links into /usr where the host has links, its directories otherwise. */
static int make_system(struct err *e)
{
    static const char *const names[] = {"bin", "sbin", "lib", "lib32", "lib64", "libx32"};
    const uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
    if (bind(AT_FDCWD, "/usr", BENCH "/usr", attr, e))
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char from[32], to[64], target[64];
        snprintf(from, sizeof from, "/%s", names[i]);
        snprintf(to, sizeof to, BENCH "/%s", names[i]);
        ssize_t n = readlink(from, target, sizeof target - 1);
        if (n > 0) {
            target[n] = '\0';
            if (symlink(target, to))
                return err_sys(e, errno, "link /%s", names[i]);
        } else if (errno == EINVAL) {
            if (mkdir(to, 0755) || bind(AT_FDCWD, from, to, attr, e))
                return err_sys(e, errno, "bind /%s", names[i]);
        }
    }
    return 0;
}

/* Debian's Python reads this file at start. psutil, on which joblib's workers rely, takes the time of
 * the last boot from /proc/stat and prints a traceback when it is missing, as in here it always is; so
 * it is given the time. The kernel does the same for itself (kernel/libraries.py). */
static const char site_customize[] =
    "import sys\n"
    "class Psutil:\n"
    "    @classmethod\n"
    "    def find_spec(cls, name, path=None, target=None):\n"
    "        if name != 'psutil._pslinux':\n"
    "            return None\n"
    "        sys.meta_path.remove(cls)\n"
    "        import importlib.util, time, traceback\n"
    "        spec = importlib.util.find_spec(name)\n"
    "        loader, loud = spec.loader, traceback.print_exc\n"
    "        execute = loader.exec_module\n"
    "        def exec_module(module):\n"
    "            traceback.print_exc = lambda *args, **options: None\n"
    "            try:\n"
    "                execute(module)\n"
    "            finally:\n"
    "                traceback.print_exc = loud\n"
    "            module.BOOT_TIME = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)\n"
    "        loader.exec_module = exec_module\n"
    "        return spec\n"
    "sys.meta_path.insert(0, Psutil)\n";

/* What programs look up in /etc that is the same for everybody. Secrets, hosts and users are not. */
static int make_etc(struct err *e)
{
    static const char *const shared[] = {"alternatives", "fonts",      "matplotlibrc",
                                         "ld.so.cache",  "mime.types", "papersize"};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        char from[64], to[64];
        struct stat st;
        snprintf(from, sizeof from, "/etc/%s", shared[i]);
        snprintf(to, sizeof to, BENCH "/etc/%s", shared[i]);
        if (stat(from, &st))
            continue;
        if (!S_ISDIR(st.st_mode) && write_file(to, "", e))
            return -1;
        if (bind(AT_FDCWD, from, to, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, e))
            return -1;
    }
    if (write_file(BENCH "/etc/passwd",
                   "root:x:0:0::/:/usr/sbin/nologin\nuser:x:1000:1000::/tmp:/bin/sh\n", e) ||
        write_file(BENCH "/etc/group", "root:x:0:\nuser:x:1000:\n", e) ||
        write_file(BENCH "/etc/hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n", e) ||
        write_file(BENCH "/etc/python3.11/sitecustomize.py", site_customize, e) ||
        write_file(BENCH "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n", e))
        return -1;
    return 0;
}

static int make_dev(struct err *e)
{
    static const char *const nodes[] = {"null", "zero", "full", "random", "urandom"};
    static const char *const links[][2] = {{"/proc/self/fd", BENCH "/dev/fd"},
                                           {"/proc/self/fd/0", BENCH "/dev/stdin"},
                                           {"/proc/self/fd/1", BENCH "/dev/stdout"},
                                           {"/proc/self/fd/2", BENCH "/dev/stderr"}};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        char from[32], to[64];
        snprintf(from, sizeof from, "/dev/%s", nodes[i]);
        snprintf(to, sizeof to, BENCH "/dev/%s", nodes[i]);
        if (write_file(to, "", e) ||
            bind(AT_FDCWD, from, to, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC, e))
            return -1;
    }
    for (size_t i = 0; i < sizeof links / sizeof *links; i++)
        if (symlink(links[i][0], links[i][1]))
            return err_sys(e, errno, "link %s", links[i][1] + sizeof BENCH - 1);
    return 0;
}

/* The kernel refuses a new proc mount in a user namespace unless a whole one is visible already. */
static int make_proc(bool has_host_root, struct err *e)
{
    if (!has_host_root)
        return bind(AT_FDCWD, "/proc", BENCH "/proc", 0, e);
    if (mount("proc", BENCH "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return err_sys(e, errno, "mount proc");
    return 0;
}

static int pivot(struct err *e)
{
    if (chdir(BENCH) || syscall(SYS_pivot_root, ".", "."))
        return err_sys(e, errno, "pivot_root");
    if (umount2(".", MNT_DETACH) || chdir("/"))
        return err_sys(e, errno, "leave the host's root");
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID, NULL))
        return err_sys(e, errno, "make the root read-only");
    return 0;
}

static int open_ns(struct err *e)
{
    int fd = open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        err_sys(e, errno, "open the mount namespace");
    return fd;
}

/* A program of ours, as a mount that is nowhere yet. Its path can be found only before its
 * directory is covered. */
static int clone_program(const char *path, struct err *e)
{
    scoped(fd_closep) int fd = sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (fd < 0 || set_attr(fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, -1, 0))
        return err_sys(e, errno, "clone a program's mount");
    return take_fd(&fd);
}

static int place_program(int fd, const char *to, struct err *e)
{
    if (write_file(to, "", e))
        return -1;
    return sys_move_mount(fd, to) ? err_sys(e, errno, "mount a program") : 0;
}

int root_build(const char *kernel_path, const char *loader_path, bool has_host_root,
               struct root *ret, struct err *e)
{
    scoped(fd_closep) int host_ns = open_ns(e);
    if (host_ns < 0)
        return -1;
    if (unshare(CLONE_NEWNS))
        return err_sys(e, errno, "unshare the mount namespace");
    scoped(fd_closep) int kernel = clone_program(kernel_path, e);
    scoped(fd_closep) int loader = loader_path ? clone_program(loader_path, e) : -1;
    if (kernel < 0 || (loader_path && loader < 0))
        return -1;
    if (make_bench(e) || make_directories(e) || make_system(e) || make_etc(e) || make_dev(e) ||
        make_proc(has_host_root, e))
        return err_wrap(e, "build the root");
    if (place_program(kernel, BENCH ROOT_KERNEL, e) ||
        (loader >= 0 && place_program(loader, BENCH ROOT_LOADER, e)))
        return -1;
    if (pivot(e))
        return -1;
    scoped(fd_closep) int template_ns = open_ns(e);
    if (template_ns < 0)
        return -1;
    *ret = (struct root){.host_ns = take_fd(&host_ns), .template_ns = take_fd(&template_ns)};
    return 0;
}

void root_done(struct root *r)
{
    fd_closep(&r->host_ns);
    fd_closep(&r->template_ns);
    r->host_ns = r->template_ns = -1;
}

/* A descriptor of the same directory whose mount is in the current namespace. One from another
 * namespace cannot be cloned, so it is found again by its path and must turn out to be the same
 * inode: the path is the service's own and a session cannot influence it. */
static int reopen_here(const char *path, const struct stat *same, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "find the data directory");
    if (st.st_dev != same->st_dev || st.st_ino != same->st_ino)
        return err_set(e, ERR_CONFLICT, "the data directory was replaced");
    return take_fd(&fd);
}

static int clone_mount(int data_fd, const char *path, struct err *e)
{
    const unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
    struct stat st;
    if (fstat(data_fd, &st))
        return err_sys(e, errno, "look at the data directory");
    int mount_fd = sys_open_tree(data_fd, "", flags);
    if (mount_fd >= 0)
        return mount_fd;
    scoped(fd_closep) int here = reopen_here(path, &st, e);
    if (here < 0)
        return -1;
    mount_fd = sys_open_tree(here, "", flags);
    if (mount_fd < 0)
        err_sys(e, errno, "clone the data directory's mount");
    return mount_fd;
}

/* The paths by which clone_mount may have to find them. */
static char *name_all(const int *dir_fds, size_t count, struct err *e)
{
    char *paths = calloc(count, PATH_MAX);
    if (!paths)
        err_set(e, ERR_NO_MEMORY, "name directories");
    for (size_t i = 0; paths && i < count; i++) {
        char link[32];
        snprintf(link, sizeof link, "/proc/self/fd/%d", dir_fds[i]);
        if (readlink(link, paths + i * PATH_MAX, PATH_MAX - 1) < 0) {
            err_sys(e, errno, "name a directory");
            free(take(paths));
        }
    }
    return paths;
}

int root_clone(const struct root *r, const int *dir_fds, size_t count, int *ret_fds, struct err *e)
{
    scoped(freep) char *paths = name_all(dir_fds, count, e);
    size_t done = 0;
    if (!paths)
        return -1;
    if (setns(r->host_ns, CLONE_NEWNS))
        return err_sys(e, errno, "enter the host's mount namespace");
    while (done < count &&
           (ret_fds[done] = clone_mount(dir_fds[done], paths + done * PATH_MAX, e)) >= 0)
        done++;
    /* Without the template around us nothing below would be safe: there is no going on. */
    if (setns(r->template_ns, CLONE_NEWNS) || chdir("/"))
        _exit(111);
    if (done == count)
        return 0;
    while (done > 0)
        (void)close(ret_fds[--done]);
    return -1;
}

int root_restrict(int mount_fd, uint64_t attributes, int idmap_fd, const char *what, struct err *e)
{
    if (set_attr(mount_fd, attributes, idmap_fd, 0) == 0)
        return 0;
    if (idmap_fd >= 0 && (errno == EINVAL || errno == EOPNOTSUPP))
        return err_set(e, ERR_UNAVAILABLE, "this file system cannot map ids");
    return err_sys(e, errno, "restrict the mount of %s", what);
}

static int clone_restricted(const struct root *r, int dir_fd, uint64_t attributes, int idmap_fd,
                            const char *what, int *ret, struct err *e)
{
    scoped(fd_closep) int fd = -1;
    if (root_clone(r, &dir_fd, 1, &fd, e) || root_restrict(fd, attributes, idmap_fd, what, e))
        return -1;
    *ret = take_fd(&fd);
    return 0;
}

int root_data(const struct root *r, int data_fd, int idmap_fd, int *ret, struct err *e)
{
    return clone_restricted(r, data_fd, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, idmap_fd,
                            "the data directory", ret, e);
}

int root_libraries(const struct root *r, int dir_fd, int *ret, struct err *e)
{
    return clone_restricted(r, dir_fd, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
                            /* idmap_fd= */ -1, "the libraries", ret, e);
}

/* The second line is root's, should it be there: overlayfs makes its own files as who mounted it. */
static int write_map(pid_t pid, const char *file, unsigned inside, unsigned outside, bool has_root,
                     struct err *e)
{
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    int len = snprintf(line, sizeof line, "%u %u 1\n", inside, outside);
    if (has_root)
        len += snprintf(line + len, sizeof line - (size_t)len, "%u 0 1\n", inside + 1);
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, line, (size_t)len) != len)
        return err_sys(e, errno, "write %s", file);
    return 0;
}

int root_idmap(const struct root_ids *disk, const struct root_ids *host, bool has_root, int *ret,
               struct err *e)
{
    /* A namespace exists only with a process or a descriptor in it: a child lends itself until the
     * descriptor is open. */
    pid_t pid = (pid_t)syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid < 0)
        return err_sys(e, errno, "clone for the id map");
    if (pid == 0) {
        /* Should it outlive its use, nobody may wait for the end of a pipe that it holds. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || syscall(SYS_close_range, 0, ~0U, 0))
            _exit(1);
        for (;;)
            (void)pause();
    }

    int failed = write_map(pid, "uid_map", disk->uid, host->uid, has_root, e) ||
                 write_map(pid, "gid_map", disk->gid, host->gid, has_root, e);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    int fd = failed ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    if (!failed && fd < 0)
        err_sys(e, errno, "open the id map");
    if (kill(pid, SIGKILL) == 0) /* otherwise it ends with us: then nobody waits for it */
        (void)waitpid(pid, NULL, 0);
    if (fd < 0)
        return -1;
    *ret = fd;
    return 0;
}

/* A tmpfs with its limits. Each option is one call that is checked: a size that was silently not
 * taken would be a session without a limit. */
static int mount_tmpfs(const char *to, uint64_t bytes, const char *inodes, unsigned attr)
{
    char size[32];
    int at = (int)sizeof size - 1;
    size[at] = '\0';
    do { /* snprintf is not async-signal-safe */
        size[--at] = (char)('0' + bytes % 10);
        bytes /= 10;
    } while (bytes > 0);

    int fs = (int)syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC);
    if (fs < 0)
        return errno;
    const char *const options[][2] = {{"size", size + at}, {"nr_inodes", inodes}, {"mode", "1777"}};
    for (size_t i = 0; i < 3; i++)
        if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0))
            goto fail;
    if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
        goto fail;
    int fd =
        (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | attr);
    if (fd < 0)
        goto fail;
    int moved = sys_move_mount(fd, to), failure = errno;
    (void)close(fd);
    (void)close(fs);
    return moved ? failure : 0;

fail:;
    int why = errno;
    (void)close(fs);
    return why;
}

int root_attach(int data_mount)
{
    return sys_move_mount(data_mount, ROOT_DATA) ? errno : 0;
}

int root_cover(int mount_fd, const char *path)
{
    return sys_move_mount(mount_fd, path) ? errno : 0;
}

int root_enter(uint64_t tmp_bytes, const char **ret_step)
{
    *ret_step = "mount /proc";
    if (mount("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "hidepid=invisible,subset=pid"))
        return errno;
    *ret_step = "mount /tmp";
    int failure = mount_tmpfs("/tmp", tmp_bytes, "8192", 0);
    if (failure)
        return failure;
    *ret_step = "mount /dev/shm";
    failure = mount_tmpfs("/dev/shm", tmp_bytes, "2048", MOUNT_ATTR_NOEXEC);
    if (failure)
        return failure;
    *ret_step = "name the host";
    return sethostname("sandbox", 7) ? errno : 0;
}
