/* Whatever an endpoint sends: Chat Completions and Responses, as they should be and as they are. */
#include "agent/model_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/expect.h"
#include "base/scope.h"

/* Everything the sink hears, as one line. */
struct heard {
    struct buf said;
    int enough; /* after so many it wants no more; 0: never */
};

static int count(struct heard *h)
{
    return h->enough && --h->enough == 0 ? -1 : 0;
}

static int hear_text(void *arg, struct str s)
{
    struct heard *h = arg;
    buf_fmt(&h->said, "t(%.*s)", (int)s.len, s.ptr);
    return count(h);
}

static int hear_reasoning(void *arg, struct str s)
{
    struct heard *h = arg;
    buf_fmt(&h->said, "r(%.*s)", (int)s.len, s.ptr);
    return count(h);
}

static int hear_refusal(void *arg, struct str s)
{
    struct heard *h = arg;
    buf_fmt(&h->said, "no(%.*s)", (int)s.len, s.ptr);
    return count(h);
}

static int hear_call(void *arg, size_t index, const char *id, const char *name)
{
    struct heard *h = arg;
    buf_fmt(&h->said, "c%zu(%s)", index, name);
    assert_true(*id);
    return count(h);
}

static int hear_arguments(void *arg, size_t index, struct str s)
{
    struct heard *h = arg;
    buf_fmt(&h->said, "a%zu(%.*s)", index, (int)s.len, s.ptr);
    return count(h);
}

struct trial {
    struct heard heard;
    struct model_sink sink;
    struct model_answer a;
    struct model_reader r;
};

static struct trial *trial_with(const char *key)
{
    struct trial *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->heard.said = BUF_INIT(1 << 20);
    t->sink = (struct model_sink){.text = hear_text,
                                  .reasoning = hear_reasoning,
                                  .refusal = hear_refusal,
                                  .call = hear_call,
                                  .arguments = hear_arguments,
                                  .arg = &t->heard};
    model_answer_done(&t->a);
    model_reader_init(&t->r, key, &t->sink, &t->a);
    return t;
}

static struct trial *trial_new(void)
{
    return trial_with("sesame");
}

static void trial_freep(struct trial **t)
{
    model_answer_done(&(*t)->a);
    buf_done(&(*t)->heard.said);
    free(*t);
}

static const char *said(const struct trial *t)
{
    return t->heard.said.len ? t->heard.said.bytes : "";
}

/* One chunk of Chat Completions with this delta. */
static int delta(struct trial *t, const char *json, struct err *e)
{
    char text[4096];
    (void)snprintf(text, sizeof text,
                   "{\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}", json);
    return chat_event(&t->r, str_of(text), e);
}

static void chunks_of_text_become_an_answer(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(delta(t, "{\"role\":\"assistant\",\"content\":\"\"}", e));
    OK(delta(t, "{\"reasoning_content\":\"hm\"}", e));
    OK(delta(t, "{\"reasoning\":\"m\",\"content\":null}", e));
    OK(delta(t, "{\"content\":\"Gr\\u00fc\"}", e));
    OK(delta(t, "{\"content\":[{\"type\":\"text\",\"text\":\"\xc3\x9f\"}]}", e));
    OK(chat_event(
        &t->r,
        str_of("{\"model\":\"m-1\",\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}"),
        e));
    OK(chat_event(&t->r,
                  str_of("{\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,"
                         "\"prompt_tokens_details\":{\"cached_tokens\":3},"
                         "\"completion_tokens_details\":{\"reasoning_tokens\":2}}}"),
                  e));
    OK(chat_event(&t->r, str_of("[DONE]"), e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t), "r(hm)r(m)t(Gr\xc3\xbc)t(\xc3\x9f)");
    assert_string_equal(t->a.text.bytes, "Gr\xc3\xbc\xc3\x9f");
    assert_string_equal(t->a.reasoning.bytes, "hmm");
    assert_string_equal(t->a.name, "m-1");
    assert_int_equal(t->a.finish, MODEL_LENGTH);
    assert_int_equal(t->a.usage.input, 7);
    assert_int_equal(t->a.usage.output, 5);
    assert_int_equal(t->a.usage.cached, 3);
    assert_int_equal(t->a.usage.reasoning, 2);
    assert_true(t->r.has_end);
}

#define FN(name, arguments) "\"function\":{\"name\":\"" name "\",\"arguments\":" arguments "}"

