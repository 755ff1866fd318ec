/* What events.h and response_object.h promise. */
#include "openai/events.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "agent/model.h"
#include "base/buf.h"
#include "base/scope.h"
#include "openai/request.h"
#include "openai/response_object.h"
#include "openai/shape.h"

/* ---- what was told ---- */

struct heard {
    struct buf list; /* names without "response.", with what matters of each */
    json_t *last;
    uint64_t count;
};

static void hear(void *arg, const char *event, struct str data)
{
    struct heard *h = arg;
    json_decref(h->last);
    h->last = json_loadb(data.ptr, data.len, 0, NULL);
    assert_non_null(h->last);
    assert_null(memchr(data.ptr, '\n', data.len));
    assert_true(shape_is(h->last, "type", event));
    assert_int_equal(json_integer_value(json_object_get(h->last, "sequence_number")), h->count++);
    buf_str(&h->list, strncmp(event, "response.", 9) == 0 ? event + 9 : event);
    if (json_object_get(h->last, "output_index"))
        buf_fmt(&h->list, " %d", (int)json_integer_value(json_object_get(h->last, "output_index")));
    if (json_object_get(h->last, "delta"))
        buf_fmt(&h->list, " '%s'", shape_text(h->last, "delta"));
    buf_str(&h->list, "\n");
}

static struct oa_events begin(struct heard *h)
{
    *h = (struct heard){.list = BUF_INIT(1 << 20)};
    return (struct oa_events){.emit = hear, .arg = h};
}

static void end(struct heard *h, struct oa_events *ev, const char *expected)
{
    assert_false(ev->has_failed);
    assert_string_equal(h->list.bytes, expected);
    oa_events_done(ev);
    buf_done(&h->list);
    json_decref(h->last);
}

static json_t *parse(const char *text)
{
    json_t *v = json_loads(text, 0, NULL);
    if (!v)
        fail_msg("no JSON: %s", text);
    return v;
}

static json_t *a_response(void)
{
    scoped(json_decrefp) json_t *body = parse("{\"input\":\"x\",\"tools\":[{\"type\":"
                                              "\"code_interpreter\",\"container\":{\"type\":"
                                              "\"auto\"}}],\"user\":\"u\"}");
    struct oa_request q;
    struct refusal r;
    assert_int_equal(oa_request_read(body, &q, &r), 0);
    json_t *made = oa_response_make(&q, "resp_1", "m", 1700000000, "in_progress");
    assert_non_null(made);
    oa_request_done(&q);
    return made;
}

static const char call[] = "{\"id\":\"ci_1\",\"type\":\"code_interpreter_call\",\"status\":"
                           "\"completed\",\"code\":\"print(1)\",\"container_id\":\"cntr_1\","
                           "\"outputs\":[{\"type\":\"logs\",\"logs\":\"1\\n\"}],\"x_text\":\"1\"}";
static const char message[] =
    "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
    "\"content\":[{\"type\":\"output_text\",\"text\":\"It is 1.\",\"logprobs\":[],\"annotations\":["
    "{\"type\":\"container_file_citation\",\"file_id\":\"cfile_1\"}]}]}";

/* ---- the order ---- */

static void a_run_of_code_comes_in_the_recorded_order(void **state)
{
    struct heard h;
    struct oa_events ev = begin(&h);
    scoped(json_decrefp) json_t *r = a_response(), *ci = parse(call), *msg = parse(message);
    (void)state;
    oa_events_response(&ev, "response.created", r);
    oa_events_response(&ev, "response.in_progress", r);
    oa_events_item(&ev, 0, ci);
    oa_events_delta(&ev, 0, OA_CODE, str_of("print("));
    oa_events_delta(&ev, 0, OA_CODE, str_of("1)"));
    oa_events_running(&ev, 0, ci);
    oa_events_ran(&ev, 0);
    oa_events_item_done(&ev, 0, ci);
    oa_events_item(&ev, 1, msg);
    oa_events_delta(&ev, 1, OA_TEXT, str_of("It "));
    oa_events_delta(&ev, 1, OA_TEXT, str_of("is 1."));
    oa_events_item_done(&ev, 1, msg);
    oa_events_response(&ev, "response.completed", r);
    end(&h, &ev,
        "created\nin_progress\n"
        "output_item.added 0\ncode_interpreter_call.in_progress 0\n"
        "code_interpreter_call_code.delta 0 'print('\ncode_interpreter_call_code.delta 0 '1)'\n"
        "code_interpreter_call_code.done 0\ncode_interpreter_call.interpreting 0\n"
        "code_interpreter_call.completed 0\noutput_item.done 0\n"
        "output_item.added 1\ncontent_part.added 1\noutput_text.delta 1 'It '\n"
        "output_text.delta 1 'is 1.'\noutput_text.annotation.added 1\noutput_text.done 1\n"
        "content_part.done 1\noutput_item.done 1\ncompleted\n");
}

