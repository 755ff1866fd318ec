#include "workspace/people.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/expect.h"
#include "base/scope.h"
#include "base/scratch.h"
#include "store/db.h"
#include "store/meta.h"
#include "store/store.h"

#define SECOND INT64_C(1000000)

static struct scratch scratch;
static struct store *store;
static struct people *people;
static int64_t now_us;

static void open_people(const char *admin_secret)
{
    const struct store_options so = {.dir = scratch.path};
    OK(store_open(&so, &store, e));
    const struct people_options po = {
        .meta = store_meta(store), .admin_secret = admin_secret, .now_us = now_us};
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
    now_us = 1700000000 * SECOND;
    open_people(NULL);
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

/* A key as wished by the admin, and who it makes one. */
static struct who with_key(const struct key_wishes *wishes, char secret[SECRET_SIZE])
{
    struct who maker = admin(), who;
    struct key_row row;
    OK(people_key_create(people, &maker, wishes, now_us, &row, secret, e));
    OK(people_who(people, str_of(secret), now_us, &who, e));
    assert_string_equal(who.key, row.id);
    key_row_done(&row);
    return who;
}

static void the_first_start_makes_an_admin_and_a_key(void **state)
{
    (void)state;
    const char *secret = people_new_secret(people);
    assert_non_null(secret);
    assert_int_equal(strlen(secret), SECRET_SIZE - 1);
    assert_memory_equal(secret, "cik_", 4);
    struct who who;
    OK(people_who(people, str_of(secret), now_us, &who, e));
    assert_true(who.is_admin);
    assert_int_equal(who.scopes, SCOPE_ALL);
    assert_string_equal(who.principal, admin().principal);
    assert_string_equal(who.workspace, admin().workspace);
    assert_string_equal(admin().key, "");
    assert_int_equal(people_key_count(people, now_us), 1);

    char kept[SECRET_SIZE], principal[ID_SIZE];
    memcpy(kept, secret, SECRET_SIZE);
    memcpy(principal, who.principal, ID_SIZE);
    close_people();
    open_people(NULL); /* the second start makes neither */
    assert_null(people_new_secret(people));
    OK(people_who(people, str_of(kept), now_us, &who, e));
    assert_string_equal(who.principal, principal);
}

static void a_wrong_secret_is_nobody(void **state)
{
    (void)state;
    struct who who;
    char wrong[SECRET_SIZE], longest[300];
    memcpy(wrong, people_new_secret(people), SECRET_SIZE);
    wrong[SECRET_SIZE - 2] ^= 1;
    memset(longest, 'x', sizeof longest);
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(wrong), now_us, &who, e));
    FAILS(ERR_UNAUTHORIZED, people_who(people, STR_NONE, now_us, &who, e));
    FAILS(ERR_UNAUTHORIZED, people_who(people, (struct str){longest, 257}, now_us, &who, e));
    FAILS(ERR_UNAUTHORIZED,
          people_who(people, (struct str){people_new_secret(people), 10}, now_us, &who, e));
}

static void a_configured_secret_works_while_it_is_configured(void **state)
{
    (void)state;
    const char *one = "0123456789abcdef", *two = "another secret of the operator";
    struct who who;
    close_people();
    open_people(one);
    assert_null(people_new_secret(people));
    OK(people_who(people, str_of(one), now_us, &who, e));
    assert_true(who.is_admin);
    char key[ID_SIZE];
    memcpy(key, who.key, ID_SIZE);
    FAILS(ERR_CONFLICT, people_key_revoke(people, &who, who.key, now_us, e));
    struct key_row row;
    OK(people_key_get(people, &who, who.key, &row, e));
    assert_int_equal(row.scopes, SCOPE_ALL); /* and no bit more */
    key_row_done(&row);
    close_people();
    open_people(two);
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(one), now_us, &who, e));
    OK(people_who(people, str_of(two), now_us, &who, e));
    close_people();
    open_people(NULL);
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(two), now_us, &who, e));
    close_people();
    open_people(one); /* as it was before */
    OK(people_who(people, str_of(one), now_us, &who, e));
    assert_string_equal(who.key, key);
}

