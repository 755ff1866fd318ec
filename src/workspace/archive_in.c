#include "workspace/archive_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <archive.h>
#include <archive_entry.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "workspace/archive_int.h"
#include "workspace/files_int.h"
#include "workspace/paths.h"

enum { SHOWN_NAME_LEN = 200 };

struct in {
    const struct archive_source *source;
    struct archive *archive;
    bool is_open; /* and it knows which format it is */
    struct commit *commit;
    const char *to;
    char *piece;         /* unpacked */
    char *packed;        /* as it came */
    uint64_t packed_len; /* all that came */
    uint64_t unpacked_len, entries;
    struct import_report report;
    struct err failure; /* of the source */
};

void import_report_done(struct import_report *r)
{
    for (size_t i = 0; i < r->skipped_count; i++)
        free(r->skipped[i].name);
    free(r->skipped);
    *r = (struct import_report){0};
}

static void in_done(struct in *in)
{
    if (in->archive)
        (void)archive_read_free(in->archive);
    commit_free(in->commit);
    import_report_done(&in->report);
    free(in->piece);
    free(in->packed);
}

/* ---- libarchive ---- */

static la_ssize_t more(struct archive *archive, void *arg, const void **ret)
{
    struct in *in = arg;
    size_t len = 0;
    if (in->source->read(in->source->arg, in->packed, ARCHIVE_PIECE, &len, &in->failure)) {
        archive_set_error(archive, -1, "the source failed");
        return ARCHIVE_FATAL;
    }
    in->packed_len += len;
    *ret = in->packed;
    return (la_ssize_t)len;
}

/* What libarchive failed with: the source's own failure where there is one. */
static int failed(struct in *in, struct err *e)
{
    if (in->failure.code) {
        *e = in->failure;
        return -1;
    }
    if (in->packed_len == 0)
        return err_set(e, ERR_INVALID, "the archive is empty");
    /* Asked before it knows the format, libarchive 3.6 crashes. */
    if (in->is_open && archive_read_has_encrypted_entries(in->archive) > 0)
        return err_set(e, ERR_INVALID,
                       "the archive is protected by a password; unpack it before sending it");
    const char *why = archive_error_string(in->archive);
    return err_set(e, ERR_INVALID,
                   "this is no whole zip, tar, tar.gz or tar.zst that can be read: %.120s",
                   why ? why : "it ends too early");
}

static int in_open(struct in *in, struct err *e)
{
    in->archive = archive_read_new();
    in->piece = malloc(ARCHIVE_PIECE);
    in->packed = malloc(ARCHIVE_PIECE);
    if (!in->archive || !in->piece || !in->packed)
        return err_set(e, ERR_NO_MEMORY, "read an archive");
    struct archive *a = in->archive;
    if (archive_read_support_format_zip_streamable(a) || archive_read_support_format_tar(a) ||
        archive_read_support_filter_gzip(a) || archive_read_support_filter_zstd(a))
        return err_set(e, ERR_INTERNAL, "this build of libarchive cannot read zip, gzip or zstd");
    if (archive_read_open(a, in, NULL, more, NULL) != ARCHIVE_OK)
        return failed(in, e);
    in->is_open = true;
    return 0;
}

/* ---- what is left out ---- */

static int skip(struct in *in, const char *name, const char *reason, struct err *e)
{
    struct import_report *r = &in->report;
    if (r->skipped_count == IMPORT_SKIPPED_MAX) {
        r->skipped_more++;
        return 0;
    }
    struct import_skipped *grown = realloc(r->skipped, (r->skipped_count + 1) * sizeof *r->skipped);
    if (!grown)
        return err_set(e, ERR_NO_MEMORY, "list what was left out");
    r->skipped = grown;
    scoped(buf_done) struct buf shown = BUF_INIT(3 * SHOWN_NAME_LEN + 1);
    size_t len = strnlen(name, SHOWN_NAME_LEN);
    utf8_clean(name, utf8_cut(name, len), &shown);
    buf_str(&shown, "");
    char *text = shown.bytes ? buf_take(&shown, &len) : strdup("");
    if (!text)
        return err_set(e, ERR_NO_MEMORY, "list what was left out");
    r->skipped[r->skipped_count++] = (struct import_skipped){.name = text, .reason = reason};
    return 0;
}

/* ---- names ---- */

/* Of `tar -C dir .` every name begins with "./". */
static const char *without_dots(const char *name)
{
    while (name[0] == '.' && name[1] == '/')
        for (name += 2; *name == '/';)
            name++;
    return strcmp(name, ".") == 0 ? "" : name;
}

/* NULL: `ret` is the path in the workspace. Otherwise why it cannot be one. */
static const char *place(const struct in *in, const char *name, char ret[PATH_BYTES_MAX + 1])
{
    if (*name == '/')
        return "it is absolute";
    char whole[2 * PATH_BYTES_MAX + 2];
    int len = snprintf(whole, sizeof whole, "%s%s%s", in->to, *in->to ? "/" : "", name);
    if (len < 0 || (size_t)len >= sizeof whole)
        return "it is too long";
    return path_wrong(whole, ret);
}