static void reasoning_refusals_and_functions_have_theirs(void **state)
{
    struct heard h;
    struct oa_events ev = begin(&h);
    scoped(json_decrefp) json_t *rs =
        parse("{\"id\":\"rs_1\",\"type\":\"reasoning\",\"summary\":[],\"content\":[{\"type\":"
              "\"reasoning_text\",\"text\":\"hm\"}]}");
    scoped(json_decrefp) json_t *no = parse(
        "{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"completed\",\"role\":\"assistant\","
        "\"content\":[{\"type\":\"refusal\",\"refusal\":\"no\"}]}");
    scoped(json_decrefp) json_t *fc = parse(
        "{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"completed\",\"call_id\":\"call_1\""
        ",\"name\":\"f\",\"arguments\":\"{}\"}");
    (void)state;
    oa_events_item(&ev, 0, rs);
    oa_events_delta(&ev, 0, OA_REASONING, str_of("hm"));
    oa_events_item_done(&ev, 0, rs);
    oa_events_item(&ev, 1, no);
    oa_events_delta(&ev, 1, OA_REFUSAL, str_of("no"));
    oa_events_item_done(&ev, 1, no);
    oa_events_item(&ev, 2, fc);
    oa_events_delta(&ev, 2, OA_ARGUMENTS, str_of("{}"));
    oa_events_item_done(&ev, 2, fc);
    end(&h, &ev,
        "output_item.added 0\ncontent_part.added 0\nreasoning_text.delta 0 'hm'\n"
        "reasoning_text.done 0\ncontent_part.done 0\noutput_item.done 0\n"
        "output_item.added 1\ncontent_part.added 1\nrefusal.delta 1 'no'\nrefusal.done 1\n"
        "content_part.done 1\noutput_item.done 1\n"
        "output_item.added 2\nfunction_call_arguments.delta 2 '{}'\n"
        "function_call_arguments.done 2\noutput_item.done 2\n");
}

static void what_was_not_streamed_is_one_delta(void **state)
{
    struct heard h;
    struct oa_events ev = begin(&h);
    scoped(json_decrefp) json_t *r = a_response(), *ci = parse(call), *msg = parse(message);
    (void)state;
    json_array_append(oa_response_output(r), ci);
    json_array_append(oa_response_output(r), msg);
    oa_response_status(r, "completed");
    h.count = 0;
    oa_events_again(&ev, r, 0);
    end(&h, &ev,
        "created\nin_progress\n"
        "output_item.added 0\ncode_interpreter_call.in_progress 0\n"
        "code_interpreter_call_code.delta 0 'print(1)'\n"
        "code_interpreter_call_code.done 0\ncode_interpreter_call.interpreting 0\n"
        "code_interpreter_call.completed 0\noutput_item.done 0\n"
        "output_item.added 1\ncontent_part.added 1\noutput_text.delta 1 'It is 1.'\n"
        "output_text.annotation.added 1\noutput_text.done 1\n"
        "content_part.done 1\noutput_item.done 1\ncompleted\n");
}

static void what_was_not_begun_is_not_told(void **state)
{
    struct heard h;
    struct oa_events ev = begin(&h);
    scoped(json_decrefp) json_t *msg = parse(message);
    (void)state;
    buf_str(&h.list, "");
    oa_events_delta(&ev, 0, OA_TEXT, str_of("x"));
    oa_events_item_done(&ev, 0, msg);
    oa_events_ran(&ev, 3);
    oa_events_item(&ev, 1, msg); /* a gap */
    assert_int_equal(h.count, 0);
    oa_events_item(&ev, 0, msg);
    oa_events_item(&ev, 0, msg); /* twice */
    end(&h, &ev, "output_item.added 0\n");
}

static void an_error_has_its_keys_twice(void **state)
{
    struct heard h;
    struct oa_events ev = begin(&h);
    (void)state;
    oa_events_error(&ev, "server_error", "rate_limit_exceeded", "slow\ndown");
    const json_t *nested = json_object_get(h.last, "error");
    assert_true(shape_is(h.last, "code", "rate_limit_exceeded") &&
                shape_is(h.last, "message", "slow\ndown") &&
                shape_is(nested, "code", "rate_limit_exceeded") &&
                shape_is(nested, "type", "server_error") && json_object_get(nested, "param"));
    end(&h, &ev, "error\n");
}

