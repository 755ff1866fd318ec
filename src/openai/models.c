/* models.c -- the models there are: those of the endpoint that is configured. */
#include <string.h>

#include <jansson.h>

#include "agent/halt.h"
#include "agent/model.h"
#include "ask/flight.h"
#include "base/scope.h"
#include "http/exchange.h"
#include "openai/chat.h"
#include "openai/openai_int.h"

int oa_needs_model(struct oa_call *o, struct err *e)
{
    if (o->oa->o.model)
        return 0;
    return oa_fail(
        o, e, ERR_UNAVAILABLE, NULL, "model_not_configured",
        "No model is configured. In the section [model] of the server's configuration set url and "
        "name: http://127.0.0.1:11434/v1 and qwen3 for Ollama, or a hosted API's address "
        "(https://.../v1), its key and the name of a model.");
}

static void hang_up(void *halt)
{
    halt_now(halt);
}

static int fetch(struct oa_call *o, json_t **ret, struct err *e)
{
    struct halt halt;
    if (flights_enter(o->oa->o.flights, o->c->who.principal, e))
        return -1;
    halt_init(&halt);
    http_on_hangup(o->c->x, hang_up, &halt);
    int failed = model_list(o->oa->o.model, &halt, ret, e);
    http_on_hangup(o->c->x, NULL, NULL);
    flights_leave(o->oa->o.flights, o->c->who.principal);
    halt_done(&halt);
    if (!failed || e->code != ERR_PROTOCOL)
        return failed;
    *ret = json_array(); /* not every endpoint has a list; the one that is configured is known */
    return *ret ? 0 : err_set(e, ERR_NO_MEMORY, "list models");
}

/* With the four members that clients count on. */
static json_t *shown(const json_t *model, const char *id)
{
    json_t *made = json_is_object(model) ? json_copy((json_t *)model) : json_object();
    if (json_object_set_new(made, "id", json_string(id)) ||
        json_object_set_new(made, "object", json_string("model")) ||
        (!json_is_integer(json_object_get(made, "created")) &&
         json_object_set_new(made, "created", json_integer(0))) ||
        (!json_is_string(json_object_get(made, "owned_by")) &&
         json_object_set_new(made, "owned_by", json_string("upstream")))) {
        json_decref(made);
        return NULL;
    }
    return made;
}

/* All of them; the caller's. The one that is configured is always among them. */
static int list(struct oa_call *o, json_t **ret, struct err *e)
{
    scoped(json_decrefp) json_t *from = NULL;
    scoped(json_decrefp) json_t *all = json_array();
    bool has_own = false, failed = false;
    if (oa_needs_model(o, e) || fetch(o, &from, e))
        return -1;
    const char *own = model_name(o->oa->o.model);
    for (size_t i = 0; i < json_array_size(from); i++) {
        const json_t *model = json_array_get(from, i);
        const char *id = json_string_value(json_object_get(model, "id"));
        if (!id)
            continue;
        has_own = has_own || strcmp(id, own) == 0;
        failed = failed || json_array_append_new(all, shown(model, id));
    }
    if (!has_own)
        failed = failed || json_array_append_new(all, shown(NULL, own));
    if (failed)
        return err_set(e, ERR_NO_MEMORY, "list models");
    *ret = take(all);
    return 0;
}

static int list_models(struct oa_call *o, struct err *e)
{
    json_t *all = NULL;
    if (list(o, &all, e))
        return -1;
    return oa_answer_take(o, json_pack("{s:s, s:o}", "object", "list", "data", all), e);
}

static int answer_one(struct oa_call *o, const char *wanted, struct err *e)
{
    scoped(json_decrefp) json_t *all = NULL;
    if (list(o, &all, e))
        return -1;
    for (size_t i = 0; i < json_array_size(all); i++) {
        const json_t *model = json_array_get(all, i);
        if (strcmp(json_string_value(json_object_get(model, "id")), wanted) == 0)
            return oa_answer(o, model, e);
    }
    return oa_fail(o, e, ERR_NOT_FOUND, "model", "model_not_found",
                   "The model '%.120s' does not exist. GET /v1/models lists those that do.",
                   wanted);
}

static int get_model(struct oa_call *o, struct err *e)
{
    return answer_one(o, o->piece[0], e);
}

/* "lab/model", sent without escaping the slash. */
static int get_model_of(struct oa_call *o, struct err *e)
{
    scoped(buf_done) struct buf name = BUF_INIT(2 * OP_PARAM_SIZE);
    buf_fmt(&name, "%s/%s", o->piece[0], o->piece[1]);
    return buf_check(&name, e) ? -1 : answer_one(o, name.bytes, e);
}

static const struct oa_op ops[] = {
    {"GET", "models", SCOPE_RUN, list_models},
    {"GET", "models/{id}", SCOPE_RUN, get_model},
    {"GET", "models/{owner}/{name}", SCOPE_RUN, get_model_of},
};
const struct oa_table oa_models = {ops, sizeof ops / sizeof *ops};
