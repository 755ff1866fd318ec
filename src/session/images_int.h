/* images_int.h -- the inside of the store, shared by images.c (what is there) and bake.c (what
 * comes). */
#ifndef SESSION_IMAGES_INT_H
#define SESSION_IMAGES_INT_H

#include "session/fingerprint.h"
#include "session/images.h"

enum { IMAGE_NAME_SIZE = HASH_HEX_SIZE + 8 }; /* an id with an ending */

struct images {
    int dir_fd;
    char *dir_path;
    struct fingerprint here;
};

/* "3f9a...c1.img" */
void image_name(const char *id, const char *ending, char ret[IMAGE_NAME_SIZE]);

/* Writes the note beside the image `fd`, whose content was just found to be what its name says. */
int image_note(struct images *s, const struct image *image, const struct fingerprint *made_by,
               struct err *e);

/* The head of an image file: fills size, disk_bytes, mark, and the text of its deps, which is the
 * caller's. Fails with ERR_DAMAGED. */
int image_read(struct image *image, char **ret_deps, size_t *ret_len, struct err *e);

/* A kernel that writes an image to `image_fd` and ends. */
int kernel_bake(struct spawner *s, int data_fd, int image_fd, const struct bake_sink *sink,
                struct err *e);

#endif
