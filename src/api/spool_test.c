/* What spool.h promises. */
#include "api/spool.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

enum { PIECE = 100000 };

/* Adds `count` pieces, each full of its number, and reads them again in pieces of another size. */
static void check(struct spool *s, unsigned count)
{
    struct err e = {0};
    scoped(freep) char *piece = malloc(PIECE);
    uint64_t at = 0;
    size_t len = 1;
    assert_non_null(piece);
    for (unsigned i = 0; i < count; i++) {
        memset(piece, (int)i, PIECE);
        assert_int_equal(spool_add(s, piece, PIECE, &e), 0);
    }
    while (len) {
        assert_int_equal(spool_read(s, piece, 77777, &len, &e), 0);
        for (size_t i = 0; i < len; i++, at++)
            assert_int_equal((unsigned char)piece[i], at / PIECE);
    }
    assert_int_equal(at, s->len);
    assert_int_equal(at, (uint64_t)count * PIECE);
}

static void little_stays_in_memory(void **state)
{
    (void)state;
    scoped(spool_done) struct spool s = SPOOL_INIT(-1);
    check(&s, SPOOL_MEMORY / PIECE);
    assert_int_equal(s.fd, -1);
}

static void more_goes_to_a_file(void **state)
{
    (void)state;
    scoped(fd_closep) int dir = open("/var/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    scoped(spool_done) struct spool s = SPOOL_INIT(dir);
    check(&s, 30);
    assert_true(s.fd >= 0);
}

static void without_a_directory_more_is_too_large(void **state)
{
    (void)state;
    struct err e = {0};
    scoped(spool_done) struct spool s = SPOOL_INIT(-1);
    scoped(freep) char *piece = calloc(1, SPOOL_MEMORY);
    assert_non_null(piece);
    assert_int_equal(spool_add(&s, piece, SPOOL_MEMORY, &e), 0);
    assert_int_equal(spool_add(&s, piece, 1, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(little_stays_in_memory),
        cmocka_unit_test(more_goes_to_a_file),
        cmocka_unit_test(without_a_directory_more_is_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
