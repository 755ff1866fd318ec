#include "cli/ask_show.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/err.h"
#include "cli/note.h"

/* What is shown of events, on a standard error of its own. */
struct stand {
    struct ask_show show;
    struct notes notes;
    int ends[2];
    char seen[4096];
};

static void stand_init(struct stand *s, bool shows_code)
{
    *s = (struct stand){0};
    assert_int_equal(pipe(s->ends), 0);
    s->notes.fd = s->ends[1];
    ask_show_init(&s->show, &s->notes, /* stop= */ NULL, shows_code);
    s->show.is_live = false;
}

static void play(struct stand *s, const char *event, const char *json)
{
    json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
    struct err e = {0};
    assert_non_null(value);
    assert_int_equal(ask_show_event(&s->show, event, value, &e), 0);
    json_decref(value);
}

static const char *seen(struct stand *s)
{
    (void)close(s->ends[1]);
    size_t len = 0;
    for (ssize_t got; (got = read(s->ends[0], s->seen + len, sizeof s->seen - 1 - len)) > 0;)
        len += (size_t)got;
    (void)close(s->ends[0]);
    s->seen[len] = '\0';
    ask_show_done(&s->show);
    return s->seen;
}

static void what_is_said_waits_until_it_is_a_step(void **state)
{
    struct stand s;
    (void)state;
    stand_init(&s, /* shows_code= */ false);
    play(&s, "text", "{\"text\":\"I will \"}");
    play(&s, "text", "{\"text\":\"look.\"}");
    play(&s, "code", "{\"text\":\"1/0\"}");
    play(&s, "run.started", "{\"code\":\"1/0\"}");
    play(&s, "run.done",
         "{\"end\":\"error\",\"duration_ms\":250,\"error\":{\"name\":\"ZeroDivisionError\","
         "\"message\":\"division by zero\\nmore\"}}");
    play(&s, "text", "{\"text\":\"The answer.\"}");
    assert_string_equal(seen(&s), "I will look.\n"
                                  "running 1 line of Python ... ZeroDivisionError: division by "
                                  "zero, 250 ms\n");
}

static void thoughts_go_on_over_several_pieces(void **state)
{
    struct stand s;
    (void)state;
    stand_init(&s, false);
    play(&s, "thinking", "{\"text\":\"a\\nb\"}");
    play(&s, "thinking", "{\"text\":\"c\"}");
    play(&s, "run.started", "{\"code\":\"x\\ny\\n\"}");
    assert_string_equal(seen(&s), "a\nbc\nrunning 2 lines of Python ... ");
}

static void code_is_indented_however_it_is_cut(void **state)
{
    struct stand s;
    (void)state;
    stand_init(&s, /* shows_code= */ true);
    play(&s, "code", "{\"text\":\"for i\"}");
    play(&s, "code", "{\"text\":\" in x:\\n\"}");
    play(&s, "code", "{\"text\":\"    print(i)\\n\\ny\"}");
    play(&s, "run.started", "{\"code\":\"for i in x:\\n    print(i)\\n\\ny\"}");
    play(&s, "run.done",
         "{\"end\":\"ok\",\"duration_ms\":1000,\"stdout\":\"1\\n2\\n\",\"result\":{\"text/"
         "plain\":\"7\"}}");
    play(&s, "run.started", "{\"code\":\"whole\"}");
    assert_string_equal(seen(&s), "    for i in x:\n        print(i)\n\n    y\n"
                                  "running 4 lines of Python ... ok, 1.0 s\n"
                                  "    1\n    2\n    7\n"
                                  "    whole\nrunning 1 line of Python ... ");
}

static void nothing_steers_a_terminal(void **state)
{
    struct stand s;
    (void)state;
    stand_init(&s, /* shows_code= */ true);
    play(&s, "thinking", "{\"text\":\"\\u001b[2Jx\\u009b1m\"}");
    play(&s, "code", "{\"text\":\"\\u001b]0;t\\u0007\"}");
    play(&s, "run.started", "{\"code\":\"\\u001b\"}");
    play(&s, "run.done", "{\"end\":\"\\u001bok\",\"stdout\":\"\\r\\u001b[A\",\"duration_ms\":1}");
    assert_null(strpbrk(seen(&s), "\033\r\a"));
    assert_null(strstr(s.seen, "\xc2\x9b"));
}

static void events_that_have_nothing_do_no_harm(void **state)
{
    static const char *const names[] = {"thinking", "text",        "code", "run.started",
                                        "run.done", "answer.done", "file", "brand.new"};
    static const char *const values[] = {
        "{}", "[]", "null", "{\"text\":7,\"code\":[],\"stdout\":{},\"error\":\"x\",\"result\":[]}"};
    struct stand s;
    (void)state;
    stand_init(&s, true);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t k = 0; k < sizeof values / sizeof *values; k++)
            play(&s, names[i], values[k]);
    (void)seen(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_said_waits_until_it_is_a_step),
        cmocka_unit_test(thoughts_go_on_over_several_pieces),
        cmocka_unit_test(code_is_indented_however_it_is_cut),
        cmocka_unit_test(nothing_steers_a_terminal),
        cmocka_unit_test(events_that_have_nothing_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
