/* What hub_int.h says of ears: what they want is bounded, and what they are to be told as well. */
#include "mcp/hub_int.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/scope.h"
#include "mcp/uri.h"

/* A hub without its threads: nobody is served, but everybody waits in line. */
static struct mcp_hub hub;

static int set_up(void **state)
{
    (void)state;
    hub = (struct mcp_hub){.list_due_us = CLOCK_NEVER};
    (void)pthread_mutex_init(&hub.lock, NULL);
    for (size_t i = 0; i < HUB_DESKS; i++) {
        (void)pthread_cond_init(&hub.lines[i].wake, NULL);
        hub.lines[i].last_due = &hub.lines[i].due;
    }
    return 0;
}

static struct hub_ear *make_ear(const char *principal, const char *session)
{
    struct hub_ear *ear = calloc(1, sizeof *ear);
    assert_non_null(ear);
    ear->hub = &hub;
    ear->last = &ear->first;
    (void)snprintf(ear->who.principal, sizeof ear->who.principal, "%s", principal);
    (void)snprintf(ear->session, sizeof ear->session, "%s", session);
    return ear;
}

static void wish(struct hub_ear *ear, const char *uri, int expected)
{
    struct err e = {0};
    struct mcp_uri u;
    assert_true(uri_read(uri, &u));
    assert_int_equal(ear_wish(ear, uri, &u, /* since= */ 7, &e), expected);
}

static void exactly_the_limit_of_wishes_fits_and_one_more_does_not(void **state)
{
    (void)state;
    struct hub_ear *ear = make_ear("prn_1", "");
    char uri[64];
    for (int i = 0; i < HUB_WISHES_MAX; i++) {
        (void)snprintf(uri, sizeof uri, "workspace://ws_1/f%d", i);
        wish(ear, uri, 0);
    }
    wish(ear, "workspace://ws_1/more", -1);
    wish(ear, "workspace://ws_1/f3", 0); /* is there already */
    assert_int_equal(ear->wish_count, HUB_WISHES_MAX);
    ear_unwish(ear, "workspace://ws_1/f0");
    ear_unwish(ear, "workspace://ws_1/f0");
    assert_int_equal(ear->wish_count, HUB_WISHES_MAX - 1);
    wish(ear, "workspace://ws_1/more", 0);
    ear_free(ear);
}

static void a_queue_that_is_full_ends_the_ear(void **state)
{
    (void)state;
    struct hub_ear *ear = make_ear("prn_1", "");
    for (int i = 0; i < HUB_QUEUE_MAX; i++)
        ear_say(ear, str_of("{}"));
    assert_false(ear->is_over);
    assert_int_equal(ear->message_count, HUB_QUEUE_MAX);
    ear_say(ear, str_of("{}"));
    assert_true(ear->is_over);
    ear_free(ear);
}

static void so_does_one_with_too_many_bytes(void **state)
{
    (void)state;
    struct hub_ear *ear = make_ear("prn_1", "");
    scoped(freep) char *half = calloc(1, HUB_QUEUE_BYTES / 2);
    assert_non_null(half);
    ear_say(ear, (struct str){half, HUB_QUEUE_BYTES / 2});
    ear_say(ear, (struct str){half, HUB_QUEUE_BYTES / 2});
    assert_false(ear->is_over);
    ear_say(ear, str_of("x"));
    assert_true(ear->is_over);
    assert_null(ear->first);
    ear_free(ear);
}

static void one_is_due_once_at_each_desk(void **state)
{
    (void)state;
    struct hub_ear *one = make_ear("prn_1", ""), *other = make_ear("prn_1", "");
    ear_make_due(one, DESK_HERALD);
    ear_make_due(other, DESK_HERALD);
    ear_make_due(one, DESK_HERALD);
    ear_make_due(one, DESK_CLERK);
    assert_ptr_equal(hub.lines[DESK_HERALD].due, one);
    assert_ptr_equal(one->next_due[DESK_HERALD], other);
    assert_null(other->next_due[DESK_HERALD]);
    assert_ptr_equal(hub.lines[DESK_CLERK].due, one);
    assert_null(one->next_due[DESK_CLERK]);
    ear_free(one);
    ear_free(other);
}

static void free_all(void)
{
    for (struct hub_ear *ear = hub.ears, *next; ear; ear = next) {
        next = ear->next;
        ear_free(ear);
    }
}

static void a_session_has_one_ear(void **state)
{
    (void)state;
    struct err e = {0};
    struct hub_ear *twin = make_ear("prn_1", "mcp_1");
    assert_int_equal(ear_enlist(make_ear("prn_1", "mcp_1"), &e), 0);
    assert_int_equal(ear_enlist(twin, &e), 1);
    assert_int_equal(hub.ear_count, 1);
    hub.ears->is_dead = true; /* the session ended: a new one is another */
    assert_int_equal(ear_enlist(twin, &e), 0);
    assert_int_equal(ear_enlist(make_ear("prn_1", ""), &e), 0);
    assert_int_equal(ear_enlist(make_ear("prn_1", ""), &e), 0);
    assert_int_equal(hub.ear_count, 4);
    free_all();
}

static void one_principal_has_so_many_and_others_still_can(void **state)
{
    (void)state;
    struct err e = {0};
    for (int i = 0; i < HUB_EARS_EACH; i++)
        assert_int_equal(ear_enlist(make_ear("prn_1", ""), &e), 0);
    struct hub_ear *more = make_ear("prn_1", ""), *other = make_ear("prn_2", "");
    assert_int_equal(ear_enlist(more, &e), -1);
    assert_int_equal(e.code, ERR_OVERLOADED);
    assert_int_equal(ear_enlist(other, &e), 0);
    ear_free(more);
    free_all();
}

static void nobody_comes_when_the_server_stops(void **state)
{
    (void)state;
    struct err e = {0};
    struct hub_ear *ear = make_ear("prn_1", "");
    hub.is_stopping = true;
    assert_int_equal(ear_enlist(ear, &e), -1);
    ear_free(ear);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(exactly_the_limit_of_wishes_fits_and_one_more_does_not, set_up),
        cmocka_unit_test_setup(a_queue_that_is_full_ends_the_ear, set_up),
        cmocka_unit_test_setup(so_does_one_with_too_many_bytes, set_up),
        cmocka_unit_test_setup(one_is_due_once_at_each_desk, set_up),
        cmocka_unit_test_setup(a_session_has_one_ear, set_up),
        cmocka_unit_test_setup(one_principal_has_so_many_and_others_still_can, set_up),
        cmocka_unit_test_setup(nobody_comes_when_the_server_stops, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
