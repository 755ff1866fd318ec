/* player.c -- takes the place of the kernel and of the loader, and does what it is told.
 *
 * It greets on its control socket with a line
 *
 *     hello WORD          "image", "delta", "bake", or "cold" when it was started as the kernel
 *
 * and then answers each line with a line. What `jails` asks for is in the table at the end; a
 * command that fails is answered with "error" and the reason. It ends when the socket closes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/err.h"
#include "base/fdio.h"
#include "base/parse.h"
#include "sandbox/filter.h"

enum { ANSWER_SIZE = 1024, DESCRIPTORS = 8192, MEGA = 1 << 20 };

struct player {
    int control;
    int came; /* the descriptor that came with the command; -1: none */
    int image, delta;
    char answer[ANSWER_SIZE];
};

static volatile sig_atomic_t interrupts;

static void count_interrupt(int number)
{
    (void)number;
    interrupts++;
}

static void fail(struct player *p)
{
    (void)snprintf(p->answer, sizeof p->answer, "error %s", strerror(errno));
}

static void say_descriptors(struct player *p, const char *arg)
{
    size_t used = 0;
    (void)arg;
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        struct stat st;
        if (fstat(fd, &st))
            continue;
        const char *kind = S_ISREG(st.st_mode)    ? "file"
                           : S_ISSOCK(st.st_mode) ? "socket"
                           : S_ISFIFO(st.st_mode) ? "pipe"
                                                  : "other";
        int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
        int n = snprintf(p->answer + used, sizeof p->answer - used, "%s%d=%s%s", used ? " " : "",
                         fd, kind,
                         mode == O_RDONLY   ? "-r"
                         : mode == O_WRONLY ? "-w"
                                            : "-rw");
        used += (size_t)n;
    }
}

static void say_personality(struct player *p, const char *arg)
{
    (void)arg;
    (void)snprintf(p->answer, sizeof p->answer, "%lx", syscall(SYS_personality, 0xffffffffUL));
}

/* As the loader would: writable in memory, never in the file. */
static void say_image(struct player *p, const char *arg)
{
    (void)arg;
    char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, p->image, 0);
    if (at == MAP_FAILED) {
        fail(p);
        return;
    }
    (void)snprintf(p->answer, sizeof p->answer, "%.32s", at);
    at[0] = '!';
    (void)munmap(at, 4096);
}

static void say_delta(struct player *p, const char *arg)
{
    (void)arg;
    ssize_t n = read(p->delta, p->answer, 64);
    if (n < 0)
        fail(p);
    else
        p->answer[n] = '\0';
}

static void bake(struct player *p, const char *arg)
{
    if (pwrite(p->image, arg, strlen(arg), 0) < 0)
        fail(p);
}

static void try_open(struct player *p, const char *arg)
{
    int fd = open(arg, O_RDWR | O_CLOEXEC);
    if (fd < 0) {
        fail(p);
        return;
    }
    (void)close(fd);
}

static void say_cwd(struct player *p, const char *arg)
{
    (void)arg;
    if (!getcwd(p->answer, sizeof p->answer))
        fail(p);
}

static void change_cwd(struct player *p, const char *arg)
{
    if (chdir(arg))
        fail(p);
}

/* NAME MEGABYTES */
static void write_file(struct player *p, const char *arg)
{
    static char block[MEGA];
    char name[64] = "";
    int count = 0;
    if (sscanf(arg, "%63s %d", name, &count) != 2)
        return;
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    memset(block, 'x', sizeof block);
    for (int i = 0; i < count && fd >= 0; i++)
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block) {
            fail(p);
            break;
        }
    if (fd < 0)
        fail(p);
    else
        (void)close(fd);
}

/* NAME MEGABYTES: the same, but the file has no name any more and stays open. */
static void hold_file(struct player *p, const char *arg)
{
    static char block[MEGA];
    char name[64] = "";
    int count = 0;
    if (sscanf(arg, "%63s %d", name, &count) != 2)
        return;
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || unlink(name))
        fail(p);
    memset(block, 'x', sizeof block);
    for (int i = 0; i < count && fd >= 0; i++)
        if (write(fd, block, sizeof block) < 0)
            fail(p);
}

static void say_file(struct player *p, const char *arg)
{
    int fd = open(arg, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, p->answer, 64);
    if (n < 0)
        fail(p);
    else
        p->answer[n] = '\0';
    if (fd >= 0)
        (void)close(fd);
}

