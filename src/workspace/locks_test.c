#include "workspace/locks.h"

#include <pthread.h>
#include <sched.h>

#include "workspace/files_fixture.h"
#include "workspace/files_int.h"

static const char here[] = "data.csv";

static struct lock_wishes a_wish(const char *path, unsigned wait_s)
{
    return (struct lock_wishes){.path = path,
                                .ttl_s = 60,
                                .holder = "alice",
                                .deadline_us = wait_s ? clock_us() + wait_s * 1000000LL : 0};
}

static struct lock take_ok(const char *path)
{
    struct lock l;
    struct lock_block block;
    const struct lock_wishes wish = a_wish(path, 0);
    OK(lock_take(fx.files, &fx.who, &fx.ws, &wish, &l, &block, e));
    return l;
}

static void take_fails(enum err_code code, struct lock_wishes wish)
{
    struct lock l;
    struct lock_block block;
    FAILS(code, lock_take(fx.files, &fx.who, &fx.ws, &wish, &l, &block, e));
}

static struct lock_pass pass_of(const struct lock *l)
{
    struct lock_pass pass = {0};
    OK(lock_present(&pass, str_of(l->token), e));
    return pass;
}

static void release(struct lock *l)
{
    struct lock_pass pass = pass_of(l);
    OK(lock_release(fx.files, &fx.ws, l->row.id, &pass, e));
    lock_done(l);
}

static int put_with(const char *path, const char *text, struct lock_pass *pass, struct err *e)
{
    fx.author.pass = pass;
    int failed = put_how(path, NULL, text, NULL, e);
    fx.author.pass = NULL;
    return failed;
}

/* ---- one by one ---- */

static void a_lock_is_what_was_asked_for(void **state)
{
    (void)state;
    struct lock l = take_ok("/a/b.csv");
    assert_string_equal(l.row.path, "a/b.csv");
    assert_string_equal(l.row.holder, "alice");
    assert_int_equal(l.row.ttl_s, 60);
    assert_int_equal(l.row.fence, 1);
    assert_int_equal(l.row.expires_us - l.row.created_us, 60000000);
    assert_int_equal(strncmp(l.token, "clk_", 4), 0);
    assert_int_equal(strlen(l.token), 44);
    release(&l);
    struct lock_wishes plain = {.path = "f"};
    struct lock_block block;
    OK(lock_take(fx.files, &fx.who, &fx.ws, &plain, &l, &block, e));
    assert_string_equal(l.row.holder, "admin"); /* the principal's name */
    assert_int_equal(l.row.ttl_s, LOCK_TTL_S);
    lock_done(&l);
}

static void what_cannot_be_locked_is_refused_with_the_reason(void **state)
{
    (void)state;
    struct lock_wishes w = a_wish("../x", 0);
    take_fails(ERR_INVALID, w);
    take_fails(ERR_INVALID, a_wish("", 0)); /* the whole, but no tree */
    w = a_wish("f", 0);
    w.ttl_s = LOCK_TTL_MIN_S - 1;
    take_fails(ERR_INVALID, w);
    w.ttl_s = LOCK_TTL_MAX_S + 1;
    take_fails(ERR_INVALID, w);
    w.ttl_s = 60;
    w.holder = "a\nb";
    take_fails(ERR_INVALID, w);
    char longest[LOCK_HOLDER_MAX + 2];
    memset(longest, 'h', sizeof longest);
    longest[LOCK_HOLDER_MAX + 1] = '\0';
    w.holder = longest;
    take_fails(ERR_INVALID, w);
    longest[LOCK_HOLDER_MAX] = '\0';
    struct lock l;
    struct lock_block block;
    OK(lock_take(fx.files, &fx.who, &fx.ws, &w, &l, &block, e));
    assert_string_equal(l.row.holder, longest);
    release(&l);
    w.holder = "alice";
    w.session = "ses_none";
    take_fails(ERR_NOT_FOUND, w);
    for (unsigned i = 0; i < 2; i++) {
        w = a_wish("g", 0);
        w.ttl_s = i ? LOCK_TTL_MAX_S : LOCK_TTL_MIN_S;
        OK(lock_take(fx.files, &fx.who, &fx.ws, &w, &l, &block, e));
        release(&l);
    }
}

