#include "mcp/file_edits.h"

#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"

/* ---- one edit ---- */

static const char *find(struct str in, struct str what)
{
    return what.len ? memmem(in.ptr, in.len, what.ptr, what.len) : NULL;
}

static struct str after(struct str text, const char *at)
{
    return (struct str){at, text.len - (size_t)(at - text.ptr)};
}

static uint64_t line_of(struct str text, const char *at)
{
    uint64_t line = 1;
    for (const char *c = text.ptr; c < at; c++)
        line += *c == '\n';
    return line;
}

static uint64_t count_in(struct str text, struct str what, struct edit_fault *fault)
{
    uint64_t count = 0;
    struct str rest = text;
    for (const char *at; (at = find(rest, what)); count++) {
        if (count < sizeof fault->lines / sizeof *fault->lines)
            fault->lines[count] = line_of(text, at);
        rest = after(rest, at + what.len);
    }
    return count;
}

static void replace(struct str text, const struct edit *edit, struct buf *out)
{
    struct str rest = text;
    for (const char *at; (at = find(rest, edit->old_text));) {
        buf_add(out, rest.ptr, (size_t)(at - rest.ptr));
        buf_add(out, edit->new_text.ptr, edit->new_text.len);
        rest = after(rest, at + edit->old_text.len);
    }
    buf_add(out, rest.ptr, rest.len);
}

static bool has(struct str text, const char *what)
{
    return find(text, str_of(what)) != NULL;
}

/* LF as CRLF; what is CRLF already stays. */
static struct str with_crlf(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '\n' && (i == 0 || text.ptr[i - 1] != '\r'))
            buf_str(out, "\r");
        buf_add(out, text.ptr + i, 1);
    }
    return (struct str){out->bytes ? out->bytes : "", out->len};
}

static int apply(const struct edit *edit, struct str text, struct buf *out, uint64_t *replaced,
                 struct edit_fault *fault, struct err *e)
{
    size_t most = out->max;
    scoped(buf_done) struct buf old_text = BUF_INIT(most), new_text = BUF_INIT(most);
    struct edit it = *edit;
    fault->count = count_in(text, it.old_text, fault);
    if (fault->count == 0 && has(text, "\r\n") && has(it.old_text, "\n")) {
        it.old_text = with_crlf(edit->old_text, &old_text);
        it.new_text = with_crlf(edit->new_text, &new_text);
        if (buf_check(&old_text, e) || buf_check(&new_text, e))
            return -1;
        fault->count = count_in(text, it.old_text, fault);
    }
    bool is_same = it.old_text.len == it.new_text.len &&
                   memcmp(it.old_text.ptr, it.new_text.ptr, it.old_text.len) == 0;
    fault->kind = is_same                               ? EDIT_SAME
                  : fault->count == 0                   ? EDIT_MISSING
                  : fault->count > 1 && !it.replace_all ? EDIT_SEVERAL
                                                        : EDIT_FINE;
    if (fault->kind != EDIT_FINE)
        return err_set(e, ERR_INVALID, "edits[%zu] cannot be made", fault->index);
    *replaced += fault->count;
    replace(text, &it, out);
    return buf_check(out, e);
}

int edits_apply(const struct edit *edits, size_t count, struct str text, struct buf *out,
                uint64_t *ret_replaced, struct edit_fault *fault, struct err *e)
{
    scoped(buf_done) struct buf before = BUF_INIT(out->max);
    *ret_replaced = 0;
    for (size_t i = 0; i < count; i++) {
        scoped(buf_done) struct buf made = BUF_INIT(out->max);
        *fault = (struct edit_fault){.index = i};
        if (apply(&edits[i], text, &made, ret_replaced, fault, e))
            return -1;
        buf_done(&before);
        before = made;
        made = BUF_INIT(out->max);
        text = (struct str){before.bytes ? before.bytes : "", before.len};
    }
    buf_add(out, text.ptr, text.len);
    return buf_check(out, e);
}