static void a_configured_secret_has_to_be_long(void **state)
{
    (void)state;
    struct people *other;
    struct people_options o = {
        .meta = store_meta(store), .admin_secret = "0123456789abcde", .now_us = now_us};
    FAILS(ERR_INVALID, people_open(&o, &other, e));
    char longest[258];
    memset(longest, 'x', 257);
    longest[257] = '\0';
    o.admin_secret = longest;
    FAILS(ERR_INVALID, people_open(&o, &other, e));
    longest[256] = '\0';
    OK(people_open(&o, &other, e));
    people_close(other);
    o.admin_secret = "0123456789abcdef";
    OK(people_open(&o, &other, e));
    people_close(other);
    char secret[SECRET_SIZE]; /* of a key that is no admin's */
    (void)with_key(&(struct key_wishes){.scopes = SCOPE_RUN}, secret);
    o.admin_secret = secret;
    FAILS(ERR_CONFLICT, people_open(&o, &other, e));
}

static void a_key_expires_and_is_revoked(void **state)
{
    (void)state;
    char secret[SECRET_SIZE], other[SECRET_SIZE];
    struct key_wishes wishes = {.name = "bot", .expires_in_s = 10};
    struct who who = with_key(&wishes, secret), got, maker = admin();
    assert_int_equal(who.scopes, SCOPE_ALL & ~SCOPE_ADMIN); /* unless asked for */
    assert_false(who.is_admin);
    OK(people_who(people, str_of(secret), now_us + 10 * SECOND - 1, &got, e));
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(secret), now_us + 10 * SECOND, &got, e));
    assert_int_equal(people_key_count(people, now_us), 2);
    assert_int_equal(people_key_count(people, now_us + 10 * SECOND), 1);

    wishes.expires_in_s = 0;
    who = with_key(&wishes, other);
    FAILS(ERR_NOT_FOUND, people_key_revoke(people, &maker, "key_x", now_us, e));
    OK(people_key_revoke(people, &maker, who.key, now_us, e));
    OK(people_key_revoke(people, &maker, who.key, now_us, e));
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(other), now_us, &got, e));
    close_people();
    open_people(NULL);
    FAILS(ERR_UNAUTHORIZED, people_who(people, str_of(other), now_us, &got, e));
    OK(people_who(people, str_of(secret), now_us, &got, e));
    struct key_row row;
    OK(people_key_get(people, &maker, who.key, &row, e));
    assert_int_equal(row.revoked_us, now_us);
    assert_string_equal(row.name, "bot");
    key_row_done(&row);
}

static void an_admin_without_a_key_gets_a_new_one_at_the_next_start(void **state)
{
    (void)state;
    struct who who, maker = admin();
    OK(people_who(people, str_of(people_new_secret(people)), now_us, &who, e));
    OK(people_key_revoke(people, &maker, who.key, now_us, e));
    close_people();
    open_people(NULL);
    assert_non_null(people_new_secret(people));
}

