/* cicada-kernel: Python inside the jail. Started by cicada-spawn with the number of its control
 * socket in CICADA_CONTROL_FD; not for use by hand. With the argument "bake" it writes an image of
 * itself to the descriptor after that one. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"
#include "kernel/kernel.h"

/* The socket, and no trace of it left in the environment. */
static int control_fd(int *ret, struct err *e)
{
    static const char name[] = "CICADA_CONTROL_FD";
    const char *text = getenv(name);
    uint64_t fd;
    int kind = 0;
    socklen_t size = sizeof kind;
    if (!text)
        return err_set(e, ERR_INVALID, "%s is not set", name);
    if (parse_u64(text, 3, 1 << 20, &fd, e))
        return err_wrap(e, "%s", name);
    if (getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &kind, &size) || kind != SOCK_STREAM)
        return err_set(e, ERR_INVALID, "%s is not a stream socket", name);
    *ret = (int)fd;
    return unsetenv(name);
}

int main(int argc, char **argv)
{
    struct err e = {0};
    int fd = -1;
    if (control_fd(&fd, &e)) {
        fprintf(stderr, "cicada-kernel is started by cicada: %s\n", e.text);
        return 2;
    }
    if (argc > 1 && strcmp(argv[1], "bake") == 0) {
        if (kernel_bake(fd, fd + 1, &e) == 0)
            _exit(0); /* what libraries do at exit is not asked for */
    } else {
        (void)kernel_serve(fd, &e); /* returns only to say why it could not start */
    }
    fprintf(stderr, "cicada-kernel: %s\n", e.text);
    return 1;
}
