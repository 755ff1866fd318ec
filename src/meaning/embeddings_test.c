#include "meaning/embeddings.h"

#include <string.h>

#include "base/buf.h"
#include "base/expect.h"
#include "base/scope.h"
#include "meaning/meaning.h"

static const char two[] = "{\"data\":[{\"index\":1,\"embedding\":[0,-0.5]},"
                          "{\"index\":0,\"embedding\":[1,0.5]}],\"model\":\"m\"}";

static void a_request_names_the_model_and_the_texts(void **state)
{
    (void)state;
    scoped(buf_done) struct buf out = BUF_INIT(1000);
    const struct str texts[] = {str_of("a \"b\""), str_of("\xff\n")};
    embeddings_request("m-1", texts, 2, &out);
    assert_string_equal(out.bytes,
                        "{\"model\":\"m-1\",\"input\":[\"a \\\"b\\\"\",\"\xef\xbf\xbd\\n\"]}");
}

static void vectors_come_in_the_order_of_the_texts(void **state)
{
    (void)state;
    int8_t ret[4];
    uint32_t dim = 0;
    OK(embeddings_dim(str_of(two), &dim, e));
    assert_int_equal(dim, 2);
    OK(embeddings_read(str_of(two), 2, 2, ret, e));
    assert_int_equal(ret[0], 127);
    assert_int_equal(ret[1], 64);
    assert_int_equal(ret[2], 0);
    assert_int_equal(ret[3], -127);
}

static void an_answer_without_numbers_of_texts_is_in_their_order(void **state)
{
    (void)state;
    int8_t ret[4];
    OK(embeddings_read(str_of("{\"data\":[{\"embedding\":[1,0]},{\"embedding\":[0,1]}]}"), 2, 2,
                       ret, e));
    assert_int_equal(ret[0], 127);
    assert_int_equal(ret[3], 127);
}

static void what_is_no_answer_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"data\":{}}",
        "{\"data\":[]}",
        "{\"data\":[1]}",
        "{\"data\":[{\"index\":0}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1,2,3]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1,\"2\"]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1,1e300]}]}",
        "{\"data\":[{\"index\":1,\"embedding\":[1,2]}]}",
        "{\"data\":[{\"index\":-1,\"embedding\":[1,2]}]}",
        "{\"data\":[{\"index\":0,\"embedding\":[1,2]},{\"index\":1,\"embedding\":[1,2]}]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int8_t ret[2];
        FAILS(ERR_PROTOCOL, embeddings_read(str_of(bad[i]), 1, 2, ret, e));
    }
    int8_t ret[4];
    FAILS(ERR_PROTOCOL, embeddings_read(str_of("{\"data\":[{\"index\":0,\"embedding\":[1,2]},"
                                               "{\"index\":0,\"embedding\":[1,2]}]}"),
                                        2, 2, ret, e));
}

/* An answer with one vector of `dim` ones. */
static void put_answer(struct buf *out, uint32_t dim)
{
    buf_str(out, "{\"data\":[{\"embedding\":[");
    for (uint32_t i = 0; i < dim; i++)
        buf_str(out, i ? ",1" : "1");
    buf_str(out, "]}]}");
}

static void the_largest_dimension_is_taken_and_one_more_is_not(void **state)
{
    (void)state;
    scoped(buf_done) struct buf fits = BUF_INIT(100000), exceeds = BUF_INIT(100000);
    uint32_t dim = 0;
    put_answer(&fits, MEANING_DIM_MAX);
    put_answer(&exceeds, MEANING_DIM_MAX + 1);
    OK(embeddings_dim((struct str){fits.bytes, fits.len}, &dim, e));
    assert_int_equal(dim, MEANING_DIM_MAX);
    FAILS(ERR_PROTOCOL, embeddings_dim((struct str){exceeds.bytes, exceeds.len}, &dim, e));
}

static void a_refusal_is_understood_and_put_on_one_line(void **state)
{
    (void)state;
    char message[EMBEDDINGS_MESSAGE_SIZE];
    embeddings_message(str_of("{\"error\":{\"message\":\"no\\nsuch model\",\"type\":\"x\"}}"),
                       message);
    assert_string_equal(message, "no such model");
    embeddings_message(str_of("{\"error\":\"model not found\"}"), message);
    assert_string_equal(message, "model not found");
    embeddings_message(str_of("<html>"), message);
    assert_string_equal(message, "");
    embeddings_message(str_of("{\"error\":{\"message\":7}}"), message);
    assert_string_equal(message, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_names_the_model_and_the_texts),
        cmocka_unit_test(vectors_come_in_the_order_of_the_texts),
        cmocka_unit_test(an_answer_without_numbers_of_texts_is_in_their_order),
        cmocka_unit_test(what_is_no_answer_is_refused),
        cmocka_unit_test(the_largest_dimension_is_taken_and_one_more_is_not),
        cmocka_unit_test(a_refusal_is_understood_and_put_on_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
