/* drive.c -- makes images small as the server does, driven from outside.
 *
 *     shrink-drive SPAWN KERNEL LOAD LIVE [IMAGES]
 *
 * LIVE is a directory for its jails. With IMAGES, a directory, these start from an image, which is baked if
 * there is none. Says "ready WITH_IMAGE" first. Then each line of input is
 *
 *     OWNER EDGE BYTES IN OUT
 *
 * where IN and OUT are paths without spaces, and is answered with one of
 *
 *     ok MICROSECONDS MIME WIDTH HEIGHT JAILS       and OUT is written
 *     CODE MICROSECONDS MESSAGE
 *
 * Ends at the end of its input. Started as root, it becomes user USER, whose LIVE and IMAGES have to be.
 */
#include <err.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "service/shrink_int.h"
#include "session/current.h"
#include "session/images.h"
#include "session/spawner.h"

enum { USER = 190000 };
enum { PATH_SIZE = 1000, LINE_SIZE = 3000, IMAGE_MAX = 80 << 20 };

struct drive {
    struct spawner *spawner;
    struct images *images;
    struct current *current;
    struct shrinker *shrinker;
    int live_fd;
    bool has_image;
};

static int open_images(struct drive *d, char **argv, struct err *e)
{
    const struct images_options options = {argv[5], argv[2], argv[3]};
    scoped(image_done) struct image image = IMAGE_NONE;
    if (images_make_dir(argv[5], e) || images_open(&options, &d->images, e) ||
        images_bake(d->images, d->spawner, BAKE_IF_NEEDED, NULL, /* stop_fd= */ -1, &image, e))
        return -1;
    d->has_image = true;
    return 0;
}

/* The spawner stays root, as that of the server does. */
static int open_spawner(struct drive *d, char **argv, struct err *e)
{
    bool is_root = geteuid() == 0;
    if (spawner_open_for(argv[1], argv[2], argv[3], is_root ? USER : 0, /* reserve_bytes= */ 0,
                         &d->spawner, e))
        return -1;
    if (is_root &&
        (setgroups(0, NULL) || setresgid(USER, USER, USER) || setresuid(USER, USER, USER)))
        return err_set(e, ERR_INTERNAL, "cannot become another user");
    return 0;
}

static int open_drive(struct drive *d, char **argv, struct err *e)
{
    struct err none = {0};
    if (open_spawner(d, argv, e) || (argv[5] && open_images(d, argv, e)) ||
        current_new(d->images, /* kept= */ NULL, &d->current, e))
        return -1;
    (void)current_refresh(d->current, &none); /* without images there is none */
    d->live_fd = open(argv[4], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const struct shrinker_options options = {.spawner = d->spawner,
                                             .current = d->current,
                                             .live_fd = d->live_fd,
                                             .can_use_images = d->has_image};
    return shrinker_open(&options, &d->shrinker, e);
}

static void close_drive(struct drive *d)
{
    shrinker_close(d->shrinker);
    current_free(d->current);
    images_close(d->images);
    spawner_close(d->spawner);
    fd_closep(&d->live_fd);
}

static int read_image(const char *path, char *bytes, size_t *ret_len, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? err_set(e, ERR_NOT_FOUND, "%s", path)
                  : fd_read_all(fd, bytes, IMAGE_MAX, ret_len, e);
}

static int write_image(const char *path, const struct buf *image, struct err *e)
{
    scoped(fd_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    return fd < 0 ? err_set(e, ERR_INTERNAL, "%s", path)
                  : fd_write_all(fd, image->bytes, image->len, e);
}

static void answer(struct drive *d, char *line, char *room)
{
    char owner[PATH_SIZE], in[PATH_SIZE], out[PATH_SIZE];
    struct shrink_wish wish;
    struct err e = {0};
    struct str image = {.ptr = room};
    const char *mime;
    uint32_t width, height;
    if (sscanf(line, "%999s %u %zu %999s %999s", owner, &wish.edge, &wish.bytes, in, out) != 5)
        errx(2, "not understood: %s", line);
    scoped(buf_done) struct buf small = BUF_INIT(wish.bytes);
    if (read_image(in, room, &image.len, &e))
        errx(2, "%s", e.text);
    int64_t begun_us = clock_us();
    int failed =
        shrinker_make(d->shrinker, owner, image, &wish, &small, &mime, &width, &height, &e);
    long took_us = (long)(clock_us() - begun_us);
    if (!failed && write_image(out, &small, &e))
        errx(2, "%s", e.text);
    if (failed)
        printf("%s %ld %s\n", err_wire(e.code), took_us, e.text);
    else
        printf("ok %ld %s %u %u %zu\n", took_us, mime, width, height, shrinker_count(d->shrinker));
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    struct drive d = {.live_fd = -1};
    struct err e = {0};
    char line[LINE_SIZE];
    if (argc < 5 || argc > 6)
        errx(2, "usage: shrink-drive SPAWN KERNEL LOAD LIVE [IMAGES]");
    if (open_drive(&d, argv, &e))
        errx(2, "%s", e.text);
    printf("ready %d\n", d.has_image);
    (void)fflush(stdout);
    char *room = malloc(IMAGE_MAX);
    while (room && fgets(line, sizeof line, stdin))
        answer(&d, line, room);
    free(room);
    close_drive(&d);
    return 0;
}
