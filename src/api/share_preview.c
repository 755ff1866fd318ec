/* share_preview.c -- the beginning of a file in the page of a link. */
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "api/native_files.h"
#include "api/page.h"
#include "api/preview.h"
#include "api/share_door.h"
#include "base/err.h"
#include "base/filetype.h"
#include "base/scope.h"

static int read_begin(struct call *c, const struct content *content, struct buf *ret, struct err *e)
{
    scoped(content_closep) struct content_reader *reader = NULL;
    scoped(freep) char *piece = malloc(PREVIEW_BYTES);
    size_t len = 0;
    if (!piece)
        return err_set(e, ERR_NO_MEMORY, "show a file");
    if (content->size == 0)
        return 0;
    if (files_open_content(c->api->o.files, &c->share->ws, content, &reader, e) ||
        content_read(reader, 0, piece, PREVIEW_BYTES, &len, e))
        return -1;
    buf_add(ret, piece, len);
    return buf_check(ret, e);
}

static void show_text(struct call *c, struct str text)
{
    /* What is cut is cut between characters; the escaping shows a NUL, which ends a text here. */
    scoped(buf_done) struct buf safe = BUF_INIT(PREVIEW_BYTES + 1);
    for (size_t i = 0; i < text.len; i++)
        buf_add(&safe, text.ptr[i] ? &text.ptr[i] : "\x01", 1);
    page_block(&c->out, share_html, "text", PAGE_WITH({"text", safe.bytes}));
}

/* True: there was more of it than is shown. */
static bool show_table(struct call *c, struct str text, bool is_tabs)
{
    struct csv csv = csv_begin(text, is_tabs);
    struct str cell;
    char piece[PREVIEW_CELL + 1];
    size_t row = 0, column = 0;
    bool is_cut = false;
    page_block(&c->out, share_html, "sheet", NULL);
    for (enum csv_end end; row < PREVIEW_ROWS && (end = csv_next(&csv, &cell)) != CSV_NONE;) {
        if (column == 0)
            page_block(&c->out, share_html, "sheet_row", NULL);
        csv_text(cell, piece, sizeof piece);
        if (column < PREVIEW_COLUMNS)
            page_block(&c->out, share_html, row ? "sheet_cell" : "sheet_head",
                       PAGE_WITH({"text", piece}));
        is_cut = is_cut || column >= PREVIEW_COLUMNS;
        column++;
        if (end == CSV_CELL)
            continue;
        page_block(&c->out, share_html, "sheet_row_end", NULL);
        row++;
        column = 0;
    }
    page_block(&c->out, share_html, "sheet_end", NULL);
    return is_cut || csv.rest.len > 0;
}

static void show_picture(struct call *c, const char *name, const char *below)
{
    scoped(buf_done) struct buf src = BUF_INIT(16 << 10);
    share_url(&src, c, "/files/", *below ? below : name);
    buf_str(&src, "?inline=true");
    page_block(&c->out, share_html, "image", PAGE_WITH({"src", src.bytes}, {"name", name}));
}

static int show_words(struct call *c, const char *name, const struct content *content,
                      struct err *e)
{
    scoped(buf_done) struct buf text = BUF_INIT(PREVIEW_BYTES);
    if (read_begin(c, content, &text, e))
        return -1;
    struct str words = {text.bytes ? text.bytes : "", text.len};
    bool is_cut = content->size > text.len;
    if (preview_of(name) == PREVIEW_TABLE)
        is_cut |= show_table(c, words, strcmp(filetype_of(name), "text/csv") != 0);
    else
        show_text(c, words);
    if (is_cut)
        page_block(&c->out, share_html, "cut", NULL);
    return 0;
}

int share_preview(struct call *c, const char *name, const char *below,
                  const struct content *content, struct err *e)
{
    enum preview kind = preview_of(name);
    if (c->share->share.max_downloads)
        return 0;
    if (kind == PREVIEW_TEXT || kind == PREVIEW_TABLE)
        return show_words(c, name, content, e);
    if (kind == PREVIEW_PICTURE && content->size <= PREVIEW_PICTURE_MAX)
        show_picture(c, name, below);
    else
        page_block(&c->out, share_html, "no_preview", NULL);
    return 0;
}
