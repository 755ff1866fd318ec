#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/files_int.h"

void author_read(const struct sql_rows *rows, int column, struct author *ret)
{
    sql_id(rows, column, ret->principal);
    sql_id(rows, column + 1, ret->key);
    sql_id(rows, column + 2, ret->session);
    sql_id(rows, column + 3, ret->run);
}

void content_read_column(const struct sql_rows *rows, int column, struct content *ret)
{
    struct str hash = sql_text(rows, column);
    *ret = (struct content){.size = (uint64_t)sql_int(rows, column + 1)};
    if (hash.len == HASH_LEN)
        memcpy(ret->sha256, hash.ptr, HASH_LEN);
}

static int read_file(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct file_row *r = ret;
    *r = (struct file_row){
        .kind = (enum file_kind)sql_int(rows, 3),
        /* One that was purged is as gone as one in the trash. */
        .state = sql_int(rows, 4) == FILE_LIVE ? FILE_LIVE : FILE_TRASHED,
        .version = (uint64_t)sql_int(rows, 5),
        .rev = (uint64_t)sql_int(rows, 6),
        .change = (enum change)sql_int(rows, 9),
        .created_us = sql_int(rows, 14),
        .changed_us = sql_int(rows, 15),
    };
    sql_id(rows, 0, r->id);
    sql_id(rows, 1, r->workspace);
    content_read_column(rows, 7, &r->content);
    author_read(rows, 10, &r->author);
    struct text_slot texts[] = {{.to = &r->path, .from = sql_text(rows, 2)}};
    return texts_own(texts, 1, &r->owned, e);
}

static int read_version(const struct sql_rows *rows, void *ret, struct err *e)
{
    struct version_row *r = ret;
    *r = (struct version_row){
        .version = (uint64_t)sql_int(rows, 1),
        .rev = (uint64_t)sql_int(rows, 2),
        .change = (enum change)sql_int(rows, 6),
        .is_pinned = sql_int(rows, 11) != 0,
        .created_us = sql_int(rows, 12),
    };
    sql_id(rows, 0, r->file);
    content_read_column(rows, 4, &r->content);
    author_read(rows, 7, &r->author);
    struct text_slot texts[] = {{.to = &r->path, .from = sql_text(rows, 3)}};
    return texts_own(texts, 1, &r->owned, e);
}

static void done_file(void *row)
{
    file_row_done(row);
}

static void done_version(void *row)
{
    version_row_done(row);
}

const struct row_kind file_rows_kind = {
    .size = sizeof(struct file_row),
    .created_at = offsetof(struct file_row, created_us),
    .read = read_file,
    .done = done_file,
};

const struct row_kind version_rows_kind = {
    .size = sizeof(struct version_row),
    .created_at = offsetof(struct version_row, created_us),
    .read = read_version,
    .done = done_version,
};

int file_list_add(struct file_list *l, struct file_row *row, struct err *e)
{
    if (l->count == l->cap) {
        size_t wider = l->cap ? 2 * l->cap : 16;
        struct file_row *items = reallocarray(l->items, wider, sizeof *items);
        if (!items) {
            file_row_done(row);
            return err_set(e, ERR_NO_MEMORY, "read a list");
        }
        l->items = items;
        l->cap = wider;
    }
    l->items[l->count++] = *row;
    return 0;
}

void file_list_done(struct file_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        file_row_done(&l->items[i]);
    free(l->items);
    *l = (struct file_list){0};
}

int file_row_named(struct file_row *row, const char *path, size_t len, struct err *e)
{
    struct text_slot texts[] = {{.to = &row->path, .from = {path, len}}};
    return texts_own(texts, 1, &row->owned, e);
}
