/* data_url.c -- bytes that stand in a text. */
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"
#include "openai/items.h"

int oa_data_url(struct str text, char ret_type[64], struct buf *ret, struct err *e)
{
    static const char scheme[] = "data:";
    ret_type[0] = 0;
    if (text.len < sizeof scheme - 1 || memcmp(text.ptr, scheme, sizeof scheme - 1) != 0)
        return base64_decode(text.ptr, text.len, ret, e) || buf_check(ret, e) ? -1 : 0;
    const char *comma = memchr(text.ptr, ',', text.len < 256 ? text.len : 256);
    static const char coding[] = ";base64";
    if (!comma || (size_t)(comma - text.ptr) < sizeof scheme - 1 + sizeof coding - 1 ||
        memcmp(comma - (sizeof coding - 1), coding, sizeof coding - 1) != 0)
        return err_set(e, ERR_INVALID, "it is no data URL: data:TYPE;base64,...");
    struct str type = {text.ptr + sizeof scheme - 1,
                       (size_t)(comma - text.ptr) - (sizeof scheme - 1) - (sizeof coding - 1)};
    const char *more = memchr(type.ptr, ';', type.len);
    (void)snprintf(ret_type, 64, "%.*s", (int)(more ? more - type.ptr : (ptrdiff_t)type.len),
                   type.ptr);
    comma++;
    return base64_decode(comma, text.len - (size_t)(comma - text.ptr), ret, e) || buf_check(ret, e)
               ? -1
               : 0;
}
