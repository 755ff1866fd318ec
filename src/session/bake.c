/* bake.c -- making an image: a jail in which the kernel program imports everything, writes itself
 * down and ends; then its file gets a name.
 *
 * What is true at a power cut: the file is synced before it gets its name, so a name that looks
 * like an image is a whole one (and is hashed after the reboot anyway); the note is synced and
 * named after that, so an image without a note was cut short, and gc takes it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/dir.h"
#include "base/disk.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "session/deps.h"
#include "session/images_int.h"
#include "session/kernel_int.h"
#include "session/spawner.h"
#include "session/workdir.h"

#define DRAFT "image.tmp"

enum {
    SLICE = 16 << 20, /* of an image that is written out or hashed, between two looks at stop_fd */
    LOCK_LOOK_MS = 100, /* between two looks at the lock */
};

struct baking {
    struct kernel *k;
    const struct bake_sink *sink;
    char words[160]; /* the last it said on its own; NUL-terminated */
};

static int on_stream(void *arg, enum kernel_stream stream, const char *bytes, size_t len,
                     struct err *e)
{
    struct baking *b = arg;
    (void)stream, (void)e;
    size_t n = len < sizeof b->words ? len : sizeof b->words - 1;
    memcpy(b->words, bytes + len - n, n);
    b->words[n] = '\0';
    return 0;
}

static int on_frame(void *arg, const struct frame *frame, struct err *e)
{
    struct baking *b = arg;
    struct field text;
    char line[128];
    if (frame->kind != FRAME_PROGRESS)
        return pump_acknowledge(b->k, frame, e);
    if (!field_find(frame, FIELD_MESSAGE, &text) || !b->sink)
        return 0;
    (void)snprintf(line, sizeof line, "%.*s", (int)(text.len < 127 ? text.len : 127),
                   (const char *)text.bytes);
    b->sink->put(b->sink->arg, line);
    return 0;
}

static int give_up(struct err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "the image is not wanted any more");
}

static int on_stop(void *arg, struct err *e)
{
    (void)arg;
    return give_up(e);
}

static bool is_stopped(int stop_fd, int wait_ms)
{
    struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
    return poll(&stop, 1, wait_ms) > 0;
}

/* How the jail's end is an image or none. */
static int judge(const struct baking *b, struct err *e)
{
    const struct jail_event *end = &b->k->end;
    if (end->kind == JAIL_FAILED)
        return err_set(e, ERR_UNAVAILABLE, "the sandbox could not be set up: %s%s%s", end->step,
                       end->status ? ": " : "", end->status ? strerror(end->status) : "");
    if (end->cause == JAIL_OVER_MEMORY)
        return err_set(e, ERR_UNAVAILABLE, "not enough memory to make an image");
    if (end->cause != JAIL_EXITED || end->status != 0)
        return err_set(e, ERR_UNAVAILABLE, "the kernel failed to become an image%s%s",
                       *b->words ? ": " : "", b->words);
    return 0;
}

/* One core, as by default: with more, libraries would start threads, and an image has none. */
static struct limits bake_limits(void)
{
    struct limits limits = LIMITS_DEFAULT;
    limits.memory_bytes = 3 * GIB;
    limits.file_bytes = 2 * GIB;
    return limits;
}

int kernel_bake(struct spawner *s, int data_fd, int image_fd, const struct bake_sink *sink,
                int stop_fd, struct err *e)
{
    const struct jail_spec spec = {.start = JAIL_BAKE, .has_data = true, .limits = bake_limits()};
    const struct kernel_origin origin = {.image_fd = image_fd, .delta_fd = -1, .libraries_fd = -1};
    struct baking b = {.sink = sink};
    const struct pump_user user = {.on_stream = on_stream,
                                   .on_frame = on_frame,
                                   .arg = &b,
                                   .on_side = on_stop,
                                   .side_fd = &stop_fd};
    int64_t deadline_us = clock_us() + (int64_t)BAKE_TIMEOUT_MS * 1000;
    int failed = 0;
    if (kernel_open(s, &spec, &JAIL_DATA_PLAIN(data_fd), &origin, &b.k, e))
        return -1;
    while (!failed && b.k->end.kind == 0 && clock_us() < deadline_us)
        failed = pump(b.k, deadline_us, &user, e);
    if (!failed && b.k->end.kind == 0)
        failed = err_set(e, ERR_UNAVAILABLE, "no image after %d s", BAKE_TIMEOUT_MS / 1000);
    if (!failed)
        failed = judge(&b, e);
    kernel_free(b.k); /* waits: afterwards nobody but us has the file */
    return failed;
}

/* Half a gigabyte takes a slow disk long, and fsync cannot be called off. */
static int write_out(int fd, int stop_fd, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st))
        return err_sys(e, errno, "write the image");
    for (off_t at = 0; at < st.st_size; at += SLICE) {
        if (is_stopped(stop_fd, /* wait_ms= */ 0))
            return give_up(e);
        (void)sync_file_range(fd, at, SLICE, /* what fails here fails below */
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
    }
    return fsync(fd) ? err_sys(e, errno, "write the image") : 0;
}

