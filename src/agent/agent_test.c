#include "agent/agent_fixture.h"

#include "agent/cite.h"
#include "agent/tell.h"

#define CODE(code) "{\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"" code "\"}}]}"
#define FAILED \
    "{\"id\":\"run_2\",\"end\":\"error\",\"state\":\"kept\",\"stdout\":\"\",\"error\":{\"name\":\"E\",\"message\":\"m\",\"line\":1,\"traceback\":\"Traceback\\nE: m\"}}"

/* ---- the order of things ---- */

static void success_at_once(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"think\":\"hm\",\"say\":\"Let me see.\",\"calls\":[{\"name\":\"python\",\"arguments\":"
           "{\"code\":\"6*7\"}}],\"usage\":[100,20]},{\"say\":\"It is 42.\",\"usage\":[150,10]}]",
           NULL),
        0);
    check_heard("+0reasoning r0[hm] -0completed +1message t1[Let me see.] -1completed "
                "+2code_interpreter_call c2[6*7] running2[6*7] ran2[ok] -2completed "
                "+3message t3[It is 42.] -3completed");
    assert_int_equal(fixture->o.end, AGENT_ANSWERED);
    assert_int_equal(fixture->o.questions, 2);
    assert_int_equal(fixture->o.calls, 1);
    assert_int_equal(fixture->o.failed_calls, 0);
    assert_int_equal(fixture->o.usage.input, 250);
    assert_int_equal(fixture->o.usage.output, 30);
    assert_string_equal(fixture->o.model, "fake-1");
    const json_t *call = item_at(2);
    assert_string_equal(get(call, "container_id"), "cntr_1");
    assert_string_equal(get(call, "x_text"), "42\n");
    assert_string_equal(get(json_object_get(call, "x_run"), "id"), "run_1");
    assert_string_equal(get(json_array_get(json_object_get(call, "outputs"), 0), "logs"), "42\n");
    assert_int_equal(
        json_integer_value(json_object_get(
            json_array_get(
                json_object_get(json_array_get(json_object_get(item_at(3), "content"), 0),
                                "annotations"),
                0),
            "length")),
        9);
    /* The second question has what came of it, and no reasoning. */
    assert_int_equal(json_array_size(asked_at(1, "items")), 3);
    assert_string_equal(get(last_asked(1), "x_text"), "42\n");
    assert_int_equal(fixture->opened, 1);
}

static void thoughts_in_what_is_said_are_reasoning(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"chunk\":6,\"say\":\"<think>hm ok</think>\\n\\nYes.\"}]", NULL), 0);
    check_heard("+0reasoning r0[hm ok] -0completed +1message t1[Ye] t1[s.] -1completed");
}

static void code_streams_while_it_comes(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"chunk\":5,\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"a=1\\nb=2\"}}]},"
           "{\"say\":\"ok\"}]",
           NULL),
        0);
    check_heard("+0code_interpreter_call c0[a] c0[=1\nb] c0[=2] running0[a=1\nb=2] ran0[ok] "
                "-0completed +1message t1[ok] -1completed");
}

static void two_failures_then_success(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("a") "," CODE("b") "," CODE("c") ",{\"say\":\"done\"}]",
                        "[" FAILED "," FAILED "," RUN_OK "]"),
                     0);
    assert_int_equal(fixture->o.calls, 3);
    assert_int_equal(fixture->o.failed_calls, 2);
    assert_string_equal(get(last_asked(1), "x_text"), "Traceback\nE: m\n");
    assert_string_equal(get(item_at(0), "status"), "completed");
    assert_string_equal(get(json_array_get(json_object_get(item_at(0), "outputs"), 0), "logs"),
                        "Traceback\nE: m");
    assert_string_equal(said_at(3), "done");
    assert_int_equal(fixture->opened, 1);
}

static void it_never_succeeds_and_the_limit_holds(void **state)
{
    (void)state;
    fixture->w.limits.calls_max = 3;
    assert_int_equal(
        go("[" CODE("a") "," CODE("b") "," CODE("c") ",{\"say\":\"It did not work.\"}]",
           "[" FAILED "]"),
        0);
    assert_int_equal(fixture->o.end, AGENT_CALLS_LIMIT);
    assert_int_equal(fixture->ran, 3);
    assert_int_equal(fixture->asked, 4);
    assert_string_equal(json_string_value(asked_at(2, "choice")), "auto");
    assert_string_equal(json_string_value(asked_at(3, "choice")), "none");
    assert_non_null(strstr(get(last_asked(3), "x_text"), "All 3 calls"));
    assert_null(strstr(get(item_at(2), "x_text"), "All 3 calls"));
    assert_string_equal(said_at(3), "It did not work.");
}

