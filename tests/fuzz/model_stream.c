/* Fuzzes what a model's endpoint answers: the first byte says which API it speaks, whether it streams, and how large the pieces are in which
 * the rest comes. Whatever comes, what the sink hears is what the answer has in the end. */
#include <assert.h>
#include <string.h>

#include "agent/model.h"
#include "agent/model_read.h"
#include "agent/model_sse.h"
#include "base/err.h"
#include "base/scope.h"
#include "fuzz.h"

struct heard {
    size_t text, arguments, calls;
};

static int hear_text(void *arg, struct str s)
{
    struct heard *h = arg;
    assert(s.len > 0);
    h->text += s.len;
    return 0;
}

static int hear_call(void *arg, size_t index, const char *id, const char *name)
{
    struct heard *h = arg;
    assert(index < MODEL_CALLS_MAX && *id && name);
    h->calls++;
    return 0;
}

static int hear_arguments(void *arg, size_t index, struct str s)
{
    struct heard *h = arg;
    assert(index < MODEL_CALLS_MAX && s.len > 0);
    h->arguments += s.len;
    return 0;
}

struct feeding {
    struct model_reader *r;
    bool is_chat;
};

static int put(void *arg, struct str text, struct err *e)
{
    const struct feeding *f = arg;
    return f->is_chat ? chat_event(f->r, text, e) : responses_event(f->r, text, e);
}

static int feed(struct feeding *f, struct str bytes, size_t step, struct err *e)
{
    scoped(model_sse_done) struct model_sse s = MODEL_SSE(1 << 20);
    const struct model_sse_sink sink = {.put = put, .arg = f};
    for (size_t at = 0; at < bytes.len; at += step) {
        size_t len = bytes.len - at < step ? bytes.len - at : step;
        if (model_sse_feed(&s, (struct str){bytes.ptr + at, len}, &sink, e))
            return -1;
    }
    return model_sse_end(&s, &sink, e);
}

static int read_all(struct feeding *f, struct str bytes, uint8_t how, struct err *e)
{
    if (how & 2)
        return feed(f, bytes, (how >> 2) + 1U, e);
    return f->is_chat ? chat_whole(f->r, bytes, e) : responses_whole(f->r, bytes, e);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    struct model_answer a = {.call_count = 0};
    struct heard h = {0};
    struct err e = {0};
    struct model_reader r;
    if (len < 1)
        return 0;
    const struct model_sink sink = {
        .text = hear_text, .call = hear_call, .arguments = hear_arguments, .arg = &h};
    struct feeding f = {.r = &r, .is_chat = bytes[0] & 1};
    model_answer_done(&a); /* and it is ready */
    model_reader_init(&r, "sesame", &sink, &a);
    if (read_all(&f, (struct str){(const char *)bytes + 1, len - 1}, bytes[0], &e)) {
        assert(e.code == ERR_PROTOCOL || e.code == ERR_UNAVAILABLE || e.code == ERR_LIMIT ||
               e.code == ERR_INVALID);
        assert(e.text[0] && (!r.has_failed || !strstr(e.text, "sesame")));
    } else if (model_reader_end(&r, &e) == 0) {
        size_t arguments = 0;
        for (size_t i = 0; i < a.call_count; i++) {
            assert(a.calls[i].id && a.calls[i].name);
            arguments += a.calls[i].arguments.len;
        }
        assert(h.calls == a.call_count && h.arguments == arguments && h.text == a.text.len);
    }
    model_answer_done(&a);
    return 0;
}
