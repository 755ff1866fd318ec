#include "http/chunked.h"

#include <assert.h>
#include <stdbool.h>

#include "http/syntax.h"

static int hex_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool is_text(char c)
{
    return c == '\t' || ((unsigned char)c >= ' ' && c != 127);
}

static enum chunked_state size_byte(struct chunked *c, char byte)
{
    int hex = hex_of(byte);
    if (hex >= 0) {
        c->left = c->left << 4 | (unsigned)hex;
        return ++c->digits > 15 ? CHUNKED_BROKEN : CHUNKED_SIZE;
    }
    if (c->digits == 0)
        return CHUNKED_BROKEN;
    if (byte == ';')
        return CHUNKED_EXTENSION;
    return byte == '\r' ? CHUNKED_SIZE_LF : CHUNKED_BROKEN;
}

static enum chunked_state size_lf(struct chunked *c, char byte)
{
    if (byte != '\n')
        return CHUNKED_BROKEN;
    c->digits = 0;
    return c->left ? CHUNKED_BODY : CHUNKED_TRAILER;
}

/* A byte of an extension or a trailer, which is dropped. */
static enum chunked_state extra_byte(struct chunked *c, char byte, enum chunked_state end)
{
    if (byte == '\r')
        return end;
    if (!is_text(byte) || ++c->extra > CHUNKED_EXTRA_MAX)
        return CHUNKED_BROKEN;
    return c->state;
}

static enum chunked_state trailer_name_byte(struct chunked *c, char byte)
{
    if (++c->extra > CHUNKED_EXTRA_MAX)
        return CHUNKED_BROKEN;
    if (byte == ':')
        return c->state == CHUNKED_TRAILER_NAME ? CHUNKED_TRAILER_VALUE : CHUNKED_BROKEN;
    return http_is_token((struct str){&byte, 1}) ? CHUNKED_TRAILER_NAME : CHUNKED_BROKEN;
}

static enum chunked_state step(struct chunked *c, char byte)
{
    switch (c->state) {
    case CHUNKED_SIZE: return size_byte(c, byte);
    case CHUNKED_EXTENSION: return extra_byte(c, byte, CHUNKED_SIZE_LF);
    case CHUNKED_SIZE_LF: return size_lf(c, byte);
    case CHUNKED_BODY_CR: return byte == '\r' ? CHUNKED_BODY_LF : CHUNKED_BROKEN;
    case CHUNKED_BODY_LF: return byte == '\n' ? CHUNKED_SIZE : CHUNKED_BROKEN;
    case CHUNKED_TRAILER:
        if (byte == '\r')
            return CHUNKED_LAST_LF;
        return trailer_name_byte(c, byte);
    case CHUNKED_TRAILER_NAME: return trailer_name_byte(c, byte);
    case CHUNKED_TRAILER_VALUE: return extra_byte(c, byte, CHUNKED_TRAILER_LF);
    case CHUNKED_TRAILER_LF: return byte == '\n' ? CHUNKED_TRAILER : CHUNKED_BROKEN;
    case CHUNKED_LAST_LF: return byte == '\n' ? CHUNKED_DONE : CHUNKED_BROKEN;
    case CHUNKED_BODY:
    case CHUNKED_DONE:
    case CHUNKED_BROKEN: break;
    }
    return CHUNKED_BROKEN;
}

enum chunked_found chunked_next(struct chunked *c, const char *bytes, size_t len, size_t *ret_used)
{
    size_t at = 0;
    while (at < len && c->state != CHUNKED_BODY && c->state < CHUNKED_DONE)
        c->state = step(c, bytes[at++]);
    *ret_used = at;
    switch (c->state) {
    case CHUNKED_BODY: return CHUNKED_DATA;
    case CHUNKED_DONE: return CHUNKED_END;
    case CHUNKED_BROKEN: return CHUNKED_BAD;
    default: return CHUNKED_MORE;
    }
}

uint64_t chunked_left(const struct chunked *c)
{
    return c->state == CHUNKED_BODY ? c->left : 0;
}

void chunked_skip(struct chunked *c, uint64_t len)
{
    assert(c->state == CHUNKED_BODY && len <= c->left);
    c->left -= len;
    if (c->left == 0)
        c->state = CHUNKED_BODY_CR;
}
