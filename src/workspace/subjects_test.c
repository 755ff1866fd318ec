/* People whom an issuer vouches for, and principals who are not let in. */
#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/meta.h"
#include "store/store.h"
#include "workspace/people.h"

#define SECOND INT64_C(1000000)
#define NOW (1800000000 * SECOND)

static struct scratch scratch;
static struct store *store;
static struct people *people;

static void open_people(void)
{
    const struct store_options so = {.dir = scratch.path};
    OK(store_open(&so, &store, e));
    const struct people_options po = {.meta = store_meta(store), .now_us = NOW};
    OK(people_open(&po, &people, e));
}

static void close_people(void)
{
    people_close(people);
    store_close(store);
}

static int setup(void **state)
{
    (void)state;
    scratch = scratch_new_fast();
    open_people();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close_people();
    scratch_done(&scratch);
    return 0;
}

static struct who admin(void)
{
    struct who w;
    people_local(people, &w);
    return w;
}

static void a_subject_is_the_same_each_time_and_nobody_elses(void **state)
{
    (void)state;
    char one[ID_SIZE], two[ID_SIZE], again[ID_SIZE];
    struct who alice, bob, same, other;
    OK(people_issuer(people, "https://a.org", NOW, one, e));
    OK(people_issuer(people, "https://b.org", NOW, two, e));
    OK(people_subject(people, one, "alice", "Alice", NOW, &alice, e));
    OK(people_subject(people, one, "bob", NULL, NOW, &bob, e));
    OK(people_subject(people, two, "alice", "Alice", NOW, &other, e));
    assert_string_not_equal(alice.principal, bob.principal);
    assert_string_not_equal(alice.workspace, bob.workspace);
    assert_string_not_equal(alice.principal, other.principal);
    assert_string_equal(alice.parent, one);
    assert_string_equal(alice.key, "");
    assert_int_equal(alice.scopes, 0);
    assert_false(alice.is_admin);
    close_people();
    open_people();
    OK(people_issuer(people, "https://a.org", NOW, again, e));
    assert_string_equal(again, one);
    OK(people_subject(people, again, "alice", "somebody", NOW, &same, e));
    assert_string_equal(same.principal, alice.principal);
    assert_string_equal(same.workspace, alice.workspace);
}

static void names_are_for_people_and_the_subject_is_what_counts(void **state)
{
    (void)state;
    char issuer[ID_SIZE];
    struct who who, maker = admin();
    struct principal_row row;
    OK(people_issuer(people, "https://a.org", NOW, issuer, e));
    OK(people_subject(people, issuer, "42", "Alice", NOW, &who, e));
    OK(people_principal_get(people, &maker, who.principal, &row, e));
    assert_string_equal(row.name, "Alice");
    assert_string_equal(row.external, "42");
    assert_int_equal(row.kind, PRINCIPAL_HUMAN);
    principal_row_done(&row);
    OK(people_subject(people, issuer, "43", "no\nname", NOW, &who, e));
    OK(people_principal_get(people, &maker, who.principal, &row, e));
    assert_string_equal(row.name, "43");
    principal_row_done(&row);
    FAILS(ERR_INVALID, people_subject(people, issuer, "", NULL, NOW, &who, e));
    FAILS(ERR_INVALID, people_subject(people, issuer, "a\nb", NULL, NOW, &who, e));
    FAILS(ERR_INVALID, people_subject(people, issuer, "\xff", NULL, NOW, &who, e));
}

static void disable(const char *id, bool is_disabled)
{
    struct who maker = admin();
    struct principal_row row;
    OK(people_principal_disable(people, &maker, id, is_disabled, NOW, &row, e));
    assert_int_equal(row.disabled_us, is_disabled ? NOW : 0);
    principal_row_done(&row);
}

