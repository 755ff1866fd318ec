#include "workspace/uploads.h"

#include <errno.h>

#include "workspace/files_fixture.h"
#include "workspace/uploads_int.h"

static const int64_t day_us = 86400 * INT64_C(1000000);

/* ---- a disk that does not sync ---- */

static struct {
    int until_failure; /* of fdatasync; -1: never */
} wrong = {-1};

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
    if (wrong.until_failure >= 0 && wrong.until_failure-- == 0) {
        wrong.until_failure = -1; /* and the next one lies */
        errno = EIO;
        return -1;
    }
    return __real_fdatasync(fd);
}

static void create(const char *path, uint64_t size, char ret_id[ID_SIZE])
{
    const struct upload_wishes wishes = {.path = path, .size = size, .condition = "if-match x"};
    struct upload u;
    OK(upload_create(fx.files, &fx.ws, &fx.author, &wishes, &u, e));
    assert_int_equal(u.received, 0);
    assert_int_equal(u.expires_us, u.row.created_us + UPLOAD_DAYS * day_us);
    assert_string_equal(u.row.condition, "if-match x");
    memcpy(ret_id, u.row.id, ID_SIZE);
    upload_done(&u);
}

static int append(const char *id, uint64_t offset, const char *text, uint64_t *ret, struct err *e)
{
    struct append *a;
    if (append_begin(fx.files, &fx.ws, id, offset, &a, ret, e))
        return -1;
    if (append_write(a, text, strlen(text), e)) {
        append_abandon(a);
        return -1;
    }
    return append_end(a, ret, e);
}

static uint64_t received(const char *id)
{
    struct upload u;
    OK(upload_get(fx.files, &fx.ws, id, &u, e));
    uint64_t is = u.received;
    upload_done(&u);
    return is;
}

static int complete(const char *id, const uint8_t *sha256, struct err *e)
{
    scoped(commit_freep) struct commit *c = NULL;
    return upload_complete(fx.files, &fx.ws, id, &fx.author, NULL, sha256, &c, e);
}

static void is_forgotten(const char *id)
{
    struct upload u;
    FAILS(ERR_NOT_FOUND, upload_get(fx.files, &fx.ws, id, &u, e));
    assert_int_equal(faccessat(fx.uploads_fd, id, F_OK, 0), -1);
}

/* ---- the usual way ---- */

static void pieces_become_a_file(void **state)
{
    (void)state;
    char id[ID_SIZE];
    uint64_t is = 0;
    create("/mnt/data/big.bin", 11, id);
    OK(append(id, 0, "hello ", &is, e));
    assert_int_equal(is, 6);
    fixture_again(); /* a restart in between */
    assert_int_equal(received(id), 6);
    FAILS(ERR_CONFLICT, complete(id, NULL, e)); /* five are missing */
    OK(append(id, 6, "world", &is, e));
    is_gone("big.bin");
    OK(complete(id, NULL, e));
    holds("big.bin", "hello world");
    is_forgotten(id);
    FAILS(ERR_NOT_FOUND, complete(id, NULL, e));
}

static void the_right_offset_is_told(void **state)
{
    (void)state;
    char id[ID_SIZE];
    uint64_t is = 0;
    create("a", UPLOAD_SIZE_NONE, id);
    OK(append(id, 0, "12345", &is, e));
    is = 0;
    FAILS(ERR_CONFLICT, append(id, 3, "45", &is, e));
    assert_int_equal(is, 5);
    FAILS(ERR_CONFLICT, append(id, 6, "7", &is, e));
    OK(append(id, 5, "", &is, e)); /* an empty piece asks how it is */
    assert_int_equal(is, 5);
}

static void what_the_sender_says_it_is_is_checked(void **state)
{
    (void)state;
    char id[ID_SIZE];
    uint64_t is;
    create("a", UPLOAD_SIZE_NONE, id);
    OK(append(id, 0, "abc", &is, e));
    uint8_t digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    OK(hash_init(&h, e));
    OK(hash_add(&h, "abc", 3, e));
    OK(hash_end(&h, digest, e));
    digest[0] ^= 1;
    FAILS(ERR_INVALID, complete(id, digest, e));
    is_gone("a");
    digest[0] ^= 1;
    OK(complete(id, digest, e));
    holds("a", "abc");
}

static void an_expectation_that_fails_leaves_the_upload(void **state)
{
    (void)state;
    put("a", "1");
    char id[ID_SIZE];
    uint64_t is;
    create("a", UPLOAD_SIZE_NONE, id);
    OK(append(id, 0, "2", &is, e));
    const struct how absent = {.expect = EXPECT_ABSENT};
    struct commit *c = NULL;
    FAILS(ERR_PRECONDITION,
          upload_complete(fx.files, &fx.ws, id, &fx.author, &absent, NULL, &c, e));
    assert_int_equal(received(id), 1);
    holds("a", "1");
    OK(complete(id, NULL, e));
    holds("a", "2");
}

