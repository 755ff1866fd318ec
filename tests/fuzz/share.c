/* Fuzzes what strangers send to share links: the Cookie header, the form with the password, names in
 * pages, and CSV that is shown as a table. The first byte says which. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/page.h"
#include "api/preview.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "http/cookie.h"
#include "http/exchange.h"
#include "workspace/shares.h"

#include "fuzz.h"

static void read_cookie(struct str header)
{
    static const uint8_t key[SIGN_KEY_LEN] = {1};
    static const struct share_row row = {.id = "shr_1", .password = "$x"};
    struct str got = cookie_get(header, "cicada_share");
    if (!got.ptr)
        return;
    assert(got.ptr >= header.ptr && got.ptr + got.len <= header.ptr + header.len);
    assert(!shares_pass_check(key, &row, 1000, got)); /* nobody guesses a MAC */
}

static void read_form(struct str body)
{
    struct err e = {0};
    scoped(buf_done) struct buf value = BUF_INIT(8 << 10);
    const struct http_request form = {.query = body};
    int found = http_query_get(&form, "password", &value, &e);
    assert(found <= 0 || value.len <= body.len);
}

/* Whatever it was: no character is left that ends a text or an attribute. */
static void show(struct str text)
{
    scoped(buf_done) struct buf out = BUF_INIT(16 << 20);
    page_escape(&out, text.ptr, text.len);
    const char *shown = out.bytes ? out.bytes : "";
    assert(utf8_is_valid(shown, out.len));
    for (size_t i = 0; i < out.len; i++)
        assert(!memchr("<>\"'\0", shown[i], 5));
}

static void read_table(struct str text)
{
    struct csv csv = csv_begin(text, /* is_tabs= */ false);
    struct str cell;
    char piece[PREVIEW_CELL + 1];
    size_t left = csv.rest.len;
    while (csv_next(&csv, &cell) != CSV_NONE) {
        assert(csv.rest.len < left); /* it ends */
        left = csv.rest.len;
        assert(csv_text(cell, piece, sizeof piece) < sizeof piece);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > 1 << 16)
        return 0;
    const struct str text = {(const char *)data + 1, size - 1};
    switch (data[0] & 3) {
    case 0: read_cookie(text); break;
    case 1: read_form(text); break;
    case 2: show(text); break;
    default: read_table(text); break;
    }
    return 0;
}