static void calls_come_in_pieces_and_mixed(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(delta(
        t,
        "{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"type\":\"function\"," FN("f", "\"\"") "}]}",
        e));
    OK(delta(t, "{\"tool_calls\":[{\"index\":1,\"id\":\"y\"," FN("g", "\"{\"") "}]}", e));
    OK(delta(t,
             "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{}\"}},"
             "{\"index\":1,\"function\":{\"arguments\":\"}\"}}]}",
             e));
    OK(chat_event(&t->r, str_of("{\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}"),
                  e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t), "c0(f)c1(g)a1({)a0({})a1(})");
    assert_int_equal(t->a.call_count, 2);
    assert_string_equal(t->a.calls[1].id, "y");
    assert_string_equal(t->a.calls[1].arguments.bytes, "{}");
    assert_int_equal(t->a.finish, MODEL_CALLS);
}

static void calls_without_number_id_or_type_are_understood(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(delta(t, "{\"tool_calls\":[{" FN("f", "{\"a\":1}") "}]}", e));
    OK(delta(t, "{\"tool_calls\":[{" FN("g", "\"{\"") "}]}", e));
    OK(delta(t, "{\"tool_calls\":[{\"function\":{\"arguments\":\"}\"}}]}", e));
    OK(chat_event(&t->r, str_of("{\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}"), e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t), "c0(f)a0({\"a\":1})c1(g)a1({)a1(})");
    assert_int_equal(strncmp(t->a.calls[0].id, "call_", 5), 0);
    assert_string_not_equal(t->a.calls[0].id, t->a.calls[1].id);
    assert_int_equal(t->a.finish, MODEL_CALLS);
}

static void calls_that_are_all_numbered_0_are_several(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(delta(t,
             "{\"tool_calls\":[{\"index\":0,\"id\":\"a\"," FN(
                 "f", "\"1\"") "},"
                               "{\"index\":0,\"id\":\"b\"," FN("f", "\"2\"") "}]}",
             e));
    assert_string_equal(said(t), "c0(f)a0(1)c1(f)a1(2)");
}

static void a_name_that_comes_late_or_twice_is_told_once_and_first(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(delta(t, "{\"tool_calls\":[{\"index\":0,\"id\":\"x\",\"function\":{\"arguments\":\"{\"}}]}",
             e));
    assert_string_equal(said(t), "");
    OK(delta(t, "{\"tool_calls\":[{\"index\":0,\"id\":\"x\"," FN("f", "\"}\"") "}]}", e));
    OK(delta(t, "{\"tool_calls\":[{\"index\":0,\"id\":\"x\"," FN("f", "\"\"") "}]}", e));
    OK(delta(t, "{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"z\"}}]}", e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t), "c0(f)a0({})c1()a1(z)");
}

static void an_answer_that_is_not_streamed_is_the_same(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(chat_whole(
        &t->r,
        str_of(
            "{\"model\":\"m\",\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"hi\","
            "\"refusal\":\"no\",\"tool_calls\":[{\"id\":\"x\"," FN(
                "f",
                "\"{}\"") "}]},"
                          "\"finish_reason\":\"tool_calls\"}],\"usage\":{\"prompt_tokens\":1}}"),
        e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t), "t(hi)no(no)c0(f)a0({})");
    assert_int_equal(t->a.usage.input, 1);
    scoped(trial_freep) struct trial *old = trial_new();
    OK(chat_whole(
        &old->r,
        str_of(
            "{\"choices\":[{\"message\":{\"function_call\":{\"name\":\"f\",\"arguments\":\"1\"}}}]}"),
        e));
    assert_string_equal(said(old), "c0(f)a0(1)");
}

static void an_error_in_the_stream_is_told_without_the_key(void **state)
{
    (void)state;
    static const char *const errors[] = {
        "{\"error\":{\"message\":\"overloaded, sesame\",\"code\":529,\"type\":\"t\"}}",
        "{\"error\":\"overloaded, sesame\"}",
        "[{\"error\":{\"message\":\"overloaded, sesame\"}}]",
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        scoped(trial_freep) struct trial *t = trial_new();
        struct err e = {0};
        assert_int_equal(chat_event(&t->r, str_of(errors[i]), &e), -1);
        assert_int_equal(e.code, ERR_UNAVAILABLE);
        assert_non_null(strstr(e.text, "overloaded, ***"));
        assert_true(t->r.has_failed);
        assert_int_equal(chat_whole(&t->r, str_of(errors[i]), &e), -1);
        assert_int_equal(responses_event(&t->r, str_of(errors[i]), &e), -1);
        assert_non_null(strstr(e.text, "overloaded, ***"));
    }
}

