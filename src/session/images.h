/* images.h -- the store of baked images, in a directory of the service's own.
 *
 *     DIR/3f9a...c1.img     an image; its name is the SHA-256 of its content. 0400
 *     DIR/3f9a...c1.meta    what is known of it (meta.h)
 *     DIR/3f9a...c1.bad     one whose content was no longer that; for whoever wants to know why
 *     DIR/3f9a...c1.lib     the libraries it was made of (libraries.h); may be missing
 *     DIR/image.tmp         being written by whoever holds the lock on DIR
 *     DIR/libraries.tmp     the same
 *     DIR/libraries.old     being removed by whoever holds the lock
 *
 * A server has two: one to start sessions from, and one beside its sleeping sessions with hard links to
 * what they need.
 *
 * An image is **current** when this host, these programs and the files it was made of are what they
 * were. It is never trusted blindly: the directory and the file have to be ours and not writable by
 * others, and the content has to hash to the name. That hash is taken when the image was not yet
 * checked since the machine started, or the file is not the one that was; otherwise its identity,
 * size and times are believed.
 *
 *     images_open(&options, &store, e)
 *     images_find(store, &image, e) ||
 *         images_bake(store, spawner, BAKE_IF_NEEDED, &sink, stop_fd, &image, e)
 *     kernel_start(spawner, &limits, &data, &(struct kernel_origin){image.fd, -1, -1}, &k, e)
 *
 * Any number of threads and processes may use one store. All calls block on disk. A directory that somebody
 * removed, to make room, is made again by the next call that writes to it.
 */
#ifndef SESSION_IMAGES_H
#define SESSION_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "session/names.h"

struct err;
struct images;
struct libraries_wish;
struct spawner;

struct images_options {
    const char *dir_path;
    const char *kernel_path, *load_path; /* the programs it has to fit */
};

struct image {
    int fd; /* read-only; owned */
    char id[HASH_HEX_SIZE];
    uint64_t size;       /* bytes of the file; much of it is holes: */
    uint64_t disk_bytes; /* what it takes */
    uint64_t mark;       /* a delta over it carries the same */
    int64_t made_wall_us;
    struct names changed; /* files it was made of that have changed since; none: it is current */
    bool is_changed_elsewhere; /* one of them is outside the directories Python imports from */
};

#define IMAGE_NONE ((struct image){.fd = -1})

void image_done(struct image *image); /* back to IMAGE_NONE */

/* Makes the directory, and those above it, where they are missing. */
int images_make_dir(const char *dir_path, struct err *e);

/* Fails with ERR_NOT_FOUND when there is no directory, ERR_DENIED when others may write to it, or
 * like fingerprint_take. */
int images_open(const struct images_options *options, struct images **ret, struct err *e);
void images_close(struct images *s);

/* The newest current image. Fails with ERR_NOT_FOUND and why there is none: none was made,
 * libraries were upgraded since, cicada or the CPU is another, or it was damaged and has been set
 * aside. */
int images_find(struct images *s, struct image *ret, struct err *e);

/* The image of that id, current or not, for a session that slept under it; image->changed names
 * files that are no longer what they were. Fails with ERR_NOT_FOUND, ERR_DAMAGED, or
 * ERR_UNAVAILABLE when it does not fit this host (another CPU or file format). */
int images_open_id(struct images *s, const char *id, struct image *ret, struct err *e);

enum bake_way {
    BAKE_IF_NEEDED, /* not if there is a current image, or somebody else just makes one */
    BAKE_ANEW,
};

/* Hears how far it is, in words: "importing pandas". */
struct bake_sink {
    void (*put)(void *arg, const char *text);
    void *arg;
};

/* Makes an image and keeps it. One at a time: whoever comes second waits, and with BAKE_IF_NEEDED
 * gets what the first made. Takes seconds, BAKE_TIMEOUT_MS at most, unless `stop_fd` becomes readable: then
 * it gives up within a moment (-1: it never does). Fails with ERR_UNAVAILABLE when it gave up or this
 * host cannot, and why; ERR_NO_SPACE when the disk is down to the spawner's reserve. */
enum { BAKE_TIMEOUT_MS = 120000 };
int images_bake(struct images *s, struct spawner *spawner, enum bake_way way,
                const struct bake_sink *sink, int stop_fd, struct image *ret, struct err *e);

/* Copies the directories that Python imports from beside the image of that id, unless that was done
 * already: when libraries are upgraded, sessions that sleep under it find in the copy what fits it.
 * What an older copy holds unchanged costs no room. Takes ten seconds and half a gigabyte the first
 * time; `wish` is asked between files. Nothing is left of a copy that did not succeed. Fails with
 * ERR_CONFLICT when the image is not current or libraries change meanwhile, ERR_NO_SPACE when the disk is
 * too full for it, ERR_UNAVAILABLE when it is no longer wished for or another is at work. */
int images_keep_libraries(struct images *s, const char *id, const struct libraries_wish *wish,
                          struct err *e);

/* That copy, a directory to be mounted by a jail. The caller closes *ret. Fails with ERR_NOT_FOUND when
 * there is none. */
int images_open_libraries(struct images *s, const char *id, int *ret, struct err *e);

/* Gives the image of that id a place in a second store on the same file system, unless it is there: a hard
 * link, so its bytes are there once, and stay when one of the two is removed. Its libraries likewise, each
 * file a link. That is how sleeping sessions keep what they need (src/daemon/oven.c). Fails with
 * ERR_NOT_FOUND when `from` has none, ERR_UNAVAILABLE as images_keep_libraries does, or what the
 * disk fails with: EXDEV between two file systems. */
int images_link(struct images *from, struct images *to, const char *id, struct err *e);
int images_link_libraries(struct images *from, struct images *to, const char *id,
                          const struct libraries_wish *wish, struct err *e);

/* Removes what nobody needs: images that are neither the newest current one nor among `keep`, the
 * ids under which sessions sleep, and those set aside; libraries go with their image. *ret_freed is how
 * many bytes of disk that gave, not counting libraries, nor what another store has as well. */
int images_gc(struct images *s, const char (*keep)[HASH_HEX_SIZE], size_t keep_count,
              uint64_t *ret_freed, struct err *e);

#endif
