#include "agent/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/err.h"
#include "base/scope.h"

/* One letter each: u user, a assistant, s system, i a user's image, p python, f a call and o its output, r reasoning.
 * Capital: it is long (9000 bytes). A digit after f and o is the id of the call. */
static json_t *conversation(const char *letters)
{
    char large[9001], id[] = "call_?";
    memset(large, 'x', 9000);
    large[9000] = '\0';
    json_t *all = json_array();
    for (const char *at = letters; *at; at++) {
        const char *text = *at >= 'A' && *at <= 'Z' ? large : "short";
        char kind = (char)(*at | 32);
        json_t *item = NULL;
        if (kind == 'f' || kind == 'o')
            id[5] = at[1];
        if (kind == 'u' || kind == 'a' || kind == 's')
            item = json_pack("{s:s,s:s,s:s}", "type", "message", "role",
                             kind == 'u'   ? "user"
                             : kind == 's' ? "system"
                                           : "assistant",
                             "content", text);
        else if (kind == 'i')
            item = json_pack("{s:s,s:[{s:s,s:s},{s:s,s:s}]}", "role", "user", "content", "type",
                             "input_text", "text", "look", "type", "input_image", "image_url",
                             "data:image/png;base64,AAAA");
        else if (kind == 'p')
            item = json_pack("{s:s,s:s,s:s}", "type", "code_interpreter_call", "code", "1",
                             "x_text", text);
        else if (kind == 'f')
            item = json_pack("{s:s,s:s,s:s,s:s}", "type", "function_call", "call_id", id, "name",
                             "n", "arguments", text);
        else if (kind == 'o')
            item = json_pack("{s:s,s:s,s:s}", "type", "function_call_output", "call_id", id,
                             "output", text);
        else if (kind == 'r')
            item = json_pack("{s:s,s:[]}", "type", "reasoning", "summary");
        if (kind == 'f' || kind == 'o')
            at++;
        assert_non_null(item);
        json_array_append_new(all, item);
    }
    return all;
}

static const char *string(const json_t *item, const char *key)
{
    const char *value = json_string_value(json_object_get(item, key));
    return value ? value : "";
}

/* The same letters again; '.' is the line about what is left out, '*' follows a text that was shortened. */
static void letters_of(const json_t *items, char *ret)
{
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item)
    {
        const char *type = string(item, "type"), *role = string(item, "role");
        const char *text = string(item, "content");
        char kind = *role ? *role : 'p';
        if (strstr(text, "are left out here"))
            kind = '.';
        if (json_is_array(json_object_get(item, "content")))
            kind = 'i';
        if (strcmp(type, "code_interpreter_call") == 0)
            text = string(item, "x_text");
        if (strcmp(type, "function_call") == 0) {
            kind = 'f';
            text = string(item, "arguments");
        }
        if (strcmp(type, "function_call_output") == 0) {
            kind = 'o';
            text = string(item, "output");
        }
        *ret++ = strlen(text) > 8000 ? (char)(kind & ~32) : kind;
        if (kind == 'f' || kind == 'o')
            *ret++ = string(item, "call_id")[5];
        if (strstr(text, "shortened for lack of room"))
            *ret++ = '*';
        if (kind == 'i' && json_string_value(json_object_get(
                               json_array_get(json_object_get(item, "content"), 1), "text")))
            *ret++ = '-';
    }
    *ret = '\0';
}

/* clang-format off */
static const struct {
    const char *before;
    uint64_t room;
    const char *after;
} cases[] = {
    {"",            100,    ""},
    {"upPa",        100000, "upPa"},
    {"rurpra",      100000, "upa"},
    {"uPPPa",       9000,   "up*PPa"},            /* as little as helps */
    {"uPPPPPa",     7000,   "up*p*p*PPa"},
    {"uf1O1f2O2f3O3a", 7000, "uf1o1*f2O2f3O3a"},
    {"iaia",        1100,   "i-aia"},             /* images of the last message stay */
    {"UaUaua",      4000,   ".Uaua"},
    {"sUaUaua",     100,    "s.ua"},
    {"UaUaU",       100,    ".U"},                /* the last question is left as it is */
    {"uPPa",        2000,   "up*p*a"},
    {"i",           100,    "i-"},
    {"uf1o1F2o2p",  100,    "u.p"},
    {"up",          1,      "up"},
    {"uF1o1p",      100,    "u.p"},
    {"uF1f2o1o2",   100,    "u.f2o2"},
    {"upppp",       40,     "u.pp"},
    {"uf1uo1u",     40,     ".uu"},
    {"Uf1o1uf1o1u", 60,     ".uf1o1u"},           /* an id may be used again */
    {"UuF1f1o1o1p", 100,    ".up"},
    {"PPP",         100,    "p*.p*"},
};
/* clang-format on */