static void tokens_come_in_every_form_and_only_so_many(void **state)
{
    (void)state;
    struct lock_pass pass = {0}, one = {0};
    OK(lock_present(&one, str_of("clk_1"), e));
    OK(lock_present(&pass, str_of(" clk_1 ,<opaquelocktoken:clk_1>,,<clk_1>,opaquelocktoken:clk_1"),
                    e));
    assert_int_equal(pass.count, 4);
    for (size_t i = 0; i < pass.count; i++)
        assert_memory_equal(pass.tokens[i], one.tokens[0], HASH_LEN);
    while (pass.count < LOCK_TOKENS_MAX)
        OK(lock_present(&pass, str_of("x"), e));
    FAILS(ERR_INVALID, lock_present(&pass, str_of("x"), e));
    OK(lock_present(&pass, str_of(" , "), e));
}

static void who_has_the_token_writes_renews_and_releases(void **state)
{
    (void)state;
    struct lock l = take_ok(here), renewed;
    struct lock_pass pass = pass_of(&l), none = {0};
    FAILS(ERR_LOCKED, put_with(here, "others", NULL, e));
    FAILS(ERR_LOCKED, lock_check(fx.files, &fx.ws, here, &fx.author, e));
    OK(put_with(here, "mine", &pass, e));
    FAILS(ERR_DENIED, lock_renew(fx.files, &fx.ws, l.row.id, &none, 0, &renewed, e));
    FAILS(ERR_INVALID, lock_renew(fx.files, &fx.ws, l.row.id, &pass, 59, &renewed, e));
    OK(lock_renew(fx.files, &fx.ws, l.row.id, &pass, 3600, &renewed, e));
    assert_int_equal(renewed.row.ttl_s, 3600);
    assert_int_equal(renewed.row.fence, l.row.fence);
    assert_string_equal(renewed.token, "");
    lock_done(&renewed);
    FAILS(ERR_DENIED, lock_release(fx.files, &fx.ws, l.row.id, &none, e));
    OK(lock_break(fx.files, &fx.ws, l.row.id, e));
    FAILS(ERR_PRECONDITION, put_with(here, "late", &pass, e)); /* although nobody has it now */
    OK(put_with(here, "others", NULL, e));
    holds(here, "others");
    lock_done(&l);
}

/* ---- waiting ---- */

struct waiting {
    pthread_t thread;
    const char *path;
    unsigned wait_s;
    struct lock_patience patience;
    struct lock lock;
    struct err e;
    int failed;
};

static void *wait_for_it(void *arg)
{
    struct waiting *w = arg;
    struct lock_wishes wish = a_wish(w->path, w->wait_s);
    struct lock_block block;
    wish.patience = &w->patience;
    w->failed = lock_take(fx.files, &fx.who, &fx.ws, &wish, &w->lock, &block, &w->e);
    return NULL;
}

static size_t in_line(void)
{
    pthread_mutex_lock(&fx.files->line.lock);
    size_t count = fx.files->line.count;
    pthread_mutex_unlock(&fx.files->line.lock);
    return count;
}

static void begin_wait(struct waiting *w, const char *path)
{
    size_t before = in_line();
    *w = (struct waiting){.path = path, .wait_s = 60, .patience = {.files = fx.files}};
    assert_int_equal(pthread_create(&w->thread, NULL, wait_for_it, w), 0);
    while (in_line() == before)
        (void)sched_yield();
}

static void end_wait(struct waiting *w, enum err_code code)
{
    assert_int_equal(pthread_join(w->thread, NULL), 0);
    if (w->e.code != code)
        fail_msg("%s: %s", err_wire(w->e.code), w->e.text);
    assert_int_equal(w->failed, code ? -1 : 0);
}