static void nonsense_is_a_protocol_error(void **state)
{
    (void)state;
    static const char *const bad[] = {"{", "nonsense", "7", "\"x\"", "null", "{\"a\":1,\"a\":2}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        scoped(trial_freep) struct trial *t = trial_new();
        FAILS(ERR_PROTOCOL, chat_event(&t->r, str_of(bad[i]), e));
        FAILS(ERR_PROTOCOL, responses_event(&t->r, str_of(bad[i]), e));
        FAILS(ERR_PROTOCOL, chat_whole(&t->r, str_of(bad[i]), e));
        FAILS(ERR_PROTOCOL, responses_whole(&t->r, str_of(bad[i]), e));
    }
    scoped(trial_freep) struct trial *t = trial_new();
    FAILS(ERR_PROTOCOL, chat_whole(&t->r, str_of("{\"output\":[]}"), e));
    FAILS(ERR_PROTOCOL, responses_whole(&t->r, str_of("{\"choices\":[]}"), e));
}

static void half_a_character_is_replaced(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(delta(t, "{\"content\":\"a\xc3\"}", e));
    assert_string_equal(t->a.text.bytes, "a\xef\xbf\xbd");
}

static void too_many_calls_are_refused(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    for (int i = 0; i < MODEL_CALLS_MAX; i++)
        OK(delta(t, "{\"tool_calls\":[{" FN("f", "\"\"") "}]}", e));
    FAILS(ERR_PROTOCOL, delta(t, "{\"tool_calls\":[{" FN("f", "\"\"") "}]}", e));
}

static void a_text_of_the_limit_is_taken_and_one_byte_more_is_not(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    t->r.sink = NULL;
    static char chunk[(1 << 20) + 64];
    (void)snprintf(chunk, sizeof chunk, "{\"choices\":[{\"delta\":{\"content\":\"%0*d\"}}]}",
                   1 << 20, 7);
    for (int i = 0; i < MODEL_TEXT_MAX >> 20; i++)
        OK(chat_event(&t->r, str_of(chunk), e));
    FAILS(ERR_PROTOCOL, delta(t, "{\"content\":\"x\"}", e));
}

static void who_has_enough_ends_it(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    t->heard.enough = 2;
    OK(delta(t, "{\"content\":\"a\"}", e));
    FAILS(ERR_GONE, delta(t, "{\"content\":\"b\"}", e));
}

/* ---- Responses ---- */

static int event(struct trial *t, const char *json, struct err *e)
{
    return responses_event(&t->r, str_of(json), e);
}

static void events_of_a_response_become_an_answer(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_new();
    OK(event(t, "{\"type\":\"response.created\",\"response\":{\"model\":\"m-1\"}}", e));
    OK(event(
        t,
        "{\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"delta\":\"hm\"}",
        e));
    OK(event(
        t,
        "{\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\"}}",
        e));
    OK(event(t, "{\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"Hi\"}",
             e));
    OK(event(
        t,
        "{\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\","
        "\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]}}",
        e));
    OK(event(
        t,
        "{\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\","
        "\"call_id\":\"x\",\"name\":\"f\",\"arguments\":\"\"}}",
        e));
    OK(event(
        t,
        "{\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"delta\":\"{}\"}",
        e));
    OK(event(
        t,
        "{\"type\":\"response.function_call_arguments.done\",\"output_index\":2,\"arguments\":\"{}\"}",
        e));
    OK(event(t, "{\"type\":\"response.unheard_of\"}", e));
    assert_false(t->r.has_end);
    OK(event(
        t,
        "{\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"error\":null,"
        "\"output\":[{},{\"type\":\"message\"},{\"type\":\"function_call\",\"call_id\":\"x\",\"name\":\"f\","
        "\"arguments\":\"{}\"}],\"usage\":{\"input_tokens\":7,\"output_tokens\":5}}}",
        e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t), "r(hm)t(Hi)c0(f)a0({})");
    assert_int_equal(t->a.call_count, 1);
    assert_string_equal(t->a.calls[0].id, "x");
    assert_string_equal(t->a.name, "m-1");
    assert_int_equal(t->a.finish, MODEL_CALLS);
    assert_int_equal(t->a.usage.input, 7);
    assert_true(t->r.has_end);
}

static void a_response_without_deltas_is_read_at_its_end(void **state)
{
    (void)state;
    static const char whole[] =
        "{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"output\":["
        "{\"type\":\"reasoning\",\"summary\":[{\"text\":\"hm\"}]},"
        "{\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\"}]},"
        "{\"type\":\"function_call\",\"call_id\":\"x\",\"name\":\"f\",\"arguments\":\"{}\"}]}";
    char text[1024];
    scoped(trial_freep) struct trial *t = trial_new(), *u = trial_new();
    (void)snprintf(text, sizeof text, "{\"type\":\"response.incomplete\",\"response\":%s}", whole);
    OK(event(t, text, e));
    OK(responses_whole(&u->r, str_of(whole), e));
    assert_string_equal(said(t), "r(hm)t(Hi)c0(f)a0({})");
    assert_string_equal(said(u), said(t));
    assert_int_equal(t->a.finish, MODEL_LENGTH);
}