static void a_model_that_calls_on_at_the_limit_is_not_heard(void **state)
{
    (void)state;
    fixture->w.limits.calls_max = 2;
    assert_int_equal(go("[" CODE("a") "]", NULL), 0);
    assert_int_equal(fixture->o.end, AGENT_CALLS_LIMIT);
    assert_int_equal(fixture->ran, 2);
    assert_int_equal(json_array_size(fixture->o.items), 3);
    assert_non_null(strstr(said_at(2), "I could not finish: all 2 calls"));
}

/* ---- how runs end ---- */

static void a_timeout_and_a_lack_of_memory_are_told(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("a") "," CODE("b") ",{\"say\":\"ok\"}]",
                        "[{\"id\":\"r\",\"end\":\"timeout\",\"state\":\"kept\",\"stdout\":\"x\"},"
                        "{\"id\":\"r\",\"end\":\"memory\",\"state\":\"fresh\"}]"),
                     0);
    assert_memory_equal(get(item_at(0), "x_text"), "x\n[timeout: The code took too long", 30);
    assert_non_null(strstr(get(item_at(1), "x_text"), "[memory: The code needed more memory"));
    assert_non_null(strstr(get(item_at(1), "x_text"), "of earlier runs are gone"));
    assert_int_equal(fixture->o.failed_calls, 2);
}

static void a_conversation_goes_on_without_its_variables(void **state)
{
    (void)state;
    json_array_append_new(fixture->items,
                          json_pack("{s:s,s:s,s:s,s:s}", "type", "code_interpreter_call", "id",
                                    "ci_0", "code", "x=1", "x_text", "1"));
    json_array_append_new(fixture->items,
                          json_pack("{s:s,s:s}", "role", "user", "content", "and?"));
    assert_int_equal(go("[" CODE("x") ",{\"say\":\"ok\"}]",
                        "[{\"id\":\"r\",\"end\":\"ok\",\"state\":\"fresh\",\"stdout\":\"1\"}]"),
                     0);
    assert_non_null(strstr(get(item_at(0), "x_text"), "files in /mnt/data are there"));
}

static void images_are_shown_to_a_model_that_takes_them(void **state)
{
    (void)state;
    fixture->has_images = true;
    assert_int_equal(
        go("[" CODE("plot") ",{\"say\":\"nice\"}]",
           "[{\"id\":\"r\",\"end\":\"ok\",\"state\":\"kept\",\"displays\":[{\"image/png\":\"aGk=\"}]}]"),
        0);
    const json_t *content = json_object_get(last_asked(1), "content");
    assert_string_equal(get(last_asked(1), "role"), "user");
    assert_string_equal(get(json_array_get(content, 1), "image_url"), "data:image/png;base64,aGk=");
    assert_int_equal(json_array_size(fixture->o.items), 2);
}

/* A sink as a door has it: files that runs made are cited in the answer. */
static void keep_files(void *arg, size_t index, const json_t *run)
{
    struct err e = {0};
    (void)index;
    assert_int_equal(tell_files(run, arg, &e), 0);
}

static void cite(void *arg, const char *text, json_t **ret)
{
    struct err e = {0};
    json_t **files = arg;
    assert_int_equal(cite_files(text, *files, ret, &e), 0);
}

static void a_file_is_made_and_cited(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *files = NULL;
    const struct agent_sink sink = {.ran = keep_files, .annotate = cite, .arg = &files};
    fixture->script = json_of(
        "[" CODE("save()") ",{\"say\":\"\xF0\x9F\x98\x80 [it](sandbox:/mnt/data/a.csv)\"}]");
    fixture->runs = json_of(
        "[{\"id\":\"r\",\"end\":\"ok\",\"state\":\"kept\",\"files\":[{\"path\":\"a.csv\",\"change\":\"created\",\"size\":3,\"mime\":\"text/csv\"}]}]");
    assert_int_equal(agent_run(NULL, &fixture->w, &sink, &fixture->halt, &fixture->o, &fixture->e),
                     0);
    assert_string_equal(
        get(item_at(0), "x_text"),
        "[The code ran and printed nothing.]\n[file created: /mnt/data/a.csv, 3 bytes]\n");
    const json_t *notes =
        json_object_get(json_array_get(json_object_get(item_at(1), "content"), 0), "annotations");
    assert_int_equal(json_array_size(notes), 1);
    const json_t *note = json_array_get(notes, 0);
    assert_string_equal(get(note, "filename"), "a.csv");
    assert_int_equal(json_integer_value(json_object_get(note, "start_index")), 7);
    assert_int_equal(json_integer_value(json_object_get(note, "end_index")), 30);
}

