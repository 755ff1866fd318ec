/* What image_size says of headers: whole ones, and every way to cut them off. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "base/scope.h"
#include "service/shrink.h"

#define SAMPLE(bytes_, needed_, mime_, width_, height_)                         \
    {                                                                           \
        {(bytes_), sizeof(bytes_) - 1}, (needed_), (mime_), (width_), (height_) \
    }

static const struct sample {
    struct str image;
    size_t needed; /* bytes until its size is known */
    const char *mime;
    uint32_t width, height;
} samples[] = {
    SAMPLE("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\x01\0\x03\x08\x06\0\0\0", 24, "image/png",
           258, 65539),
    SAMPLE("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xff\xff\xff\x80\0\0\0\x08", 24, "image/png",
           UINT32_MAX, 1U << 31),
    SAMPLE("GIF89a\x02\x01\x04\x03\xf7\0\0", 10, "image/gif", 258, 772),
    SAMPLE("GIF87a\xff\xff\x01\0\xf7\0\0", 10, "image/gif", 65535, 1),
    SAMPLE("RIFF\x20\0\0\0WEBPVP8 \x14\0\0\0\x30\x01\0\x9d\x01\x2a\x02\x41\x04\x83\0\0", 30,
           "image/webp", 258, 772),
    SAMPLE("RIFF\x20\0\0\0WEBPVP8L\x14\0\0\0\x2f\xff\xff\xff\x0f\0\0\0\0\0\0", 30, "image/webp",
           16384, 16384),
    SAMPLE("RIFF\x20\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\xff\xff\xff\x01\x02\0\0", 30, "image/webp",
           1 << 24, 514),
    SAMPLE("\xff\xd8\xff\xe0\0\x04..\xff\xc0\0\x11\x08\x01\x02\x03\x04\x03", 17, "image/jpeg", 772,
           258),
    /* markers that stand alone, bytes that fill up, a table of codes before the frame */
    SAMPLE("\xff\xd8\xff\x01\xff\xff\xff\xd0\xff\xc4\0\x03.\xff\xc2\0\x11\x08\0\x07\0\x05\x03", 22,
           "image/jpeg", 5, 7),
};

static void the_header_says_type_and_size(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        uint32_t width = 0, height = 0;
        const char *mime = NULL;
        assert_int_equal(image_size(samples[i].image, &width, &height, &mime), 0);
        assert_string_equal(mime, samples[i].mime);
        assert_int_equal(width, samples[i].width);
        assert_int_equal(height, samples[i].height);
        assert_int_equal(image_size(samples[i].image, NULL, NULL, NULL), 0);
    }
}

/* In a block of their own, so that the sanitizer sees a read past the end. */
static int size_of_first(struct str image, size_t len)
{
    scoped(freep) char *bytes = malloc(len ? len : 1);
    assert_non_null(bytes);
    memcpy(bytes, image.ptr, len);
    return image_size((struct str){.ptr = bytes, .len = len}, NULL, NULL, NULL);
}

static void what_is_cut_off_before_it_is_known_has_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++)
        for (size_t len = 0; len <= samples[i].image.len; len++)
            if (size_of_first(samples[i].image, len) != (len >= samples[i].needed ? 0 : -1))
                fail_msg("sample %zu, %zu bytes", i, len);
}

static void what_is_no_image_has_none(void **state)
{
    (void)state;
    static const struct str odd[] = {
        {NULL, 0},
        {"hello", 5},
        {"<svg width=\"10\" height=\"10\"></svg>", 34},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDX\0\0\0\1\0\0\0\1\x08", 25},
        {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\0\0\0\0\1\x08", 25}, /* no width */
        {"GIF89a\x01\0\0\0\xf7\0\0", 13},                          /* no height */
        {"RIFF\x20\0\0\0WAVEfmt \x14\0\0\0\x30\x01\0\x9d\x01\x2a\x02\x41\x04\x83\0\0", 32},
        {"RIFF\x20\0\0\0WEBPVP8 \x14\0\0\0\x30\x01\0\x9d\x01\x2b\x02\x41\x04\x83\0\0", 32},
        {"\xff\xd8\xff\xda\0\x04..\xff\xc0\0\x11\x08\x01\x02\x03\x04\x03", 18}, /* the picture */
        {"\xff\xd8\xff\xd9\xff\xc0\0\x11\x08\x01\x02\x03\x04\x03", 14},         /* its end */
        {"\xff\xd8\xff\xe0\0\x01..\xff\xc0\0\x11\x08\x01\x02\x03\x04\x03", 18}, /* too short */
        {"\xff\xd8\xff\xe0\xff\xff..\xff\xc0\0\x11\x08\x01\x02\x03\x04\x03", 18},
        {"\xff\xd8\xff\xe0\0\x04..\x00\xc0\0\x11\x08\x01\x02\x03\x04\x03", 18}, /* no marker */
    };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        uint32_t width = 7, height = 7;
        const char *mime = "untouched";
        if (image_size(odd[i], &width, &height, &mime) != -1)
            fail_msg("sample %zu is %u x %u", i, width, height);
        assert_int_equal(width, 7);
        assert_int_equal(height, 7);
        assert_string_equal(mime, "untouched");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_says_type_and_size),
        cmocka_unit_test(what_is_cut_off_before_it_is_known_has_none),
        cmocka_unit_test(what_is_no_image_has_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