static void who_is_disabled_is_not_let_in_until_that_is_taken_back(void **state)
{
    (void)state;
    char issuer[ID_SIZE];
    struct who alice, bob, who;
    OK(people_issuer(people, "https://a.org", NOW, issuer, e));
    OK(people_subject(people, issuer, "alice", NULL, NOW, &alice, e));
    OK(people_subject(people, issuer, "bob", NULL, NOW, &bob, e));
    disable(alice.principal, true);
    FAILS(ERR_DENIED, people_subject(people, issuer, "alice", NULL, NOW, &who, e));
    OK(people_subject(people, issuer, "bob", NULL, NOW, &who, e));
    assert_true(people_is_disabled(people, &alice));
    assert_false(people_still_knows(people, &alice, NOW));
    assert_true(people_still_knows(people, &bob, NOW));
    close_people();
    open_people();
    FAILS(ERR_DENIED, people_subject(people, issuer, "alice", NULL, NOW, &who, e));
    disable(alice.principal, false);
    OK(people_subject(people, issuer, "alice", NULL, NOW, &who, e));
    disable(issuer, true); /* and with it everybody who comes from there */
    FAILS(ERR_DENIED, people_subject(people, issuer, "bob", NULL, NOW, &who, e));
    assert_true(people_is_disabled(people, &bob));
}

static void the_keys_of_who_is_disabled_do_not_work(void **state)
{
    (void)state;
    struct who maker = admin(), who, child;
    struct principal_row row;
    struct key_row key;
    char secret[SECRET_SIZE];
    OK(people_principal_create(people, &maker, PRINCIPAL_AGENT, "bot", NOW, &row, e));
    const struct key_wishes wishes = {.principal = row.id};
    OK(people_key_create(people, &maker, &wishes, NOW, &key, secret, e));
    OK(people_who(people, str_of(secret), NOW, &who, e));
    OK(people_behalf(people, &who, str_of("carol"), NOW, &child, e));
    uint64_t losses = people_losses(people);
    disable(row.id, true);
    assert_true(people_losses(people) > losses);
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(secret), NOW, &who, e));
    assert_false(people_still_knows(people, &who, NOW));
    assert_false(people_still_knows(people, &child, NOW));
    close_people();
    open_people();
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(secret), NOW, &who, e));
    disable(row.id, false);
    OK(people_who(people, str_of(secret), NOW, &who, e));
    disable(child.principal, true);
    FAILS(ERR_DENIED, people_behalf(people, &who, str_of("carol"), NOW, &child, e));
    key_row_done(&key);
    principal_row_done(&row);
}

static void only_an_admin_disables_and_not_the_server_itself(void **state)
{
    (void)state;
    struct who maker = admin(), other = admin();
    struct principal_row row;
    other.scopes &= ~(uint32_t)SCOPE_ADMIN;
    FAILS(ERR_DENIED,
          people_principal_disable(people, &other, maker.principal, true, NOW, &row, e));
    FAILS(ERR_CONFLICT,
          people_principal_disable(people, &maker, maker.principal, true, NOW, &row, e));
    FAILS(ERR_NOT_FOUND, people_principal_disable(people, &maker, "prn_x", true, NOW, &row, e));
}

static void many_are_found_among_many(void **state)
{
    (void)state;
    enum { MANY = 60 };
    char issuer[ID_SIZE], name[16];
    struct who who[MANY];
    OK(people_issuer(people, "https://a.org", NOW, issuer, e));
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "s%d", i);
        OK(people_subject(people, issuer, name, NULL, NOW, &who[i], e));
        if (i % 2)
            disable(who[i].principal, true);
    }
    for (int i = 0; i < MANY; i++)
        assert_int_equal(people_is_disabled(people, &who[i]), i % 2);
    for (int i = 1; i < MANY; i += 2)
        disable(who[i].principal, false);
    for (int i = 0; i < MANY; i++)
        assert_false(people_is_disabled(people, &who[i]));
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(a_subject_is_the_same_each_time_and_nobody_elses),
        EACH(names_are_for_people_and_the_subject_is_what_counts),
        EACH(who_is_disabled_is_not_let_in_until_that_is_taken_back),
        EACH(the_keys_of_who_is_disabled_do_not_work),
        EACH(only_an_admin_disables_and_not_the_server_itself),
        EACH(many_are_found_among_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
