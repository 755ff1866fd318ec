#include "mcp/file_source.h"

#include "base/err.h"
#include "base/scope.h"
#include "mcp/tool.h"

void source_done(struct file_source *s)
{
    buf_done(&s->text);
}

static uint64_t most(const struct file_source *s)
{
    return s->most ? s->most : FILE_SCAN_MAX;
}

static int fetch(struct file_source *s, struct err *e)
{
    scoped(native_done) struct native n = NATIVE("GET");
    size_t len = s->piece ? s->piece : FILE_PIECE_FIRST;
    if (len > s->f->size - s->at)
        len = (size_t)(s->f->size - s->at);
    if (file_range(s->m, s->f, s->at, len, &n, e))
        return -1;
    const struct buf *bytes = &n.answer.out;
    if (bytes->len == 0)
        return err_set(e, ERR_DAMAGED, "a file is shorter than its version");
    if (s->at == 0)
        s->decoder.encoding = encoding_of(bytes->bytes, bytes->len);
    decoder_feed(&s->decoder, bytes->bytes, bytes->len, &s->text);
    s->at += bytes->len;
    s->piece = len * 4 < FILE_PIECE_MAX ? len * 4 : FILE_PIECE_MAX;
    return buf_check(&s->text, e);
}

int source_next(struct file_source *s, struct str *ret, struct err *e)
{
    buf_done(&s->text);
    if (mcp_is_cancelled(s->m))
        return err_set(e, ERR_GONE, "cancelled");
    if (s->at < s->f->size && s->at < most(s) && fetch(s, e))
        return -1;
    s->is_over = s->at >= s->f->size;
    s->is_given_up = !s->is_over && s->at >= most(s);
    *ret = (struct str){s->text.bytes ? s->text.bytes : "", s->text.len};
    return 0;
}
