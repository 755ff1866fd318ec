#include "store/contents.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "store/contents_contract.h"
#include "store/contents_fixture.h"

static struct scratch scratch;
static struct packs *packs;

static struct contents *open_contents(void)
{
    struct packs_options p = {.dir_fd = scratch.fd};
    OK(packs_open(&p, &packs, e));
    struct contents_options o = {.packs = packs};
    struct contents *c = NULL;
    OK(contents_open(&o, &c, e));
    return c;
}

struct contents *contract_contents(void)
{
    scratch = scratch_new_fast();
    fake_forget_all();
    return open_contents();
}

struct contents *contract_contents_again(struct contents *c)
{
    contents_close(c);
    packs_close(packs);
    return open_contents();
}

void contract_contents_done(struct contents *c)
{
    contents_close(c);
    packs_close(packs);
    fake_forget_all();
    scratch_done(&scratch);
}

void contract_commit(struct contents *c, const struct batch *b)
{
    (void)c;
    fake_commit(b);
}

uint8_t *contract_noise(size_t len, uint64_t seed)
{
    return noise(len, seed);
}

uint8_t *contract_text(size_t len, uint64_t seed)
{
    uint8_t *bytes = noise(len, seed);
    fill_text(bytes, len, seed);
    return bytes;
}

/* ---- what goes wrong ---- */

static void what_was_damaged_is_not_given_out(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    const size_t len = 2 << 20;
    scoped(freep) uint8_t *bytes = noise(len, 1);
    struct content content = store_content(c, "prn_a", bytes, len, NULL);
    const struct chunk_row *row = &fake.rows[3].row;
    uint64_t before = 0;
    for (size_t i = 0; i < 3; i++)
        before += fake.rows[i].row.raw_len;
    scoped(fd_closep) int fd = openat(scratch.fd, "prn_a/1.pk", O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    off_t at = (off_t)row->offset + RECORD_HEAD + 5;
    uint8_t byte;
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 1;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);

    struct content_reader *r;
    size_t got;
    scoped(freep) uint8_t *to = malloc(len);
    OK(content_open(c, "prn_a", &content, &r, e));
    OK(content_read(r, 0, to, before, &got, e)); /* what is not damaged is */
    assert_memory_equal(to, bytes, before);
    FAILS(ERR_DAMAGED, content_read(r, before, to, 1, &got, e));
    OK(content_read(r, before + row->raw_len, to, 1000, &got, e));
    assert_memory_equal(to, bytes + before + row->raw_len, 1000);
    content_close(r);
    content.size--; /* a row that says something else than the recipe */
    FAILS(ERR_DAMAGED, content_open(c, "prn_a", &content, &r, e));
    contract_contents_done(c);
}

static void move_pack(void)
{
    assert_int_equal(renameat(scratch.fd, "prn_a/1.pk", scratch.fd, "prn_a/7.pk"), 0);
    for (size_t i = 0; i < fake.count; i++)
        fake.rows[i].row.pack = 7;
}

static void a_chunk_that_moved_meanwhile_is_looked_up_again(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    scoped(freep) uint8_t *bytes = noise(2 << 20, 1);
    struct content content = store_content(c, "prn_a", bytes, 2 << 20, NULL);
    struct content_reader *r;
    OK(content_open(c, "prn_a", &content, &r, e));
    fake.before_find = move_pack; /* between the look-up and the reading */
    uint8_t to[100];
    size_t got;
    OK(content_read(r, 1 << 20, to, sizeof to, &got, e));
    assert_memory_equal(to, bytes + (1 << 20), sizeof to);
    content_close(r);
    for (size_t i = 0; i < fake.count; i++)
        fake.rows[i].row.pack = 8;
    FAILS(ERR_DAMAGED, content_open(c, "prn_a", &content, &r, e));
    contract_contents_done(c);
}

static void the_table_of_a_batch_is_asked_first(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    struct batch *b;
    OK(batch_new(c, "prn_a", &b, e));
    for (uint32_t i = 0; i < 3000; i++)
        (void)put(b, (const uint8_t *)&(uint32_t){i % 1000}, 4, 4);
    OK(batch_sync(b, e));
    struct chunk_set set;
    batch_chunks(b, &set);
    assert_int_equal(set.fresh_count, 1000);
    assert_int_equal(set.reused_count, 0);
    assert_int_equal(batch_stored(b), 1000 * (RECORD_HEAD + 4));
    batch_free(b);
    contract_contents_done(c);
}

static void *upload(void *arg)
{
    struct contents *c = arg;
    scoped(freep) uint8_t *bytes = noise(20 << 20, 99);
    struct content content = store_content(c, "prn_a", bytes, 20 << 20, NULL);
    expect_content(c, "prn_a", &content, bytes);
    return NULL;
}

static void small_batches_go_on_beside_a_long_one(void **state)
{
    (void)state;
    struct contents *c = contract_contents();
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, upload, c), 0);
    for (uint64_t i = 0; i < 50; i++) {
        scoped(freep) uint8_t *bytes = noise(8000, i);
        struct content content = store_content(c, "prn_a", bytes, 8000, NULL);
        expect_content(c, "prn_a", &content, bytes);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    contract_contents_done(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTENTS_CONTRACT,
        cmocka_unit_test(what_was_damaged_is_not_given_out),
        cmocka_unit_test(a_chunk_that_moved_meanwhile_is_looked_up_again),
        cmocka_unit_test(the_table_of_a_batch_is_asked_first),
        cmocka_unit_test(small_batches_go_on_beside_a_long_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