static void a_response_that_failed_says_why(void **state)
{
    (void)state;
    static const char *const failures[] = {
        "{\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":\"c\",\"message\":\"too bad\"}}}",
        "{\"type\":\"error\",\"error\":{\"code\":\"c\",\"message\":\"too bad\"}}",
        "{\"type\":\"error\",\"code\":\"c\",\"message\":\"too bad\"}",
    };
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        scoped(trial_freep) struct trial *t = trial_new();
        struct err e = {0};
        assert_int_equal(event(t, failures[i], &e), -1);
        assert_int_equal(e.code, ERR_UNAVAILABLE);
        assert_non_null(strstr(e.text, "too bad"));
    }
}

static void the_key_is_in_nothing_that_is_said(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_with("sesame12");
    OK(delta(t, "{\"content\":\"my key is se\"}", e));
    OK(delta(t, "{\"content\":\"sam\"}", e));
    OK(delta(t, "{\"content\":\"e12, sesame12, ses\"}", e));
    OK(delta(t, "{\"reasoning\":\"ame12 se\"}", e)); /* of something else */
    OK(delta(t, "{\"tool_calls\":[{\"index\":0,\"id\":\"x\"," FN("f", "\"{'a':'sesa\"") "}]}", e));
    OK(delta(t, "{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"me12'}\"}}]}", e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(said(t),
                        "t(my key is )t(***, ***, )t(ses)r(ame12 )r(se)c0(f)a0({'a':')a0(***'})");
    assert_string_equal(t->a.text.bytes, "my key is ***, ***, ses");
    assert_string_equal(t->a.reasoning.bytes, "ame12 se");
    assert_string_equal(t->a.calls[0].arguments.bytes, "{'a':'***'}");
}

static void a_word_that_stands_for_a_key_is_no_secret(void **state)
{
    (void)state;
    static const char *const words[] = {"",       "x",          "EMPTY",
                                        "ollama", "not-needed", "sk-no-key-required"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        scoped(trial_freep) struct trial *t = trial_with(words[i]);
        char content[100], wanted[100];
        (void)snprintf(content, sizeof content, "{\"content\":\"ask %s x\"}", words[i]);
        (void)snprintf(wanted, sizeof wanted, "t(ask %s x)", words[i]);
        OK(delta(t, content, e));
        assert_string_equal(said(t), wanted);
    }
}

static void what_only_begins_like_the_key_comes_once(void **state)
{
    (void)state;
    scoped(trial_freep) struct trial *t = trial_with("sesame12");
    OK(responses_event(
        &t->r,
        str_of("{\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{"
               "\"type\":\"function_call\",\"call_id\":\"x\",\"name\":\"f\"}}"),
        e));
    OK(responses_event(&t->r,
                       str_of("{\"type\":\"response.function_call_arguments.delta\","
                              "\"output_index\":0,\"delta\":\"se\"}"),
                       e));
    OK(responses_event(&t->r,
                       str_of("{\"type\":\"response.function_call_arguments.done\","
                              "\"output_index\":0,\"arguments\":\"se\"}"),
                       e));
    OK(model_reader_end(&t->r, e));
    assert_string_equal(t->a.calls[0].arguments.bytes, "se");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_text_become_an_answer),
        cmocka_unit_test(calls_come_in_pieces_and_mixed),
        cmocka_unit_test(calls_without_number_id_or_type_are_understood),
        cmocka_unit_test(calls_that_are_all_numbered_0_are_several),
        cmocka_unit_test(a_name_that_comes_late_or_twice_is_told_once_and_first),
        cmocka_unit_test(an_answer_that_is_not_streamed_is_the_same),
        cmocka_unit_test(an_error_in_the_stream_is_told_without_the_key),
        cmocka_unit_test(nonsense_is_a_protocol_error),
        cmocka_unit_test(half_a_character_is_replaced),
        cmocka_unit_test(too_many_calls_are_refused),
        cmocka_unit_test(a_text_of_the_limit_is_taken_and_one_byte_more_is_not),
        cmocka_unit_test(who_has_enough_ends_it),
        cmocka_unit_test(events_of_a_response_become_an_answer),
        cmocka_unit_test(a_response_without_deltas_is_read_at_its_end),
        cmocka_unit_test(a_response_that_failed_says_why),
        cmocka_unit_test(the_key_is_in_nothing_that_is_said),
        cmocka_unit_test(a_word_that_stands_for_a_key_is_no_secret),
        cmocka_unit_test(what_only_begins_like_the_key_comes_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
