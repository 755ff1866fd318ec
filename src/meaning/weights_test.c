#include "meaning/weights.h"

#include <math.h>

#include "base/expect.h"
#include "base/hash.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "meaning/weights_fixture.h"

static const struct fixture_piece words[] = {{"a", -1}, {"ab", -2}, {"b", -3}};

static struct fixture *good(void)
{
    return fixture_new(words, 3);
}

static void refuse(struct fixture *f)
{
    struct weights *w = NULL;
    FAILS(ERR_DAMAGED, weights_read(f->bytes, f->len, &w, e));
    assert_null(w);
    free(f);
}

/* Writes the fixture with its right sum. */
static void write_file(const struct scratch *s, struct fixture *f, char path[128])
{
    scoped(hash_done) struct hash h = {0};
    OK(hash_init(&h, e) || hash_add(&h, f->bytes + 128, f->len - 128, e) ||
       hash_end(&h, f->bytes + 72, e));
    snprintf(path, 128, "%s/weights", s->path);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    assert_int_equal(fwrite(f->bytes, 1, f->len, out), f->len);
    assert_int_equal(fclose(out), 0);
}

static void what_is_in_the_file_is_found(void **state)
{
    (void)state;
    struct fixture *f = good();
    struct weights *w = NULL;
    OK(weights_read(f->bytes, f->len, &w, e));
    assert_string_equal(w->name, "tiny");
    assert_int_equal(w->width, 8);
    assert_int_equal(w->piece_count, 3);
    assert_int_equal(w->piece_len_max, 2);
    assert_true(str_is(w->pieces[1].text, "ab"));
    assert_int_equal(w->pieces[1].number, 2);
    assert_true(w->pieces[2].score == -3.0F);
    assert_int_equal(w->layers[0].qkv.in, 4);
    assert_int_equal(w->layers[1].qkv.out, 24);
    assert_ptr_equal(w->last.cells + 64, f->bytes + f->len);
    weights_close(w);
    free(f);
}

static void a_file_that_ends_anywhere_else_is_refused(void **state)
{
    (void)state;
    struct fixture *f = good();
    for (size_t len = 0; len < f->len; len++) {
        struct weights *w = NULL;
        scoped(freep) uint8_t *cut = malloc(len + 1); /* so that ASan sees its end */
        memcpy(cut, f->bytes, len);
        FAILS(ERR_DAMAGED, weights_read(cut, len, &w, e));
    }
    f->len++;
    refuse(f);
}

static void an_impossible_number_in_the_head_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
    } bad[] = {
        {0, 0},  {8, 0},     {8, 65536},       {12, 0},          {12, 65536}, {16, 0},
        {16, 2}, {16, 2052}, {20, 0},          {20, 0xFFFFFFFC}, {24, 5},     {24, 2052},
        {28, 0}, {28, 3},    {28, 1 << 20},    {32, 0},          {32, 513},   {36, 0xFFFFFFFF},
        {36, 0}, {40, 0},    {68, 0x01010101}, {104, 1},         {124, 1},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture *f = good();
        put_u32(f->bytes + bad[i].at, bad[i].value);
        refuse(f);
    }
}

static void a_piece_outside_out_of_order_or_without_a_row_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint16_t value;
    } bad[] = {{0, 5}, {4, 5}, {4, 0}, {6, FIXTURE_ROWS}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture *f = good();
        put_u16(f->bytes + f->pieces_at + bad[i].at, bad[i].value);
        refuse(f);
    }
    refuse(fixture_new((const struct fixture_piece[]){{"b", 0}, {"a", 0}}, 2));
    refuse(fixture_new((const struct fixture_piece[]){{"a", 0}, {"a", 0}}, 2));
    refuse(fixture_new((const struct fixture_piece[]){{"a\xff", 0}}, 1));
    refuse(fixture_new((const struct fixture_piece[]){{"a", NAN}}, 1));
}

static void a_float_that_is_none_or_too_large_is_refused(void **state)
{
    (void)state;
    const float bad[] = {NAN, INFINITY, -INFINITY, 1001, -1e30F};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fixture *f = good();
        fixture_f32(f->bytes + f->floats_at, bad[i]);
        refuse(f);
    }
}

static void a_file_is_opened_and_one_with_another_sum_is_not(void **state)
{
    (void)state;
    scoped(scratch_done) struct scratch s = scratch_new();
    scoped(freep) struct fixture *f = good();
    struct weights *w = NULL;
    char path[128];
    write_file(&s, f, path);
    OK(weights_open(path, &w, e));
    assert_string_equal(w->name, "tiny");
    weights_close(w);

    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\x55", 1, (off_t)f->len - 1), 1);
    (void)close(fd);
    FAILS(ERR_DAMAGED, weights_open(path, &w, e));
    assert_int_equal(truncate(path, 127), 0);
    FAILS(ERR_DAMAGED, weights_open(path, &w, e));
    assert_int_equal(unlink(path), 0);
    FAILS(ERR_NOT_FOUND, weights_open(path, &w, e));
    FAILS(ERR_DAMAGED, weights_open(s.path, &w, e));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_in_the_file_is_found),
        cmocka_unit_test(a_file_that_ends_anywhere_else_is_refused),
        cmocka_unit_test(an_impossible_number_in_the_head_is_refused),
        cmocka_unit_test(a_piece_outside_out_of_order_or_without_a_row_is_refused),
        cmocka_unit_test(a_float_that_is_none_or_too_large_is_refused),
        cmocka_unit_test(a_file_is_opened_and_one_with_another_sum_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
