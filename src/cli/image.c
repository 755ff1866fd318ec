#include "cli/image.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/scope.h"

enum { KITTY_CHUNK = 4096 }; /* the most base64 the protocol allows in one piece */

static bool says(const char *variable, const char *value)
{
    const char *text = getenv(variable);
    return text && strcmp(text, value) == 0;
}

static bool mentions(const char *variable, const char *part)
{
    const char *text = getenv(variable);
    return text && strstr(text, part);
}

static bool is_kitty(void)
{
    return mentions("TERM", "kitty") || getenv("KITTY_WINDOW_ID") ||
           says("TERM_PROGRAM", "ghostty") || getenv("KONSOLE_VERSION");
}

static bool is_iterm(void)
{
    return says("TERM_PROGRAM", "iTerm.app") || says("LC_TERMINAL", "iTerm2") ||
           says("TERM_PROGRAM", "WezTerm") || says("TERM_PROGRAM", "mintty");
}

static bool is_sixel(void)
{
    return mentions("TERM", "sixel") || says("TERM", "mlterm") || says("TERM", "foot") ||
           says("TERM", "foot-extra") || says("TERM", "yaft-256color");
}

enum image_way image_way_here(void)
{
    static const struct {
        const char *name;
        enum image_way way;
    } named[] = {
        {"kitty", IMAGE_KITTY}, {"iterm", IMAGE_ITERM}, {"sixel", IMAGE_SIXEL}, {"no", IMAGE_NOT}};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++)
        if (says("CICADA_IMAGES", named[i].name))
            return named[i].way;
    if (is_kitty())
        return IMAGE_KITTY;
    if (is_iterm())
        return IMAGE_ITERM;
    return is_sixel() ? IMAGE_SIXEL : IMAGE_NOT;
}

static void put_kitty(const char *text, size_t len, struct buf *out)
{
    const char *first = "a=T,f=100,q=2,";
    for (size_t at = 0; at < len; at += KITTY_CHUNK) {
        size_t chunk = len - at < KITTY_CHUNK ? len - at : KITTY_CHUNK;
        buf_fmt(out, "\033_G%sm=%d;", at == 0 ? first : "", at + chunk < len);
        buf_add(out, text + at, chunk);
        buf_str(out, "\033\\");
    }
    buf_str(out, "\n");
}

void image_sequence(enum image_way way, const char *type, const char *bytes, size_t len,
                    struct buf *out)
{
    bool is_png = strcmp(type, "image/png") == 0;
    if (len == 0 || !(way == IMAGE_ITERM || (way == IMAGE_KITTY && is_png)))
        return;
    scoped(buf_done) struct buf text = BUF_INIT(len / 3 * 4 + 8);
    base64_add(&text, bytes, len);
    if (way == IMAGE_KITTY) {
        put_kitty(text.bytes, text.len, out);
    } else {
        buf_fmt(out, "\033]1337;File=inline=1;size=%zu:", len);
        buf_add(out, text.bytes, text.len);
        buf_str(out, "\a\n");
    }
}

const char *image_ending(const char *type)
{
    static const struct {
        const char *type, *ending;
    } known[] = {{"image/png", "png"},   {"image/jpeg", "jpg"},     {"image/svg+xml", "svg"},
                 {"image/gif", "gif"},   {"image/webp", "webp"},    {"image/bmp", "bmp"},
                 {"image/tiff", "tiff"}, {"application/pdf", "pdf"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i].type) == 0)
            return known[i].ending;
    return NULL;
}
