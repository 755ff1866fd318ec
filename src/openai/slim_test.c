/* What slim.h promises. */
#include "openai/slim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/scope.h"
#include "openai/shape.h"

static json_t *slim(json_t *items, size_t index, const char *key)
{
    return json_array_get(json_object_get(json_array_get(items, index), key), 0);
}

static void bytes_become_words_and_the_rest_stays(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *items = json_loads(
        "[{\"type\":\"code_interpreter_call\",\"outputs\":[{\"type\":\"image\",\"url\":"
        "\"data:image/png;base64,AAAA\"},{\"type\":\"logs\",\"logs\":\"42\"}]},"
        "{\"type\":\"message\",\"content\":[{\"type\":\"input_image\",\"image_url\":"
        "\"data:image/png;base64,AAAA\",\"x_path\":\"/mnt/data/a.png\"}]},"
        "{\"type\":\"message\",\"content\":[{\"type\":\"input_file\",\"filename\":\"b.txt\","
        "\"file_data\":\"data:;base64,AAAA\"}]},"
        "{\"type\":\"message\",\"content\":[{\"type\":\"input_file\",\"file_id\":\"file-1\"}]},"
        "{\"type\":\"function_call_output\",\"output\":\"plain\"}]",
        0, NULL);
    assert_non_null(items);
    scoped(json_decrefp) json_t *before = json_deep_copy(items);
    scoped(json_decrefp) json_t *made = oa_slim(items);
    assert_true(json_equal(items, before));
    assert_non_null(strstr(shape_text(slim(made, 0, "outputs"), "logs"), "an image of"));
    assert_true(
        json_equal(json_array_get(json_object_get(json_array_get(made, 0), "outputs"), 1),
                   json_array_get(json_object_get(json_array_get(items, 0), "outputs"), 1)));
    assert_non_null(strstr(shape_text(slim(made, 1, "content"), "text"), "/mnt/data/a.png"));
    assert_non_null(strstr(shape_text(slim(made, 2, "content"), "text"), "file b.txt"));
    assert_true(json_equal(json_array_get(made, 3), json_array_get(items, 3)));
    assert_true(json_equal(json_array_get(made, 4), json_array_get(items, 4)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_words_and_the_rest_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