static void an_empty_upload_is_an_empty_file(void **state)
{
    (void)state;
    char id[ID_SIZE];
    create("empty", 0, id);
    OK(complete(id, NULL, e));
    holds("empty", "");
}

/* ---- limits ---- */

static void what_does_not_fit_is_refused_as_early_as_possible(void **state)
{
    (void)state;
    fx.options.file_max = 10;
    fx.options.bytes_max = 8;
    fixture_again();
    struct upload u;
    struct upload_wishes wishes = {.path = "a", .size = 11};
    FAILS(ERR_TOO_LARGE, upload_create(fx.files, &fx.ws, &fx.author, &wishes, &u, e));
    wishes.size = 9;
    FAILS(ERR_QUOTA, upload_create(fx.files, &fx.ws, &fx.author, &wishes, &u, e));
    wishes.path = "../a";
    FAILS(ERR_INVALID, upload_create(fx.files, &fx.ws, &fx.author, &wishes, &u, e));
    char id[ID_SIZE];
    uint64_t is;
    create("a", 4, id);
    FAILS(ERR_TOO_LARGE, append(id, 0, "12345", &is, e));
    OK(append(id, 0, "1234", &is, e));
    FAILS(ERR_TOO_LARGE, append(id, 4, "5", &is, e));
    create("b", UPLOAD_SIZE_NONE, id);
    OK(append(id, 0, "12345678", &is, e));
    FAILS(ERR_QUOTA, append(id, 8, "9", &is, e));
    assert_int_equal(received(id), 8);
}

static void there_are_so_many_at_once(void **state)
{
    (void)state;
    char first[ID_SIZE], id[ID_SIZE];
    create("a", UPLOAD_SIZE_NONE, first);
    for (int i = 1; i < UPLOADS_MAX; i++)
        create("a", UPLOAD_SIZE_NONE, id);
    const struct upload_wishes wishes = {.path = "a", .size = 1};
    struct upload u;
    FAILS(ERR_LIMIT, upload_create(fx.files, &fx.ws, &fx.author, &wishes, &u, e));
    OK(upload_abort(fx.files, &fx.ws, first, e));
    is_forgotten(first);
    create("a", UPLOAD_SIZE_NONE, id);
}

static void an_upload_belongs_to_its_workspace(void **state)
{
    (void)state;
    char id[ID_SIZE];
    create("a", UPLOAD_SIZE_NONE, id);
    struct workspace_row other;
    OK(files_workspace_create(fx.files, &fx.who, "other", &other, e));
    struct upload u;
    struct append *a;
    struct commit *c;
    uint64_t is;
    FAILS(ERR_NOT_FOUND, upload_get(fx.files, &other, id, &u, e));
    FAILS(ERR_NOT_FOUND, append_begin(fx.files, &other, id, 0, &a, &is, e));
    FAILS(ERR_NOT_FOUND, upload_complete(fx.files, &other, id, &fx.author, NULL, NULL, &c, e));
    FAILS(ERR_NOT_FOUND, upload_abort(fx.files, &other, id, e));
    FAILS(ERR_NOT_FOUND, upload_get(fx.files, &fx.ws, "../meta.db", &u, e));
    workspace_row_done(&other);
}

static void one_sends_at_a_time(void **state)
{
    (void)state;
    char id[ID_SIZE];
    create("a", UPLOAD_SIZE_NONE, id);
    struct append *first, *second;
    uint64_t is;
    OK(append_begin(fx.files, &fx.ws, id, 0, &first, &is, e));
    FAILS(ERR_BUSY, append_begin(fx.files, &fx.ws, id, 0, &second, &is, e));
    FAILS(ERR_BUSY, complete(id, NULL, e));
    FAILS(ERR_BUSY, upload_abort(fx.files, &fx.ws, id, e));
    OK(files_tidy(fx.files, clock_wall_us() + 100 * day_us, e)); /* leaves it alone */
    OK(append_write(first, "1", 1, e));
    OK(append_end(first, &is, e));
    OK(append(id, 1, "2", &is, e));
    OK(complete(id, NULL, e));
    holds("a", "12");
}

/* ---- bad days ---- */

static void what_came_before_the_client_vanished_counts(void **state)
{
    (void)state;
    char id[ID_SIZE];
    create("a", UPLOAD_SIZE_NONE, id);
    struct append *a;
    uint64_t is;
    OK(append_begin(fx.files, &fx.ws, id, 0, &a, &is, e));
    OK(append_write(a, "123", 3, e));
    append_abandon(a);
    append_abandon(NULL);
    assert_int_equal(received(id), 3);
}