static void an_image_of_12_mb_is_one_event(void **state)
{
    enum { LEN = 16 << 20 };
    struct heard h;
    struct oa_events ev = begin(&h);
    scoped(json_decrefp) json_t *ci = parse(call);
    scoped(freep) char *url = malloc(LEN + 1);
    (void)state;
    memset(url, 'A', LEN);
    url[LEN] = 0;
    json_array_append_new(json_object_get(ci, "outputs"),
                          json_pack("{s:s, s:s}", "type", "image", "url", url));
    oa_events_item(&ev, 0, ci);
    oa_events_item_done(&ev, 0, ci);
    const json_t *outputs = json_object_get(json_object_get(h.last, "item"), "outputs");
    assert_int_equal(json_string_length(json_object_get(json_array_get(outputs, 1), "url")), LEN);
    assert_false(ev.has_failed);
    oa_events_done(&ev);
    buf_done(&h.list);
    json_decref(h.last);
}

/* ---- the object ---- */

static void a_response_has_all_its_keys(void **state)
{
    static const char *const keys[] = {"id",
                                       "object",
                                       "created_at",
                                       "status",
                                       "background",
                                       "completed_at",
                                       "error",
                                       "incomplete_details",
                                       "instructions",
                                       "max_output_tokens",
                                       "max_tool_calls",
                                       "model",
                                       "output",
                                       "parallel_tool_calls",
                                       "previous_response_id",
                                       "prompt_cache_key",
                                       "reasoning",
                                       "safety_identifier",
                                       "service_tier",
                                       "store",
                                       "temperature",
                                       "text",
                                       "tool_choice",
                                       "tools",
                                       "top_logprobs",
                                       "top_p",
                                       "truncation",
                                       "usage",
                                       "user",
                                       "metadata"};
    scoped(json_decrefp) json_t *r = a_response();
    const struct model_usage usage = {.input = 10, .cached = 4, .output = 5, .reasoning = 2};
    const struct oa_end over = {
        .status = "incomplete", .reason = "max_output_tokens", .usage = &usage, .ended_s = 7};
    (void)state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(r, keys[i]))
            fail_msg("no %s", keys[i]);
    assert_true(shape_is(r, "user", "u"));
    assert_int_equal(oa_response_end(r, &over), 0);
    scoped(json_decrefp) json_t *expected = parse(
        "{\"input_tokens\":10,\"input_tokens_details\":{\"cached_tokens\":4,\"cache_write_tokens\":"
        "0},\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":2},"
        "\"total_tokens\":15}");
    assert_true(json_equal(json_object_get(r, "usage"), expected));
    assert_true(shape_is(json_object_get(r, "incomplete_details"), "reason", "max_output_tokens"));
    assert_true(json_is_null(json_object_get(r, "completed_at")));
}

static void outputs_are_shown_to_who_may_see_them(void **state)
{
    scoped(json_decrefp) json_t *r = a_response();
    (void)state;
    json_array_append_new(oa_response_output(r), parse(call));
    scoped(json_decrefp) json_t *all = oa_response_shown(r, true),
                                *less = oa_response_shown(r, false);
    const json_t *a = json_array_get(json_object_get(all, "output"), 0),
                 *b = json_array_get(json_object_get(less, "output"), 0),
                 *kept = json_array_get(json_object_get(r, "output"), 0);
    assert_int_equal(json_array_size(json_object_get(a, "outputs")), 1);
    assert_true(json_is_null(json_object_get(b, "outputs")));
    assert_null(json_object_get(a, "x_text"));
    assert_non_null(json_object_get(kept, "x_text"));
    assert_int_equal(json_array_size(json_object_get(kept, "outputs")), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_code_comes_in_the_recorded_order),
        cmocka_unit_test(reasoning_refusals_and_functions_have_theirs),
        cmocka_unit_test(what_was_not_streamed_is_one_delta),
        cmocka_unit_test(what_was_not_begun_is_not_told),
        cmocka_unit_test(an_error_has_its_keys_twice),
        cmocka_unit_test(an_image_of_12_mb_is_one_event),
        cmocka_unit_test(a_response_has_all_its_keys),
        cmocka_unit_test(outputs_are_shown_to_who_may_see_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
