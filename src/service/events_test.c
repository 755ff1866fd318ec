#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include <cmocka.h>

#include "base/log.h"
#include "service/events.h"
#include "store/audit.h"
#include "workspace/bell.h"
#include "workspace/files_fixture.h"

enum { PATIENCE_US = 20 * 1000000, DETAIL = 1000 };

static struct bell bell = BELL_INIT;
static struct events *events;
static struct log quiet;

static int setup(void **state)
{
    assert_int_equal(fixture_setup(state), 0);
    log_init(&quiet, STDERR_FILENO, LOG_TEXT, LOG_ERROR);
    const struct events_options options = {.meta = store_meta(fx.store),
                                           .files = fx.files,
                                           .people = fx.people,
                                           .bell = &bell,
                                           .log = &quiet};
    OK(events_open(&options, &events, e));
    return 0;
}

static int teardown(void **state)
{
    events_close(events);
    return fixture_teardown(state);
}

/* `count` events, as the store would tell of them. */
static void happen(const char *type, size_t count, bool is_large)
{
    static char detail[DETAIL + 32];
    int front = snprintf(detail, sizeof detail, "{\"x\":\"");
    memset(detail + front, 'x', DETAIL);
    (void)snprintf(detail + front + DETAIL, 8, "\"}");
    const struct audit_entry entry = {.event = type,
                                      .principal = fx.who.principal,
                                      .workspace = fx.ws.id,
                                      .rev = 1,
                                      .at_us = 1,
                                      .detail = is_large ? detail : NULL};
    for (size_t i = 0; i < count; i++)
        OK(audit_post(store_meta(fx.store), &entry, e));
    OK(meta_settle(store_meta(fx.store), e));
    bell_ring(&bell);
}

/* ---- a reader, as the listener would be one ---- */

struct reader {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    bool is_woken;
    struct event_watch *watch;
    uint64_t last;
    size_t count, enough; /* enough: takes no more than so many */
};

#define READER                                                                                   \
    {                                                                                            \
        .lock = PTHREAD_MUTEX_INITIALIZER, .woken = PTHREAD_COND_INITIALIZER, .enough = SIZE_MAX \
    }

static void wake(void *arg)
{
    struct reader *r = arg;
    pthread_mutex_lock(&r->lock);
    r->is_woken = true;
    pthread_cond_signal(&r->woken);
    pthread_mutex_unlock(&r->lock);
}

static void await(struct reader *r)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_US / 1000000;
    pthread_mutex_lock(&r->lock);
    while (!r->is_woken)
        assert_int_equal(pthread_cond_timedwait(&r->woken, &r->lock, &until), 0);
    r->is_woken = false;
    pthread_mutex_unlock(&r->lock);
}

static bool take_note(void *arg, const struct event_note *n)
{
    struct reader *r = arg;
    if (r->count >= r->enough)
        return false;
    assert_true(n->seq > r->last);
    r->last = n->seq;
    r->count++;
    return true;
}

static void follow_as(struct reader *r, const struct who *who, uint64_t since, const char *types,
                      int64_t deadline_us)
{
    const struct event_ask ask = {
        .workspace = fx.ws.id, .types = types, .since = since, .limit = 1000};
    const struct event_call call = {.more = wake, .arg = r, .deadline_us = deadline_us};
    r->last = since;
    OK(event_watch_new(events, who, &ask, &call, &r->watch, e));
}

static void follow(struct reader *r, uint64_t since)
{
    follow_as(r, &fx.who, since, "", 0);
}

static void read_all(struct reader *r, size_t count)
{
    while (r->count < count) {
        await(r);
        assert_int_not_equal(event_watch_take(r->watch, take_note, r), EVENTS_OVER);
    }
    assert_int_equal(r->count, count);
}

static void read_to_the_end(struct reader *r)
{
    while (event_watch_take(r->watch, take_note, r) != EVENTS_OVER)
        await(r);
}