static void code_that_cannot_be_run_is_told_three_times(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("a") "]", "[{\"fail\":\"overloaded\"}]"), -1);
    assert_int_equal(fixture->e.code, ERR_OVERLOADED);
    assert_int_equal(fixture->ran, 3);
    assert_int_equal(json_array_size(fixture->o.items), 3);
    const json_t *outputs = json_object_get(item_at(0), "outputs");
    assert_string_equal(get(json_array_get(outputs, 0), "logs"), get(item_at(0), "x_text"));
    assert_string_equal(get(item_at(0), "status"), "failed");
    assert_non_null(strstr(get(last_asked(1), "x_text"), "no room for a session"));
}

/* The words of these are for the server's log alone. */
static void a_fault_of_the_server_is_not_told_in_its_own_words(void **state)
{
    (void)state;
    assert_int_equal(
        go("[" CODE("a") "]",
           "[{\"fail\":\"internal_error\"},{\"fail\":\"damaged\"},{\"fail\":\"protocol_error\"}]"),
        -1);
    assert_int_equal(fixture->e.code, ERR_INTERNAL); /* what is above hides and logs it */
    assert_int_equal(json_array_size(fixture->o.items), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *outputs = json_object_get(item_at(i), "outputs");
        assert_non_null(strstr(get(item_at(i), "x_text"), "something went wrong on the server"));
        assert_null(strstr(get(item_at(i), "x_text"), "no room"));
        assert_null(strstr(get(json_array_get(outputs, 0), "logs"), "no room"));
    }
}

static void once_it_can_be_run_the_count_begins_anew(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("a") "," CODE("b") "," CODE("c") "," CODE("d") "," CODE(
                            "e") ",{\"say\":\"ok\"}]",
                        "[{\"fail\":\"overloaded\"},{\"fail\":\"unavailable\"}," RUN_OK
                        ",{\"fail\":\"overloaded\"},{\"fail\":\"busy\"}]"),
                     0);
    assert_int_equal(fixture->o.failed_calls, 4);
}

static void without_a_container_nothing_is_run(void **state)
{
    (void)state;
    fixture->cannot_open = true;
    assert_int_equal(go("[" CODE("a") "]", NULL), -1);
    assert_int_equal(fixture->e.code, ERR_UNAVAILABLE);
    assert_int_equal(fixture->ran, 0);
}

/* ---- several calls ---- */

static void parallel_calls_run_in_order(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"a\"}},{\"name\":\"python\",\"arguments\":"
           "{\"code\":\"b\"}},{\"name\":\"python\",\"arguments\":{\"code\":\"c\"}}]},{\"say\":\"ok\"}]",
           NULL),
        0);
    check_heard("+0code_interpreter_call c0[a] running0[a] ran0[ok] -0completed "
                "+1code_interpreter_call c1[b] running1[b] ran1[ok] -1completed "
                "+2code_interpreter_call c2[c] running2[c] ran2[ok] -2completed "
                "+3message t3[ok] -3completed");
}

static void the_limit_holds_within_an_answer(void **state)
{
    (void)state;
    fixture->w.limits.calls_max = 1;
    assert_int_equal(
        go("[{\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"a\"}},{\"name\":\"python\",\"arguments\":"
           "{\"code\":\"b\"}}]},{\"say\":\"ok\"}]",
           NULL),
        0);
    assert_int_equal(fixture->ran, 1);
    assert_int_equal(fixture->o.end, AGENT_CALLS_LIMIT);
}

