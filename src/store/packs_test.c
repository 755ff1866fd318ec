#include "store/packs.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "store/packs_contract.h"

static struct scratch scratch;

static struct packs *open_packs(void)
{
    struct packs_options o = {.dir_fd = scratch.fd};
    struct packs *p = NULL;
    OK(packs_open(&o, &p, e));
    return p;
}

struct packs *contract_packs(void)
{
    scratch = scratch_new_fast();
    return open_packs();
}

struct packs *contract_packs_again(struct packs *p)
{
    packs_close(p);
    return open_packs();
}

void contract_packs_done(struct packs *p)
{
    packs_close(p);
    scratch_done(&scratch);
}

/* ---- this implementation ---- */

static off_t file_len(const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(scratch.fd, path, &st, 0), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    return st.st_size;
}

static void write_at(const char *path, const void *bytes, size_t len, off_t offset)
{
    scoped(fd_closep) int fd = openat(scratch.fd, path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    if (offset < 0)
        offset = lseek(fd, 0, SEEK_END);
    assert_int_equal(pwrite(fd, bytes, len, offset), len);
}

static struct chunk_row store_one(struct packs *p, uint8_t fill, size_t len)
{
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row row = append_one(l, fill, len);
    OK(lease_sync(l, e));
    lease_release(l);
    return row;
}

static void a_torn_tail_is_cut_when_the_pack_is_leased(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct chunk_row row = store_one(p, 1, 100);
    uint8_t torn[RECORD_HEAD + 100], bytes[101];
    struct record r;
    a_record(2, 101, bytes, &r); /* one byte of it is missing */
    record_encode(&r, torn);
    memcpy(torn + RECORD_HEAD, bytes, 100);
    static const size_t lens[] = {1, RECORD_HEAD - 1, RECORD_HEAD, RECORD_HEAD + 100};
    for (size_t i = 0; i < 4; i++) {
        write_at("prn_a/1.pk", torn, lens[i], (off_t)row.offset + RECORD_HEAD + 100);
        p = contract_packs_again(p);
        assert_int_equal(number_of_records(p, "prn_a", 1), i + 1);
        row = store_one(p, 1, 100);
        assert_int_equal(row.pack, 1);
        assert_int_equal(file_len("prn_a/1.pk"), (off_t)((i + 2) * (RECORD_HEAD + 100)));
        expect_row(p, "prn_a", &row, 1);
    }
    contract_packs_done(p);
}

static uint64_t named_up_to;

static int named(void *arg, const char *vault, uint64_t pack, uint64_t offset, bool *ret,
                 struct err *e)
{
    (void)arg, (void)vault, (void)e;
    *ret = pack == 1 && offset < named_up_to;
    return 0;
}

static void a_pack_is_not_cut_below_what_is_named(void **state)
{
    (void)state;
    const struct packs_owner owner = {.named = named};
    struct packs *p = contract_packs();
    struct chunk_row a = store_one(p, 1, 100), b = store_one(p, 2, 100), c = store_one(p, 3, 100);
    write_at("prn_a/1.pk", "x", 1, (off_t)b.offset); /* its header is gone */
    p = contract_packs_again(p);
    packs_set_owner(p, &owner);
    named_up_to = c.offset + 1;
    assert_int_equal(store_one(p, 4, 100).pack, 2);
    assert_int_equal(file_len("prn_a/1.pk"), 3 * (RECORD_HEAD + 100));
    expect_row(p, "prn_a", &a, 1);
    expect_row(p, "prn_a", &c, 3);
    p = contract_packs_again(p);
    packs_set_owner(p, &owner);
    assert_int_equal(store_one(p, 4, 100).pack, 2);
    packs_set_owner(p, &(struct packs_owner){0});
    contract_packs_done(p);
}

static void the_footer_leads_over_damage(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row a = append_one(l, 1, 1000), b = append_one(l, 2, 1000);
    fill_up(l);
    OK(lease_sync(l, e));
    lease_release(l);
    write_at("prn_a/1.pk", "x", 1, (off_t)a.offset + 20);
    write_at("prn_a/1.pk", "x", 1, (off_t)b.offset + 20);
    struct pack_walked walked;
    OK(packs_walk(p, "prn_a", 1, NULL, NULL, &walked, e));
    assert_int_equal(walked.records, PACK_RECORDS_MAX - 2);
    assert_int_equal(walked.damaged, 2);
    assert_true(walked.is_sealed);
    write_at("prn_a/1.pk", "x", 1, file_len("prn_a/1.pk") - 1); /* without it they end the pack */
    OK(packs_walk(p, "prn_a", 1, NULL, NULL, &walked, e));
    assert_int_equal(walked.records, 0);
    assert_false(walked.is_sealed);
    contract_packs_done(p);
}

static void what_looks_like_a_footer_in_a_payload_is_none(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    uint8_t footer[FOOTER_HEAD + FOOTER_TAIL];
    struct record r;
    a_record(0, sizeof footer, footer, &r);
    footer_encode(NULL, 0, footer);
    struct lease *l;
    uint64_t offset;
    OK(packs_lease(p, "prn_a", &l, e));
    OK(lease_append(l, &r, footer, &offset, e));
    OK(lease_sync(l, e));
    lease_release(l);
    p = contract_packs_again(p);
    struct pack_walked walked;
    OK(packs_walk(p, "prn_a", 1, NULL, NULL, &walked, e));
    assert_int_equal(walked.records, 1);
    assert_false(walked.is_sealed);
    assert_int_equal(store_one(p, 1, 10).pack, 1);
    contract_packs_done(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PACKS_CONTRACT,
        cmocka_unit_test(a_torn_tail_is_cut_when_the_pack_is_leased),
        cmocka_unit_test(a_pack_is_not_cut_below_what_is_named),
        cmocka_unit_test(the_footer_leads_over_damage),
        cmocka_unit_test(what_looks_like_a_footer_in_a_payload_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
