/* images_int.h -- the inside of the store, shared by images.c (what is there) and bake.c (what
 * comes). */
#ifndef SESSION_IMAGES_INT_H
#define SESSION_IMAGES_INT_H

#include <sys/stat.h>

#include "session/fingerprint.h"
#include "session/images.h"

struct jail_library;

enum { IMAGE_NAME_SIZE = HASH_HEX_SIZE + 8 }; /* an id with an ending */

struct images {
    int dir_fd;
    char *dir_path;
    struct fingerprint here;
    const struct jail_library *libraries; /* to be kept; jail_libraries but in tests */
    size_t library_count;
};

/* "3f9a...c1.img" */
void image_name(const char *id, const char *ending, char ret[IMAGE_NAME_SIZE]);

/* Writes the note beside the image `fd`, whose content was just found to be what its name says. */
int image_note(struct images *s, const struct image *image, const struct fingerprint *made_by,
               struct err *e);

/* The head of an image file: fills size, disk_bytes, mark, and the text of its deps, which is the
 * caller's. Fails with ERR_DAMAGED. */
int image_read(struct image *image, char **ret_deps, size_t *ret_len, struct err *e);

/* Holds the lock on the directory while the descriptor is open; -1 with *e. With LOCK_NB in `how` it
 * fails with ERR_UNAVAILABLE when another has it. */
int images_lock(struct images *s, int how, struct err *e);

/* Fails with ERR_DENIED unless it is ours and nobody else may change it: `forbidden` are bits of its
 * mode. */
int images_check_owner(const struct stat *st, mode_t forbidden, const char *what, struct err *e);

/* The id in a name like "3f9a...c1.img"; false if it is none. */
bool image_split_name(const char *name, const char *ending, char ret[HASH_HEX_SIZE]);

/* Takes away the copy of that image's libraries; with the lock held, like the next. */
void images_drop_libraries(struct images *s, const char *id);

/* What was left of copies when somebody was killed. */
void images_sweep_libraries(struct images *s);

/* A kernel that writes an image to `image_fd` and ends. `stop_fd` as in images_bake. */
int kernel_bake(struct spawner *s, int data_fd, int image_fd, const struct bake_sink *sink,
                int stop_fd, struct err *e);

#endif