static void a_function_of_the_caller_ends_it_after_the_code(void **state)
{
    (void)state;
    fixture->functions = json_of("[{\"name\":\"get_price\",\"parameters\":{}}]");
    assert_int_equal(
        go("[{\"say\":\"wait\",\"calls\":[{\"name\":\"get_price\",\"arguments\":{\"of\":\"tea\"}},{\"name\":\"python\","
           "\"arguments\":{\"code\":\"a\"}},{\"name\":\"get_price\",\"arguments\":\"not json\"}]}]",
           NULL),
        0);
    check_heard("+0message t0[wait] -0completed "
                "+1code_interpreter_call c1[a] running1[a] ran1[ok] -1completed "
                "+2function_call a2[{\"of\":\"tea\"}] -2completed "
                "+3function_call a3[not json] -3completed");
    assert_int_equal(fixture->o.end, AGENT_FUNCTION);
    assert_string_equal(get(item_at(2), "name"), "get_price");
    assert_string_equal(get(item_at(2), "call_id"), "call_0_0");
    assert_string_equal(get(item_at(3), "arguments"), "not json");
    assert_int_equal(fixture->o.calls, 1);
}

static void after_the_callers_function_it_goes_on(void **state)
{
    (void)state;
    fixture->functions = json_of("[{\"name\":\"get_price\",\"parameters\":{}}]");
    json_array_append_new(
        fixture->items,
        json_of(
            "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c\",\"name\":\"get_price\",\"arguments\":\"{}\"}"));
    json_array_append_new(
        fixture->items,
        json_of("{\"type\":\"function_call_output\",\"call_id\":\"c\",\"output\":\"7\"}"));
    assert_int_equal(go("[" CODE("6*7") ",{\"say\":\"It is 42.\"}]", NULL), 0);
    assert_int_equal(fixture->o.end, AGENT_ANSWERED);
    assert_int_equal(json_array_size(asked_at(1, "items")), 4);
    assert_string_equal(get(json_array_get(asked_at(1, "items"), 2), "output"), "7");
    assert_int_equal(json_array_size(fixture->o.items), 2);
}

static void alone_a_function_streams_at_once(void **state)
{
    (void)state;
    fixture->w.hands = NULL;
    fixture->functions = json_of("[{\"name\":\"f\",\"parameters\":{}}]");
    assert_int_equal(
        go("[{\"chunk\":4,\"calls\":[{\"name\":\"f\",\"arguments\":{\"x\":1}}]}]", NULL), 0);
    check_heard("+0function_call a0[{\"x\"] a0[:1}] -0completed");
    assert_int_equal(fixture->o.end, AGENT_FUNCTION);
    assert_null(json_string_value(asked_at(0, "instructions")));
}

static void a_function_that_does_not_exist_is_told_to_the_model_alone(void **state)
{
    (void)state;
    fixture->functions = json_of("[{\"name\":\"f\",\"parameters\":{}}]");
    assert_int_equal(
        go("[{\"calls\":[{\"name\":\"browse\",\"arguments\":{}}]},{\"say\":\"ok\"}]", NULL), 0);
    assert_int_equal(json_array_size(fixture->o.items), 1);
    assert_string_equal(get(last_asked(1), "type"), "function_call_output");
    assert_string_equal(get(last_asked(1), "output"),
                        "error: there is no function \"browse\". There are: python, f");
    assert_int_equal(fixture->o.failed_calls, 1);
}

static void names_that_models_are_used_to_are_python(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"calls\":[{\"name\":\"code_interpreter\",\"arguments\":{\"code\":\"1\"}}]},{\"say\":\"ok\"}]",
           NULL),
        0);
    assert_string_equal(get(item_at(0), "type"), "code_interpreter_call");
}

static void what_is_said_after_a_call_comes_after_it(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"say\":\"a\",\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"1\"}}],\"more\":\"b\"},{\"say\":\"c\"}]",
           NULL),
        0);
    check_heard("+0message t0[a] -0completed +1code_interpreter_call c1[1] running1[1] ran1[ok] "
                "-1completed +2message t2[b] -2completed +3message t3[c] -3completed");
}

/* ---- what is malformed ---- */

static void arguments_that_are_no_json_are_the_code(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"chunk\":3,\"calls\":[{\"name\":\"python\",\"arguments\":\"print(1)\\n\"}]},{\"say\":\"ok\"}]",
           NULL),
        0);
    assert_string_equal(json_string_value(json_array_get(fixture->codes, 0)), "print(1)\n");
}

