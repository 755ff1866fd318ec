#include "session/zone.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

static void rules_are_what_posix_says(void **state)
{
    static const char *const rules[] = {
        "UTC0",
        "EST5",
        "EST5EDT",
        "CET-1CEST,M3.5.0,M10.5.0/3",
        "<+07>-7",
        "NST3:30NDT",
        "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1",
        "EST5EDT,J60,300/25:00:00",
        "AAA+1",
        "XXX-24:59:59",
    };
    (void)state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!zone_is_rule(rules[i]))
            fail_msg("%s", rules[i]);
}

static void what_is_no_rule_is_refused(void **state)
{
    static const char *const others[] = {
        "",
        "UTC",
        "AB5",
        "<+07",
        "<>5",
        "CET-1CEST,",
        "CET-1CEST,M3.5.0",
        "CET-1CEST,M13.5.0,M10.5.0",
        "CET-1CEST,M3.6.0,M10.5.0",
        "EST25",
        "EST5:60",
        "EST5EDT,J366,J1",
        "EST5 ",
        "EST5\n",
        "EST5EDT,M3.5.0,M10.5.0,",
        "EST5;id",
        ":EST5",
        "EST5EDT,M3.5,M10.5.0",
        "EST9999",
    };
    (void)state;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (zone_is_rule(others[i]))
            fail_msg("%s", others[i]);
}

static enum err_code checked(const char *tz)
{
    struct err e = {0};
    return zone_check(tz, &e) ? e.code : ERR_NONE;
}

static void names_have_to_be_in_the_database(void **state)
{
    (void)state;
    if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK))
        skip();
    assert_int_equal(checked("Europe/Berlin"), ERR_NONE);
    assert_int_equal(checked("America/Argentina/Buenos_Aires"), ERR_NONE);
    assert_int_equal(checked("Etc/GMT+5"), ERR_NONE);
    assert_int_equal(checked("UTC"), ERR_NONE);
    assert_int_equal(checked("Europe/Atlantis"), ERR_INVALID);
    assert_int_equal(checked("Europe"), ERR_INVALID);    /* a directory */
    assert_int_equal(checked("tzdata.zi"), ERR_INVALID); /* a file, but no zone */
    assert_int_equal(checked("leapseconds"), ERR_INVALID);
}

static void no_name_leads_out_of_the_database(void **state)
{
    static const char *const names[] = {"../../../etc/passwd",
                                        "/usr/share/zoneinfo/UTC",
                                        "Europe/../UTC",
                                        "/UTC",
                                        "Europe//Berlin",
                                        "UTC/",
                                        ":UTC",
                                        "UTC\nX=1",
                                        "."};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(checked(names[i]), ERR_INVALID);
}

static void none_is_utc_and_the_longest_fits(void **state)
{
    char text[ZONE_SIZE + 1];
    (void)state;
    assert_int_equal(checked(""), ERR_NONE);
    memset(text, 'A', sizeof text);
    text[ZONE_SIZE - 2] = '5';
    text[ZONE_SIZE - 1] = '\0';
    assert_int_equal(checked(text), ERR_NONE);
    text[ZONE_SIZE - 2] = 'A';
    text[ZONE_SIZE - 1] = '5';
    text[ZONE_SIZE] = '\0';
    assert_int_equal(checked(text), ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_what_posix_says),
        cmocka_unit_test(what_is_no_rule_is_refused),
        cmocka_unit_test(names_have_to_be_in_the_database),
        cmocka_unit_test(no_name_leads_out_of_the_database),
        cmocka_unit_test(none_is_utc_and_the_longest_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
