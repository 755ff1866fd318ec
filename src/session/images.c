#include "session/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/err.h"
#include "base/fdio.h"
#include "base/scope.h"
#include "image/format.h"
#include "session/deps.h"
#include "session/images_int.h"
#include "session/meta.h"
#include "wire/jail.h"

void image_done(struct image *image)
{
    fd_closep(&image->fd);
    names_done(&image->changed);
    *image = IMAGE_NONE;
}

void image_name(const char *id, const char *ending, char ret[IMAGE_NAME_SIZE])
{
    (void)snprintf(ret, IMAGE_NAME_SIZE, "%.64s.%.6s", id, ending);
}

int images_make_dir(const char *dir_path, struct err *e)
{
    scoped(freep) char *path = strdup(dir_path);
    if (!path)
        return err_set(e, ERR_NO_MEMORY, "make the directory for images");
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0755) && errno != EEXIST)
            return err_sys(e, errno, "make the directory for images");
        *slash = '/';
    }
    if (mkdir(path, 0700) && errno != EEXIST)
        return err_sys(e, errno, "make the directory for images");
    return 0;
}

int images_check_owner(const struct stat *st, mode_t forbidden, const char *what, struct err *e)
{
    if ((st->st_uid != geteuid() && st->st_uid != 0) || (st->st_mode & forbidden))
        return err_set(e, ERR_DENIED, "%s belongs to or can be written by others: not used", what);
    return 0;
}

int images_open(const struct images_options *options, struct images **ret, struct err *e)
{
    struct stat st;
    struct fingerprint here;
    scoped(fd_closep) int fd = open(options->dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "open the directory for images");
    if (images_check_owner(&st, 022, "the directory for images", e) ||
        fingerprint_take(options->kernel_path, options->load_path, &here, e))
        return -1;
    struct images *s = malloc(sizeof *s);
    char *path = strdup(options->dir_path);
    if (!s || !path) {
        free(s);
        free(path);
        return err_set(e, ERR_NO_MEMORY, "open the directory for images");
    }
    *s = (struct images){.dir_fd = take_fd(&fd),
                         .dir_path = path,
                         .here = here,
                         .libraries = jail_libraries,
                         .library_count = JAIL_LIBRARIES};
    *ret = s;
    return 0;
}

void images_close(struct images *s)
{
    if (!s)
        return;
    (void)close(s->dir_fd);
    free(s->dir_path);
    free(s);
}

int image_read(struct image *image, char **ret_deps, size_t *ret_len, struct err *e)
{
    struct image_head head;
    struct stat st;
    if (fstat(image->fd, &st))
        return err_sys(e, errno, "look at an image");
    ssize_t n = pread(image->fd, &head, sizeof head, 0);
    uint64_t deps_end;
    if (n != sizeof head || head.magic != IMAGE_MAGIC || head.version != IMAGE_VERSION ||
        head.region_count > IMAGE_REGIONS_MAX || head.file_len != (uint64_t)st.st_size ||
        head.deps_len > DEPS_LEN_MAX ||
        __builtin_add_overflow(head.deps_at, head.deps_len, &deps_end) || deps_end > head.file_len)
        return err_set(e, ERR_DAMAGED, "not an image of this version");
    scoped(freep) char *deps = malloc(head.deps_len + 1);
    if (!deps)
        return err_set(e, ERR_NO_MEMORY, "look at an image");
    if (pread(image->fd, deps, head.deps_len, (off_t)head.deps_at) != (ssize_t)head.deps_len)
        return err_set(e, ERR_DAMAGED, "the image is cut off");
    image->size = head.file_len;
    image->disk_bytes = (uint64_t)st.st_blocks * 512;
    image->mark = head.mark;
    *ret_deps = take(deps);
    *ret_len = head.deps_len;
    return 0;
}

