/* cicada-spawn: the privileged half. Started by cicada with the engine's socket as descriptor 3; not
 * for use by hand.
 *
 *     cicada-spawn KERNEL [LOADER|- [UID [RESERVE]]]     struct spawn_options, in this order
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/parse.h"
#include "spawn/host.h"
#include "spawn/loop.h"

enum { ENGINE_SOCKET = 3 };

int main(int argc, char **argv)
{
    int kind = 0;
    socklen_t size = sizeof kind;
    uint64_t data_uid = 0, reserve_bytes = 0;
    struct err e = {0};
    const char *loader_path = argc > 2 && strcmp(argv[2], "-") != 0 ? argv[2] : NULL;
    if (argc < 2 || argc > 5 || argv[1][0] != '/' || (loader_path && *loader_path != '/') ||
        (argc > 3 && parse_u64(argv[3], 0, UINT32_MAX - 1, &data_uid, &e)) ||
        (argc > 4 && parse_u64(argv[4], 0, UINT64_MAX, &reserve_bytes, &e)) ||
        getsockopt(ENGINE_SOCKET, SOL_SOCKET, SO_TYPE, &kind, &size) || kind != SOCK_SEQPACKET) {
        fprintf(stderr, "cicada-spawn is started by cicada; try: cicada run -c 'print(1)'\n");
        return 2;
    }
    /* A terminal's Ctrl-C is for the engine, which decides; we end when it hangs up. */
    (void)setsid();
    if (fcntl(ENGINE_SOCKET, F_SETFD, FD_CLOEXEC))
        return 1;
    (void)umask(022); /* the root a session sees must be readable whatever we were started with */
    /* Nobody looks into a root spawner. One that is an ordinary user has to write the id maps of its
     * children, and the kernel lets it only while it is dumpable. */
    if (geteuid() == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        return 1;
    const struct spawn_options options = {.kernel_path = argv[1],
                                          .loader_path = loader_path,
                                          .data_uid = (uid_t)data_uid,
                                          .reserve_bytes = reserve_bytes};
    if (spawn_serve(ENGINE_SOCKET, &options, &e)) {
        fprintf(stderr, "cicada-spawn: %s\n", e.text);
        return 1;
    }
    return 0;
}