static void a_key_never_gives_more_than_its_maker_has(void **state)
{
    (void)state;
    char secret[SECRET_SIZE];
    struct key_row row;
    struct key_wishes narrow = {.scopes = SCOPE_ADMIN | SCOPE_RUN,
                                .expires_in_s = 100,
                                .limits = {.sessions = 5, .runs_per_minute = 60, .memory_mb = 512}};
    struct who maker = with_key(&narrow, secret);
    struct key_wishes w = {.scopes = SCOPE_RUN | SCOPE_SHARE};
    FAILS(ERR_DENIED, people_key_create(people, &maker, &w, now_us, &row, secret, e));
    w = (struct key_wishes){.scopes = 64};
    FAILS(ERR_INVALID, people_key_create(people, &maker, &w, now_us, &row, secret, e));
    w = (struct key_wishes){.scopes = SCOPE_RUN, .expires_in_s = 101};
    FAILS(ERR_DENIED, people_key_create(people, &maker, &w, now_us, &row, secret, e));
    w = (struct key_wishes){.scopes = SCOPE_RUN, .limits = {.sessions = 6}};
    FAILS(ERR_DENIED, people_key_create(people, &maker, &w, now_us, &row, secret, e));
    w = (struct key_wishes){.scopes = SCOPE_RUN, .expires_in_s = -1};
    FAILS(ERR_INVALID, people_key_create(people, &maker, &w, now_us, &row, secret, e));

    w = (struct key_wishes){.limits = {.sessions = 5, .cpu_s_per_day = 7}};
    OK(people_key_create(people, &maker, &w, now_us, &row, secret, e));
    assert_int_equal(row.scopes, SCOPE_RUN);
    assert_int_equal(row.expires_us, now_us + 100 * SECOND); /* with its maker's */
    assert_int_equal(row.limits.sessions, 5);
    assert_int_equal(row.limits.runs_per_minute, 60); /* inherited */
    assert_int_equal(row.limits.cpu_s_per_day, 7);
    assert_int_equal(row.limits.memory_mb, 512);
    key_row_done(&row);

    struct who runner;
    OK(people_who(people, str_of(secret), now_us, &runner, e));
    w = (struct key_wishes){.scopes = SCOPE_RUN};
    FAILS(ERR_DENIED, people_key_create(people, &runner, &w, now_us, &row, secret, e));
    w = (struct key_wishes){.principal = "prn_nobody"};
    struct who top = admin();
    FAILS(ERR_NOT_FOUND, people_key_create(people, &top, &w, now_us, &row, secret, e));
    w = (struct key_wishes){.name = "a\nb"};
    FAILS(ERR_INVALID, people_key_create(people, &top, &w, now_us, &row, secret, e));
    assert_int_equal(people_key_count(people, now_us), 3); /* nothing of what failed */
}

static void others_do_not_exist_for_who_is_no_admin(void **state)
{
    (void)state;
    struct who top = admin();
    struct principal_row alice, bob;
    OK(people_principal_create(people, &top, PRINCIPAL_HUMAN, "alice", now_us, &alice, e));
    OK(people_principal_create(people, &top, PRINCIPAL_AGENT, "bob", now_us + 1, &bob, e));
    FAILS(ERR_INVALID, people_principal_create(people, &top, PRINCIPAL_HUMAN, "", 1, &bob, e));
    char a_secret[SECRET_SIZE], b_secret[SECRET_SIZE];
    struct who a = with_key(&(struct key_wishes){.principal = alice.id}, a_secret);
    struct who b = with_key(&(struct key_wishes){.principal = bob.id}, b_secret);
    assert_string_equal(a.principal, alice.id);
    assert_string_equal(a.workspace, alice.workspace);

    struct key_row row;
    struct key_rows keys;
    struct principal_row p;
    struct principal_rows all;
    struct page page = {.limit = 10};
    FAILS(ERR_NOT_FOUND, people_key_get(people, &a, b.key, &row, e));
    FAILS(ERR_NOT_FOUND, people_key_revoke(people, &a, b.key, now_us, e));
    FAILS(ERR_NOT_FOUND, people_key_list(people, &a, bob.id, &page, &keys, e));
    FAILS(ERR_NOT_FOUND, people_principal_get(people, &a, bob.id, &p, e));
    FAILS(ERR_DENIED, people_principal_create(people, &a, PRINCIPAL_HUMAN, "x", now_us, &p, e));
    assert_true(who_owns(&a, alice.id));
    assert_false(who_owns(&a, bob.id));
    assert_true(who_owns(&top, bob.id));

    OK(people_key_list(people, &a, NULL, &page, &keys, e));
    assert_int_equal(keys.count, 1);
    key_rows_done(&keys);
    OK(people_key_list(people, &top, NULL, &page, &keys, e));
    assert_int_equal(keys.count, 3);
    key_rows_done(&keys);
    OK(people_principal_list(people, &top, &page, &all, e));
    assert_int_equal(all.count, 3);
    assert_string_equal(all.items[0].name, "bob");
    principal_rows_done(&all);
    OK(people_principal_get(people, &a, alice.id, &p, e));
    principal_row_done(&p);
    OK(people_key_revoke(people, &a, a.key, now_us, e)); /* one's own */
    principal_row_done(&alice);
    principal_row_done(&bob);
}

