#include "agent/cite.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"

#define LINK "sandbox:/mnt/data/"

/* clang-format off */
/* Names of files, and what is expected: name start-end, as Python's str.find counts. */
static const struct {
    const char *text, *files[4], *expected;
} cases[] = {
    {"See [a](" LINK "a.png).", {"a.png"},                              "a.png 8-31;"},
    {LINK "a.png", {"a.png"},                                           "a.png 0-23;"},
    {"\xF0\x9F\x98\x80 [a](" LINK "a.png)", {"a.png"},                  "a.png 6-29;"},
    {"\xE4\xB8\xAD\xE6\x96\x87\xEF\xBC\x9A[\xE5\x9B\xBE](" LINK "a.png)\xE3\x80\x82", {"a.png"}, "a.png 7-30;"},
    {"e\xCC\x81 " LINK "a.png", {"a.png"},                              "a.png 3-26;"},
    {"Here\xE2\x80\x99s " LINK "a.png", {"a.png"},                      "a.png 7-30;"},
    {LINK "\xE5\x9B\xBE\xF0\x9F\x98\x80.png end", {"\xE5\x9B\xBE\xF0\x9F\x98\x80.png"},
                                                                        "\xE5\x9B\xBE\xF0\x9F\x98\x80.png 0-24;"},
    {LINK "a.png and " LINK "a.png.txt", {"a.png", "a.png.txt"},        "a.png 0-23;a.png.txt 28-55;"},
    {LINK "a.png.txt", {"a.png"},                                       "a.png 0-0;"},
    {LINK "ab", {"a", "ab"},                                            "ab 0-20;a 0-0;"},
    {LINK "plots/a.png", {"plots", "plots/a.png"},                      "a.png 0-29;plots 0-0;"},
    {"[x](" LINK "my%20plot%20%281%29.png)", {"my plot (1).png"},       "my plot (1).png 4-45;"},
    {"[x](" LINK "my plot (1).png)", {"my plot (1).png"},               "my plot (1).png 4-37;"},
    {LINK "100%25.csv", {"100%.csv"},                                   "100%.csv 0-28;"},
    {LINK "100%.csv", {"100%.csv"},                                     "100%.csv 0-26;"},
    {LINK "%E5%9B%BE.png)", {"\xE5\x9B\xBE.png"},                       "\xE5\x9B\xBE.png 0-31;"},
    {LINK "a.png, " LINK "a.png.", {"a.png"},                           "a.png 0-23;a.png 25-48;"},
    {"nothing", {"a.png", "b/c.csv"},                                   "a.png 0-0;c.csv 0-0;"},
    {LINK "other.png", {"a.png"},                                       "a.png 0-0;"},
    {LINK, {"a.png"},                                                   "a.png 0-0;"},
    {LINK "a%2", {"a%20"},                                              "a%20 0-0;"},
    {"", {NULL},                                                        ""},
};
/* clang-format on */

static void files_are_cited_where_they_stand(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(json_decrefp) json_t *files = json_array(), *got = NULL;
        char told[256] = "";
        struct err e = {0};
        size_t k;
        json_t *one;
        for (k = 0; k < 4 && cases[i].files[k]; k++)
            json_array_append_new(files, json_pack("{s:s,s:s,s:s}", "path", cases[i].files[k],
                                                   "file_id", "cfile_1", "container_id", "cntr_1"));
        assert_int_equal(cite_files(cases[i].text, files, &got, &e), 0);
        json_array_foreach(got, k, one)
        {
            size_t used = strlen(told);
            assert_string_equal(json_string_value(json_object_get(one, "file_id")), "cfile_1");
            assert_string_equal(json_string_value(json_object_get(one, "container_id")), "cntr_1");
            (void)snprintf(told + used, sizeof told - used, "%s %d-%d;",
                           json_string_value(json_object_get(one, "filename")),
                           (int)json_integer_value(json_object_get(one, "start_index")),
                           (int)json_integer_value(json_object_get(one, "end_index")));
        }
        assert_string_equal(told, cases[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_are_cited_where_they_stand)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