static int hash_image(struct image *image, int stop_fd, struct err *e)
{
    uint8_t digest[HASH_LEN];
    scoped(freep) char *slice = malloc(SLICE);
    scoped(hash_done) struct hash h = {0};
    size_t len = SLICE;
    if (!slice)
        return err_set(e, ERR_NO_MEMORY, "read the image");
    if (lseek(image->fd, 0, SEEK_SET) < 0)
        return err_sys(e, errno, "read the image");
    if (hash_init(&h, e))
        return -1;
    while (len == SLICE) {
        if (is_stopped(stop_fd, /* wait_ms= */ 0))
            return give_up(e);
        if (fd_read_all(image->fd, slice, SLICE, &len, e) || hash_add(&h, slice, len, e))
            return -1;
    }
    if (hash_end(&h, digest, e))
        return -1;
    hash_hex(digest, image->id);
    return 0;
}

/* Looks the new image over and gives it its name. `fd` is the draft, writable; the image gets a
 * descriptor of its own, which is not. */
static int adopt(struct images *s, int fd, int stop_fd, struct image *image, struct err *e)
{
    char name[IMAGE_NAME_SIZE];
    scoped(freep) char *deps = NULL;
    size_t len;
    if (fchmod(fd, 0400))
        return err_sys(e, errno, "write the image");
    if (write_out(fd, stop_fd, e))
        return -1;
    image->fd = below_open(s->dir_fd, DRAFT, O_RDONLY);
    if (image->fd < 0)
        return err_sys(e, -image->fd, "open the image");
    if (image_read(image, &deps, &len, e) || hash_image(image, stop_fd, e))
        return err_wrap(e, "what the kernel wrote");
    /* Is the list of its files readable, and are they the same ones still? */
    if (deps_check(deps, len, &image->changed, &image->is_changed_elsewhere, e))
        return -1;
    if (image->changed.count > 0)
        return err_set(e, ERR_CONFLICT, "libraries changed while the image was made; try again");
    image_name(image->id, "img", name);
    if (renameat(s->dir_fd, DRAFT, s->dir_fd, name))
        return err_sys(e, errno, "name the image");
    image->made_wall_us = clock_wall_us();
    return image_note(s, image, &s->here, e);
}

static int make(struct images *s, struct spawner *spawner, const struct bake_sink *sink,
                int stop_fd, struct image *ret, struct err *e)
{
    scoped(workdir_freep) struct workdir *dir = NULL;
    scoped(image_done) struct image image = IMAGE_NONE;
    (void)unlinkat(s->dir_fd, DRAFT, 0); /* of one who was killed */
    scoped(fd_closep) int fd =
        openat(s->dir_fd, DRAFT, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, errno, "make a file for the image");
    if (workdir_new(s->dir_path, &dir, e))
        return -1;
    if (kernel_bake(spawner, workdir_fd(dir), fd, sink, stop_fd, e) ||
        adopt(s, fd, stop_fd, &image, e)) {
        (void)unlinkat(s->dir_fd, DRAFT, 0);
        return -1;
    }
    *ret = image;
    image = IMAGE_NONE;
    return 0;
}

/* What somebody else made while we waited for the lock; or, if that is enough, any current one. */
static bool is_made(struct images *s, enum bake_way way, int64_t since_wall_us, struct image *ret)
{
    struct err none = {0};
    struct image image = IMAGE_NONE;
    if (images_find(s, &image, &none))
        return false;
    if (way == BAKE_ANEW && image.made_wall_us < since_wall_us) {
        image_done(&image);
        return false;
    }
    *ret = image;
    return true;
}

/* Without one sessions start cold: that is slower, and all. */
static int check_disk(const struct images *s, const struct spawner *spawner, struct err *e)
{
    struct disk_room room;
    if (disk_look(s->dir_fd, spawner_reserve(spawner), &room, e))
        return -1;
    return room.is_full ? err_set(e, ERR_NO_SPACE, "the disk of the images is down to its reserve")
                        : 0;
}

/* Whoever holds it needs BAKE_TIMEOUT_MS at most, or copies libraries, and loses it when it dies. One
 * cannot wait for a lock and a descriptor at once, so it is tried now and then. */
static int await_lock(struct images *s, int stop_fd, struct err *e)
{
    int lock;
    if (stop_fd < 0)
        return images_lock(s, LOCK_EX, e);
    while ((lock = images_lock(s, LOCK_EX | LOCK_NB, e)) < 0 && e->code == ERR_UNAVAILABLE) {
        if (is_stopped(stop_fd, LOCK_LOOK_MS))
            return give_up(e);
        *e = (struct err){0};
    }
    return lock;
}

int images_bake(struct images *s, struct spawner *spawner, enum bake_way way,
                const struct bake_sink *sink, int stop_fd, struct image *ret, struct err *e)
{
    int64_t begun_wall_us = clock_wall_us();
    int why = spawner_hello(spawner)->failure[MECH_IMAGE];
    if (spawner_hello(spawner)->tier != TIER_FULL || why)
        return err_set(e, ERR_UNAVAILABLE,
                       "this host cannot use images: %s; `cicada doctor` says more",
                       why ? strerror(why) : "the sandbox is weaker than full");
    scoped(fd_closep) int lock = await_lock(s, stop_fd, e);
    if (lock < 0)
        return -1;
    if (is_made(s, way, begun_wall_us, ret))
        return 0;
    return check_disk(s, spawner, e) || make(s, spawner, sink, stop_fd, ret, e) ? -1 : 0;
}