static void what_was_not_synced_before_a_crash_does_not_count(void **state)
{
    (void)state;
    char id[ID_SIZE];
    uint64_t is;
    create("a", UPLOAD_SIZE_NONE, id);
    OK(append(id, 0, "123", &is, e));
    /* As a crash in the middle of the next piece leaves it: bytes, and a size, that nobody synced. */
    scoped(fd_closep) int fd = openat(fx.uploads_fd, id, O_WRONLY | O_APPEND | O_CLOEXEC);
    assert_int_equal(write(fd, "\0\0\0\0", 4), 4);
    fixture_again();
    assert_int_equal(received(id), 3);
    OK(append(id, 3, "45", &is, e));
    OK(complete(id, NULL, e));
    holds("a", "12345");
}

static void a_failed_sync_is_never_taken_for_good(void **state)
{
    (void)state;
    for (int at = 0; at < 2; at++) { /* the bytes; how many count */
        char id[ID_SIZE];
        create("a", UPLOAD_SIZE_NONE, id);
        struct append *a;
        uint64_t is = 99;
        OK(append_begin(fx.files, &fx.ws, id, 0, &a, &is, e));
        OK(append_write(a, "123", 3, e));
        wrong.until_failure = at;
        FAILS(ERR_INTERNAL, append_end(a, &is, e));
        wrong.until_failure = -1;
        is_forgotten(id);
    }
}

static void what_is_damaged_is_not_used(void **state)
{
    (void)state;
    const struct {
        const char *bytes;
        size_t len;
    } heads[] = {
        {"", 0}, {"CICUPL1\n", 8}, {"CICUPL1\n\1\0\0\0\0\0\0\0", 16}, {"another one.....", 16}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        char id[ID_SIZE];
        uint64_t is;
        create("a", UPLOAD_SIZE_NONE, id);
        scoped(fd_closep) int fd = openat(fx.uploads_fd, id, O_WRONLY | O_TRUNC | O_CLOEXEC);
        assert_int_equal(write(fd, heads[i].bytes, heads[i].len), heads[i].len);
        struct upload u;
        FAILS(ERR_DAMAGED, upload_get(fx.files, &fx.ws, id, &u, e));
        FAILS(ERR_DAMAGED, append(id, 0, "1", &is, e));
        FAILS(ERR_DAMAGED, complete(id, NULL, e));
        OK(upload_abort(fx.files, &fx.ws, id, e));
    }
}

/* ---- what time brings ---- */

static void forgotten_uploads_and_files_without_a_row_are_removed(void **state)
{
    (void)state;
    char id[ID_SIZE];
    uint64_t is;
    create("a", UPLOAD_SIZE_NONE, id);
    OK(append(id, 0, "1", &is, e));
    OK(meta_settle(files_meta(fx.files), e));
    OK(staged_create(fx.uploads_fd, "upl_stray", e));
    int64_t now_us = clock_wall_us();
    OK(files_tidy(fx.files, now_us, e)); /* the stray may be somebody's who is just beginning */
    assert_int_equal(faccessat(fx.uploads_fd, "upl_stray", F_OK, 0), 0);
    OK(files_tidy(fx.files, now_us + 2 * day_us, e));
    assert_int_equal(faccessat(fx.uploads_fd, "upl_stray", F_OK, 0), -1);
    OK(files_tidy(fx.files, now_us + UPLOAD_DAYS * day_us - 1000000, e));
    assert_int_equal(received(id), 1);
    OK(files_tidy(fx.files, now_us + UPLOAD_DAYS * day_us + 1000000, e));
    is_forgotten(id);
}

static void without_a_directory_there_are_none(void **state)
{
    (void)state;
    int uploads_fd = fx.uploads_fd;
    files_close(fx.files);
    fx.options.uploads_fd = -1;
    OK(files_open(&fx.options, &fx.files, e));
    const struct upload_wishes wishes = {.path = "a", .size = 1};
    struct upload u;
    FAILS(ERR_UNAVAILABLE, upload_create(fx.files, &fx.ws, &fx.author, &wishes, &u, e));
    FAILS(ERR_NOT_FOUND, upload_get(fx.files, &fx.ws, "upl_x", &u, e));
    OK(files_tidy(fx.files, clock_wall_us(), e));
    fx.options.uploads_fd = uploads_fd;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    const struct CMUnitTest all[] = {
        TEST(pieces_become_a_file),
        TEST(the_right_offset_is_told),
        TEST(what_the_sender_says_it_is_is_checked),
        TEST(an_expectation_that_fails_leaves_the_upload),
        TEST(an_empty_upload_is_an_empty_file),
        TEST(what_does_not_fit_is_refused_as_early_as_possible),
        TEST(there_are_so_many_at_once),
        TEST(an_upload_belongs_to_its_workspace),
        TEST(one_sends_at_a_time),
        TEST(what_came_before_the_client_vanished_counts),
        TEST(what_was_not_synced_before_a_crash_does_not_count),
        TEST(a_failed_sync_is_never_taken_for_good),
        TEST(what_is_damaged_is_not_used),
        TEST(forgotten_uploads_and_files_without_a_row_are_removed),
        TEST(without_a_directory_there_are_none),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
