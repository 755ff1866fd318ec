#include <archive.h>
#include <archive_entry.h>

#include "workspace/archive_in.h"
#include "workspace/archive_out.h"
#include "workspace/files_fixture.h"

/* ---- bytes in memory ---- */

struct bytes {
    struct buf buf;
    size_t at;         /* read up to there */
    size_t piece;      /* handed out at once; 0: as asked */
    size_t fails_from; /* so many bytes go through; 0: all */
};

static int take_in(void *arg, const void *bytes, size_t len, struct err *e)
{
    struct bytes *b = arg;
    if (b->fails_from && b->buf.len + len > b->fails_from)
        return err_set(e, ERR_GONE, "the client is gone");
    buf_add(&b->buf, bytes, len);
    return buf_check(&b->buf, e);
}

static int give_out(void *arg, void *to, size_t size, size_t *ret_len, struct err *e)
{
    struct bytes *b = arg;
    if (b->fails_from && b->at >= b->fails_from)
        return err_set(e, ERR_GONE, "the client is gone");
    size_t left = b->buf.len - b->at;
    *ret_len = left < size ? left : size;
    if (b->piece && *ret_len > b->piece)
        *ret_len = b->piece;
    if (*ret_len > 0)
        memcpy(to, b->buf.bytes + b->at, *ret_len);
    b->at += *ret_len;
    return 0;
}

static void bytes_done(struct bytes *b)
{
    buf_done(&b->buf);
}

#define BYTES ((struct bytes){.buf = BUF_INIT(64 << 20)})

static int export(const char *prefix, enum archive_format format, struct bytes *b, struct err *e)
{
    const struct archive_sink sink = {.put = take_in, .arg = b};
    return archive_export(fx.files, &fx.ws, prefix, format, &sink, e);
}

static int import(struct bytes *b, const char *to, struct import_report *report, struct err *e)
{
    scoped(commit_freep) struct commit *c = NULL;
    const struct archive_source source = {.read = give_out, .arg = b};
    b->at = 0;
    return archive_import(fx.files, &fx.ws, &fx.author, to, &source, report, &c, e);
}

/* ---- archives that we would not make ---- */

static la_ssize_t keep(struct archive *a, void *arg, const void *bytes, size_t len)
{
    (void)a;
    buf_add(arg, bytes, len);
    return (la_ssize_t)len;
}

static struct archive *maker(struct bytes *b, int format)
{
    struct archive *a = archive_write_new();
    assert_non_null(a);
    assert_int_equal(archive_write_set_format(a, format), ARCHIVE_OK);
    assert_int_equal(archive_write_set_bytes_in_last_block(a, 1), ARCHIVE_OK);
    return archive_write_open(a, &b->buf, NULL, keep, NULL) ? NULL : a;
}

static void add(struct archive *a, const char *name, unsigned type, const char *link,
                const void *bytes, size_t len)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)len);
    if (type == AE_IFLNK)
        archive_entry_set_symlink(entry, link);
    else if (link)
        archive_entry_set_hardlink(entry, link);
    assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
    if (len > 0)
        assert_int_equal(archive_write_data(a, bytes, len), len);
    archive_entry_free(entry);
}

static void end(struct archive *a)
{
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
}

/* ---- there and back ---- */

enum { LARGE = 3 << 20 };

static char *large_text(void)
{
    char *text = malloc(LARGE + 1);
    assert_non_null(text);
    uint32_t seed = 7;
    for (size_t i = 0; i < LARGE; i++) {
        seed = seed * 1664525 + 1013904223;
        text[i] = (char)('a' + (seed >> 24) % 26);
    }
    text[LARGE] = '\0';
    return text;
}

static void fill_workspace(void)
{
    scoped(freep) char *large = large_text();
    scoped(commit_freep) struct commit *c = begin(COMMIT_UPLOAD);
    OK(add_bytes(c, "a.txt", NULL, "one", 3, e));
    OK(add_bytes(c, "d/\xc3\xa9t\xc3\xa9 \xf0\x9f\x8c\xb1.txt", NULL, "two", 3, e));
    OK(add_bytes(c, "d/empty", NULL, "", 0, e));
    OK(add_bytes(c, "d/large", NULL, large, LARGE, e));
    OK(commit_mkdir(c, "nothing", e));
    OK(commit_finish(c, e));
}