static void those_who_wait_get_it_in_the_order_they_came(void **state)
{
    (void)state;
    enum { MANY = 8 };
    struct waiting all[MANY];
    struct lock l = take_ok(here);
    for (size_t i = 0; i < MANY; i++)
        begin_wait(&all[i], here);
    release(&l);
    for (size_t i = 0; i < MANY; i++) { /* the others cannot: it is held */
        end_wait(&all[i], 0);
        assert_int_equal(all[i].lock.row.fence, i + 2);
        release(&all[i].lock);
    }
    assert_int_equal(in_line(), 0);
}

static void who_waits_for_something_else_is_not_behind(void **state)
{
    (void)state;
    struct lock a = take_ok("a"), b = take_ok("b");
    struct waiting for_a, for_b;
    begin_wait(&for_a, "a");
    begin_wait(&for_b, "b");
    release(&b);
    end_wait(&for_b, 0);
    assert_int_equal(in_line(), 1);
    release(&a);
    end_wait(&for_a, 0);
    release(&for_a.lock);
    release(&for_b.lock);
}

static void waiting_ends_with_the_deadline_the_client_and_the_server(void **state)
{
    (void)state;
    struct lock l = take_ok(here);
    struct waiting w;
    struct lock_wishes brief = a_wish(here, 0);
    brief.deadline_us = clock_us() + 30000;
    take_fails(ERR_LOCKED, brief);
    assert_true(clock_us() >= brief.deadline_us);
    begin_wait(&w, here);
    lock_give_up(&w.patience);
    end_wait(&w, ERR_GONE);
    begin_wait(&w, here);
    locks_stop(fx.files);
    end_wait(&w, ERR_OVERLOADED);
    take_fails(ERR_OVERLOADED, a_wish(here, 1));
    take_fails(ERR_LOCKED, a_wish(here, 0));
    release(&l);
}

static void only_so_many_wait(void **state)
{
    (void)state;
    fx.options.lock_waiters_max = 2;
    fixture_again();
    struct lock l = take_ok(here);
    struct waiting a, b;
    begin_wait(&a, here);
    begin_wait(&b, here);
    take_fails(ERR_OVERLOADED, a_wish(here, 1));
    take_fails(ERR_LOCKED, a_wish(here, 0));
    release(&l);
    end_wait(&a, 0);
    release(&a.lock);
    end_wait(&b, 0);
    release(&b.lock);
}

/* A lock ends by itself: whoever waits is there when it does. The clock is the store's row. */
static void an_expired_lock_wakes_who_waits_for_it(void **state)
{
    (void)state;
    struct lock_row row = {.path = here, .holder = "bob", .ttl_s = 60};
    struct lock_block block;
    uint64_t fence;
    memcpy(row.workspace, fx.ws.id, ID_SIZE);
    memcpy(row.id, "lock_brief", sizeof "lock_brief");
    row.created_us = clock_wall_us();
    row.expires_us = row.created_us + 100000;
    OK(meta_lock_take(files_meta(fx.files), &row, &fence, &block, e));
    struct waiting w;
    begin_wait(&w, here);
    end_wait(&w, 0);
    assert_true(w.lock.row.created_us >= row.expires_us);
    assert_true(w.lock.row.created_us < row.expires_us + 30000000);
    release(&w.lock);
    uint64_t before = fence;
    OK(files_tidy(fx.files, clock_wall_us(), e));
    w.lock = take_ok(here);
    assert_int_equal(w.lock.row.fence, before + 2);
    lock_done(&w.lock);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
    const struct CMUnitTest all[] = {
        TEST(a_lock_is_what_was_asked_for),
        TEST(what_cannot_be_locked_is_refused_with_the_reason),
        TEST(tokens_come_in_every_form_and_only_so_many),
        TEST(who_has_the_token_writes_renews_and_releases),
        TEST(those_who_wait_get_it_in_the_order_they_came),
        TEST(who_waits_for_something_else_is_not_behind),
        TEST(waiting_ends_with_the_deadline_the_client_and_the_server),
        TEST(only_so_many_wait),
        TEST(an_expired_lock_wakes_who_waits_for_it),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
