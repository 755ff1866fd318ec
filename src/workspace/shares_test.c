#include "workspace/shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "store/meta_members.h"
#include "workspace/files_fixture.h"
#include "workspace/passwords.h"

static struct passwords *pw;
static const uint8_t key[SIGN_KEY_LEN] = "0123456789abcdef0123456789abcde";

static int setup(void **state)
{
    OK(passwords_new(&rates_system_clock, &pw, e));
    return fixture_setup(state);
}

static int teardown(void **state)
{
    passwords_free(pw);
    return fixture_teardown(state);
}

static const struct share_wishes plain = {.path = "d/f.txt", .rights = SHARE_DOWNLOAD};

/* Makes one; its id and token. */
static struct share_row make(const struct share_wishes *wishes, char token[ID_SIZE])
{
    struct share_row row;
    OK(shares_create(fx.files, pw, &fx.who, &fx.ws, wishes, 1000000, &row, token, e));
    return row;
}

static void enters(const char *token, int64_t now_us)
{
    struct share_visit v;
    OK(shares_enter(fx.files, token, now_us, &v, e));
    share_visit_done(&v);
}

static void is_refused(const char *token, int64_t now_us)
{
    struct share_visit v;
    struct err e = {0};
    assert_int_equal(shares_enter(fx.files, token, now_us, &v, &e), -1);
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.text, "this link does not exist, or does not work any more");
}

static void a_link_works_until_it_ends(void **state)
{
    (void)state;
    char token[ID_SIZE];
    put("d/f.txt", "x");
    struct share_wishes wishes = plain;
    wishes.expires_s = 10;
    struct share_row row = make(&wishes, token);
    assert_int_equal(strlen(token), SHARE_RANDOM_LEN);
    assert_int_equal(row.rights, SHARE_VIEW | SHARE_DOWNLOAD);
    enters(token, 10999999);
    is_refused(token, 11000000);
    is_refused("", 0);
    is_refused("nothing", 0);
    OK(shares_revoke(fx.files, &fx.who, &fx.ws, row.id, 2000000, e));
    is_refused(token, 3000000);
    share_row_done(&row);
}

static void a_link_ends_when_it_is_used_up(void **state)
{
    (void)state;
    char token[ID_SIZE];
    put("d/f.txt", "x");
    struct share_wishes wishes = plain;
    wishes.max_downloads = 1;
    struct share_row row = make(&wishes, token);
    enters(token, 2000000);
    OK(meta_share_download(files_meta(fx.files), row.id, 2000000, e));
    is_refused(token, 2000000);
    share_row_done(&row);
}

static void wishes_have_to_fit_each_other(void **state)
{
    (void)state;
    put("d/f.txt", "x");
    static const struct {
        struct share_wishes wishes;
        enum err_code code;
    } cases[] = {
        {{.path = "nowhere", .rights = SHARE_VIEW}, ERR_NOT_FOUND},
        {{.path = "d/f.txt", .rights = 0}, ERR_INVALID},
        {{.path = "d/f.txt", .rights = SHARE_UPLOAD}, ERR_INVALID},
        {{.path = "d/f.txt", .rights = SHARE_VIEW, .version = 2}, ERR_NOT_FOUND},
        {{.path = "", .rights = SHARE_VIEW, .version = 1}, ERR_INVALID},
        {{.path = "d", .rights = SHARE_VIEW, .max_downloads = 1}, ERR_INVALID},
        {{.path = "../d", .rights = SHARE_VIEW}, ERR_INVALID},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct share_row row;
        char token[ID_SIZE];
        FAILS(cases[i].code,
              shares_create(fx.files, pw, &fx.who, &fx.ws, &cases[i].wishes, 1, &row, token, e));
    }
}

