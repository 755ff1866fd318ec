#include "cli/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/scope.h"

static void a_small_image_is_one_kitty_piece(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    image_sequence(IMAGE_KITTY, "image/png", "foobar", 6, &out);
    assert_string_equal(out.bytes, "\033_Ga=T,f=100,q=2,m=0;Zm9vYmFy\033\\\n");
}

static void a_large_image_comes_in_pieces_of_4096(void **state)
{
    (void)state;
    static char bytes[3073]; /* one byte more than fills a piece */
    scoped(buf_done) struct buf out = BUF_INIT(10000);
    image_sequence(IMAGE_KITTY, "image/png", bytes, sizeof bytes, &out);
    assert_memory_equal(out.bytes, "\033_Ga=T,f=100,q=2,m=1;", 21);
    const char *second = strstr(out.bytes + 1, "\033_G");
    assert_int_equal(second - out.bytes, 21 + 4096 + 2);
    assert_memory_equal(second, "\033_Gm=0;AA==\033\\\n", 15);
}

static void iterm_takes_any_image(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    image_sequence(IMAGE_ITERM, "image/jpeg", "foobar", 6, &out);
    assert_string_equal(out.bytes, "\033]1337;File=inline=1;size=6:Zm9vYmFy\a\n");
}

static void what_a_terminal_cannot_show_is_not_sent(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    image_sequence(IMAGE_KITTY, "image/jpeg", "foobar", 6, &out);
    image_sequence(IMAGE_KITTY, "image/png", "", 0, &out);
    image_sequence(IMAGE_SIXEL, "image/png", "foobar", 6, &out);
    image_sequence(IMAGE_NOT, "image/png", "foobar", 6, &out);
    assert_int_equal(out.len, 0);
}

static enum image_way way_with(const char *name, const char *value)
{
    static const char *const all[] = {"TERM",        "TERM_PROGRAM",    "KITTY_WINDOW_ID",
                                      "LC_TERMINAL", "KONSOLE_VERSION", "CICADA_IMAGES"};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        (void)unsetenv(all[i]);
    (void)setenv(name, value, 1);
    return image_way_here();
}

static void terminals_are_known_by_their_environment(void **state)
{
    (void)state;
    assert_int_equal(way_with("TERM", "xterm-256color"), IMAGE_NOT);
    assert_int_equal(way_with("TERM", "xterm-kitty"), IMAGE_KITTY);
    assert_int_equal(way_with("KITTY_WINDOW_ID", "1"), IMAGE_KITTY);
    assert_int_equal(way_with("TERM_PROGRAM", "iTerm.app"), IMAGE_ITERM);
    assert_int_equal(way_with("TERM", "xterm-sixel"), IMAGE_SIXEL);
    assert_int_equal(way_with("CICADA_IMAGES", "sixel"), IMAGE_SIXEL);
    (void)setenv("TERM", "xterm-kitty", 1);
    (void)setenv("CICADA_IMAGES", "no", 1);
    assert_int_equal(image_way_here(), IMAGE_NOT);
}

static void only_images_have_an_ending(void **state)
{
    (void)state;
    assert_string_equal(image_ending("image/png"), "png");
    assert_string_equal(image_ending("image/svg+xml"), "svg");
    assert_null(image_ending("text/plain"));
    assert_null(image_ending("image/../../x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_image_is_one_kitty_piece),
        cmocka_unit_test(a_large_image_comes_in_pieces_of_4096),
        cmocka_unit_test(iterm_takes_any_image),
        cmocka_unit_test(what_a_terminal_cannot_show_is_not_sent),
        cmocka_unit_test(terminals_are_known_by_their_environment),
        cmocka_unit_test(only_images_have_an_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