/* The directory may have been removed under us, to make room: then it is made again, and is empty. */
static int revive(struct images *s, struct err *e)
{
    struct stat st;
    if (fstat(s->dir_fd, &st))
        return err_sys(e, errno, "look at the directory for images");
    if (st.st_nlink > 0)
        return 0;
    if (images_make_dir(s->dir_path, e))
        return -1;
    scoped(fd_closep) int fd = open(s->dir_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        return err_sys(e, errno, "open the directory for images");
    if (images_check_owner(&st, 022, "the directory for images", e))
        return -1;
    /* Under its number, since others may be using it just now. */
    return dup3(fd, s->dir_fd, O_CLOEXEC) < 0 ? err_sys(e, errno, "open the directory for images")
                                              : 0;
}

int images_lock(struct images *s, int how, struct err *e)
{
    if (revive(s, e))
        return -1;
    scoped(fd_closep) int lock = openat(s->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0)
        return err_sys(e, errno, "open the directory for images");
    while (flock(lock, how)) {
        if (errno == EWOULDBLOCK)
            return err_set(e, ERR_UNAVAILABLE, "another is at work on the images");
        if (errno != EINTR)
            return err_sys(e, errno, "lock the directory for images");
    }
    return take_fd(&lock);
}

static int sync_dir(const struct images *s, struct err *e)
{
    return fsync(s->dir_fd) ? err_sys(e, errno, "write the directory for images") : 0;
}

int image_note(struct images *s, const struct image *image, const struct fingerprint *made_by,
               struct err *e)
{
    char name[IMAGE_NAME_SIZE], draft[IMAGE_NAME_SIZE + 16];
    scoped(buf_done) struct buf text = BUF_INIT(META_LEN_MAX);
    struct meta meta = {
        .made_by = *made_by, .made_wall_us = image->made_wall_us, .mark = image->mark};
    struct stat st;
    if (fstat(image->fd, &st))
        return err_sys(e, errno, "look at an image");
    if (checked_now(&st, &meta.checked, e))
        return -1;
    meta_put(&meta, &text);
    image_name(image->id, "meta", name);
    (void)snprintf(draft, sizeof draft, "%s-%d.tmp", name, (int)gettid());
    scoped(fd_closep) int fd =
        openat(s->dir_fd, draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_sys(e, errno, "write the note beside an image");
    if (buf_check(&text, e) || fd_write_all(fd, text.bytes, text.len, e))
        return -1;
    if (fsync(fd) || renameat(s->dir_fd, draft, s->dir_fd, name))
        return err_sys(e, errno, "write the note beside an image");
    return sync_dir(s, e);
}

static int read_meta(struct images *s, const char *id, struct meta *ret, struct err *e)
{
    char name[IMAGE_NAME_SIZE], text[META_LEN_MAX];
    size_t len = 0;
    image_name(id, "meta", name);
    scoped(fd_closep) int fd = below_open(s->dir_fd, name, O_RDONLY);
    if (fd < 0)
        return err_sys(e, -fd, "open the note beside an image");
    if (fd_read_all(fd, text, sizeof text, &len, e))
        return -1;
    return meta_get(text, len, ret, e);
}

/* Nobody uses it any more; whoever runs the service may look at it. */
static void set_aside(struct images *s, const char *id)
{
    char name[IMAGE_NAME_SIZE], bad[IMAGE_NAME_SIZE];
    image_name(id, "img", name);
    image_name(id, "bad", bad);
    (void)renameat(s->dir_fd, name, s->dir_fd, bad); /* if it fails, it is found again */
    image_name(id, "meta", name);
    (void)unlinkat(s->dir_fd, name, 0);
}

static int check_content(const struct image *image, struct err *e)
{
    uint8_t digest[HASH_LEN];
    char hex[HASH_HEX_SIZE];
    uint64_t len;
    if (lseek(image->fd, 0, SEEK_SET) < 0)
        return err_sys(e, errno, "read an image");
    if (hash_fd(image->fd, INT64_MAX, digest, &len, e))
        return -1;
    hash_hex(digest, hex);
    return strcmp(hex, image->id) == 0 ? 0
                                       : err_set(e, ERR_DAMAGED, "the image's content has changed");
}

/* Opens the image and makes sure that it is what its name says, the cheap way if that is enough. */
static int open_checked(struct images *s, const struct meta *meta, struct image *image,
                        struct err *e)
{
    char name[IMAGE_NAME_SIZE];
    struct checked now;
    struct stat st;
    image_name(image->id, "img", name);
    image->fd = below_open(s->dir_fd, name, O_RDONLY);
    if (image->fd < 0)
        return err_sys(e, -image->fd, "open an image");
    if (fstat(image->fd, &st))
        return err_sys(e, errno, "look at an image");
    if (!S_ISREG(st.st_mode))
        return err_set(e, ERR_DAMAGED, "an image that is no file");
    if (images_check_owner(&st, 0222, "an image", e) || checked_now(&st, &now, e))
        return -1;
    if (checked_equal(&now, &meta->checked))
        return 0;
    if (check_content(image, e))
        return -1;
    struct err ignored = {0}; /* the next one hashes again then */
    (void)image_note(s, image, &meta->made_by, &ignored);
    return 0;
}

/* Opens, checks, and finds out what has changed since. *ret is untouched on failure; an image that
 * is damaged is set aside. */
static int open_image(struct images *s, const char *id, const struct meta *meta, struct image *ret,
                      struct err *e)
{
    scoped(image_done) struct image image = {
        .fd = -1, .made_wall_us = meta->made_wall_us, .mark = meta->mark};
    scoped(freep) char *deps = NULL;
    size_t len = 0;
    memcpy(image.id, id, HASH_HEX_SIZE);
    if (open_checked(s, meta, &image, e) || image_read(&image, &deps, &len, e) ||
        deps_check(deps, len, &image.changed, &image.is_changed_elsewhere, e)) {
        if (e->code == ERR_DAMAGED)
            set_aside(s, id);
        return -1;
    }
    *ret = image;
    image = IMAGE_NONE;
    return 0;
}

bool image_split_name(const char *name, const char *ending, char ret[HASH_HEX_SIZE])
{
    size_t len = strspn(name, "0123456789abcdef");
    if (len != HASH_HEX_SIZE - 1 || name[len] != '.' || strcmp(name + len + 1, ending) != 0)
        return false;
    memcpy(ret, name, len);
    ret[len] = '\0';
    return true;
}

static int open_listing(const struct images *s, struct dir *ret, struct err *e)
{
    int fd = below_open_dir(s->dir_fd, ".");
    if (fd < 0)
        return err_sys(e, -fd, "read the directory for images");
    dir_init(ret, fd);
    return 0;
}

/* Why an image cannot be used on this host; NULL if nothing speaks against it. */
static const char *misfit(const struct images *s, const struct fingerprint *made_by)
{
    if (made_by->format != s->here.format)
        return "the image has the file format of another version of cicada";
    if (strcmp(made_by->cpu, s->here.cpu) != 0)
        return "the image was made on another kind of CPU";
    return NULL;
}

static int not_found(struct err *e, const char *why)
{
    return err_set(e, ERR_NOT_FOUND, "%s; `cicada bake` makes one", why);
}

/* What speaks against one image; *why is the best reason so far. */
static int try_image(struct images *s, const char *id, struct image *best, const char **why,
                     struct err *e)
{
    struct err problem = {0};
    struct meta meta;
    scoped(image_done) struct image image = IMAGE_NONE;
    if (read_meta(s, id, &meta, &problem))
        return 0;
    if (!fingerprint_equal(&meta.made_by, &s->here)) {
        const char *misfits = misfit(s, &meta.made_by);
        *why = misfits ? misfits : "the image was made by another build of cicada";
        return 0;
    }
    if (best->fd >= 0 && best->made_wall_us >= meta.made_wall_us)
        return 0;
    if (open_image(s, id, &meta, &image, &problem)) {
        if (problem.code == ERR_NO_MEMORY)
            return err_set(e, ERR_NO_MEMORY, "look for an image");
        *why = problem.code == ERR_DAMAGED  ? "the image was damaged and has been set aside"
               : problem.code == ERR_DENIED ? "the image belongs to or can be written by others"
                                            : "the image cannot be read";
        return 0;
    }
    if (image.changed.count > 0) {
        *why = "libraries were upgraded since the image was made";
        return 0;
    }
    image_done(best);
    *best = image;
    image = IMAGE_NONE;
    return 0;
}

int images_find(struct images *s, struct image *ret, struct err *e)
{
    struct dir d;
    if (open_listing(s, &d, e))
        return -1;
    struct image best = IMAGE_NONE;
    const char *why = "there is no image";
    int failed = 0;
    for (const struct dirent64 *entry; !failed && (entry = dir_next(&d));) {
        char id[HASH_HEX_SIZE];
        if (image_split_name(entry->d_name, "img", id))
            failed = try_image(s, id, &best, &why, e);
    }
    dir_done(&d);
    if (failed) {
        image_done(&best);
        return -1;
    }
    if (best.fd < 0)
        return not_found(e, why);
    *ret = best;
    return 0;
}

int images_open_id(struct images *s, const char *id, struct image *ret, struct err *e)
{
    char own[HASH_HEX_SIZE], name[IMAGE_NAME_SIZE];
    struct meta meta;
    image_name(id, "img", name);
    if (strlen(id) != HASH_HEX_SIZE - 1 || !image_split_name(name, "img", own))
        return err_set(e, ERR_INVALID, "not the id of an image");
    if (read_meta(s, own, &meta, e))
        return err_wrap(e, "the image is gone");
    const char *misfits = misfit(s, &meta.made_by);
    if (misfits)
        return err_set(e, ERR_UNAVAILABLE, "%s", misfits);
    return open_image(s, own, &meta, ret, e);
}

static bool is_there(const struct images *s, const char *id, const char *ending)
{
    char name[IMAGE_NAME_SIZE];
    image_name(id, ending, name);
    return faccessat(s->dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A link changes the time by which a store knows that it has hashed an image (meta.h). The file is the one
 * that was hashed, so both notes are written anew. */
int images_link(struct images *from, struct images *to, const char *id, struct err *e)
{
    char name[IMAGE_NAME_SIZE];
    struct meta meta;
    struct stat was, is;
    struct err ignored = {0};
    scoped(freep) char *deps = NULL;
    size_t len;
    if (is_there(to, id, "img") && is_there(to, id, "meta"))
        return 0;
    if (revive(to, e) || read_meta(from, id, &meta, e))
        return -1;
    scoped(image_done) struct image image = {.fd = -1, .made_wall_us = meta.made_wall_us};
    (void)snprintf(image.id, sizeof image.id, "%s", id);
    if (open_checked(from, &meta, &image, e) || image_read(&image, &deps, &len, e))
        return -1;
    image_name(id, "img", name);
    if (linkat(from->dir_fd, name, to->dir_fd, name, 0) && errno != EEXIST)
        return err_sys(e, errno, "link an image");
    if (fstat(image.fd, &was) || fstatat(to->dir_fd, name, &is, AT_SYMLINK_NOFOLLOW))
        return err_sys(e, errno, "look at an image");
    if (was.st_dev != is.st_dev || was.st_ino != is.st_ino)
        return err_set(e, ERR_CONFLICT, "another file has the name of the image");
    (void)image_note(from, &image, &meta.made_by, &ignored); /* or it is hashed once more */
    return image_note(to, &image, &meta.made_by, e);
}

static bool is_kept(const char *id, const struct image *current, const char (*keep)[HASH_HEX_SIZE],
                    size_t count)
{
    if (current->fd >= 0 && strcmp(current->id, id) == 0)
        return true;
    for (size_t i = 0; i < count; i++)
        if (strcmp(keep[i], id) == 0)
            return true;
    return false;
}

/* How many bytes that gave. */
static uint64_t remove_file(struct images *s, const char *name)
{
    struct stat st = {0};
    (void)fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW);
    bool is_elsewhere = st.st_nlink > 1;
    return unlinkat(s->dir_fd, name, 0) || is_elsewhere ? 0 : (uint64_t)st.st_blocks * 512;
}

/* The note last: an image without one is nobody's and goes the next time. */
static uint64_t remove_image(struct images *s, const char *name, const char *id)
{
    char meta[IMAGE_NAME_SIZE];
    images_drop_libraries(s, id);
    uint64_t freed = remove_file(s, name);
    image_name(id, "meta", meta);
    return freed + remove_file(s, meta);
}

int images_gc(struct images *s, const char (*keep)[HASH_HEX_SIZE], size_t keep_count,
              uint64_t *ret_freed, struct err *e)
{
    scoped(image_done) struct image current = IMAGE_NONE;
    scoped(fd_closep) int lock = images_lock(s, LOCK_EX | LOCK_NB, e);
    struct dir d;
    *ret_freed = 0;
    if (lock < 0)
        return e->code == ERR_UNAVAILABLE ? 0 : -1; /* one is being made just now; next time */
    if (images_find(s, &current, e) && e->code != ERR_NOT_FOUND)
        return -1;
    if (open_listing(s, &d, e))
        return -1;
    for (const struct dirent64 *entry; (entry = dir_next(&d));) {
        char id[HASH_HEX_SIZE];
        if (image_split_name(entry->d_name, "bad", id))
            *ret_freed += remove_file(s, entry->d_name);
        else if (image_split_name(entry->d_name, "img", id) &&
                 !is_kept(id, &current, keep, keep_count))
            *ret_freed += remove_image(s, entry->d_name, id);
        else if (image_split_name(entry->d_name, "lib", id) && !is_there(s, id, "img"))
            images_drop_libraries(s, id);
    }
    dir_done(&d);
    images_sweep_libraries(s);
    return 0;
}
