/* image.h -- images inside a terminal.
 *
 * The protocols of kitty and iTerm2 take the file as it is. Sixel needs pixels: hostile code chose
 * the bytes of the image, so they are not decoded here but by the session that made them (sixel.h).
 */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include <stddef.h>

struct buf;

enum image_way { IMAGE_NOT, IMAGE_KITTY, IMAGE_ITERM, IMAGE_SIXEL };

/* What this terminal can do, judged by the environment; CICADA_IMAGES=kitty|iterm|sixel|no decides
 * where it is wrong. */
enum image_way image_way_here(void);

/* Appends the sequence that shows the image. Nothing is appended where the way cannot show that
 * type: kitty takes PNG only, and IMAGE_SIXEL nothing here. */
void image_sequence(enum image_way way, const char *type, const char *bytes, size_t len,
                    struct buf *out);

/* The ending of a file of that type, such as "png"; NULL if it is not one of an image. */
const char *image_ending(const char *type);

#endif