static void each_end_user_is_somebody_of_their_own(void **state)
{
    (void)state;
    char secret[SECRET_SIZE];
    struct key_wishes wishes = {.scopes = SCOPE_ALL, .limits = {.sessions = 3}};
    struct who product = with_key(&wishes, secret), alice, again, bob, nobody;
    OK(people_behalf(people, &product, str_of("alice"), now_us, &alice, e));
    OK(people_behalf(people, &product, str_of("alice"), now_us, &again, e));
    OK(people_behalf(people, &product, str_of("bob"), now_us, &bob, e));
    assert_string_equal(alice.principal, again.principal);
    assert_string_not_equal(alice.principal, bob.principal);
    assert_string_not_equal(alice.principal, product.principal);
    assert_string_not_equal(alice.workspace, product.workspace);
    assert_string_equal(alice.parent, product.principal);
    assert_string_equal(alice.key, product.key);
    assert_int_equal(alice.limits.sessions, 3);
    assert_int_equal(alice.scopes, SCOPE_ALL & ~SCOPE_ADMIN);
    assert_false(alice.is_admin);
    assert_null(strstr(alice.principal, "alice"));
    FAILS(ERR_INVALID, people_behalf(people, &alice, str_of("eve"), now_us, &nobody, e));

    struct principal_row p;
    OK(people_principal_get(people, &product, alice.principal, &p, e));
    assert_string_equal(p.external, "alice");
    principal_row_done(&p);
    struct who other = with_key(&(struct key_wishes){.scopes = SCOPE_RUN}, secret), theirs;
    OK(people_behalf(people, &other, str_of("alice"), now_us, &theirs, e)); /* the same admin's */
    assert_string_equal(theirs.principal, alice.principal);
    assert_int_equal(theirs.scopes, SCOPE_RUN);
}