/* ---- entries ---- */

static int check_bomb(const struct in *in, struct err *e)
{
    if (in->unpacked_len > IMPORT_FREE_LEN && in->unpacked_len / IMPORT_RATIO_MAX > in->packed_len)
        return err_set(e, ERR_TOO_LARGE,
                       "the archive unpacks to more than %d times its size; unpack it yourself",
                       IMPORT_RATIO_MAX);
    return 0;
}

/* `is_wanted` false: what is left out has to be unpacked too, and may be a bomb as well. */
static int take_bytes(struct in *in, bool is_wanted, struct err *e)
{
    for (;;) {
        la_ssize_t n = archive_read_data(in->archive, in->piece, ARCHIVE_PIECE);
        if (n == 0)
            return 0;
        if (n < 0)
            return failed(in, e);
        in->unpacked_len += (uint64_t)n;
        if (check_bomb(in, e) || (is_wanted && commit_write(in->commit, in->piece, (size_t)n, e)))
            return -1;
        in->report.bytes += is_wanted ? (uint64_t)n : 0;
    }
}

static int take_file(struct in *in, struct archive_entry *entry, const char *path, struct err *e)
{
    if (in->report.files == IMPORT_FILES_MAX)
        return err_set(e, ERR_TOO_LARGE, "the archive has more than %d files", IMPORT_FILES_MAX);
    la_int64_t size = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : 0;
    if (commit_put(in->commit, path, /* how= */ NULL, size > 0 ? (uint64_t)size : 0, e))
        return err_wrap(e, "%.100s", path);
    if (take_bytes(in, /* is_wanted= */ true, e) || commit_end(in->commit, e))
        return err_wrap(e, "%.100s", path);
    in->report.files++;
    return 0;
}

static const char *unwanted(struct archive_entry *entry)
{
    if (archive_entry_hardlink(entry) || archive_entry_filetype(entry) == AE_IFLNK)
        return "it is a link";
    switch (archive_entry_filetype(entry)) {
    case AE_IFREG:
    case AE_IFDIR: return NULL;
    default: return "it is neither a file nor a directory";
    }
}

static int take_entry(struct in *in, struct archive_entry *entry, struct err *e)
{
    if (++in->entries > IMPORT_ENTRIES_MAX)
        return err_set(e, ERR_TOO_LARGE, "the archive has more than %d entries",
                       IMPORT_ENTRIES_MAX);
    if (archive_entry_is_encrypted(entry))
        return err_set(e, ERR_INVALID,
                       "the archive is protected by a password; unpack it before sending it");
    const char *name = archive_entry_pathname_utf8(entry);
    if (!name)
        name = archive_entry_pathname(entry); /* no UTF-8: it is refused, with a reason */
    if (!name)
        return skip(in, "", "its name cannot be read", e);
    name = without_dots(name);
    bool is_dir = archive_entry_filetype(entry) == AE_IFDIR;
    if (!*name && is_dir)
        return 0;
    char path[PATH_BYTES_MAX + 1];
    const char *reason = unwanted(entry);
    if (reason || (reason = place(in, name, path)))
        return skip(in, name, reason, e) || take_bytes(in, /* is_wanted= */ false, e) ? -1 : 0;
    return is_dir ? commit_mkdir(in->commit, path, e) : take_file(in, entry, path, e);
}

static int take_all(struct in *in, struct err *e)
{
    for (;;) {
        struct archive_entry *entry;
        int got = archive_read_next_header(in->archive, &entry);
        if (got == ARCHIVE_EOF)
            break;
        /* A warning is about a name or a time that could not be read as it is. */
        if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
            return failed(in, e);
        if (take_entry(in, entry, e))
            return -1;
    }
    return in->packed_len ? 0 : failed(in, e);
}

int archive_import(struct files *f, const struct workspace_row *ws, const struct author *author,
                   const char *to, const struct archive_source *source,
                   struct import_report *ret_report, struct commit **ret_commit, struct err *e)
{
    char clean[PATH_BYTES_MAX + 1] = "";
    if (*to && strcmp(to, "/") != 0 && path_clean(to, clean, e))
        return -1;
    scoped(utf8_locale_end) struct utf8_locale locale = {0};
    scoped(in_done) struct in in = {.source = source, .to = clean};
    if (utf8_locale_begin(&locale, e) || commit_new(f, ws, author, COMMIT_IMPORT, &in.commit, e) ||
        in_open(&in, e) || take_all(&in, e) || commit_finish(in.commit, e))
        return err_wrap(e, "import");
    *ret_report = in.report;
    in.report = (struct import_report){0};
    *ret_commit = take(in.commit);
    return 0;
}
