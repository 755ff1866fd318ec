#include "store/ballast.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/disk.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"

enum {
    NAME_SIZE = 12,
    FILL = 64 << 10, /* written at once where nothing can be allocated without */
    OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
};

static const char dir_name[] = "ballast";

struct ballast {
    int data_fd;
    uint64_t piece; /* bytes; 0: there is to be none */
    uint64_t leave_bytes;
    pthread_mutex_t
        lock;   /* protects what is below; held while the disk works, which nobody else waits for */
    int dir_fd; /* -1: there is none yet */
    bool has[BALLAST_PIECES];
};

static void piece_name(char to[NAME_SIZE], unsigned index)
{
    (void)snprintf(to, NAME_SIZE, "%u", index);
}

static bool open_dir(struct ballast *b)
{
    if (b->dir_fd >= 0)
        return true;
    if (b->piece > 0)
        (void)mkdirat(b->data_fd, dir_name, 0700); /* one that is there already does as well */
    b->dir_fd = openat(b->data_fd, dir_name, OPEN_DIR);
    return b->dir_fd >= 0;
}

/* What is of another size was taken with another configuration, or not taken to its end. */
static void find_pieces(struct ballast *b)
{
    for (unsigned i = 0; i < BALLAST_PIECES; i++) {
        char name[NAME_SIZE];
        struct stat st;
        piece_name(name, i);
        if (fstatat(b->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        b->has[i] = b->piece > 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size == b->piece &&
                    (uint64_t)st.st_blocks * 512 >= b->piece;
        if (!b->has[i])
            (void)unlinkat(b->dir_fd, name, 0); /* then it is in the way of the next, which fails */
    }
}

int ballast_open(const struct ballast_options *options, struct ballast **ret, struct err *e)
{
    struct ballast *b = malloc(sizeof *b);
    if (!b)
        return err_set(e, ERR_NO_MEMORY, "open the ballast");
    *b = (struct ballast){.data_fd = openat(options->data_fd, ".", OPEN_DIR),
                          .piece = options->bytes / BALLAST_PIECES,
                          .leave_bytes = options->leave_bytes,
                          .dir_fd = -1};
    if (b->data_fd < 0) {
        int why = errno;
        free(b);
        return err_sys(e, why, "open the data directory");
    }
    (void)pthread_mutex_init(&b->lock, NULL); /* cannot fail in glibc */
    if (open_dir(b))
        find_pieces(b);
    *ret = b;
    return 0;
}

void ballast_close(struct ballast *b)
{
    if (!b)
        return;
    fd_closep(&b->dir_fd);
    fd_closep(&b->data_fd);
    (void)pthread_mutex_destroy(&b->lock);
    free(b);
}

static bool give_piece(struct ballast *b, unsigned index)
{
    char name[NAME_SIZE];
    piece_name(name, index);
    if (!b->has[index] || unlinkat(b->dir_fd, name, 0))
        return false;
    b->has[index] = false;
    return true;
}

bool ballast_give(struct ballast *b)
{
    bool is_given = false;
    if (!b)
        return false;
    pthread_mutex_lock(&b->lock);
    for (unsigned i = 0; i < BALLAST_PIECES; i++)
        is_given |= give_piece(b, i);
    /* Some file systems give blocks to others only when it is durable that they are free. */
    if (is_given)
        (void)fsync(b->dir_fd);
    pthread_mutex_unlock(&b->lock);
    return is_given;
}

/* Where a file system cannot allocate, what is written has to be something that does not
 * compress. */
static int fill(int fd, uint64_t bytes)
{
    scoped(freep) uint8_t *noise = malloc(FILL);
    struct err ignored = {0};
    if (!noise)
        return -1;
    for (uint64_t done = 0; done < bytes;) {
        size_t len = bytes - done < FILL ? (size_t)(bytes - done) : FILL;
        ssize_t got = getrandom(noise, len, 0);
        if (got <= 0 || fd_write_all(fd, noise, (size_t)got, &ignored))
            return -1;
        done += (uint64_t)got;
    }
    return 0;
}

static int allocate(int fd, uint64_t bytes)
{
    int failed;
    do
        failed = fallocate(fd, 0, 0, (off_t)bytes);
    while (failed && errno == EINTR);
    if (failed && errno == EOPNOTSUPP)
        return fill(fd, bytes);
    return failed;
}

static bool take_piece(struct ballast *b, unsigned index)
{
    char name[NAME_SIZE];
    piece_name(name, index);
    scoped(fd_closep) int fd =
        openat(b->dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    if (allocate(fd, b->piece)) {
        (void)unlinkat(b->dir_fd, name, 0);
        return false;
    }
    b->has[index] = true;
    return true;
}

static unsigned count_missing(const struct ballast *b)
{
    unsigned missing = 0;
    for (unsigned i = 0; i < BALLAST_PIECES; i++)
        missing += !b->has[i];
    return missing;
}

static bool has_room(struct ballast *b, unsigned missing)
{
    struct disk_room room;
    struct err ignored = {0};
    return disk_look(b->data_fd, b->leave_bytes, &room, &ignored) == 0 &&
           room.bytes >= missing * b->piece && room.inodes >= missing;
}

void ballast_tend(struct ballast *b)
{
    if (!b || b->piece == 0)
        return;
    pthread_mutex_lock(&b->lock);
    unsigned missing = count_missing(b);
    if (missing > 0 && has_room(b, missing) && open_dir(b))
        for (unsigned i = 0; i < BALLAST_PIECES; i++)
            if (!b->has[i] && !take_piece(b, i))
                break; /* somebody else was faster */
    pthread_mutex_unlock(&b->lock);
}

uint64_t ballast_bytes(struct ballast *b)
{
    if (!b)
        return 0;
    pthread_mutex_lock(&b->lock);
    uint64_t bytes = (BALLAST_PIECES - count_missing(b)) * b->piece;
    pthread_mutex_unlock(&b->lock);
    return bytes;
}
