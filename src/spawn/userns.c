#include "spawn/userns.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"

static int write_text(const char *path, const char *text)
{
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return errno;
    return write(fd, text, strlen(text)) < 0 ? errno : 0;
}

int userns_enter(int more)
{
    char uid[32], gid[32];
    snprintf(uid, sizeof uid, "0 %u 1", geteuid());
    snprintf(gid, sizeof gid, "0 %u 1", getegid());
    if (unshare(CLONE_NEWUSER | more))
        return errno;
    /* An unprivileged process may map its group only after giving up setgroups(2). */
    int why = write_text("/proc/self/setgroups", "deny");
    if (!why)
        why = write_text("/proc/self/uid_map", uid);
    return why ? why : write_text("/proc/self/gid_map", gid);
}