static uint64_t newest(void)
{
    uint64_t seq;
    OK(events_newest(events, &seq, e));
    return seq;
}

/* ---- */

static void a_page_has_what_was_asked_for_in_order(void **state)
{
    (void)state;
    uint64_t since = newest();
    happen("putFile", 3, false);
    happen("moveFile", 2, false);
    struct event_ask ask = {.workspace = fx.ws.id, .types = "", .since = since, .limit = 4};
    struct event_page page;
    OK(events_page(events, &fx.who, &ask, &page, e));
    size_t count = 0;
    for (const struct event_note *n = page.first; n; n = n->next, count++)
        assert_int_equal(n->seq, since + 1 + count);
    assert_int_equal(count, 4);
    assert_true(page.has_more);
    assert_int_equal(page.next, since + 4);
    event_page_done(&page);
    ask.types = "move*";
    OK(events_page(events, &fx.who, &ask, &page, e));
    assert_string_equal(page.first->type, "moveFile");
    assert_null(page.first->next->next);
    assert_false(page.has_more);
    assert_int_equal(page.next, since + 5);
    event_page_done(&page);
    ask.since = since + 5;
    OK(events_page(events, &fx.who, &ask, &page, e));
    assert_null(page.first);
    assert_int_equal(page.next, since + 5);
}

static void a_stream_has_what_was_and_what_comes(void **state)
{
    (void)state;
    uint64_t since = newest();
    struct reader r = READER;
    happen("putFile", 5, false);
    follow(&r, since);
    read_all(&r, 5);
    happen("putFile", 250, false); /* more than one batch */
    read_all(&r, 255);
    event_watch_free(r.watch);
}

static void who_does_not_read_costs_a_queue_and_misses_nothing(void **state)
{
    (void)state;
    struct reader slow = READER, quick = READER;
    uint64_t since = newest();
    follow(&slow, since);
    follow(&quick, since);
    happen("putFile", 400, true); /* 400 KB */
    read_all(&quick, 400);
    slow.enough = 0;
    await(&slow);
    assert_int_equal(event_watch_take(slow.watch, take_note, &slow), EVENTS_MORE);
    happen("putFile", 1, true);
    read_all(&quick, 401);
    slow.enough = SIZE_MAX;
    size_t first = slow.count;
    assert_int_equal(event_watch_take(slow.watch, take_note, &slow), EVENTS_LATER);
    size_t queued = slow.count - first;
    assert_true(queued > 0 && (queued - 1) * DETAIL < EVENTS_QUEUE_MAX);
    read_all(&slow, 401);
    event_watch_free(slow.watch);
    event_watch_free(quick.watch);
}

static void a_poll_is_over_with_the_first_events(void **state)
{
    (void)state;
    struct reader r = READER;
    uint64_t since = newest(), next;
    bool has_more = true;
    follow_as(&r, &fx.who, since, "put*", clock_us() + PATIENCE_US);
    happen("moveFile", 2, false); /* not what it waits for */
    happen("putFile", 2, false);
    read_to_the_end(&r);
    event_watch_end(r.watch, &next, &has_more);
    assert_true(r.count == 1 || r.count == 2); /* both, unless it was quicker */
    assert_int_equal(next, since + 2 + r.count);
    event_watch_free(r.watch);
}

static void a_poll_is_over_when_its_time_is(void **state)
{
    (void)state;
    struct reader r = READER;
    uint64_t since = newest(), next;
    bool has_more = true;
    int64_t begun_us = clock_us();
    follow_as(&r, &fx.who, since, "", begun_us + 50000);
    read_to_the_end(&r);
    assert_true(clock_us() - begun_us >= 50000);
    assert_int_equal(r.count, 0);
    event_watch_end(r.watch, &next, &has_more);
    assert_int_equal(next, since);
    assert_false(has_more);
    event_watch_free(r.watch);
}