static void a_conversation_gets_smaller_in_the_order_that_is_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped(json_decrefp) json_t *items = conversation(cases[i].before), *fitting = NULL;
        scoped(json_decrefp) json_t *copy = json_deep_copy(items);
        char letters[200];
        struct err e = {0};
        assert_int_equal(context_fit(items, cases[i].room, &fitting, &e), 0);
        letters_of(fitting, letters);
        assert_string_equal(letters, cases[i].after);
        assert_true(json_equal(items, copy));
    }
}

static void what_can_fit_does(void **state)
{
    (void)state;
    for (uint64_t room = 200; room < 40000; room += 397) {
        scoped(json_decrefp) json_t *items = conversation("sUPPPaUf1O1f2O2aiPPPa"), *fitting = NULL;
        struct err e = {0};
        assert_int_equal(context_fit(items, room, &fitting, &e), 0);
        if (room >= 1500) /* two outputs that are short */
            assert_true(context_tokens(fitting) <= room + 60);
    }
}

static void calls_and_outputs_stay_together(void **state)
{
    (void)state;
    for (uint64_t room = 0; room < 20000; room += 97) {
        scoped(json_decrefp) json_t *items = conversation("UF1O1UF2F3O2O3uF4UO4F5F6O5O6"),
                                    *fitting = NULL;
        char letters[200];
        struct err e = {0};
        assert_int_equal(context_fit(items, room, &fitting, &e), 0);
        letters_of(fitting, letters);
        for (int digit = '1'; digit <= '6'; digit++) {
            char id = (char)digit;
            bool has_call = false, has_output = false;
            for (const char *at = letters; *at; at++) {
                has_call = has_call || ((*at | 32) == 'f' && at[1] == id);
                has_output = has_output || ((*at | 32) == 'o' && at[1] == id);
            }
            assert_true(has_call == has_output);
        }
    }
}

/* Calls and then outputs, twice as many of each as there are ids. is_same: there is only one id. is_last: all in the last exchange. */
static json_t *many(size_t count, bool is_same, bool is_last)
{
    json_t *all = json_array();
    json_t *question =
        json_pack("{s:s,s:s,s:s}", "type", "message", "role", "user", "content", "short");
    char id[32];
    if (is_last)
        json_array_append(all, question);
    for (size_t i = 0; i < 4 * count; i++) {
        (void)snprintf(id, sizeof id, "call_%zu", is_same ? 0 : i % count);
        json_t *item = i < 2 * count ? json_pack("{s:s,s:s,s:s,s:s}", "type", "function_call",
                                                 "call_id", id, "name", "n", "arguments", "{}")
                                     : json_pack("{s:s,s:s,s:s}", "type", "function_call_output",
                                                 "call_id", id, "output", "1");
        assert_int_equal(json_array_append_new(all, item), 0);
    }
    if (!is_last)
        json_array_append(all, question);
    json_decref(question);
    return all;
}

/* What is quadratic takes minutes with these. */
static void very_many_calls_take_no_time(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        scoped(json_decrefp) json_t *items = many(10000, k & 1, k & 2), *fitting = NULL;
        struct err e = {0};
        clock_t begun = clock();
        assert_int_equal(context_fit(items, 50, &fitting, &e), 0);
        assert_true(clock() - begun < 5 * CLOCKS_PER_SEC);
        /* The last output stays, and what goes with it. */
        assert_int_equal(json_array_size(fitting), k == 0 || k == 1 ? 2 : k == 2 ? 6 : 40001);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conversation_gets_smaller_in_the_order_that_is_told),
        cmocka_unit_test(what_can_fit_does),
        cmocka_unit_test(calls_and_outputs_stay_together),
        cmocka_unit_test(very_many_calls_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