static void paths_stay_below_what_is_shared(void **state)
{
    (void)state;
    static const struct {
        const char *shared;
        bool is_folder;
        const char *below, *expected; /* NULL: there is no such thing */
    } cases[] = {
        {"a/f.txt", false, "", "a/f.txt"},
        {"a/f.txt", false, "f.txt", "a/f.txt"},
        {"a/f.txt", false, "g.txt", NULL},
        {"a/f.txt", false, "a/f.txt", NULL},
        {"a", true, "", "a"},
        {"a", true, "b", "a/b"},
        {"a", true, "b/c.txt", "a/b/c.txt"},
        {"a", true, "a", "a/a"},
        {"a", true, "..", NULL},
        {"a", true, "b/../c", NULL},
        {"a", true, "./b", NULL},
        {"a", true, "/b", NULL},
        {"a", true, "b/", NULL},
        {"a", true, "/mnt/data/b", NULL},
        {"a", true, "b//c", NULL},
        {"a", true, "b\x01", NULL},
        {"a", true, "\xff", NULL},
        {"", true, "", ""},
        {"", true, "b/c", "b/c"},
        {"", true, "..", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct share_row row = {.path = cases[i].shared, .is_folder = cases[i].is_folder};
        char path[PATH_BYTES_MAX + 1];
        if (!cases[i].expected) {
            FAILS(ERR_NOT_FOUND, shares_path(&row, cases[i].below, path, e));
            continue;
        }
        OK(shares_path(&row, cases[i].below, path, e));
        assert_string_equal(path, cases[i].expected);
    }
    char longest[PATH_BYTES_MAX + 1];
    for (size_t i = 0; i < PATH_BYTES_MAX; i++)
        longest[i] = i % 200 == 199 ? '/' : 'x';
    longest[PATH_BYTES_MAX] = '\0';
    struct share_row top = {.path = "", .is_folder = true}, row = {.path = "a", .is_folder = true};
    char path[PATH_BYTES_MAX + 1];
    OK(shares_path(&top, longest, path, e));
    FAILS(ERR_NOT_FOUND, shares_path(&row, longest, path, e));
    longest[PATH_BYTES_MAX - 2] = '\0';
    OK(shares_path(&row, longest, path, e));
}

static void a_pass_ends_with_time_and_with_the_password(void **state)
{
    (void)state;
    struct share_row row = {.id = "shr_1", .password = "$one"};
    char pass[SHARE_PASS_SIZE], other[SHARE_PASS_SIZE];
    shares_pass_make(key, &row, 1000, pass);
    assert_true(shares_pass_check(key, &row, 1000, str_of(pass)));
    assert_true(shares_pass_check(key, &row, 1000 + SHARE_PASS_S - 1, str_of(pass)));
    assert_false(shares_pass_check(key, &row, 1000 + SHARE_PASS_S, str_of(pass)));
    assert_false(shares_pass_check(key, &row, 999, str_of(pass))); /* none is made for longer */
    for (size_t i = 0; pass[i]; i++) {
        memcpy(other, pass, sizeof other);
        other[i] ^= 1;
        assert_false(shares_pass_check(key, &row, 1000, str_of(other)));
    }
    static const char *const wrong[] = {
        "", ".", "x", "4600", "4600.", "-1.00", "99999999999999999999.00"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(shares_pass_check(key, &row, 1000, str_of(wrong[i])));
    assert_false(shares_pass_check(key, &row, 1000, STR_NONE));
    struct share_row changed = {.id = "shr_1", .password = "$two"},
                     second = {.id = "shr_2", .password = "$one"};
    assert_false(shares_pass_check(key, &changed, 1000, str_of(pass)));
    assert_false(shares_pass_check(key, &second, 1000, str_of(pass)));
}

static void a_password_is_asked_and_a_missing_link_answers_the_same(void **state)
{
    (void)state;
    char token[ID_SIZE];
    int64_t ms;
    put("d/f.txt", "x");
    struct share_wishes wishes = plain;
    wishes.password = str_of("open");
    struct share_row row = make(&wishes, token);
    struct share_visit v;
    OK(shares_enter(fx.files, token, 2000000, &v, e));
    FAILS(ERR_UNAUTHORIZED, shares_unlock(pw, &v, token, "192.0.2.1", str_of("shut"), &ms, e));
    FAILS(ERR_UNAUTHORIZED,
          shares_unlock(pw, NULL, "nothing", "192.0.2.1", str_of("open"), &ms, e));
    OK(shares_unlock(pw, &v, token, "192.0.2.1", str_of("open"), &ms, e));
    share_visit_done(&v);
    share_row_done(&row);
}

/* Somebody else, with that role in the workspace. */
static struct who member(int role)
{
    struct principal_row p;
    struct who who = {.scopes = SCOPE_SHARE};
    OK(people_principal_create(fx.people, &fx.who, PRINCIPAL_HUMAN, "somebody", clock_wall_us(), &p,
                               e));
    memcpy(who.principal, p.id, sizeof who.principal);
    struct member_row m = {.role = role, .created_us = 1};
    memcpy(m.principal, p.id, sizeof m.principal);
    OK(meta_member_set(files_meta(fx.files), fx.ws.id, &m, 100, e));
    principal_row_done(&p);
    return who;
}

static void a_link_ends_when_its_maker_may_not_write_any_more(void **state)
{
    (void)state;
    char token[ID_SIZE];
    put("d/f.txt", "x");
    struct who editor = member(ROLE_EDITOR);
    struct share_row row;
    OK(shares_create(fx.files, pw, &editor, &fx.ws, &plain, 1, &row, token, e));
    assert_false(row.is_by_server);
    enters(token, 2);
    OK(meta_member_remove(files_meta(fx.files), fx.ws.id, editor.principal, e));
    is_refused(token, 2);
    share_row_done(&row);
}

static void editors_change_their_own_and_admins_all(void **state)
{
    (void)state;
    char token[ID_SIZE];
    put("d/f.txt", "x");
    struct who editor = member(ROLE_EDITOR), other = member(ROLE_EDITOR),
               admin = member(ROLE_ADMIN);
    struct share_row row;
    OK(shares_create(fx.files, pw, &editor, &fx.ws, &plain, 1, &row, token, e));
    const struct share_wish wish = {.expires_s = -1, .max_downloads = -1, .note = "n"};
    OK(shares_change(fx.files, pw, &editor, &fx.ws, row.id, &wish, 2, e));
    FAILS(ERR_DENIED, shares_change(fx.files, pw, &other, &fx.ws, row.id, &wish, 2, e));
    FAILS(ERR_DENIED, shares_revoke(fx.files, &other, &fx.ws, row.id, 2, e));
    OK(shares_revoke(fx.files, &admin, &fx.ws, row.id, 2, e));
    share_row_done(&row);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_link_works_until_it_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_ends_when_it_is_used_up, setup, teardown),
        cmocka_unit_test_setup_teardown(wishes_have_to_fit_each_other, setup, teardown),
        cmocka_unit_test(paths_stay_below_what_is_shared),
        cmocka_unit_test(a_pass_ends_with_time_and_with_the_password),
        cmocka_unit_test_setup_teardown(a_password_is_asked_and_a_missing_link_answers_the_same,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_link_ends_when_its_maker_may_not_write_any_more, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(editors_change_their_own_and_admins_all, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