static void empty_code_is_told(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE(" ") ",{\"say\":\"ok\"}]", NULL), 0);
    assert_int_equal(fixture->ran, 0);
    assert_string_equal(get(item_at(0), "status"), "incomplete");
    assert_non_null(strstr(get(last_asked(1), "x_text"), "no code in this call"));
}

static void an_empty_answer_is_asked_for_once_more(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("1") ",{\"say\":\" \\n\"},{\"say\":\"ok\"}]", NULL), 0);
    assert_non_null(strstr(get(last_asked(2), "x_text"), "The last answer was empty"));
    assert_string_equal(said_at(1), "ok");
}

static void twice_empty_is_said_so(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"say\":\"\"}]", NULL), 0);
    assert_int_equal(fixture->asked, 2);
    assert_string_equal(said_at(0), "The model gave no answer.");
}

static void a_refusal_is_a_message(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"refuse\":\"I will not.\"}]", NULL), 0);
    check_heard("+0message no0[I will not.] -0completed");
    assert_string_equal(get(json_array_get(json_object_get(item_at(0), "content"), 0), "refusal"),
                        "I will not.");
}

/* ---- the ends ---- */

static void what_is_cut_off_is_not_run(void **state)
{
    (void)state;
    assert_int_equal(
        go("[{\"finish\":\"length\",\"calls\":[{\"name\":\"python\",\"arguments\":\"{\\\"code\\\":\\\"impo\"}]}]",
           NULL),
        0);
    check_heard("+0code_interpreter_call c0[impo] -0incomplete");
    assert_int_equal(fixture->o.end, AGENT_OUTPUT_LIMIT);
    assert_string_equal(get(item_at(0), "code"), "impo");
}

static void a_filter_ends_it(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"finish\":\"filter\",\"say\":\"I can\"}]", NULL), 0);
    check_heard("+0message t0[I can] -0incomplete");
    assert_int_equal(fixture->o.end, AGENT_FILTERED);
}

static void an_endpoint_that_fails_leaves_what_there_is(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("1") ",{\"say\":\"It\",\"fail\":\"unavailable\"}]", NULL), -1);
    assert_int_equal(fixture->e.code, ERR_UNAVAILABLE);
    assert_int_equal(fixture->o.status, 503);
    assert_string_equal(fixture->o.code, "busy");
    assert_int_equal(json_array_size(fixture->o.items), 2);
    assert_string_equal(get(item_at(1), "status"), "incomplete");
}

static void a_halt_ends_the_answer(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"say\":\"It\",\"halt\":true}]", NULL), -1);
    assert_int_equal(fixture->e.code, ERR_GONE);
    assert_string_equal(get(item_at(0), "status"), "incomplete");
}

static void a_halt_ends_the_run(void **state)
{
    (void)state;
    assert_int_equal(go("[" CODE("1") "]", "[{\"halt\":true}]"), -1);
    assert_int_equal(fixture->e.code, ERR_GONE);
    assert_int_equal(fixture->ran, 1);
    assert_string_equal(get(item_at(0), "status"), "incomplete");
    assert_string_equal(get(item_at(0), "code"), "1");
}

static void who_was_halted_before_is_not_asked(void **state)
{
    (void)state;
    halt_now(&fixture->halt);
    assert_int_equal(go("[{\"say\":\"hi\"}]", NULL), -1);
    assert_int_equal(fixture->e.code, ERR_GONE);
    assert_int_equal(fixture->asked, 0);
}

/* ---- choices ---- */

static void check_choice(const char *choice, const char *first, const char *second)
{
    scoped(json_decrefp) json_t *a = json_of(first), *b = json_of(second);
    fixture->choice = json_of(choice);
    fixture->functions = json_of("[{\"name\":\"f\",\"parameters\":{}}]");
    assert_int_equal(go("[" CODE("1") ",{\"say\":\"ok\"}]", NULL), 0);
    assert_true(json_equal(asked_at(0, "choice"), a));
    if (fixture->asked > 1)
        assert_true(json_equal(asked_at(1, "choice"), b));
}

static void required_is_so_once(void **state)
{
    (void)state;
    check_choice("\"required\"", "\"required\"", "\"auto\"");
}

static void code_interpreter_is_python_once(void **state)
{
    (void)state;
    check_choice("{\"type\":\"code_interpreter\"}", "{\"name\":\"python\"}", "\"auto\"");
}