static void on_behalf_of_takes_256_bytes_of_text(void **state)
{
    (void)state;
    struct who top = admin(), who;
    char text[PEOPLE_NAME_MAX + 1];
    memset(text, 'x', sizeof text);
    OK(people_behalf(people, &top, (struct str){text, PEOPLE_NAME_MAX}, now_us, &who, e));
    FAILS(ERR_INVALID,
          people_behalf(people, &top, (struct str){text, PEOPLE_NAME_MAX + 1}, now_us, &who, e));
    OK(people_behalf(people, &top, str_of("j\xc3\xbcrgen@example.org"), now_us, &who, e));
    const struct str bad[] = {{"", 0}, {"a\nb", 3}, {"a\0b", 3}, {"\xff", 1}, {"\x7f", 1}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(ERR_INVALID, people_behalf(people, &top, bad[i], now_us, &who, e));
}

static void scopes_are_parsed_and_printed(void **state)
{
    (void)state;
    uint32_t scopes;
    scoped(buf_done) struct buf b = BUF_INIT(200);
    OK(scopes_parse("files:read,run,run", &scopes, e));
    assert_int_equal(scopes, SCOPE_RUN | SCOPE_FILES_READ);
    scopes_print(scopes, &b);
    assert_string_equal(b.bytes, "run,files:read");
    buf_done(&b);
    scopes_print(SCOPE_ALL, &b);
    OK(scopes_parse(b.bytes, &scopes, e));
    assert_int_equal(scopes, SCOPE_ALL);
    const char *const bad[] = {"", "run,", ",run", "fly", "files", "run, share", "RUN"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        FAILS(ERR_INVALID, scopes_parse(bad[i], &scopes, e));
    struct who who = {.scopes = SCOPE_RUN};
    OK(who_may(&who, SCOPE_RUN, e));
    struct err why = {0};
    assert_int_equal(who_may(&who, SCOPE_FILES_WRITE, &why), -1);
    assert_int_equal(why.code, ERR_DENIED);
    assert_non_null(strstr(why.text, "files:write"));
}

static void the_last_use_of_a_key_is_written_down_once_a_minute(void **state)
{
    (void)state;
    char secret[SECRET_SIZE];
    struct who who = with_key(&(struct key_wishes){.scopes = SCOPE_RUN}, secret), top = admin();
    struct key_row row;
    OK(meta_settle(store_meta(store), e));
    struct db_stats before, after;
    meta_stats(store_meta(store), &before);
    for (int i = 0; i < 59; i++)
        OK(people_who(people, str_of(secret), now_us + i * SECOND, &who, e));
    OK(meta_settle(store_meta(store), e));
    meta_stats(store_meta(store), &after);
    assert_int_equal(after.jobs, before.jobs);
    OK(people_who(people, str_of(secret), now_us + 60 * SECOND, &who, e));
    OK(meta_settle(store_meta(store), e));
    OK(people_key_get(people, &top, who.key, &row, e));
    assert_int_equal(row.used_us, now_us + 60 * SECOND);
    key_row_done(&row);
}

static void there_are_as_many_keys_as_the_limit_and_not_one_more(void **state)
{
    (void)state;
    struct who top = admin();
    for (uint32_t i = 2; i < PEOPLE_KEYS_MAX; i++) { /* one is the admin's, one is left */
        struct key_row k = {.name = "", .scopes = SCOPE_RUN, .created_us = now_us};
        k.expires_us = i % 2 ? now_us + SECOND : 0;
        (void)snprintf(k.id, sizeof k.id, "key_%u", i);
        memcpy(k.principal, top.principal, ID_SIZE);
        memcpy(k.sha256, &i, sizeof i);
        OK(meta_key_insert(store_meta(store), &k, e));
    }
    close_people();
    open_people(NULL);
    assert_int_equal(people_key_count(people, now_us), PEOPLE_KEYS_MAX - 1);
    char secret[SECRET_SIZE];
    struct key_row row;
    struct key_wishes w = {.scopes = SCOPE_RUN};
    (void)with_key(&w, secret);
    FAILS(ERR_LIMIT, people_key_create(people, &top, &w, now_us, &row, secret, e));
    now_us += SECOND; /* half of them expire and make room */
    (void)with_key(&w, secret);
    assert_int_equal(people_key_count(people, now_us), PEOPLE_KEYS_MAX / 2 + 2);
}

enum { THREADS = 4, ROUNDS = 40 };

static void *hammer(void *arg)
{
    const char *admin_secret = arg;
    struct err e = {0};
    for (int i = 0; i < ROUNDS; i++) {
        struct who who, got;
        struct key_row row;
        char secret[SECRET_SIZE], name[32];
        (void)snprintf(name, sizeof name, "user-%d", i % 5);
        struct key_wishes w = {.scopes = SCOPE_RUN};
        if (people_who(people, str_of(admin_secret), now_us, &who, &e) ||
            people_key_create(people, &who, &w, now_us, &row, secret, &e) ||
            people_who(people, str_of(secret), now_us, &got, &e) ||
            people_behalf(people, &got, str_of(name), now_us, &got, &e) ||
            people_key_revoke(people, &who, row.id, now_us, &e) ||
            people_who(people, str_of(secret), now_us, &got, &e) != -1)
            return (void *)1;
        key_row_done(&row);
    }
    return NULL;
}

static void many_threads_make_use_and_revoke_keys(void **state)
{
    (void)state;
    char secret[SECRET_SIZE];
    memcpy(secret, people_new_secret(people), SECRET_SIZE);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, secret), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(people_key_count(people, now_us), 1);
    uint64_t children;
    OK(meta_principal_count(store_meta(store), admin().principal, &children, e));
    assert_int_equal(children, 5); /* made once each, whoever was faster */
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest all[] = {
        TEST(the_first_start_makes_an_admin_and_a_key),
        TEST(a_wrong_secret_is_nobody),
        TEST(a_configured_secret_works_while_it_is_configured),
        TEST(a_configured_secret_has_to_be_long),
        TEST(a_key_expires_and_is_revoked),
        TEST(an_admin_without_a_key_gets_a_new_one_at_the_next_start),
        TEST(a_key_never_gives_more_than_its_maker_has),
        TEST(others_do_not_exist_for_who_is_no_admin),
        TEST(each_end_user_is_somebody_of_their_own),
        TEST(on_behalf_of_takes_256_bytes_of_text),
        TEST(scopes_are_parsed_and_printed),
        TEST(the_last_use_of_a_key_is_written_down_once_a_minute),
        TEST(there_are_as_many_keys_as_the_limit_and_not_one_more),
        TEST(many_threads_make_use_and_revoke_keys),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
