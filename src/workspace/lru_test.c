#include "workspace/lru.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/scope.h"

struct entry {
    struct lru_entry at;
    int value;
};

static void put(struct lru *l, const char *name, int value)
{
    struct lru_entry *it;
    struct err e = {0};
    assert_int_equal(lru_make(l, name, &it, &e), 0);
    ((struct entry *)it)->value = value;
}

static int value_of(struct lru *l, const char *name)
{
    const struct entry *it = (struct entry *)lru_get(l, name);
    return it ? it->value : -1;
}

static void what_was_touched_longest_ago_goes_first(void **state)
{
    (void)state;
    scoped(lru_done) struct lru l;
    struct err e = {0};
    assert_int_equal(lru_init(&l, sizeof(struct entry), 3, &e), 0);
    put(&l, "a", 1);
    put(&l, "b", 2);
    put(&l, "c", 3);
    assert_int_equal(value_of(&l, "a"), 1); /* touches it */
    put(&l, "d", 4);
    assert_int_equal(l.count, 3);
    assert_int_equal(value_of(&l, "b"), -1);
    assert_int_equal(value_of(&l, "a"), 1);
    assert_int_equal(value_of(&l, "c"), 3);
    assert_int_equal(value_of(&l, "d"), 4);
}

static void a_dropped_one_is_gone_and_new_ones_are_zeros(void **state)
{
    (void)state;
    scoped(lru_done) struct lru l;
    struct err e = {0};
    assert_int_equal(lru_init(&l, sizeof(struct entry), 3, &e), 0);
    put(&l, "a", 1);
    put(&l, "b", 2);
    lru_drop(&l, "a");
    lru_drop(&l, "nobody");
    assert_int_equal(l.count, 1);
    struct lru_entry *it;
    assert_int_equal(lru_make(&l, "a", &it, &e), 0);
    assert_int_equal(((struct entry *)it)->value, 0);
    lru_drop(&l, "b");
    lru_drop(&l, "a");
    assert_null(l.newest);
    assert_null(l.oldest);
}

static void many_names_are_kept_apart(void **state)
{
    (void)state;
    scoped(lru_done) struct lru l;
    struct err e = {0};
    char name[32];
    assert_int_equal(lru_init(&l, sizeof(struct entry), 1000, &e), 0);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "10.0.%d.%d", i / 256, i % 256);
        put(&l, name, i);
    }
    assert_int_equal(l.count, 1000);
    for (int i = 0; i < 5000; i++) {
        (void)snprintf(name, sizeof name, "10.0.%d.%d", i / 256, i % 256);
        assert_int_equal(value_of(&l, name), i < 4000 ? -1 : i);
    }
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(what_was_touched_longest_ago_goes_first),
        cmocka_unit_test(a_dropped_one_is_gone_and_new_ones_are_zeros),
        cmocka_unit_test(many_names_are_kept_apart),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
