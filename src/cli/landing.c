#include "cli/landing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/fileref.h"
#include "cli/transfer.h"

/* Opens the directory that `name` lies in, making what is missing on the way. */
static int open_parent(int dir_fd, const char *name, int *ret, struct err *e)
{
    scoped(fd_closep) int fd = below_open(dir_fd, ".", O_RDONLY | O_DIRECTORY);
    if (fd < 0)
        return err_sys(e, -fd, "open the directory");
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1) {
        char part[FILEREF_SIZE];
        (void)snprintf(part, sizeof part, "%.*s", (int)(slash - name), name);
        if (mkdirat(fd, part, 0777) && errno != EEXIST)
            return err_sys(e, errno, "make the directory %.150s", part);
        int next = below_open(fd, part, O_RDONLY | O_DIRECTORY);
        if (next < 0)
            return err_sys(e, -next, "the directory %.150s cannot be used", part);
        (void)close(fd);
        fd = next;
    }
    *ret = take_fd(&fd);
    return 0;
}

int landing_take(struct haul *h, int dir_fd, const struct origin *from, const char *name,
                 bool *ret_is_new, struct err *e)
{
    scoped(fd_closep) int parent = -1;
    if (!fileref_is_local(name))
        return err_set(e, ERR_INVALID, "'%.150s' cannot be the name of a file here", name);
    if (open_parent(dir_fd, name, &parent, e))
        return -1;
    return download_file(h, from, parent, fileref_base(name), ret_is_new, e);
}
