#include "wire/frame.h"

#include <assert.h>
#include <string.h>

#include "base/bytes.h"
#include "base/err.h"

void frame_reader_done(struct frame_reader *r)
{
    buf_done(&r->held);
    r->given_len = 0;
}

/* Drops the frame that was given out last. Its bytes were borrowed until now. */
static void settle(struct frame_reader *r)
{
    if (r->given_len == 0)
        return;
    memmove(r->held.bytes, r->held.bytes + r->given_len, r->held.len - r->given_len);
    r->held.len -= r->given_len;
    r->held.bytes[r->held.len] = '\0';
    r->given_len = 0;
}

size_t frame_room(const struct frame_reader *r)
{
    return r->held.max - (r->held.len - r->given_len);
}

int frame_fill(struct frame_reader *r, const void *bytes, size_t len, struct err *e)
{
    settle(r);
    buf_add(&r->held, bytes, len);
    return buf_check(&r->held, e);
}

/* True when the payload is nothing but whole fields. */
static bool fields_are_whole(const uint8_t *payload, size_t len)
{
    size_t at = 0;
    while (at < len) {
        if (len - at < FIELD_HEAD || get_u16(payload + at + 2) != 0)
            return false;
        size_t field_len = get_u32(payload + at + 4);
        if (field_len > len - at - FIELD_HEAD)
            return false;
        at += FIELD_HEAD + field_len;
    }
    return true;
}

int frame_next(struct frame_reader *r, struct frame *ret, struct err *e)
{
    settle(r);
    if (r->held.len < FRAME_HEAD)
        return 0;
    const uint8_t *head = (const uint8_t *)r->held.bytes;
    size_t len = get_u32(head);
    if (len > FRAME_PAYLOAD_MAX)
        return err_set(e, ERR_PROTOCOL, "frame of %zu bytes", len);
    if (head[5] || head[6] || head[7])
        return err_set(e, ERR_PROTOCOL, "frame head is not a head");
    if (r->held.len - FRAME_HEAD < len)
        return 0;
    if (!fields_are_whole(head + FRAME_HEAD, len))
        return err_set(e, ERR_PROTOCOL, "frame of kind %d has broken fields", head[4]);
    *ret = (struct frame){.kind = head[4], .payload = head + FRAME_HEAD, .len = len};
    r->given_len = FRAME_HEAD + len;
    return 1;
}

bool field_next(const struct frame *frame, struct field *f)
{
    size_t at = f->next;
    if (at >= frame->len)
        return false;
    const uint8_t *head = frame->payload + at;
    size_t len = get_u32(head + 4);
    *f = (struct field){.tag = get_u16(head),
                        .bytes = head + FIELD_HEAD,
                        .len = len,
                        .next = at + FIELD_HEAD + len};
    return true;
}

bool field_find(const struct frame *frame, enum field_tag tag, struct field *ret)
{
    for (struct field f = {0}; field_next(frame, &f);)
        if (f.tag == tag) {
            *ret = f;
            return true;
        }
    return false;
}

uint32_t field_u32(const struct field *f, uint32_t preset)
{
    if (f->len == 1)
        return f->bytes[0];
    return f->len == 4 ? get_u32(f->bytes) : preset;
}

size_t frame_begin(struct buf *out, enum frame_kind kind)
{
    size_t mark = out->len;
    uint8_t head[FRAME_HEAD] = {0};
    head[4] = (uint8_t)kind;
    buf_add(out, head, sizeof head);
    return mark;
}

void field_put(struct buf *out, enum field_tag tag, const void *bytes, size_t len)
{
    uint8_t head[FIELD_HEAD] = {0};
    assert(len <= UINT32_MAX);
    put_u16(head, (uint16_t)tag);
    put_u32(head + 4, (uint32_t)len);
    buf_add(out, head, sizeof head);
    buf_add(out, bytes, len);
}

void field_put_u32(struct buf *out, enum field_tag tag, uint32_t v)
{
    uint8_t bytes[4];
    put_u32(bytes, v);
    field_put(out, tag, bytes, sizeof bytes);
}

void frame_end(struct buf *out, size_t mark)
{
    if (out->failed)
        return;
    assert(out->len >= mark + FRAME_HEAD);
    put_u32((uint8_t *)out->bytes + mark, (uint32_t)(out->len - mark - FRAME_HEAD));
}
