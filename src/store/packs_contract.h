/* packs_contract.h -- what an implementation of packs.h has to do, as tests.
 *
 * A test program defines the three functions, includes this, and runs PACKS_CONTRACT. Each test begins
 * with nothing.
 */
#ifndef STORE_PACKS_CONTRACT_H
#define STORE_PACKS_CONTRACT_H

#include "store/packs_fixture.h"

struct packs *contract_packs(void);                  /* without anything in it */
struct packs *contract_packs_again(struct packs *p); /* as after a restart */
void contract_packs_done(struct packs *p);

static void what_was_appended_is_read_back(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    static const size_t lens[] = {1, 100, 70000, PACK_WRITE - RECORD_HEAD, PACK_WRITE, 2 << 20};
    struct chunk_row rows[6];
    for (uint8_t i = 0; i < 6; i++)
        rows[i] = append_one(l, i, lens[i]);
    OK(lease_sync(l, e));
    for (uint8_t i = 0; i < 6; i++)
        expect_row(p, "prn_a", &rows[i], i);
    struct chunk_row wrong = rows[2];
    ZSTD_DCtx *none = NULL;
    scoped(freep) uint8_t *bytes = malloc(lens[2]);
    wrong.offset++;
    FAILS(ERR_DAMAGED, packs_read_record(p, "prn_a", &wrong, &none, bytes, e));
    wrong.pack = 999;
    FAILS(ERR_NOT_FOUND, packs_read_record(p, "prn_a", &wrong, &none, bytes, e));
    FAILS(ERR_NOT_FOUND, packs_read_record(p, "prn_b", &rows[2], &none, bytes, e));
    lease_release(l);
    p = contract_packs_again(p);
    for (uint8_t i = 0; i < 6; i++)
        expect_row(p, "prn_a", &rows[i], i);
    contract_packs_done(p);
}

static int check_order(void *arg, const struct chunk_row *row, struct err *e)
{
    (void)e;
    const struct chunk_row **expected = arg;
    assert_memory_equal(row, (*expected)++, sizeof *row);
    return 0;
}

static void a_walk_meets_the_records_in_order(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row rows[40];
    for (uint8_t i = 0; i < 40; i++) {
        memset(&rows[i], 0, sizeof rows[i]);
        rows[i] = append_one(l, i, i % 3 == 0 ? 90000 : 10u + i);
    }
    OK(lease_sync(l, e));
    const struct chunk_row *expected = rows;
    struct pack_walked walked;
    OK(packs_walk(p, "prn_a", lease_pack(l), check_order, &expected, &walked, e));
    assert_int_equal(walked.records, 40);
    assert_int_equal(walked.end, rows[39].offset + RECORD_HEAD + rows[39].stored_len);
    assert_false(walked.is_sealed);
    lease_release(l);
    contract_packs_done(p);
}

static void who_leases_at_the_same_time_gets_another_pack(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *a, *b, *other;
    OK(packs_lease(p, "prn_a", &a, e));
    OK(packs_lease(p, "prn_a", &b, e));
    OK(packs_lease(p, "prn_b", &other, e));
    assert_int_not_equal(lease_pack(a), lease_pack(b));
    struct chunk_row row_a = append_one(a, 1, 10), row_b = append_one(b, 2, 10);
    OK(lease_sync(a, e));
    OK(lease_sync(b, e));
    expect_row(p, "prn_a", &row_a, 1);
    expect_row(p, "prn_a", &row_b, 2);
    lease_release(a);
    lease_release(b);
    lease_release(other);
    OK(packs_lease(p, "prn_a", &a, e)); /* no third one is made */
    assert_true(lease_pack(a) == row_a.pack || lease_pack(a) == row_b.pack);
    lease_release(a);
    contract_packs_done(p);
}

static void a_pack_goes_on_where_it_ended(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct chunk_row rows[6];
    for (uint8_t i = 0; i < 6; i++) {
        struct lease *l;
        OK(packs_lease(p, "prn_a", &l, e));
        rows[i] = append_one(l, i, 1000);
        OK(lease_sync(l, e));
        lease_release(l);
        assert_int_equal(rows[i].pack, rows[0].pack);
        assert_int_equal(rows[i].offset, i * (1000u + RECORD_HEAD));
        if (i % 2)
            p = contract_packs_again(p);
    }
    for (uint8_t i = 0; i < 6; i++)
        expect_row(p, "prn_a", &rows[i], i);
    contract_packs_done(p);
}

static void what_was_not_synced_is_taken_back(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row kept = append_one(l, 1, 1000);
    OK(lease_sync(l, e));
    (void)append_one(l, 2, 3 << 19);
    (void)append_one(l, 3, 10);
    lease_release(l);
    assert_int_equal(number_of_records(p, "prn_a", kept.pack), 1);
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row next = append_one(l, 4, 10);
    assert_int_equal(next.offset, 1000 + RECORD_HEAD);
    lease_release(l);
    assert_int_equal(number_of_records(p, "prn_a", kept.pack), 1);
    expect_row(p, "prn_a", &kept, 1);
    contract_packs_done(p);
}

static void a_full_pack_is_sealed_and_not_leased_again(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row first = append_one(l, 1, 1000);
    fill_up(l);
    OK(lease_sync(l, e));
    lease_release(l);
    struct pack_walked walked;
    OK(packs_walk(p, "prn_a", first.pack, NULL, NULL, &walked, e));
    assert_true(walked.is_sealed);
    assert_int_equal(walked.records, PACK_RECORDS_MAX);
    for (int i = 0; i < 2; i++) {
        OK(packs_lease(p, "prn_a", &l, e));
        assert_int_not_equal(lease_pack(l), first.pack);
        lease_release(l);
        p = contract_packs_again(p);
    }
    expect_row(p, "prn_a", &first, 1);
    contract_packs_done(p);
}

