/* chat.c -- Chat Completions: passed on to the endpoint of the model, with its key instead of the client's; or, when
 * `code_interpreter` asks for it, answered by the agent (chat_code.c). */
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "agent/halt.h"
#include "agent/model.h"
#include "ask/flight.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "openai/chat.h"
#include "openai/openai_int.h"
#include "json/write.h"

struct passing {
    struct call *c;
    bool is_stream;
};

static int begin(void *arg, int status, const char *type)
{
    struct passing *p = arg;
    struct err ignored = {0}; /* they have left: that is noticed by whoever passes on */
    p->is_stream = strncasecmp(type, "text/event-stream", 17) == 0;
    if (p->is_stream && status == 200)
        return begin_events(p->c, &ignored);
    p->c->status = status;
    p->c->is_answered = true;
    /* Nothing that a browser would show as a page of ours. */
    bool is_json = !*type || strncasecmp(type, "application/json", 16) == 0;
    return http_begin(p->c->x, status, is_json ? "application/json" : "text/plain", -1, &ignored);
}

static int pass(void *arg, struct str bytes)
{
    const struct passing *p = arg;
    struct err ignored = {0};
    return http_write(p->c->x, bytes.ptr, bytes.len, &ignored);
}

void oa_chat_error(const struct err *why, struct buf *out)
{
    struct json_writer w = JSON_WRITER(out);
    jw_object(&w);
    jw_key(&w, "error"), jw_object(&w);
    jw_key(&w, "message"), jw_text(&w, why->text);
    jw_key(&w, "type"), jw_text(&w, oa_type(why->code));
    jw_key(&w, "param"), jw_null(&w);
    jw_key(&w, "code"), jw_null(&w);
    jw_end_object(&w);
    jw_end_object(&w);
}

/* The stream has begun, and the endpoint is gone: it ends with an error, as it does elsewhere. */
static void tell_in_stream(struct call *c, const struct err *why)
{
    scoped(buf_done) struct buf text = BUF_INIT(4096);
    struct err ignored = {0};
    buf_str(&text, "\n\ndata: "); /* whatever it ended in the middle of ends here */
    oa_chat_error(why, &text);
    buf_str(&text, "\n\n");
    (void)http_write(c->x, text.bytes, text.len, &ignored); /* if they still listen */
    (void)http_end(c->x, &ignored);
}

static void hang_up(void *halt)
{
    halt_now(halt);
}

static int pass_on(struct oa_call *o, struct str body, struct err *e)
{
    struct halt halt;
    struct passing p = {.c = o->c};
    if (flights_enter(o->oa->o.flights, o->c->who.principal, e))
        return -1;
    const struct model_pipe pipe = {.begin = begin, .bytes = pass, .arg = &p};
    halt_init(&halt);
    http_on_hangup(o->c->x, hang_up, &halt);
    int failed = model_forward(o->oa->o.model, "chat/completions", body, &pipe, &halt, e);
    http_on_hangup(o->c->x, NULL, NULL);
    flights_leave(o->oa->o.flights, o->c->who.principal);
    bool is_gone = halt_is(&halt);
    halt_done(&halt);
    if (!failed)
        return http_end(o->c->x, e);
    if (o->c->is_answered && p.is_stream && !is_gone)
        tell_in_stream(o->c, e);
    return -1;
}

/* The request as it came, unless something has to be filled in or taken out. */
static int forward(struct oa_call *o, struct err *e)
{
    const json_t *name = json_object_get(o->json, "model");
    bool has_name = json_is_string(name) && json_string_length(name) > 0;
    if (has_name && !json_object_get(o->json, "code_interpreter"))
        return pass_on(o, (struct str){o->body.bytes, o->body.len}, e);
    (void)json_object_del(o->json, "code_interpreter"); /* it may not be there */
    if (!has_name && json_object_set_new(o->json, "model", json_string(model_name(o->oa->o.model))))
        return err_set(e, ERR_NO_MEMORY, "pass on a question");
    scoped(freep) char *text = json_dumps(o->json, JSON_COMPACT | JSON_REAL_PRECISION(17));
    return text ? pass_on(o, str_of(text), e) : err_set(e, ERR_NO_MEMORY, "pass on a question");
}

static int create(struct oa_call *o, struct err *e)
{
    if (oa_body(o, e) || oa_needs_model(o, e))
        return -1;
    const json_t *wish = json_object_get(o->json, "code_interpreter");
    if (!json_is_array(json_object_get(o->json, "messages")))
        return oa_missing(o, e, "messages");
    if (!wish || json_is_null(wish) || json_is_false(wish))
        return forward(o, e);
    return oa_chat_code(o, wish, e);
}

static const struct oa_op ops[] = {
    {"POST", "chat/completions", SCOPE_RUN, create},
};
const struct oa_table oa_chat = {ops, sizeof ops / sizeof *ops};