/* NAME TEXT */
static void put_file(struct player *p, const char *arg)
{
    char name[64] = "";
    const char *text = strchr(arg, ' ');
    if (!text)
        return;
    (void)snprintf(name, sizeof name, "%.*s", (int)(text - arg), arg);
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_t len = strlen(++text);
    if (fd < 0 || write(fd, text, len) != (ssize_t)len)
        fail(p);
    if (fd >= 0)
        (void)close(fd);
}

static void remove_one(struct player *p, const char *arg)
{
    if (unlink(arg) && (errno != EISDIR || rmdir(arg)))
        fail(p);
}

static void make_directory(struct player *p, const char *arg)
{
    if (mkdir(arg, 0755))
        fail(p);
}

/* Both take OLD NEW. */
static bool two_names(const char *arg, char one[64], char two[64])
{
    one[0] = two[0] = '\0';
    return sscanf(arg, "%63s %63s", one, two) == 2;
}

static void move(struct player *p, const char *arg)
{
    char from[64], to[64];
    if (!two_names(arg, from, to) || rename(from, to))
        fail(p);
}

static void link_to(struct player *p, const char *arg)
{
    char target[64], name[64];
    if (!two_names(arg, target, name) || symlink(target, name))
        fail(p);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* What is in a directory, in order. */
static void list(struct player *p, const char *arg)
{
    char names[32][64];
    size_t count = 0, used = 0;
    DIR *dir = opendir(arg);
    if (!dir) {
        fail(p);
        return;
    }
    for (struct dirent *entry; count < 32 && (entry = readdir(dir));)
        if (entry->d_name[0] != '.')
            (void)snprintf(names[count++], 64, "%.63s", entry->d_name);
    (void)closedir(dir);
    qsort(names, count, sizeof *names, by_name);
    p->answer[0] = '\0';
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(p->answer + used, sizeof p->answer - used, "%s%s", i ? " " : "",
                                 names[i]);
    if (count == 0)
        (void)snprintf(p->answer, sizeof p->answer, "nothing");
}

/* NAME ATTRIBUTE: sets it to "y". */
static void set_attribute(struct player *p, const char *arg)
{
    char name[64], attribute[64];
    if (!two_names(arg, name, attribute) || setxattr(name, attribute, "y", 1, 0))
        fail(p);
}

/* A whiteout, as overlayfs makes them. */
static void make_whiteout(struct player *p, const char *arg)
{
    if (syscall(SYS_mknod, arg, S_IFCHR, 0) && syscall(SYS_mknodat, AT_FDCWD, arg, S_IFCHR, 0))
        fail(p);
}

/* From now on somebody exchanges these two, and changes files in the first, as fast as he can. */
static void exchange(struct player *p, const char *arg)
{
    char one[64], two[64], inside[80];
    if (!two_names(arg, one, two))
        return;
    (void)snprintf(inside, sizeof inside, "%s/new", one);
    pid_t pid = fork();
    if (pid < 0)
        fail(p);
    if (pid != 0)
        return;
    for (;;) {
        (void)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, two, 2 /* RENAME_EXCHANGE */);
        int fd = open(inside, O_WRONLY | O_TRUNC | O_CLOEXEC);
        if (fd >= 0) {
            (void)!write(fd, "mine", 4);
            (void)close(fd);
        }
        (void)unlink(inside);
    }
}

static void greet(struct player *p, const char *word)
{
    char line[64];
    int n = snprintf(line, sizeof line, "hello %s\n", word);
    struct err e = {0};
    if (fd_write_all(p->control, line, (size_t)n, &e))
        _exit(3);
}

/* A child of pid 1, as the kernel's copies are; it goes on with the socket that came. */
static void copy(struct player *p, const char *arg)
{
    (void)arg;
    long pid = syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid < 0) {
        fail(p);
    } else if (pid == 0) {
        (void)setsid();
        (void)close(p->control);
        p->control = p->came;
        p->came = -1;
        interrupts = 0;
        greet(p, "copy");
        p->answer[0] = '\0';
    }
}

