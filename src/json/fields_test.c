#include "json/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "json/read.h"
#include "json/write.h"

struct limits {
    int64_t memory_mb;
    int64_t cpu_milli;
};

struct upload {
    const char *path;
    struct str content;
    struct json_texts tags;
};

struct args {
    const char *code;
    const char *name;
    struct str stdin_text;
    bool queue, has_queue;
    int64_t count;
    int64_t timeout_ms;
    int language;
    unsigned scopes;
    struct json_texts words;
    struct json_pairs env;
    struct limits limits;
    struct json_structs files;
    struct json_t *any;
    bool has_name;
};

static const char *const languages[] = {"python", "bash", "javascript", NULL};
static const char *const scopes[] = {"run", "files:read", "files:write", NULL};

static const struct json_field limit_fields[] = {
    {JF_INT(struct limits, memory_mb), .min = 32, .max = 1048576, .preset = 1024},
    {JF_MILLI(struct limits, cpu_milli, "cpu"), .min = 50, .max = 64000, .preset = 1500},
    {0},
};

static const struct json_field upload_fields[] = {
    {JF_TEXT(struct upload, path), .required = true, .min = 1, .max = 8},
    {JF_STR(struct upload, content), .max = 4},
    {JF_TEXTS(struct upload, tags)},
    {0},
};

static const struct json_field table[] = {
    {JF_TEXT(struct args, code), .required = true, .max = 10, .doc = "What to run"},
    {JF_TEXT(struct args, name), .min = 1, .max = 5, .has_at = JF_HAS(struct args, has_name)},
    {JF_STR(struct args, stdin_text)},
    {JF_BOOL(struct args, queue), .preset = 1, .has_at = JF_HAS(struct args, has_queue)},
    {JF_INT(struct args, count), .preset = -1, .is_open = true},
    {JF_MILLI(struct args, timeout_ms, "timeout_s"), .min = 100, .max = 600000, .preset = 60000},
    {JF_CHOICE(struct args, language, languages)},
    {JF_FLAGS(struct args, scopes, scopes), .max = 3, .preset = 1},
    {JF_TEXTS(struct args, words), .max = 2, .item_max = 3},
    {JF_PAIRS(struct args, env), .max = 2, .item_max = 4},
    {JF_OBJECT(struct args, limits, limit_fields)},
    {JF_OBJECTS(struct args, files, struct upload, upload_fields), .max = 2},
    {JF_JSON(struct args, any)},
    {0},
};

static json_t *parse(const char *text)
{
    json_t *v = NULL;
    struct err e = {0};
    assert_int_equal(json_read(text, strlen(text), &v, &e), 0);
    return v;
}