static void check_copy(const char *top)
{
    char path[100];
    scoped(freep) char *large = large_text();
    const char *const wanted[][2] = {{"a.txt", "one"},
                                     {"d/\xc3\xa9t\xc3\xa9 \xf0\x9f\x8c\xb1.txt", "two"},
                                     {"d/empty", ""},
                                     {"d/large", large}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", top, wanted[i][0]);
        holds(path, wanted[i][1]);
    }
    struct file_row row;
    (void)snprintf(path, sizeof path, "%s/nothing", top);
    OK(meta_file_get(files_meta(fx.files), fx.ws.id, path, &row, e));
    assert_int_equal(row.kind, FILE_DIR);
    file_row_done(&row);
}

static void what_is_exported_can_be_imported(void **state)
{
    (void)state;
    fill_workspace();
    const enum archive_format formats[] = {ARCHIVE_ZIP, ARCHIVE_TAR, ARCHIVE_TAR_GZ};
    const char *const tops[] = {"from zip", "from/tar", "from/targz"};
    struct bytes exported[] = {BYTES, BYTES, BYTES};
    for (size_t i = 0; i < 3; i++)
        OK(export("", formats[i], &exported[i], e));
    for (size_t i = 0; i < 3; i++) {
        struct import_report report;
        exported[i].piece = i ? 777 : 0;
        OK(import(&exported[i], tops[i], &report, e));
        assert_int_equal(report.files, 4);
        assert_int_equal(report.bytes, LARGE + 6);
        assert_int_equal(report.skipped_count, 0);
        import_report_done(&report);
        check_copy(tops[i]);
        bytes_done(&exported[i]);
    }
}

static void the_same_files_make_the_same_archive(void **state)
{
    (void)state;
    fill_workspace();
    for (int format = ARCHIVE_ZIP; format <= ARCHIVE_TAR_GZ; format++) {
        scoped(bytes_done) struct bytes one = BYTES, two = BYTES;
        OK(export("", (enum archive_format)format, &one, e));
        fixture_again();
        OK(export("", (enum archive_format)format, &two, e));
        assert_int_equal(one.buf.len, two.buf.len);
        assert_memory_equal(one.buf.bytes, two.buf.bytes, one.buf.len);
    }
}

static void a_prefix_chooses(void **state)
{
    (void)state;
    fill_workspace();
    scoped(bytes_done) struct bytes b = BYTES;
    OK(export("d/", ARCHIVE_ZIP, &b, e));
    struct import_report report;
    OK(import(&b, "copy", &report, e));
    assert_int_equal(report.files, 3);
    import_report_done(&report);
    holds("copy/d/empty", "");
    is_gone("copy/a.txt");
}

static void an_empty_workspace_is_an_empty_archive(void **state)
{
    (void)state;
    for (int format = ARCHIVE_ZIP; format <= ARCHIVE_TAR_GZ; format++) {
        scoped(bytes_done) struct bytes b = BYTES;
        OK(export("", (enum archive_format)format, &b, e));
        struct import_report report;
        OK(import(&b, "", &report, e));
        assert_int_equal(report.files, 0);
        import_report_done(&report);
    }
}

static void a_sink_that_fails_ends_the_export(void **state)
{
    (void)state;
    fill_workspace();
    for (int format = ARCHIVE_ZIP; format <= ARCHIVE_TAR_GZ; format++) {
        scoped(bytes_done) struct bytes b = BYTES;
        b.fails_from = 100000;
        FAILS(ERR_GONE, export("", (enum archive_format)format, &b, e));
        assert_true(b.buf.len <= 100000);
    }
}

static void zstd_is_read_too(void **state)
{
    (void)state;
    scoped(bytes_done) struct bytes b = BYTES;
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_pax_restricted(a), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter_zstd(a), ARCHIVE_OK);
    assert_int_equal(archive_write_set_bytes_in_last_block(a, 1), ARCHIVE_OK);
    assert_int_equal(archive_write_open(a, &b.buf, NULL, keep, NULL), ARCHIVE_OK);
    add(a, "z.txt", AE_IFREG, NULL, "zstd", 4);
    end(a);
    struct import_report report;
    OK(import(&b, "/", &report, e));
    import_report_done(&report);
    holds("z.txt", "zstd");
}

/* ---- hostile ones ---- */

