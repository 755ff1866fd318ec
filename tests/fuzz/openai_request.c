/* Fuzzes what POST /v1/responses takes: the request, its input as items, and bytes that stand in it as data URLs. */
#include <assert.h>
#include <jansson.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "openai/items.h"
#include "openai/request.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "json/read.h"

static void is_told(const struct refusal *r)
{
    assert(*r->message && strlen(r->message) < sizeof r->message);
    assert(utf8_is_valid(r->message, strlen(r->message)));
    assert(utf8_is_valid(r->param, strlen(r->param)));
}

/* Every item has an id and a type, and a message its parts. */
static void are_items(const json_t *items)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)items, i, item)
    {
        assert(*shape_text(item, "id") && *shape_text(item, "type"));
        if (shape_is(item, "type", "message"))
            assert(json_is_array(json_object_get(item, "content")));
    }
    assert(strlen(oa_items_container(items)) <= 64 * 4);
}

static void read_data(const json_t *input)
{
    scoped(buf_done) struct buf out = BUF_INIT(1 << 20);
    char type[64];
    struct err e = {0};
    if (json_is_string(input))
        (void)oa_data_url((struct str){json_string_value(input), json_string_length(input)}, type,
                          &out, &e);
}

static void read_request(json_t *body)
{
    struct oa_request q;
    struct refusal r = {0};
    scoped(json_decrefp) json_t *items = NULL;
    if (oa_request_read(body, &q, &r)) {
        is_told(&r);
    } else {
        scoped(json_decrefp) json_t *made = oa_response_make(&q, "resp_1", "m", 1, "queued");
        scoped(json_decrefp) json_t *shown = oa_response_shown(made, /* has_outputs= */ false);
        assert(made && shown && q.functions && q.params);
        if (oa_items_read(q.input, "input", &items, &r))
            is_told(&r);
        else
            are_items(items);
        read_data(q.input);
    }
    oa_request_done(&q);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    scoped(json_decrefp) json_t *body = NULL;
    struct err e = {0};
    if (json_read((const char *)bytes, len, &body, &e) == 0)
        read_request(body);
    return 0;
}
