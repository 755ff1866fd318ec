#include "store/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/db.h"
#include "store/meta.h"
#include "store/pack.h"

static struct store *must_open(const char *dir)
{
    const struct store_options o = {.dir = dir};
    struct store *s = NULL;
    struct err e = {0};
    if (store_open(&o, &s, &e))
        fail_msg("%s", e.text);
    return s;
}

static void the_second_server_is_told_who_has_it(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    struct store *first = must_open(dir.path), *second = NULL;
    const struct store_options o = {.dir = dir.path};
    struct err e = {0};
    assert_int_equal(store_open(&o, &second, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    char expected[64];
    (void)snprintf(expected, sizeof expected, "another server, process %ld uses", (long)getpid());
    assert_non_null(strstr(e.text, expected));
    assert_null(strstr(e.text, dir.path));
    store_close(first);
    store_close(must_open(dir.path));
}

static void a_killed_server_leaves_no_lock(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)must_open(dir.path);
        kill(getpid(), SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    store_close(must_open(dir.path));
}

static void the_directory_is_made_private_if_its_parent_exists(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch dir = scratch_new();
    char path[100];
    (void)snprintf(path, sizeof path, "%s/data", dir.path);
    store_close(must_open(path));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    (void)snprintf(path, sizeof path, "%s/no/data", dir.path);
    const struct store_options o = {.dir = path};
    struct store *s;
    struct err e = {0};
    assert_int_equal(store_open(&o, &s, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_null(strstr(e.text, dir.path));
}

static void text_is_packed_when_that_makes_it_smaller(void **state)
{
    (void)state;
    char text[4000];
    scoped(packer_done) struct packer packer;
    packer_init(&packer);
    struct packed p;
    struct err e = {0};
    memset(text, 'a', sizeof text);
    assert_int_equal(pack(&packer, (struct str){text, PACK_FROM - 1}, &p, &e), 0);
    assert_int_equal(p.packing, PACKING_NONE);
    assert_null(p.owned);
    assert_int_equal(pack(&packer, (struct str){text, PACK_FROM}, &p, &e), 0);
    assert_int_equal(p.packing, PACKING_ZSTD);
    packed_done(&p);
    uint32_t x = 1;
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)((x = x * 1664525 + 1013904223) >> 24);
    assert_int_equal(pack(&packer, (struct str){text, sizeof text}, &p, &e), 0);
    assert_int_equal(p.packing, PACKING_NONE); /* noise does not shrink */
    packed_done(&p);
}

static void what_was_packed_wrongly_is_damaged(void **state)
{
    (void)state;
    char text[4000], *back;
    size_t len;
    scoped(packer_done) struct packer packer;
    packer_init(&packer);
    struct ZSTD_DCtx_s *unpacker = NULL;
    struct packed p;
    struct err e = {0};
    memset(text, 'a', sizeof text);
    assert_int_equal(pack(&packer, (struct str){text, sizeof text}, &p, &e), 0);
    struct str bytes = {p.bytes, p.len};
    assert_int_equal(unpack(&unpacker, PACKING_ZSTD, bytes, sizeof text, &back, &len, &e), 0);
    assert_int_equal(len, sizeof text);
    assert_memory_equal(back, text, len);
    assert_int_equal(back[len], '\0');
    free(back);
    assert_int_equal(unpack(&unpacker, PACKING_ZSTD, bytes, sizeof text - 1, &back, &len, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
    bytes.len--;
    assert_int_equal(unpack(&unpacker, PACKING_ZSTD, bytes, sizeof text, &back, &len, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
    assert_int_equal(
        unpack(&unpacker, PACKING_ZSTD, (struct str){"nonsense", 8}, 99, &back, &len, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
    assert_int_equal(unpack(&unpacker, (enum packing)7, bytes, sizeof text, &back, &len, &e), -1);
    assert_int_equal(e.code, ERR_DAMAGED);
    assert_int_equal(unpack(&unpacker, PACKING_NONE, (struct str){"", 0}, 0, &back, &len, &e), 0);
    free(back);
    packed_done(&p);
    unpacker_free(unpacker);
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(the_second_server_is_told_who_has_it),
        cmocka_unit_test(a_killed_server_leaves_no_lock),
        cmocka_unit_test(the_directory_is_made_private_if_its_parent_exists),
        cmocka_unit_test(text_is_packed_when_that_makes_it_smaller),
        cmocka_unit_test(what_was_packed_wrongly_is_damaged),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