static void refused(const char *text, const char *expected)
{
    scoped(json_decrefp) json_t *v = parse(text);
    struct args in;
    struct err e = {0};
    assert_int_equal(fields_read(table, v, &in, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_string_equal(e.text, expected);
}

static void accepted(const char *text)
{
    scoped(json_decrefp) json_t *v = parse(text);
    struct args in;
    struct err e = {0};
    if (fields_read(table, v, &in, &e))
        fail_msg("%s: %s", text, e.text);
    fields_done(table, &in);
}

static void what_is_absent_or_null_becomes_its_preset(void **state)
{
    (void)state;
    const char *texts[] = {"{\"code\":\"1\"}",
                           "{\"code\":\"1\",\"name\":null,\"queue\":null,\"count\":null,"
                           "\"timeout_s\":null,\"language\":null,\"scopes\":null,\"words\":null,"
                           "\"env\":null,\"limits\":null,\"files\":null}"};
    for (size_t i = 0; i < 2; i++) {
        scoped(json_decrefp) json_t *v = parse(texts[i]);
        struct args in;
        struct err e = {0};
        assert_int_equal(fields_read(table, v, &in, &e), 0);
        assert_string_equal(in.code, "1");
        assert_null(in.name);
        assert_null(in.stdin_text.ptr);
        assert_true(in.queue);
        assert_int_equal(in.count, -1);
        assert_int_equal(in.timeout_ms, 60000);
        assert_int_equal(in.language, 0);
        assert_int_equal(in.scopes, 1);
        assert_int_equal(in.words.count + in.env.count + in.files.count, 0);
        assert_int_equal(in.limits.memory_mb, 1024);
        assert_int_equal(in.limits.cpu_milli, 1500);
        assert_null(in.any);
        assert_int_equal(in.has_name, i);
        assert_int_equal(in.has_queue, i);
        fields_done(table, &in);
    }
}

static void every_kind_is_read(void **state)
{
    (void)state;
    scoped(json_decrefp) json_t *v = parse(
        "{\"code\":\"x\",\"name\":\"n\",\"stdin_text\":\"a\\u0000b\",\"queue\":false,"
        "\"count\":-7,\"timeout_s\":1.5,\"language\":\"bash\","
        "\"scopes\":[\"files:write\",\"run\",\"run\"],\"words\":[\"ab\",\"\"],"
        "\"env\":{\"A\":\"1\",\"B\":\"\"},\"limits\":{\"memory_mb\":32,\"cpu\":2},"
        "\"files\":[{\"path\":\"a\",\"content\":\"\\u0000\",\"tags\":[\"t\"]},{\"path\":\"b\"}],"
        "\"any\":[1]}");
    struct args in;
    struct err e = {0};
    assert_int_equal(fields_read(table, v, &in, &e), 0);
    assert_string_equal(in.name, "n");
    assert_int_equal(in.stdin_text.len, 3);
    assert_memory_equal(in.stdin_text.ptr, "a\0b", 3);
    assert_false(in.queue);
    assert_int_equal(in.count, -7);
    assert_int_equal(in.timeout_ms, 1500);
    assert_int_equal(in.language, 1);
    assert_int_equal(in.scopes, 5);
    assert_int_equal(in.words.count, 2);
    assert_string_equal(in.words.items[0], "ab");
    assert_int_equal(in.env.count, 2);
    assert_string_equal(in.env.items[1].name, "B");
    assert_int_equal(in.limits.memory_mb, 32);
    assert_int_equal(in.limits.cpu_milli, 2000);
    assert_int_equal(in.files.count, 2);
    const struct upload *files = in.files.items;
    assert_int_equal(files[0].content.len, 1);
    assert_string_equal(files[0].tags.items[0], "t");
    assert_string_equal(files[1].path, "b");
    assert_true(json_is_array(in.any));
    assert_true(in.has_name && in.has_queue);
    fields_done(table, &in);
}

static void an_error_names_the_path_and_what_would_be_right(void **state)
{
    (void)state;
    refused("{}", "code: is required");
    refused("{\"code\":null}", "code: is required");
    refused("[]", "expected an object, not an array");
    refused("{\"code\":1}", "code: expected a string, not a number");
    refused("{\"code\":\"a\\u0000b\"}", "code: the string contains a NUL character");
    refused("{\"code\":\"1\",\"limits\":{\"memory_mb\":31}}",
            "limits.memory_mb: 31 is not between 32 and 1048576");
    refused("{\"code\":\"1\",\"limits\":{\"cpu\":0.001}}",
            "limits.cpu: 0.001 is not between 0.05 and 64");
    refused("{\"code\":\"1\",\"limits\":[]}", "limits: expected an object, not an array");
    refused("{\"code\":\"1\",\"files\":[{\"path\":\"a\"},{\"path\":\"\"}]}",
            "files[1].path: 0 bytes; at least 1 needed");
    refused("{\"code\":\"1\",\"files\":[{\"path\":\"a\",\"tags\":[\"x\",2]}]}",
            "files[0].tags[1]: expected a string, not a number");
    refused("{\"code\":\"1\",\"files\":[{}]}", "files[0].path: is required");
    refused("{\"code\":\"1\",\"files\":[7]}", "files[0]: expected an object, not a number");
    refused("{\"code\":\"1\",\"language\":\"pyton\"}",
            "language: 'pyton' is none of python, bash, javascript; did you mean python?");
    refused("{\"code\":\"1\",\"scopes\":[\"run\",\"fly\"]}",
            "scopes[1]: 'fly' is none of run, files:read, files:write");
    refused("{\"code\":\"1\",\"queue\":1}", "queue: expected true or false, not a number");
    refused("{\"code\":\"1\",\"count\":1.5}", "count: 1.5 is not a whole number");
    refused("{\"code\":\"1\",\"count\":\"1\"}", "count: expected a whole number, not a string");
    refused("{\"code\":\"1\",\"timeout_s\":true}", "timeout_s: expected a number, not a boolean");
    refused("{\"code\":\"1\",\"timeout_s\":1e300}", "timeout_s: 1e+300 is too large");
    refused("{\"code\":\"1\",\"env\":{\"A\":1}}", "env.A: expected a string, not a number");
    refused("{\"code\":\"1\",\"env\":{\"A\":\"\\u0000\"}}",
            "env.A: the string contains a NUL character");
}

static void an_unknown_key_is_an_error_that_names_the_closest(void **state)
{
    (void)state;
    refused("{\"cod\":\"1\"}", "cod: there is no such field; did you mean code?");
    refused("{\"code\":\"1\",\"limits\":{\"memory\":64}}", "limits.memory: there is no such field");
    refused("{\"code\":\"1\",\"limits\":{\"memroy_mb\":64}}",
            "limits.memroy_mb: there is no such field; did you mean memory_mb?");
}

static void the_limit_is_accepted_and_one_past_it_is_not(void **state)
{
    (void)state;
    accepted("{\"code\":\"1234567890\"}");
    refused("{\"code\":\"12345678901\"}", "code: 11 bytes; at most 10 are allowed");
    accepted("{\"code\":\"1\",\"name\":\"a\"}");
    refused("{\"code\":\"1\",\"name\":\"\"}", "name: 0 bytes; at least 1 needed");
    accepted("{\"code\":\"1\",\"timeout_s\":600.0}");
    refused("{\"code\":\"1\",\"timeout_s\":600.001}",
            "timeout_s: 600.001 is not between 0.1 and 600");
    accepted("{\"code\":\"1\",\"timeout_s\":0.1}");
    refused("{\"code\":\"1\",\"timeout_s\":0.099}", "timeout_s: 0.099 is not between 0.1 and 600");
    accepted("{\"code\":\"1\",\"limits\":{\"memory_mb\":1048576.0}}");
    refused("{\"code\":\"1\",\"limits\":{\"memory_mb\":1048577}}",
            "limits.memory_mb: 1048577 is not between 32 and 1048576");
    accepted("{\"code\":\"1\",\"words\":[\"abc\",\"def\"]}");
    refused("{\"code\":\"1\",\"words\":[\"a\",\"b\",\"c\"]}",
            "words: 3 entries; at most 2 are allowed");
    refused("{\"code\":\"1\",\"words\":[\"abcd\"]}", "words[0]: 4 bytes; at most 3 are allowed");
    accepted("{\"code\":\"1\",\"env\":{\"ABCD\":\"1234\",\"b\":\"\"}}");
    refused("{\"code\":\"1\",\"env\":{\"ABCDE\":\"\"}}",
            "env.ABCDE: 5 bytes; at most 4 are allowed");
    refused("{\"code\":\"1\",\"env\":{\"A\":\"12345\"}}", "env.A: 5 bytes; at most 4 are allowed");
    accepted("{\"code\":\"1\",\"count\":-9223372036854775808}");
    accepted("{\"code\":\"1\",\"count\":9223372036854775807}");
}

struct query {
    int64_t limit;
    const char *cursor;
    bool brief;
    int64_t wait_ms;
    int language;
    unsigned scopes;
    struct json_texts words;
    struct json_pairs env;
};

static const struct json_field query_fields[] = {
    {JF_INT(struct query, limit), .min = 1, .max = 100, .preset = 20},
    {JF_TEXT(struct query, cursor), .max = 4, .required = true},
    {JF_BOOL(struct query, brief)},
    {JF_MILLI(struct query, wait_ms, "wait_s"), .max = 60000},
    {JF_CHOICE(struct query, language, languages), .preset = -1, .is_open = true},
    {JF_FLAGS(struct query, scopes, scopes)},
    {JF_TEXTS(struct query, words), .max = 3, .item_max = 2},
    {JF_PAIRS(struct query, env)},
    {0},
};

static void a_query_is_read_by_the_same_table(void **state)
{
    (void)state;
    const struct json_pair pairs[] = {
        {"limit", "100"},   {"cursor", "abcd"},   {"brief", "1"},
        {"wait_s", "0.25"}, {"language", "bash"}, {"scopes", "run,files:write"},
        {"words", "a,,cc"},
    };
    struct query in;
    struct err e = {0};
    assert_int_equal(fields_from_pairs(query_fields, pairs, 7, &in, &e), 0);
    assert_int_equal(in.limit, 100);
    assert_string_equal(in.cursor, "abcd");
    assert_true(in.brief);
    assert_int_equal(in.wait_ms, 250);
    assert_int_equal(in.language, 1);
    assert_int_equal(in.scopes, 5);
    assert_int_equal(in.words.count, 3);
    assert_string_equal(in.words.items[0], "a");
    assert_string_equal(in.words.items[1], "");
    assert_string_equal(in.words.items[2], "cc");
    fields_done(query_fields, &in);
    assert_int_equal(fields_from_pairs(query_fields, pairs + 1, 1, &in, &e), 0);
    assert_int_equal(in.limit, 20);
    assert_int_equal(in.language, -1);
    assert_int_equal(fields_from_text(query_fields, "brief", "", &in, &e), 0); /* ?brief */
    assert_true(in.brief);
}

static void refused_text(const char *name, const char *value, const char *expected)
{
    struct query in;
    struct err e = {0};
    fields_preset(query_fields, &in);
    assert_int_equal(fields_from_text(query_fields, name, value, &in, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_string_equal(e.text, expected);
    fields_done(query_fields, &in);
}

static void a_query_fails_like_an_object(void **state)
{
    (void)state;
    refused_text("limit", "0", "limit: 0 is not between 1 and 100");
    refused_text("limit", "101", "limit: 101 is not between 1 and 100");
    refused_text("limit", "-1", "limit: -1 is not between 1 and 100");
    refused_text("limit", "", "limit: '' is not a whole number");
    refused_text("limit", "1x", "limit: '1x' is not a whole number");
    refused_text("limit", "99999999999999999999",
                 "limit: '99999999999999999999' is not a whole number");
    refused_text("cursor", "abcde", "cursor: 5 bytes; at most 4 are allowed");
    refused_text("brief", "yes", "brief: 'yes' is neither true nor false");
    refused_text("wait_s", "60.001", "wait_s: 60.001 is not between 0 and 60");
    refused_text("words", "a,b,c,d", "words: 4 entries; at most 3 are allowed");
    refused_text("words", "abc", "words: 3 bytes; at most 2 are allowed");
    refused_text("scopes", "run,fly", "scopes: 'fly' is none of run, files:read, files:write");
    refused_text("env", "A=1", "env: cannot be given as text");
    refused_text("limt", "1", "limt: there is no such field; did you mean limit?");

    struct query in;
    struct err e = {0};
    const struct json_pair twice[] = {{"cursor", "a"}, {"words", "x"}, {"cursor", "b"}};
    assert_int_equal(fields_from_pairs(query_fields, twice, 3, &in, &e), -1);
    assert_string_equal(e.text, "cursor: is given twice");
    assert_int_equal(fields_from_pairs(query_fields, twice + 1, 1, &in, &e), -1);
    assert_string_equal(e.text, "cursor: is required");
}

/* True when `schema` at `path` (keys separated by '/') is this JSON. */
static void schema_has(const json_t *schema, const char *path, const char *json)
{
    char copy[200];
    (void)snprintf(copy, sizeof copy, "%s", path);
    char *rest = copy;
    for (char *key; (key = strsep(&rest, "/"));)
        schema = json_object_get(schema, key);
    scoped(json_decrefp) json_t *expected = parse(json);
    if (!json_equal(schema, expected))
        fail_msg("%s is not %s", path, json);
}

static void the_plain_schema_has_one_type_for_each_field(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct json_writer w = JSON_WRITER(&b);
    fields_schema_plain(table, &w);
    jw_finish(&w);
    scoped(json_decrefp) json_t *schema = parse(b.bytes);
    assert_null(strstr(b.bytes, "null"));
    schema_has(schema, "properties/queue", "{\"type\":\"boolean\",\"default\":true}");
    schema_has(schema, "properties/language",
               "{\"type\":\"string\",\"enum\":[\"python\",\"bash\",\"javascript\"],"
               "\"default\":\"python\"}");
}

static void the_schema_says_what_the_table_checks(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct json_writer w = JSON_WRITER(&b);
    fields_schema(table, &w);
    jw_finish(&w);
    scoped(json_decrefp) json_t *schema = parse(b.bytes);
    schema_has(schema, "type", "\"object\"");
    schema_has(schema, "additionalProperties", "false");
    schema_has(schema, "required", "[\"code\"]");
    schema_has(schema, "properties/code",
               "{\"type\":\"string\",\"maxLength\":10,\"description\":\"What to run\"}");
    schema_has(schema, "properties/name",
               "{\"type\":[\"string\",\"null\"],\"minLength\":1,\"maxLength\":5}");
    schema_has(schema, "properties/queue", "{\"type\":[\"boolean\",\"null\"],\"default\":true}");
    schema_has(schema, "properties/count", "{\"type\":[\"integer\",\"null\"]}");
    schema_has(schema, "properties/timeout_s",
               "{\"type\":[\"number\",\"null\"],\"minimum\":0.1,\"maximum\":600,\"default\":60}");
    schema_has(schema, "properties/language",
               "{\"type\":[\"string\",\"null\"],\"enum\":[\"python\",\"bash\",\"javascript\",null],"
               "\"default\":\"python\"}");
    schema_has(schema, "properties/scopes",
               "{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\",\"enum\":[\"run\","
               "\"files:read\",\"files:write\"]},\"maxItems\":3,\"default\":[\"run\"]}");
    schema_has(schema, "properties/env",
               "{\"type\":[\"object\",\"null\"],\"additionalProperties\":{\"type\":\"string\","
               "\"maxLength\":4},\"maxProperties\":2}");
    schema_has(schema, "properties/limits/properties/memory_mb",
               "{\"type\":[\"integer\",\"null\"],\"minimum\":32,\"maximum\":1048576,"
               "\"default\":1024}");
    schema_has(schema, "properties/limits/additionalProperties", "false");
    schema_has(schema, "properties/files/items/required", "[\"path\"]");
    schema_has(schema, "properties/any", "{}");
}

static void parameters_are_described_one_by_one(void **state)
{
    (void)state;
    scoped(buf_done) struct buf b = BUF_INIT(1 << 20);
    struct json_writer w = JSON_WRITER(&b);
    jw_array(&w);
    fields_parameters(query_fields, "query", &w);
    jw_end_array(&w);
    jw_finish(&w);
    scoped(json_decrefp) json_t *list = parse(b.bytes);
    assert_int_equal(json_array_size(list), 8);
    schema_has(json_array_get(list, 0), "schema",
               "{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,\"default\":20}");
    schema_has(json_array_get(list, 1), "required", "true");
    schema_has(json_array_get(list, 5), "explode", "false");
}

int main(void)
{
    const struct CMUnitTest all[] = {
        cmocka_unit_test(what_is_absent_or_null_becomes_its_preset),
        cmocka_unit_test(every_kind_is_read),
        cmocka_unit_test(an_error_names_the_path_and_what_would_be_right),
        cmocka_unit_test(an_unknown_key_is_an_error_that_names_the_closest),
        cmocka_unit_test(the_limit_is_accepted_and_one_past_it_is_not),
        cmocka_unit_test(a_query_is_read_by_the_same_table),
        cmocka_unit_test(a_query_fails_like_an_object),
        cmocka_unit_test(the_schema_says_what_the_table_checks),
        cmocka_unit_test(the_plain_schema_has_one_type_for_each_field),
        cmocka_unit_test(parameters_are_described_one_by_one),
    };
    return cmocka_run_group_tests(all, NULL, NULL);
}