static void packs_and_vaults_are_listed(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct pack_info *packs = NULL;
    char(*vaults)[ID_SIZE] = NULL;
    size_t count = 9;
    OK(packs_vaults(p, &vaults, &count, e));
    assert_int_equal(count, 0);
    free(vaults);
    OK(packs_list(p, "prn_a", &packs, &count, e));
    assert_int_equal(count, 0);
    free(packs);
    struct lease *l[12], *other;
    OK(packs_lease(p, "prn_b", &other, e));
    lease_release(other);
    for (size_t i = 0; i < 12; i++) {
        OK(packs_lease(p, "prn_a", &l[i], e));
        (void)append_one(l[i], 1, 10 + i);
        OK(lease_sync(l[i], e));
    }
    OK(packs_list(p, "prn_a", &packs, &count, e));
    assert_int_equal(count, 12);
    for (size_t i = 0; i < 12; i++) {
        assert_int_equal(packs[i].number, i + 1);
        assert_int_equal(packs[i].len, 10 + i + RECORD_HEAD);
        lease_release(l[i]);
    }
    free(packs);
    OK(packs_vaults(p, &vaults, &count, e));
    assert_int_equal(count, 2);
    assert_string_equal(vaults[0], "prn_a");
    assert_string_equal(vaults[1], "prn_b");
    free(vaults);
    contract_packs_done(p);
}

static void a_pack_is_removed_unless_somebody_writes_to_it(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row row = append_one(l, 1, 10);
    OK(lease_sync(l, e));
    FAILS(ERR_BUSY, packs_remove(p, "prn_a", row.pack, e));
    lease_release(l);
    OK(packs_remove(p, "prn_a", row.pack, e));
    FAILS(ERR_NOT_FOUND, packs_remove(p, "prn_a", row.pack, e));
    uint8_t byte;
    FAILS(ERR_NOT_FOUND, packs_read(p, "prn_a", row.pack, 0, &byte, 1, e));
    OK(packs_lease(p, "prn_a", &l, e)); /* its number does not come again */
    assert_int_not_equal(lease_pack(l), row.pack);
    lease_release(l);
    contract_packs_done(p);
}

static void the_number_of_a_removed_pack_does_not_come_again_after_a_restart(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        struct lease *l;
        OK(packs_lease(p, "prn_a", &l, e));
        struct chunk_row row = append_one(l, 1, 10);
        OK(lease_sync(l, e));
        lease_release(l);
        assert_true(row.pack > last);
        last = row.pack;
        OK(packs_remove(p, "prn_a", row.pack, e));
        p = contract_packs_again(p);
    }
    contract_packs_done(p);
}

static void a_retired_pack_is_not_leased_until_it_is_returned(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    struct pack_info info;
    struct lease *l;
    OK(packs_lease(p, "prn_a", &l, e));
    struct chunk_row row = append_one(l, 1, 10);
    OK(lease_sync(l, e));
    FAILS(ERR_BUSY, packs_retire(p, "prn_a", row.pack, e));
    lease_release(l);
    OK(packs_retire(p, "prn_a", row.pack, e));
    OK(packs_lease(p, "prn_a", &l, e));
    assert_int_not_equal(lease_pack(l), row.pack);
    packs_return(p, "prn_a", row.pack);
    struct lease *second;
    OK(packs_lease(p, "prn_a", &second, e));
    assert_int_equal(lease_pack(second), row.pack);
    lease_release(second);
    lease_release(l);
    expect_row(p, "prn_a", &row, 1);
    OK(packs_look(p, "prn_a", row.pack, &info, e));
    assert_int_equal(info.len, RECORD_HEAD + 10);
    assert_true(info.changed_us > 0);
    FAILS(ERR_NOT_FOUND, packs_look(p, "prn_a", 77, &info, e));
    contract_packs_done(p);
}

static void a_vault_has_a_name_that_leads_nowhere_else(void **state)
{
    (void)state;
    struct packs *p = contract_packs();
    static const char *const names[] = {"", ".", "..", "a/b", "/a", "a b", "a\n"};
    struct lease *l;
    struct pack_info *packs;
    size_t count;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        FAILS(ERR_INVALID, packs_lease(p, names[i], &l, e));
        FAILS(ERR_INVALID, packs_list(p, names[i], &packs, &count, e));
        FAILS(ERR_INVALID, packs_remove(p, names[i], 1, e));
    }
    contract_packs_done(p);
}

#define PACKS_CONTRACT                                                                      \
    cmocka_unit_test(what_was_appended_is_read_back),                                       \
        cmocka_unit_test(a_walk_meets_the_records_in_order),                                \
        cmocka_unit_test(who_leases_at_the_same_time_gets_another_pack),                    \
        cmocka_unit_test(a_pack_goes_on_where_it_ended),                                    \
        cmocka_unit_test(what_was_not_synced_is_taken_back),                                \
        cmocka_unit_test(a_full_pack_is_sealed_and_not_leased_again),                       \
        cmocka_unit_test(packs_and_vaults_are_listed),                                      \
        cmocka_unit_test(a_pack_is_removed_unless_somebody_writes_to_it),                   \
        cmocka_unit_test(the_number_of_a_removed_pack_does_not_come_again_after_a_restart), \
        cmocka_unit_test(a_retired_pack_is_not_leased_until_it_is_returned),                \
        cmocka_unit_test(a_vault_has_a_name_that_leads_nowhere_else)

#endif
