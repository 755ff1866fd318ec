#include "store/pack_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int real_openat(int dir_fd, const char *path, int flags, mode_t mode)
{
    return openat(dir_fd, path, flags, mode);
}

const struct pack_io pack_io_real = {
    .openat = real_openat,
    .mkdirat = mkdirat,
    .pwritev = pwritev,
    .fdatasync = fdatasync,
    .fsync = fsync,
    .ftruncate = ftruncate,
    .unlinkat = unlinkat,
    .sync_file_range = sync_file_range,
};