static void what_cannot_be_taken_is_listed_with_its_reason(void **state)
{
    (void)state;
    scoped(bytes_done) struct bytes b = BYTES;
    struct archive *a = maker(&b, ARCHIVE_FORMAT_TAR_PAX_RESTRICTED);
    add(a, "./", AE_IFDIR, NULL, NULL, 0);
    add(a, "./good/file", AE_IFREG, NULL, "1", 1);
    add(a, "link", AE_IFLNK, "/etc/passwd", NULL, 0);
    add(a, "hard", AE_IFREG, "good/file", NULL, 0);
    add(a, "fifo", AE_IFIFO, NULL, NULL, 0);
    add(a, "device", AE_IFCHR, NULL, NULL, 0);
    add(a, "/etc/passwd", AE_IFREG, NULL, "2", 1);
    add(a, "../up", AE_IFREG, NULL, "3", 1);
    add(a, "good/../../up", AE_IFREG, NULL, "4", 1);
    add(a, "ctrl\n", AE_IFREG, NULL, "5", 1);
    add(a, "after", AE_IFREG, NULL, "6", 1);
    end(a);
    struct import_report report;
    OK(import(&b, "in", &report, e));
    assert_int_equal(report.files, 2);
    const char *const names[] = {"link",        "hard",  "fifo",          "device",
                                 "/etc/passwd", "../up", "good/../../up", "ctrl\n"};
    assert_int_equal(report.skipped_count, sizeof names / sizeof *names);
    for (size_t i = 0; i < report.skipped_count; i++) {
        assert_string_equal(report.skipped[i].name, names[i]);
        assert_true(strlen(report.skipped[i].reason) > 0);
    }
    assert_string_equal(report.skipped[0].reason, "it is a link");
    assert_string_equal(report.skipped[4].reason, "it is absolute");
    import_report_done(&report);
    holds("in/good/file", "1");
    holds("in/after", "6");
    look_again();
    is_gone("up");
    is_gone("in/link");
}

static void a_name_that_is_no_utf8_is_left_out(void **state)
{
    (void)state;
    scoped(bytes_done) struct bytes b = BYTES;
    struct archive *a = maker(&b, ARCHIVE_FORMAT_TAR_USTAR);
    add(a, "bad\xff\xfename", AE_IFREG, NULL, "1", 1);
    add(a, "good", AE_IFREG, NULL, "2", 1);
    end(a);
    struct import_report report;
    OK(import(&b, "", &report, e));
    assert_int_equal(report.files, 1);
    assert_int_equal(report.skipped_count, 1);
    assert_string_equal(report.skipped[0].name, "bad\xef\xbf\xbd\xef\xbf\xbdname");
    import_report_done(&report);
    holds("good", "2");
}

static void no_archive_is_invalid(void **state)
{
    (void)state;
    const char *const texts[] = {"",
                                 "x",
                                 "this is no archive at all, but it is long enough",
                                 "PK\3\4garbage",
                                 "\x1f\x8b\x08garbage",
                                 "\x28\xb5\x2f\xfdgarbage"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        scoped(bytes_done) struct bytes b = BYTES;
        buf_str(&b.buf, texts[i]);
        struct import_report report;
        FAILS(ERR_INVALID, import(&b, "", &report, e));
    }
    assert_int_equal(fx.ws.rev, 0);
}

static void what_was_cut_off_is_invalid_and_leaves_nothing(void **state)
{
    (void)state;
    fill_workspace();
    look_again();
    for (int format = ARCHIVE_ZIP; format <= ARCHIVE_TAR_GZ; format++) {
        scoped(bytes_done) struct bytes b = BYTES;
        OK(export("", (enum archive_format)format, &b, e));
        size_t whole = b.buf.len;
        const size_t cuts[] = {whole / 2, whole / 4, 600};
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            b.buf.len = cuts[i];
            struct import_report report;
            FAILS(ERR_INVALID, import(&b, "cut", &report, e));
        }
        b.buf.len = whole;
    }
    uint64_t rev = fx.ws.rev;
    look_again();
    assert_int_equal(fx.ws.rev, rev);
}

static void a_source_that_fails_is_told_as_it_failed(void **state)
{
    (void)state;
    fill_workspace();
    scoped(bytes_done) struct bytes b = BYTES;
    OK(export("", ARCHIVE_TAR, &b, e));
    b.fails_from = 100000;
    struct import_report report;
    FAILS(ERR_GONE, import(&b, "copy", &report, e));
    is_gone("copy/a.txt");
}

/* A zip whose first entry says that it is encrypted. */
static void a_password_is_noticed(void **state)
{
    (void)state;
    scoped(bytes_done) struct bytes b = BYTES;
    struct archive *a = maker(&b, ARCHIVE_FORMAT_ZIP);
    add(a, "secret", AE_IFREG, NULL, "1234567890123456", 16);
    end(a);
    b.buf.bytes[6] |= 1; /* general purpose flag, bit 0 */
    struct import_report report;
    struct err failure = {0};
    assert_int_equal(import(&b, "", &report, &failure), -1);
    assert_int_equal(failure.code, ERR_INVALID);
    assert_non_null(strstr(failure.text, "password"));
}

