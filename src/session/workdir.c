#include "session/workdir.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/capture.h"
#include "session/workdir_int.h"

#define PREFIX "cicada-work-"

/* Who a process is, so that a later one with the same number is not taken for it. */
struct identity {
    unsigned long long pid, start, pid_ns;
};

/* The 22nd field of /proc/PID/stat, in ticks since boot. The second is the program's name in
 * parentheses and may contain anything, so counting begins at the last ')'. */
static int start_time(const char *pid, unsigned long long *ret, struct err *e)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "open %s", path);
    size_t len;
    if (fd_read_all(fd, text, sizeof text - 1, &len, e))
        return -1;
    text[len] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (!at || sscanf(at, " %llu", ret) != 1)
        return err_set(e, ERR_INTERNAL, "%s is not understood", path);
    return 0;
}

static int identify_self(struct identity *ret, struct err *e)
{
    struct stat ns;
    unsigned long long start;
    if (stat("/proc/self/ns/pid", &ns))
        return err_sys(e, errno, "look at /proc/self/ns/pid");
    if (start_time("self", &start, e))
        return -1;
    *ret = (struct identity){(unsigned long long)getpid(), start, ns.st_ino};
    return 0;
}

/* True only if it is sure that no such process lives. Of another pid namespace nothing is known. */
static bool is_gone(const struct identity *who, const struct identity *self)
{
    if (who->pid_ns != self->pid_ns)
        return false;
    char pid[24];
    unsigned long long start;
    struct err e = {0};
    (void)snprintf(pid, sizeof pid, "%llu", who->pid);
    if (start_time(pid, &start, &e))
        return e.code == ERR_NOT_FOUND;
    return start != who->start;
}

/* True if the directory `dir_fd`, which has the name of a workdir, is nobody's any more. Without an
 * owner it is one that is just being made, or somebody's own: then only an old empty one counts. */
static bool is_left_over(int dir_fd, const struct identity *self)
{
    struct stat st;
    if (fstat(dir_fd, &st) || st.st_uid != geteuid())
        return false;
    char text[128];
    ssize_t len = readlinkat(dir_fd, "owner", text, sizeof text - 1);
    if (len < 0)
        return errno == ENOENT && st.st_mtime < time(NULL) - WORKDIR_OWNERLESS_S;
    text[len] = '\0';
    struct identity who;
    int end = 0;
    if (sscanf(text, "%llu.%llu.%llu%n", &who.pid, &who.start, &who.pid_ns, &end) != 3 || text[end])
        return false;
    return is_gone(&who, self);
}

/* Removes the data first and the owner last, so that what a failure leaves is still known to be a
 * workdir. Nothing else in the directory is touched, and then it stays. */
static void remove_below(int outer_fd)
{
    struct err ignored = {0}; /* whatever stays is tried again by the next sweep */
    (void)!fchmodat(outer_fd, "data", 0700, 0); /* the session may have closed it to us */
    scoped(fd_closep) int data_fd =
        openat(outer_fd, "data", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (data_fd >= 0 && tree_remove(data_fd, &ignored))
        return;
    if (unlinkat(outer_fd, "data", AT_REMOVEDIR) && errno != ENOENT)
        return;
    (void)unlinkat(outer_fd, "owner", 0);
}

static void sweep_one(int base_fd, const char *name, const struct identity *self)
{
    scoped(fd_closep) int fd =
        openat(base_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || !is_left_over(fd, self))
        return;
    remove_below(fd);
    (void)unlinkat(base_fd, name, AT_REMOVEDIR); /* fails if anything is left in it */
}

void workdir_sweep(const char *base_dir)
{
    struct err ignored = {0};
    struct identity self;
    if (identify_self(&self, &ignored))
        return; /* without /proc nobody can be said to be gone */
    DIR *dir = opendir(base_dir);
    if (!dir)
        return;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
            sweep_one(dirfd(dir), entry->d_name, &self);
    (void)closedir(dir);
}

/* The owner is written before there is anything worth keeping. */
static int sign(const struct workdir *w, struct err *e)
{
    struct identity self;
    char text[128];
    if (identify_self(&self, e))
        return -1;
    (void)snprintf(text, sizeof text, "%llu.%llu.%llu", self.pid, self.start, self.pid_ns);
    if (symlinkat(text, w->outer_fd, "owner"))
        return err_sys(e, errno, "sign the work directory");
    return 0;
}

int workdir_give(const struct workdir *w, int fd, struct err *e)
{
    if (w->uid != 0 && fchown(fd, w->uid, w->uid))
        return err_sys(e, errno, "change the owner of a file in the work directory");
    return 0;
}

/* As root the data belongs to an ordinary uid. A container may have no such large number. */
static int choose_owner(struct workdir *w, struct err *e)
{
    if (geteuid() != 0)
        return 0;
    w->uid = WORKDIR_UID;
    if (fchown(w->data_fd, w->uid, w->uid) == 0)
        return 0;
    w->uid = WORKDIR_UID_SMALL;
    return workdir_give(w, w->data_fd, e);
}

static int make_data(struct workdir *w, struct err *e)
{
    if (mkdirat(w->outer_fd, "data", 0700))
        return err_sys(e, errno, "make the work directory");
    w->data_fd = openat(w->outer_fd, "data", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->data_fd < 0)
        return err_sys(e, errno, "open the work directory");
    return choose_owner(w, e);
}

static int make_outer(struct workdir *w, const char *base_dir, struct err *e)
{
    if (asprintf(&w->path, "%s/" PREFIX "XXXXXX", base_dir) < 0) {
        w->path = NULL;
        return err_set(e, ERR_NO_MEMORY, "make a work directory");
    }
    if (!mkdtemp(w->path)) {
        free(take(w->path));
        return err_sys(e, errno, "make a work directory in %s", base_dir);
    }
    w->outer_fd = open(w->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->outer_fd < 0)
        return err_sys(e, errno, "open the work directory");
    /* Where there are no mounts a session with a uid of its own comes by on its way to the data, which
     * is closed to everybody else. */
    if (geteuid() == 0 && fchmod(w->outer_fd, 0711))
        return err_sys(e, errno, "open the work directory to its session");
    return 0;
}

int workdir_new(const char *base_dir, struct workdir **ret, struct err *e)
{
    workdir_sweep(base_dir);
    struct workdir *w = malloc(sizeof *w);
    if (!w)
        return err_set(e, ERR_NO_MEMORY, "make a work directory");
    *w = (struct workdir){.outer_fd = -1, .data_fd = -1};
    if (make_outer(w, base_dir, e) || sign(w, e) || make_data(w, e)) {
        workdir_free(w);
        return -1;
    }
    *ret = w;
    return 0;
}

void workdir_free(struct workdir *w)
{
    if (!w)
        return;
    if (w->outer_fd >= 0)
        remove_below(w->outer_fd);
    if (w->path)
        (void)rmdir(w->path);
    fd_closep(&w->data_fd);
    fd_closep(&w->outer_fd);
    free(w->path);
    free(w);
}

int workdir_fd(const struct workdir *w)
{
    return w->data_fd;
}
