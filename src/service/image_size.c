/* image_size.c -- what the header of an image says of its size, read as a stranger's word.
 *
 *     PNG     89 "PNG" 0D 0A 1A 0A, then the chunk IHDR: length 13, name, width and height (32 bits, big-endian)
 *     GIF     "GIF87a" or "GIF89a", then width and height of its screen (16 bits, little-endian)
 *     WebP    "RIFF" length "WEBP", then a chunk:
 *               "VP8 "  length, 3 bytes of a frame, 9D 01 2A, width and height (14 bits, little-endian)
 *               "VP8L"  length, 2F, width - 1 and height - 1 (14 bits each, packed)
 *               "VP8X"  length, 4 bytes of flags, width - 1 and height - 1 (24 bits, little-endian)
 *     JPEG    FF D8, then segments: FF, a marker, length (16 bits, big-endian, counts itself); in that of a
 *             frame (SOF) follow its precision, height and width (16 bits). The first frame counts.
 */
#include "service/shrink.h"

#include <string.h>

struct size {
    uint32_t width, height;
};

static uint32_t at(struct str s, size_t index)
{
    return (uint8_t)s.ptr[index];
}

static uint32_t big16(struct str s, size_t index)
{
    return at(s, index) << 8 | at(s, index + 1);
}

static uint32_t big32(struct str s, size_t index)
{
    return big16(s, index) << 16 | big16(s, index + 2);
}

static uint32_t little16(struct str s, size_t index)
{
    return at(s, index + 1) << 8 | at(s, index);
}

static uint32_t little24(struct str s, size_t index)
{
    return at(s, index + 2) << 16 | little16(s, index);
}

/* Whether `s` holds these bytes there. */
static bool has(struct str s, size_t index, const char *bytes, size_t len)
{
    return s.len >= len && index <= s.len - len && memcmp(s.ptr + index, bytes, len) == 0;
}

static bool png_size(struct str s, struct size *ret)
{
    enum { WIDTH = 16, HEIGHT = 20, END = 24 };
    if (!has(s, 0, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", WIDTH) || s.len < END)
        return false;
    *ret = (struct size){big32(s, WIDTH), big32(s, HEIGHT)};
    return true;
}

static bool gif_size(struct str s, struct size *ret)
{
    enum { WIDTH = 6, HEIGHT = 8, END = 10 };
    if ((!has(s, 0, "GIF87a", 6) && !has(s, 0, "GIF89a", 6)) || s.len < END)
        return false;
    *ret = (struct size){little16(s, WIDTH), little16(s, HEIGHT)};
    return true;
}

static bool webp_size(struct str s, struct size *ret)
{
    enum { KIND = 12, BODY = 20, END = 30 };
    if (!has(s, 0, "RIFF", 4) || !has(s, 8, "WEBP", 4) || s.len < END)
        return false;
    if (has(s, KIND, "VP8X", 4)) {
        *ret = (struct size){little24(s, BODY + 4) + 1, little24(s, BODY + 7) + 1};
        return true;
    }
    if (has(s, KIND, "VP8 ", 4) && has(s, BODY + 3, "\x9d\x01\x2a", 3)) {
        *ret = (struct size){little16(s, BODY + 6) & 0x3fff, little16(s, BODY + 8) & 0x3fff};
        return true;
    }
    if (has(s, KIND, "VP8L", 4) && has(s, BODY, "\x2f", 1)) {
        uint32_t packed = little24(s, BODY + 1) | at(s, BODY + 4) << 24;
        *ret = (struct size){(packed & 0x3fff) + 1, (packed >> 14 & 0x3fff) + 1};
        return true;
    }
    return false;
}

/* C0 to CF are frames, but for tables of codes (C4, CC) and what is kept for later (C8). */
static bool is_frame(uint32_t marker)
{
    return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

/* The picture itself, or the end: no frame follows that counts. */
static bool is_last(uint32_t marker)
{
    return marker == 0xd9 || marker == 0xda;
}

/* Markers that stand alone. */
static bool is_bare(uint32_t marker)
{
    return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8);
}

static bool jpeg_size(struct str s, struct size *ret)
{
    enum { HEIGHT = 3, WIDTH = 5, END = 7 }; /* after the marker */
    size_t next = 2;
    if (!has(s, 0, "\xff\xd8\xff", 3))
        return false;
    while (next + 1 < s.len && at(s, next) == 0xff) {
        uint32_t marker = at(s, ++next);
        if (marker == 0xff) /* any number of these fill up */
            continue;
        next++;
        if (is_bare(marker))
            continue;
        if (is_last(marker) || s.len - next < END)
            return false;
        if (is_frame(marker)) {
            *ret = (struct size){big16(s, next + WIDTH), big16(s, next + HEIGHT)};
            return true;
        }
        uint32_t len = big16(s, next);
        if (len < 2 || len > s.len - next)
            return false;
        next += len;
    }
    return false;
}

static const struct kind {
    const char *mime;
    bool (*read)(struct str s, struct size *ret);
} kinds[] = {
    {"image/png", png_size},
    {"image/jpeg", jpeg_size},
    {"image/gif", gif_size},
    {"image/webp", webp_size},
};

int image_size(struct str image, uint32_t *ret_width, uint32_t *ret_height, const char **ret_mime)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct size size;
        if (!kinds[i].read(image, &size))
            continue;
        if (size.width == 0 || size.height == 0)
            return -1;
        if (ret_width)
            *ret_width = size.width;
        if (ret_height)
            *ret_height = size.height;
        if (ret_mime)
            *ret_mime = kinds[i].mime;
        return 0;
    }
    return -1;
}