/* `len` zeros, packed. */
static void make_bomb(struct bytes *b, const char *name, size_t len)
{
    scoped(freep) char *zeros = calloc(1, len);
    assert_non_null(zeros);
    struct archive *a = archive_write_new();
    assert_int_equal(archive_write_set_format_pax_restricted(a), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open(a, &b->buf, NULL, keep, NULL), ARCHIVE_OK);
    add(a, name, AE_IFREG, NULL, zeros, len);
    end(a);
}

static void bombs_are_refused(void **state)
{
    (void)state;
    struct import_report report;
    scoped(bytes_done) struct bytes small = BYTES, large = BYTES, unwanted = BYTES;
    make_bomb(&small, "zeros", IMPORT_FREE_LEN); /* so much is free */
    OK(import(&small, "", &report, e));
    import_report_done(&report);
    make_bomb(&large, "zeros", 40 << 20);
    FAILS(ERR_TOO_LARGE, import(&large, "", &report, e));
    make_bomb(&unwanted, "/absolute", 40 << 20); /* what is left out has to be unpacked too */
    FAILS(ERR_TOO_LARGE, import(&unwanted, "", &report, e));
}

static void exactly_so_many_files_are_taken_and_one_more_is_not(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        scoped(bytes_done) struct bytes b = BYTES;
        struct archive *a = maker(&b, ARCHIVE_FORMAT_TAR_USTAR);
        for (int i = 0; i < IMPORT_FILES_MAX + more; i++) {
            char name[32];
            (void)snprintf(name, sizeof name, "%d", i);
            add(a, name, AE_IFREG, NULL, NULL, 0);
        }
        end(a);
        struct import_report report;
        if (more) {
            FAILS(ERR_TOO_LARGE, import(&b, "second", &report, e));
            continue;
        }
        OK(import(&b, "first", &report, e));
        assert_int_equal(report.files, IMPORT_FILES_MAX);
        import_report_done(&report);
    }
    look_again();
    assert_int_equal(fx.ws.files, IMPORT_FILES_MAX);
}

static void the_list_of_what_was_left_out_is_bounded(void **state)
{
    (void)state;
    scoped(bytes_done) struct bytes b = BYTES;
    struct archive *a = maker(&b, ARCHIVE_FORMAT_TAR_USTAR);
    for (int i = 0; i < IMPORT_SKIPPED_MAX + 7; i++)
        add(a, "link", AE_IFLNK, "x", NULL, 0);
    end(a);
    struct import_report report;
    OK(import(&b, "", &report, e));
    assert_int_equal(report.skipped_count, IMPORT_SKIPPED_MAX);
    assert_int_equal(report.skipped_more, 7);
    import_report_done(&report);
}

static void the_quota_holds(void **state)
{
    (void)state;
    fill_workspace();
    scoped(bytes_done) struct bytes b = BYTES;
    OK(export("", ARCHIVE_ZIP, &b, e));
    const struct workspace_change change = {.files_max = UINT64_MAX, .bytes_max = LARGE + 100};
    OK(files_workspace_change(fx.files, &fx.who, &fx.ws, &change, e));
    look_again();
    struct import_report report;
    FAILS(ERR_QUOTA, import(&b, "copy", &report, e));
    is_gone("copy/a.txt");
    OK(import(&b, "", &report, e)); /* all of it is there already */
    import_report_done(&report);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest all[] = {
        TEST(what_is_exported_can_be_imported),
        TEST(the_same_files_make_the_same_archive),
        TEST(a_prefix_chooses),
        TEST(an_empty_workspace_is_an_empty_archive),
        TEST(a_sink_that_fails_ends_the_export),
        TEST(zstd_is_read_too),
        TEST(what_cannot_be_taken_is_listed_with_its_reason),
        TEST(a_name_that_is_no_utf8_is_left_out),
        TEST(no_archive_is_invalid),
        TEST(what_was_cut_off_is_invalid_and_leaves_nothing),
        TEST(a_source_that_fails_is_told_as_it_failed),
        TEST(a_password_is_noticed),
        TEST(bombs_are_refused),
        TEST(exactly_so_many_files_are_taken_and_one_more_is_not),
        TEST(the_list_of_what_was_left_out_is_bounded),
        TEST(the_quota_holds),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
