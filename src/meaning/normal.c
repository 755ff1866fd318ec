#include "meaning/normal.h"

#include <stdlib.h>

#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "meaning/meaning.h"

/* Nothing that anybody reads: soft hyphens, joiners, marks of direction, control characters. */
static bool is_invisible(ucs4_t c)
{
    return uc_is_property_default_ignorable_code_point(c) ||
           uc_is_general_category(c, UC_CATEGORY_Cc);
}

static void put_visible(const uint8_t *text, size_t len, struct buf *out)
{
    bool is_after_blank = true;
    for (size_t at = 0; at < len;) {
        ucs4_t c;
        int size = u8_mbtouc(&c, text + at, len - at);
        bool is_blank = uc_is_property_white_space(c);
        if (!is_blank && !is_invisible(c)) {
            if (is_after_blank)
                buf_str(out, NORMAL_BLANK);
            buf_add(out, text + at, (size_t)size);
        }
        is_after_blank = is_blank || (is_after_blank && is_invisible(c));
        at += (size_t)size;
    }
}

/* Several words, and not one small letter. */
static bool is_shouted(const uint8_t *text, size_t len)
{
    bool has_large = false, has_blank = false;
    for (size_t at = 0; at < len;) {
        ucs4_t c;
        at += (size_t)u8_mbtouc(&c, text + at, len - at);
        if (uc_is_property_lowercase(c))
            return false;
        has_blank |= has_large && uc_is_property_white_space(c);
        has_large |= uc_is_property_uppercase(c);
    }
    return has_large && has_blank;
}

/* The encoder knows both cases, but has seen hardly a sentence in capitals: to it they are
 * gibberish. */
static int put_quietly(const uint8_t *text, size_t len, struct buf *out, struct err *e)
{
    size_t small_len = 0;
    scoped(freep) uint8_t *small = u8_tolower(text, len, NULL, NULL, NULL, &small_len);
    if (!small)
        return err_set(e, ERR_NO_MEMORY, "read a text");
    put_visible(small, small_len, out);
    return buf_check(out, e);
}

int normal_text(struct str text, struct buf *out, struct err *e)
{
    scoped(buf_done) struct buf clean = BUF_INIT(3 * MEANING_TEXT_MAX + 8);
    if (text.len > MEANING_TEXT_MAX)
        text.len = utf8_cut(text.ptr, MEANING_TEXT_MAX);
    utf8_clean(text.ptr, text.len, &clean);
    if (clean.len == 0 || buf_check(&clean, e))
        return clean.failed ? -1 : 0;
    size_t len = 0;
    scoped(freep) uint8_t *form =
        u8_normalize(UNINORM_NFKC, (const uint8_t *)clean.bytes, clean.len, NULL, &len);
    if (!form)
        return err_set(e, ERR_NO_MEMORY, "read a text");
    if (is_shouted(form, len))
        return put_quietly(form, len, out, e);
    put_visible(form, len, out);
    return buf_check(out, e);
}
