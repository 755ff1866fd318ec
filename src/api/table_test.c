#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "api/api_int.h"
#include "base/err.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "json/read.h"

/* What the table makes of a request; NULL when there is nothing. */
static const struct op *find(const char *method, const char *path, struct call *c, struct err *e)
{
    static struct http_request r;
    r = (struct http_request){.method = str_of(method), .path = str_of(path)};
    *c = (struct call){.request = &r};
    scoped(buf_done) struct buf allow = BUF_INIT(256);
    return op_find(c, &allow, e) ? NULL : c->op;
}

static void every_operation_is_found_at_its_own_address(void **state)
{
    (void)state;
    struct err e = {0};
    struct call c;
    for (size_t i = 0; op_at(i); i++) {
        char path[256] = "";
        for (const char *at = op_at(i)->path; *at; at++) {
            size_t len = strlen(path);
            path[len] = *at == '{' ? 'x' : *at;
            if (*at == '{')
                at = strchr(at, '}');
        }
        assert_ptr_equal(find(op_at(i)->method, path, &c, &e), op_at(i));
    }
}

static void pieces_of_the_path_are_decoded_and_bounded(void **state)
{
    (void)state;
    struct err e = {0};
    struct call c;
    assert_non_null(find("GET", "/api/v1/sessions/my%20name", &c, &e));
    assert_string_equal(c.param[0], "my name");
    static const char *const wrong[] = {"/api/v1/sessions/",      "/api/v1/sessions/%",
                                        "/api/v1/sessions/%00",   "/api/v1/sessions/a/b",
                                        "/api/v1/sessions//runs", "/api/v1/sessionsx",
                                        "/api/v1/session",        "/"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_null(find("GET", wrong[i], &c, &e));
        assert_int_equal(e.code, ERR_NOT_FOUND);
    }
    char longest[OP_PARAM_SIZE + 64] = "/api/v1/sessions/";
    memset(longest + strlen(longest), 'a', OP_PARAM_SIZE - 1);
    assert_non_null(find("GET", longest, &c, &e));
    longest[strlen(longest)] = 'a';
    assert_null(find("GET", longest, &c, &e));
}

static void the_rest_of_a_path_keeps_its_slashes(void **state)
{
    (void)state;
    struct err e = {0};
    struct call c;
    const struct op *op =
        find("PUT", "/api/v1/workspaces/default/files/a/b%20c/%C3%BC.csv", &c, &e);
    assert_non_null(op);
    assert_string_equal(op->name, "putFile");
    assert_string_equal(c.param[0], "default");
    assert_string_equal(c.rest, "a/b c/\xc3\xbc.csv");
    assert_non_null(find("PUT", "/api/v1/workspaces/w/files/..%2f/./", &c, &e));
    assert_string_equal(c.rest, "..//./"); /* what that means is for others to say */
    op = find("GET", "/api/v1/workspaces/w/files", &c, &e);
    assert_string_equal(op->name, "listFiles");
    assert_null(find("GET", "/api/v1/workspaces/w/files/", &c, &e));
    assert_null(find("GET", "/api/v1/workspaces//files/a", &c, &e));

    char longest[OP_REST_SIZE + 64] = "/api/v1/workspaces/w/files/";
    memset(longest + strlen(longest), 'a', OP_REST_SIZE - 1);
    assert_non_null(find("GET", longest, &c, &e));
    longest[strlen(longest)] = 'a';
    assert_null(find("GET", longest, &c, &e));
}

static void another_method_is_told_which_there_are(void **state)
{
    (void)state;
    struct err e = {0};
    struct call c;
    assert_null(find("PUT", "/api/v1/runs", &c, &e));
    assert_int_equal(e.code, ERR_METHOD);
    assert_string_equal(e.text, "this address takes POST, GET, HEAD");
    assert_non_null(find("HEAD", "/api/v1/runs", &c, &e));
}

static void operations_have_names_of_their_own_and_schemas_that_exist(void **state)
{
    (void)state;
    struct err e = {0};
    json_t *document = NULL;
    scoped(buf_done) struct buf text = BUF_INIT(4 << 20);
    openapi_write(&text);
    assert_int_equal(buf_check(&text, &e), 0);
    assert_int_equal(json_read(text.bytes, text.len, &document, &e), 0);
    const json_t *schemas = json_object_get(json_object_get(document, "components"), "schemas");
    for (size_t i = 0; op_at(i); i++) {
        if (op_at(i)->answer)
            assert_non_null(json_object_get(schemas, op_at(i)->answer));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(op_at(i)->name, op_at(k)->name);
        assert_true((op_at(i)->body != NULL) == (op_at(i)->body_size > 0));
        assert_true((op_at(i)->query != NULL) == (op_at(i)->query_size > 0));
    }
    json_decref(document);
}

static void every_operation_says_what_it_needs(void **state)
{
    (void)state;
    for (size_t i = 0; op_at(i); i++) {
        const struct op *op = op_at(i);
        if (op->needs == NEEDS_NOT_SAID)
            fail_msg("%s does not say what it needs: op.h", op->name);
        bool is_of_workspace = op->needs >= NEEDS_READ && op->needs <= NEEDS_OWN;
        assert_true(!is_of_workspace || strstr(op->path, "/{ws}"));
        assert_true((op->needs == NEEDS_SERVER) == (op->scope == SCOPE_ADMIN));
        assert_true(!(op->flags & OP_PUBLIC) || op->needs == NEEDS_NOTHING);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_is_found_at_its_own_address),
        cmocka_unit_test(pieces_of_the_path_are_decoded_and_bounded),
        cmocka_unit_test(the_rest_of_a_path_keeps_its_slashes),
        cmocka_unit_test(another_method_is_told_which_there_are),
        cmocka_unit_test(operations_have_names_of_their_own_and_schemas_that_exist),
        cmocka_unit_test(every_operation_says_what_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
