#include "workspace/archive_out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/err.h"
#include "base/scope.h"
#include "workspace/archive_int.h"
#include "workspace/files_int.h"

/* A sink that failed is not told to libarchive: version 3.6 forgets to free what it compresses with when
 * a write fails. What comes after the failure is thrown away, and we look at `failure` ourselves. */
struct out {
    struct files *files;
    const struct workspace_row *ws;
    const struct archive_sink *sink;
    enum archive_format format;
    struct archive *archive;
    struct archive_entry *entry; /* used again for every file */
    char *piece;
    size_t skip;        /* bytes of each path that are left out */
    bool is_over;       /* nothing is given to the sink any more */
    struct err failure; /* of the sink */
};

static void out_done(struct out *o)
{
    o->is_over = true;
    if (o->archive) {
        /* What a file of a tar still lacks would be filled with zeros. A zip just ends it, and has to. */
        if (o->format != ARCHIVE_ZIP)
            (void)archive_write_fail(o->archive);
        (void)archive_write_close(o->archive); /* nothing, when it is closed already */
        (void)archive_write_free(o->archive);
    }
    archive_entry_free(o->entry);
    free(o->piece);
}

static la_ssize_t put(struct archive *archive, void *arg, const void *bytes, size_t len)
{
    (void)archive;
    struct out *o = arg;
    if (!o->is_over && o->sink->put(o->sink->arg, bytes, len, &o->failure))
        o->is_over = true;
    return (la_ssize_t)len;
}

/* After a call of libarchive: whether that was fine, and the sink too. */
static int check(struct out *o, bool is_fine, struct err *e)
{
    if (o->failure.code) {
        *e = o->failure;
        return -1;
    }
    if (is_fine)
        return 0;
    const char *why = archive_error_string(o->archive);
    return err_set(e, ERR_INTERNAL, "write an archive: %.100s", why ? why : "no reason given");
}

static int set_format(struct archive *a, enum archive_format format)
{
    if (format == ARCHIVE_ZIP)
        return archive_write_set_format_zip(a) || archive_write_set_options(a, "hdrcharset=UTF-8");
    if (archive_write_set_format_pax_restricted(a) ||
        archive_write_set_options(a, "hdrcharset=UTF-8"))
        return -1;
    return format == ARCHIVE_TAR_GZ &&
           (archive_write_add_filter_gzip(a) ||
            archive_write_set_filter_option(a, "gzip", "timestamp",
                                            NULL)); /* same bytes each time */
}

static int out_open(struct out *o, struct err *e)
{
    o->archive = archive_write_new();
    o->entry = archive_entry_new();
    o->piece = malloc(ARCHIVE_PIECE);
    if (!o->archive || !o->entry || !o->piece)
        return err_set(e, ERR_NO_MEMORY, "write an archive");
    bool is_fine = !set_format(o->archive, o->format) &&
                   !archive_write_set_bytes_per_block(o->archive, 64 << 10) &&
                   !archive_write_set_bytes_in_last_block(o->archive, 1) &&
                   !archive_write_open(o->archive, o, NULL, put, NULL);
    return check(o, is_fine, e);
}

static int put_head(struct out *o, const struct file_row *row, struct err *e)
{
    struct archive_entry *entry = archive_entry_clear(o->entry);
    bool is_dir = row->kind == FILE_DIR;
    archive_entry_set_pathname_utf8(entry, row->path + o->skip);
    archive_entry_set_filetype(entry, is_dir ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(entry, is_dir ? 0755 : 0644);
    archive_entry_set_size(entry, is_dir ? 0 : (la_int64_t)row->content.size);
    archive_entry_set_mtime(entry, row->changed_us / 1000000,
                            (long)(row->changed_us % 1000000) * 1000);
    return check(o, archive_write_header(o->archive, entry) == ARCHIVE_OK, e);
}

static int put_content(struct out *o, const struct content *content, struct err *e)
{
    scoped(content_closep) struct content_reader *reader = NULL;
    if (files_open_content(o->files, o->ws, content, &reader, e))
        return -1;
    for (uint64_t at = 0; at < content->size;) {
        size_t len = 0;
        if (content_read(reader, at, o->piece, ARCHIVE_PIECE, &len, e))
            return -1;
        if (len == 0)
            return err_set(e, ERR_DAMAGED, "a content is shorter than it was");
        la_ssize_t n = archive_write_data(o->archive, o->piece, len);
        if (check(o, n == (la_ssize_t)len, e))
            return -1;
        at += len;
    }
    return 0;
}

static int put_files(struct out *o, const struct file_rows *rows, struct err *e)
{
    for (size_t i = 0; i < rows->count; i++) {
        const struct file_row *row = &rows->items[i];
        if (put_head(o, row, e) ||
            (row->kind == FILE_REGULAR && row->content.size && put_content(o, &row->content, e)))
            return err_wrap(e, "export %.100s", row->path);
    }
    return 0;
}

static int put_all(struct out *o, const char *prefix, struct err *e)
{
    scoped(freep) char *after = NULL;
    do {
        const struct file_query query = {
            .prefix = prefix, .state = FILE_LIVE, .after = after, .limit = PAGE_MAX};
        struct file_rows rows = {0};
        char *next = NULL;
        if (meta_file_list(o->files->o.meta, o->ws->id, &query, &rows, &next, e))
            return -1;
        free(after);
        after = next;
        int failure = put_files(o, &rows, e);
        file_rows_done(&rows);
        if (failure)
            return -1;
    } while (after);
    return 0;
}

static int export(struct out *o, const char *prefix, struct err *e)
{
    if (out_open(o, e) || put_all(o, prefix, e))
        return -1;
    return check(o, archive_write_close(o->archive) == ARCHIVE_OK, e);
}

int archive_export(struct files *f, const struct workspace_row *ws, const char *prefix,
                   enum archive_format format, const struct archive_sink *sink, struct err *e)
{
    scoped(utf8_locale_end) struct utf8_locale locale = {0};
    scoped(out_done) struct out o = {.files = f, .ws = ws, .sink = sink, .format = format};
    return utf8_locale_begin(&locale, e) || export(&o, prefix, e) ? -1 : 0;
}

int archive_export_folder(struct files *f, const struct workspace_row *ws, const char *dir,
                          enum archive_format format, const struct archive_sink *sink,
                          struct err *e)
{
    char prefix[PATH_BYTES_MAX + 2];
    (void)snprintf(prefix, sizeof prefix, "%s%s", dir, *dir ? "/" : "");
    scoped(utf8_locale_end) struct utf8_locale locale = {0};
    scoped(out_done) struct out o = {
        .files = f, .ws = ws, .sink = sink, .format = format, .skip = strlen(prefix)};
    return utf8_locale_begin(&locale, e) || export(&o, prefix, e) ? -1 : 0;
}
