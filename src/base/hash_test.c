#include "base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

/* The examples of FIPS 180-2. */
static const char hash_of_abc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char hash_of_nothing[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char hash_of_a_million_a[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void assert_digest(const uint8_t digest[HASH_LEN], const char *hex)
{
    char text[HASH_HEX_SIZE];
    hash_hex(digest, text);
    assert_string_equal(text, hex);
}

static void pieces_give_the_hash_of_the_whole(void **state)
{
    (void)state;
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    assert_int_equal(hash_init(&h, &e), 0);
    assert_int_equal(hash_add(&h, "a", 1, &e), 0);
    assert_int_equal(hash_add(&h, "bc", 2, &e), 0);
    assert_int_equal(hash_end(&h, digest, &e), 0);
    assert_digest(digest, hash_of_abc);
}

static void a_used_hash_begins_anew(void **state)
{
    (void)state;
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    scoped(hash_done) struct hash h = {0};
    assert_int_equal(hash_init(&h, &e), 0);
    assert_int_equal(hash_add(&h, "forget", 6, &e), 0);
    assert_int_equal(hash_init(&h, &e), 0);
    assert_int_equal(hash_end(&h, digest, &e), 0);
    assert_digest(digest, hash_of_nothing);
}

static int file_of(char byte, size_t count)
{
    int fd = memfd_create("hash", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)count), 0);
    scoped(freep) char *bytes = malloc(count + 1);
    assert_non_null(bytes);
    memset(bytes, byte, count);
    assert_int_equal(pwrite(fd, bytes, count, 0), count);
    return fd;
}

static void a_file_is_hashed_to_its_end(void **state)
{
    (void)state;
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    uint64_t len = 0;
    scoped(fd_closep) int fd = file_of('a', 1000000);
    assert_int_equal(hash_fd(fd, UINT64_MAX, digest, &len, &e), 0);
    assert_int_equal(len, 1000000);
    assert_digest(digest, hash_of_a_million_a);
}

static void exactly_the_limit_is_hashed_and_one_byte_more_is_not(void **state)
{
    (void)state;
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    uint64_t len = 0;
    scoped(fd_closep) int fd = file_of('a', 1000000);
    assert_int_equal(hash_fd(fd, 1000000, digest, &len, &e), 0);
    assert_digest(digest, hash_of_a_million_a);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(hash_fd(fd, 999999, digest, &len, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
}

static void what_cannot_be_read_is_an_error(void **state)
{
    (void)state;
    struct err e = {0};
    uint8_t digest[HASH_LEN];
    uint64_t len = 0;
    assert_int_equal(hash_fd(-1, 10, digest, &len, &e), -1);
    assert_int_not_equal(e.code, ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_give_the_hash_of_the_whole),
        cmocka_unit_test(a_used_hash_begins_anew),
        cmocka_unit_test(a_file_is_hashed_to_its_end),
        cmocka_unit_test(exactly_the_limit_is_hashed_and_one_byte_more_is_not),
        cmocka_unit_test(what_cannot_be_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