static void a_function_can_be_chosen(void **state)
{
    (void)state;
    check_choice("{\"type\":\"function\",\"name\":\"f\"}", "{\"name\":\"f\"}", "\"auto\"");
}

static void allowed_tools_are_all_there_is(void **state)
{
    (void)state;
    check_choice(
        "{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":[{\"type\":\"code_interpreter\"}]}",
        "\"required\"", "\"auto\"");
    assert_int_equal(json_array_size(asked_at(0, "tools")), 1);
}

static void none_means_that_nothing_is_run(void **state)
{
    (void)state;
    fixture->choice = json_of("\"none\"");
    assert_int_equal(go("[{\"say\":\"```python\\n1\\n```\"}]", NULL), 0);
    assert_string_equal(json_string_value(asked_at(0, "choice")), "none");
    assert_int_equal(fixture->ran, 0);
    assert_null(json_string_value(asked_at(0, "instructions")));
}

static void a_choice_that_is_not_there_is_refused(void **state)
{
    (void)state;
    fixture->choice = json_of("{\"type\":\"function\",\"name\":\"g\"}");
    assert_int_equal(go("[{\"say\":\"x\"}]", NULL), -1);
    assert_int_equal(fixture->e.code, ERR_INVALID);
    assert_int_equal(fixture->asked, 0);
}

/* ---- tools of ours ---- */

static int search(void *arg, const json_t *arguments, struct halt *halt, struct buf *ret,
                  struct err *e)
{
    (void)arg;
    (void)halt;
    if (!*get(arguments, "query"))
        return err_set(e, ERR_INVALID, "query: it is missing");
    buf_fmt(ret, "found %s", get(arguments, "query"));
    return 0;
}

static void tools_of_ours_are_called(void **state)
{
    (void)state;
    static const struct agent_tool tool = {.name = "search",
                                           .description = "d",
                                           .parameters = "{\"type\":\"object\"}",
                                           .call = search};
    fixture->w.tools = &tool;
    fixture->w.tool_count = 1;
    assert_int_equal(
        go("[{\"calls\":[{\"name\":\"search\",\"arguments\":{\"query\":\"q3\"}},{\"name\":\"search\",\"arguments\":\"{oops\"},"
           "{\"name\":\"search\",\"arguments\":{}}]},{\"say\":\"ok\"}]",
           NULL),
        0);
    check_heard(
        "+0function_call a0[{\"query\":\"q3\"}] -0completed +1function_call_output -1completed "
        "+2function_call a2[{oops] -2completed +3function_call_output -3completed "
        "+4function_call a4[{}] -4completed +5function_call_output -5completed +6message t6[ok] -6completed");
    assert_string_equal(get(item_at(1), "output"), "found q3");
    assert_string_equal(get(item_at(1), "call_id"), get(item_at(0), "call_id"));
    assert_non_null(strstr(get(item_at(3), "output"), "are no JSON"));
    assert_string_equal(get(item_at(5), "output"), "error: query: it is missing");
    assert_int_equal(fixture->o.calls, 3);
    assert_int_equal(fixture->o.failed_calls, 2);
}

/* ---- budgets ---- */

static void tokens_run_out_with_an_answer(void **state)
{
    (void)state;
    fixture->w.limits.tokens_max = 8500;
    assert_int_equal(
        go("[{\"usage\":[2000,3000],\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"1\"}}]},"
           "{\"usage\":[500,500],\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"2\"}}]},"
           "{\"say\":\"so far\"}]",
           NULL),
        0);
    assert_int_equal(fixture->o.end, AGENT_TOKENS_LIMIT);
    assert_string_equal(json_string_value(asked_at(1, "choice")), "auto");
    assert_string_equal(json_string_value(asked_at(2, "choice")), "none");
    assert_non_null(strstr(get(last_asked(2), "x_text"), "no budget for more steps"));
    assert_string_equal(said_at(2), "so far");
}

static void tokens_that_are_gone_end_it(void **state)
{
    (void)state;
    fixture->w.limits.tokens_max = 5000;
    assert_int_equal(
        go("[{\"usage\":[9000,3000],\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"1\"}}]}]",
           NULL),
        0);
    assert_int_equal(fixture->asked, 1);
    assert_int_equal(fixture->o.end, AGENT_TOKENS_LIMIT);
    assert_non_null(strstr(said_at(1), "the budget of tokens"));
}

static void the_cost_is_counted(void **state)
{
    (void)state;
    fixture->w.limits.price_in = 3000000; /* 3 for a million */
    fixture->w.limits.price_out = 15000000;
    fixture->w.limits.cost_max = 40000;
    assert_int_equal(
        go("[{\"usage\":[1000,1000],\"calls\":[{\"name\":\"python\",\"arguments\":{\"code\":\"1\"}}]},{\"say\":\"x\",\"usage\":[1,1]}]",
           NULL),
        0);
    assert_int_equal(fixture->o.cost, 18000 + 18);
    assert_int_equal(fixture->o.end, AGENT_TOKENS_LIMIT);
}

static void what_an_endpoint_does_not_say_is_estimated(void **state)
{
    (void)state;
    assert_int_equal(go("[{\"say\":\"some words\"}]", NULL), 0);
    assert_true(fixture->o.usage.input > 100);
    assert_int_equal(fixture->o.usage.output, 4);
}

static void a_long_conversation_is_made_to_fit(void **state)
{
    (void)state;
    char *large = malloc(90001);
    assert_non_null(large);
    memset(large, 'x', 90000);
    large[90000] = '\0';
    for (int i = 0; i < 5; i++)
        json_array_append_new(fixture->items,
                              json_pack("{s:s,s:s,s:s,s:s}", "type", "code_interpreter_call", "id",
                                        "ci_0", "code", "1", "x_text", large));
    free(large);
    fixture->w.limits.context_tokens = 70000;
    assert_int_equal(go("[{\"say\":\"x\"}]", NULL), 0);
    const json_t *items = asked_at(0, "items");
    assert_int_equal(json_array_size(items), 6);
    assert_true(strlen(get(json_array_get(items, 1), "x_text")) < 1000);
    assert_int_equal(strlen(get(json_array_get(items, 5), "x_text")), 90000);
    assert_int_equal(strlen(get(json_array_get(fixture->items, 1), "x_text")), 90000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(success_at_once),
        TEST(thoughts_in_what_is_said_are_reasoning),
        TEST(code_streams_while_it_comes),
        TEST(two_failures_then_success),
        TEST(it_never_succeeds_and_the_limit_holds),
        TEST(a_model_that_calls_on_at_the_limit_is_not_heard),
        TEST(a_timeout_and_a_lack_of_memory_are_told),
        TEST(a_conversation_goes_on_without_its_variables),
        TEST(images_are_shown_to_a_model_that_takes_them),
        TEST(a_file_is_made_and_cited),
        TEST(code_that_cannot_be_run_is_told_three_times),
        TEST(a_fault_of_the_server_is_not_told_in_its_own_words),
        TEST(once_it_can_be_run_the_count_begins_anew),
        TEST(without_a_container_nothing_is_run),
        TEST(parallel_calls_run_in_order),
        TEST(the_limit_holds_within_an_answer),
        TEST(a_function_of_the_caller_ends_it_after_the_code),
        TEST(after_the_callers_function_it_goes_on),
        TEST(alone_a_function_streams_at_once),
        TEST(a_function_that_does_not_exist_is_told_to_the_model_alone),
        TEST(names_that_models_are_used_to_are_python),
        TEST(what_is_said_after_a_call_comes_after_it),
        TEST(arguments_that_are_no_json_are_the_code),
        TEST(empty_code_is_told),
        TEST(an_empty_answer_is_asked_for_once_more),
        TEST(twice_empty_is_said_so),
        TEST(a_refusal_is_a_message),
        TEST(what_is_cut_off_is_not_run),
        TEST(a_filter_ends_it),
        TEST(an_endpoint_that_fails_leaves_what_there_is),
        TEST(a_halt_ends_the_answer),
        TEST(a_halt_ends_the_run),
        TEST(who_was_halted_before_is_not_asked),
        TEST(required_is_so_once),
        TEST(code_interpreter_is_python_once),
        TEST(a_function_can_be_chosen),
        TEST(allowed_tools_are_all_there_is),
        TEST(none_means_that_nothing_is_run),
        TEST(a_choice_that_is_not_there_is_refused),
        TEST(tools_of_ours_are_called),
        TEST(tokens_run_out_with_an_answer),
        TEST(tokens_that_are_gone_end_it),
        TEST(the_cost_is_counted),
        TEST(what_an_endpoint_does_not_say_is_estimated),
        TEST(a_long_conversation_is_made_to_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
