/* Configuration files of clients: where they are, reading, replacing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "cli/mcp_install.h"

int install_find(const char *file, char ret[PATH_MAX], struct err *e)
{
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    char path[PATH_MAX];
    int len;
    if (file[0] != '~')
        len = snprintf(path, sizeof path, "%s", file);
    else if (strncmp(file, "~/.config/", 10) == 0 && config && config[0] == '/')
        len = snprintf(path, sizeof path, "%s/%s", config, file + 10);
    else if (home && home[0] == '/')
        len = snprintf(path, sizeof path, "%s%s", home, file + 1);
    else
        return err_set(e, ERR_NOT_FOUND, "HOME is not set");
    if (len < 0 || (size_t)len >= sizeof path)
        return err_set(e, ERR_LIMIT, "the path of the configuration is too long");
    if (!realpath(path, ret))
        (void)snprintf(ret, PATH_MAX, "%s", path); /* it will be new */
    return 0;
}

static int make_parents(const char *path, struct err *e)
{
    char dir[PATH_MAX];
    (void)snprintf(dir, sizeof dir, "%s", path);
    for (char *slash = strchr(dir + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(dir, 0755) && errno != EEXIST)
            return err_sys(e, errno, "make %s", dir);
        *slash = '/';
    }
    return 0;
}

int install_read(const char *path, struct buf *ret, mode_t *ret_mode, struct err *e)
{
    char piece[16 << 10];
    struct stat st;
    size_t len;
    *ret_mode = 0;
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "open it");
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_INVALID, "it is no file");
    do {
        if (fd_read_all(fd, piece, sizeof piece, &len, e))
            return -1;
        buf_add(ret, piece, len);
    } while (len == sizeof piece && !ret->failed);
    *ret_mode = st.st_mode & 0777;
    return buf_check(ret, e);
}

int install_write(const char *path, const char *suffix, const struct buf *text, mode_t mode,
                  struct err *e)
{
    char name[PATH_MAX + 16], temporary[PATH_MAX + 32];
    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    (void)snprintf(temporary, sizeof temporary, "%s.%d~", name, (int)getpid());
    if (make_parents(path, e))
        return -1;
    scoped(fd_closep) int fd =
        open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, errno, "write %s", name);
    bool is_written = fd_write_all(fd, text->bytes ? text->bytes : "", text->len, e) == 0;
    if (is_written && !fchmod(fd, mode) && !fsync(fd) && !rename(temporary, name))
        return 0;
    if (is_written)
        (void)err_sys(e, errno, "write %s", name);
    (void)unlink(temporary); /* nobody else knows of it */
    return -1;
}