static bool is_living(const char *pid)
{
    char path[300], text[256] = "";
    (void)snprintf(path, sizeof path, "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    const char *name_end = n > 0 ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] == ' ' && name_end[2] != 'Z' && name_end[2] != 'X';
}

/* How many there are in this namespace beside pid 1, the dead ones not counted. */
static void say_processes(struct player *p, const char *arg)
{
    int count = 0;
    DIR *proc = opendir("/proc");
    (void)arg;
    for (struct dirent *entry; proc && (entry = readdir(proc));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' && strcmp(entry->d_name, "1") != 0)
            count += is_living(entry->d_name);
    if (proc)
        (void)closedir(proc);
    (void)snprintf(p->answer, sizeof p->answer, "%d", count);
}

static void have_children(struct player *p, const char *arg)
{
    for (int i = 0; i < (arg[0] - '0'); i++) {
        pid_t pid = fork();
        if (pid < 0)
            fail(p);
        if (pid == 0)
            for (;;)
                (void)pause();
    }
}

/* A line of processes, each of which starts the next and ends: whoever kills them one by one comes
 * too late. */
static void race(struct player *p, const char *arg)
{
    (void)arg;
    pid_t pid = fork();
    if (pid < 0)
        fail(p);
    while (pid == 0) {
        pid = fork();
        if (pid > 0)
            _exit(0);
        if (pid < 0)
            pid = 0;
    }
}

static void say_interrupts(struct player *p, const char *arg)
{
    (void)arg;
    (void)snprintf(p->answer, sizeof p->answer, "%d", (int)interrupts);
}

static void say_data_limit(struct player *p, const char *arg)
{
    struct rlimit limit;
    (void)arg;
    if (getrlimit(RLIMIT_DATA, &limit))
        fail(p);
    else
        (void)snprintf(p->answer, sizeof p->answer, "%llu", (unsigned long long)limit.rlim_cur);
}

/* What the real ones do before they read a byte of a session. */
static void seal(struct player *p, const char *arg)
{
    (void)arg;
    errno = filter_load_seal();
    if (errno)
        fail(p);
}

static void end(struct player *p, const char *arg)
{
    (void)p;
    _exit(arg[0] - '0');
}

static const struct {
    const char *name;
    void (*act)(struct player *p, const char *arg);
} commands[] = {
    {"descriptors", say_descriptors},
    {"personality", say_personality},
    {"image", say_image},
    {"delta", say_delta},
    {"bake", bake},
    {"open", try_open},
    {"cwd", say_cwd},
    {"cd", change_cwd},
    {"write", write_file},
    {"hold", hold_file},
    {"read", say_file},
    {"put", put_file},
    {"remove", remove_one},
    {"mkdir", make_directory},
    {"move", move},
    {"link", link_to},
    {"list", list},
    {"attribute", set_attribute},
    {"whiteout", make_whiteout},
    {"exchange", exchange},
    {"copy", copy},
    {"processes", say_processes},
    {"children", have_children},
    {"race", race},
    {"interrupts", say_interrupts},
    {"data-limit", say_data_limit},
    {"seal", seal},
    {"exit", end},
};

static void obey(struct player *p, char *line)
{
    char *arg = strchr(line, ' ');
    if (arg)
        *arg++ = '\0';
    (void)snprintf(p->answer, sizeof p->answer, "ok");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, line) == 0) {
            commands[i].act(p, arg ? arg : "");
            return;
        }
    (void)snprintf(p->answer, sizeof p->answer, "error no command %s", line);
}

/* One line; false when there will be none any more. A line comes in one piece. */
static bool hear(struct player *p, char line[256])
{
    size_t len = 0, count = 0;
    struct err e = {0};
    p->came = -1;
    if (fd_recv(p->control, line, 255, &len, &p->came, 1, &count, &e) || len == 0)
        return false;
    line[len] = '\0';
    line[strcspn(line, "\n")] = '\0';
    return true;
}

int main(int argc, char **argv)
{
    const struct sigaction counted = {.sa_handler = count_interrupt, .sa_flags = SA_RESTART};
    const char *number = argc > 1 ? argv[1] : getenv("CICADA_CONTROL_FD");
    struct player p = {.came = -1};
    char line[256];
    struct err e = {0};
    uint64_t control = 0;
    if (!number || parse_u64(number, 3, INT32_MAX - 2, &control, &e) ||
        sigaction(SIGINT, &counted, NULL))
        return 2;
    p.control = (int)control;
    p.image = p.control + 1;
    p.delta = p.control + 2;
    greet(&p, argc > 2 ? argv[2] : "cold");
    while (hear(&p, line)) {
        obey(&p, line);
        if (p.came >= 0)
            (void)close(p.came);
        size_t len = strlen(p.answer);
        p.answer[len] = '\n';
        if (p.answer[0] != '\n' && fd_write_all(p.control, p.answer, len + 1, &e))
            return 3;
    }
    return 0;
}