static void make_key(int64_t expires_in_s, struct who *ret, char id[ID_SIZE])
{
    struct key_row row;
    char secret[SECRET_SIZE];
    const struct key_wishes wishes = {.scopes = SCOPE_FILES_READ, .expires_in_s = expires_in_s};
    OK(people_key_create(fx.people, &fx.who, &wishes, clock_wall_us(), &row, secret, e));
    memcpy(id, row.id, ID_SIZE);
    key_row_done(&row);
    OK(people_who(fx.people, str_of(secret), clock_wall_us(), ret, e));
}

static void a_key_that_is_revoked_or_expires_ends_it(void **state)
{
    (void)state;
    struct reader revoked = READER, expired = READER, stays = READER;
    struct who who, brief, other;
    char id[ID_SIZE], ignored[ID_SIZE];
    make_key(0, &who, id);
    make_key(1, &brief, ignored);
    make_key(0, &other, ignored);
    follow_as(&revoked, &who, newest(), "", 0);
    follow_as(&expired, &brief, newest(), "", 0);
    follow_as(&stays, &other, newest(), "", 0);
    OK(people_key_revoke(fx.people, &fx.who, id, clock_wall_us(), e));
    bell_ring(&bell);
    read_to_the_end(&revoked);
    read_to_the_end(&expired);
    happen("putFile", 1, false);
    read_all(&stays, 1);
    assert_int_equal(revoked.count, 0);
    event_watch_free(revoked.watch);
    event_watch_free(expired.watch);
    event_watch_free(stays.watch);
}

static void who_may_not_read_it_is_at_the_end_at_once(void **state)
{
    (void)state;
    struct principal_row row;
    struct reader r = READER;
    uint64_t since = newest();
    OK(people_principal_create(fx.people, &fx.who, PRINCIPAL_HUMAN, "x", 1, &row, e));
    struct who stranger = {.scopes = SCOPE_ALL};
    memcpy(stranger.principal, row.id, ID_SIZE);
    principal_row_done(&row);
    happen("putFile", 3, false);
    follow_as(&r, &stranger, since, "", 0);
    read_to_the_end(&r);
    assert_int_equal(r.count, 0);
    event_watch_free(r.watch);
    const struct event_ask ask = {.workspace = fx.ws.id, .types = "", .limit = 1};
    struct event_page page;
    FAILS(ERR_NOT_FOUND, events_page(events, &stranger, &ask, &page, e));
}

static void ignore(void *arg)
{
    (void)arg;
}

static void exactly_so_many_watches_fit_and_one_more_does_not(void **state)
{
    (void)state;
    const struct event_ask ask = {
        .workspace = fx.ws.id, .types = "", .since = newest(), .limit = 1};
    const struct event_call call = {.more = ignore};
    struct event_watch **all = calloc(EVENTS_WATCHES_MAX, sizeof *all), *more;
    assert_non_null(all);
    for (size_t i = 0; i < EVENTS_WATCHES_MAX; i++)
        OK(event_watch_new(events, &fx.who, &ask, &call, &all[i], e));
    FAILS(ERR_OVERLOADED, event_watch_new(events, &fx.who, &ask, &call, &more, e));
    event_watch_free(all[0]);
    OK(event_watch_new(events, &fx.who, &ask, &call, &all[0], e));
    for (size_t i = 0; i < EVENTS_WATCHES_MAX; i++)
        event_watch_free(all[i]);
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        TEST(a_page_has_what_was_asked_for_in_order),
        TEST(a_stream_has_what_was_and_what_comes),
        TEST(who_does_not_read_costs_a_queue_and_misses_nothing),
        TEST(a_poll_is_over_with_the_first_events),
        TEST(a_poll_is_over_when_its_time_is),
        TEST(a_key_that_is_revoked_or_expires_ends_it),
        TEST(who_may_not_read_it_is_at_the_end_at_once),
        TEST(exactly_so_many_watches_fit_and_one_more_does_not),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
