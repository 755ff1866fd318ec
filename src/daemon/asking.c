/* asking.c -- the model, questions to it, and OpenAI's API. */
#include "agent/agent.h"
#include "ask/ask.h"
#include "ask/flight.h"
#include "base/err.h"
#include "daemon/serve_int.h"
#include "openai/openai.h"
#include "service/service.h"
#include "store/store.h"
#include "workspace/cards.h"

static int open_model(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    const struct model_options options = {.url = c->model.url,
                                          .key = c->model.key,
                                          .name = c->model.name,
                                          .api = (enum model_api)c->model.api,
                                          .timeout_ms = c->model.timeout_s * 1000,
                                          .retries = c->model.retries,
                                          .has_images = c->model.images != 0};
    return *c->model.url ? model_open(&options, &s->model, e) : 0;
}

static struct agent_limits limits_of(const struct config *c)
{
    return (struct agent_limits){.calls_max = c->model.calls_max,
                                 .tokens_max = c->model.tokens_max,
                                 .context_tokens = c->model.context_tokens,
                                 .cost_max = (uint64_t)c->model.cost_max_milli * 1000,
                                 .price_in = (uint64_t)c->model.price_in_milli * 1000,
                                 .price_out = (uint64_t)c->model.price_out_milli * 1000};
}

static void tidy(void *arg, int64_t now_us)
{
    openai_tidy(arg, now_us);
}

int asking_open(struct server *s, struct err *e)
{
    const struct config *c = s->config;
    if (cards_open(store_meta(s->store), &s->cards, e) ||
        flights_open(c->server.workers / 2, &s->flights, e) || open_model(s, e))
        return -1;
    const struct ask_options ask = {.cards = s->cards,
                                    .flights = s->flights,
                                    .service = s->service,
                                    .model = s->model,
                                    .log = &s->log,
                                    .limits = limits_of(c),
                                    .code = (enum agent_code)c->model.code};
    const struct openai_options openai = {.cards = s->cards,
                                          .files = s->files,
                                          .service = s->service,
                                          .flights = s->flights,
                                          .model = s->model,
                                          .log = &s->log,
                                          .limits = ask.limits,
                                          .code = ask.code,
                                          .is_strict = c->openai.strict_expiry != 0,
                                          .has_outputs = c->openai.outputs != 0,
                                          .spool_fd = s->data.tmp_fd};
    if (ask_open(&ask, &s->ask, e))
        return -1;
    if (openai_open(&openai, &s->openai, e))
        return -1;
    service_on_tidy(s->service, tidy, s->openai);
    return 0;
}

void asking_stop(struct server *s, uint32_t drain_ms)
{
    flights_stop(s->flights, drain_ms);
}

void asking_close(struct server *s)
{
    openai_close(s->openai);
    ask_close(s->ask);
    flights_close(s->flights);
    model_close(s->model);
    cards_close(s->cards);
}
