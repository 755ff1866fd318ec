#include "sandbox/procs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/scope.h"

enum { PROCS_MAX = 1 << 16, PROCS_AGAIN = 2 };

int proc_open(pid_t pid, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

bool proc_read(pid_t pid, const char *name, char *text, size_t size)
{
    scoped(fd_closep) int fd = proc_open(pid, name);
    size_t len = 0;
    while (fd >= 0 && len < size - 1) {
        ssize_t n = read(fd, text + len, size - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        if (n == 0)
            break;
        len += (size_t)n;
    }
    text[len] = '\0';
    return fd >= 0;
}

pid_t proc_number(const char *name)
{
    pid_t number = 0;
    for (; *name >= '0' && *name <= '9'; name++) {
        if (number > (INT_MAX - 9) / 10)
            return 0;
        number = number * 10 + (*name - '0');
    }
    return *name ? 0 : number;
}

static void add(struct procs *p, pid_t pid)
{
    if (pid <= 0 || p->count >= PROCS_MAX || !inodes_add(&p->known, (uint64_t)pid, 0))
        return;
    if (p->count == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 64;
        pid_t *grown = realloc(p->pids, cap * sizeof *grown);
        if (!grown)
            return; /* not seen in this round */
        p->pids = grown;
        p->cap = cap;
    }
    p->pids[p->count++] = pid;
}

void procs_begin(struct procs *p, pid_t init)
{
    inodes_clear(&p->known);
    p->init = init;
    p->count = p->given = 0;
    p->again = 0;
    add(p, init);
}

void procs_done(struct procs *p)
{
    free(p->pids);
    inodes_done(&p->known);
    *p = (struct procs){0};
}

void procs_add_children(struct procs *p, pid_t pid, pid_t tid)
{
    char name[48], chunk[1024];
    snprintf(name, sizeof name, "task/%d/children", (int)tid);
    scoped(fd_closep) int fd = proc_open(pid, name);
    pid_t number = 0; /* numbers with a space behind each; one may lie across two chunks */
    for (ssize_t n; fd >= 0 && (n = read(fd, chunk, sizeof chunk)) > 0;)
        for (ssize_t i = 0; i < n; i++) {
            if (chunk[i] >= '0' && chunk[i] <= '9') {
                number = number < INT_MAX / 10 ? number * 10 + (chunk[i] - '0') : 0;
            } else {
                add(p, number);
                number = 0;
            }
        }
}

void procs_add_family(struct procs *p, pid_t pid)
{
    struct dir tasks;
    dir_init(&tasks, proc_open(pid, "task"));
    if (tasks.fd < 0)
        return;
    for (const struct dirent64 *entry; (entry = dir_next(&tasks));)
        procs_add_children(p, pid, proc_number(entry->d_name));
    dir_done(&tasks);
}

/* Whoever lost its parent since we came by is a child of init now. */
static bool look_again(struct procs *p)
{
    if (p->again++ < PROCS_AGAIN)
        procs_add_children(p, p->init, p->init);
    return p->given < p->count;
}

bool procs_next(struct procs *p, pid_t *ret)
{
    if (p->given == p->count && !look_again(p))
        return false;
    *ret = p->pids[p->given++];
    return true;
}
