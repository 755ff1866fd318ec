/* What a client is told of a response that failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "agent/agent.h"
#include "base/log.h"
#include "base/scope.h"
#include "openai/shape.h"
#include "openai/turn.h"

static struct log to_the_log;
static struct openai oa = {.o = {.log = &to_the_log}};

/* The message of its error. */
static void end(enum err_code code, const char *text, char ret[256])
{
    struct oa_turn t = {.oa = &oa, .id = "resp_1"};
    struct agent_outcome outcome = {0};
    struct err why = {0};
    (void)err_set(&why, code, "%s", text);
    (void)pthread_mutex_init(&t.lock, NULL);
    t.object = json_pack("{s:s, s:[]}", "status", "in_progress", "output");
    oa_turn_end(&t, -1, &why, &outcome, /* is_halted= */ false);
    assert_true(shape_is(t.object, "status", "failed"));
    assert_string_equal(shape_text(json_object_get(t.object, "error"), "message"), t.why.text);
    (void)snprintf(ret, 256, "%s", t.why.text);
    json_decref(t.object);
    (void)pthread_mutex_destroy(&t.lock);
}

static void a_fault_keeps_its_own_words_for_the_log(void **state)
{
    (void)state;
    char logged[1024] = "", text[256];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    log_init(&to_the_log, ends[1], LOG_JSON, LOG_INFO);
    end(ERR_INTERNAL, "open /srv/cicada/meta.db: I/O error", text);
    assert_null(strstr(text, "/srv"));
    end(ERR_DAMAGED, "the card cntr_1 is no object", text);
    assert_null(strstr(text, "cntr_1"));
    assert_true(read(ends[0], logged, sizeof logged - 1) > 0);
    assert_non_null(strstr(logged, "/srv/cicada/meta.db"));
    assert_non_null(strstr(logged, "resp_1"));
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void others_are_told_as_they_are(void **state)
{
    (void)state;
    char text[256];
    end(ERR_PROTOCOL, "the model's endpoint answers with no object", text);
    assert_string_equal(text, "the model's endpoint answers with no object");
    end(ERR_QUOTA, "there is no room", text);
    assert_string_equal(text, "there is no room");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fault_keeps_its_own_words_for_the_log),
        cmocka_unit_test(others_are_told_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
