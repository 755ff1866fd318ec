/* agent_budget.c -- tokens, and what they cost. */
#include "agent/agent_int.h"
#include "agent/context.h"

enum { ANSWER_TOKENS = 1000 }; /* that an answer takes, about */

static const uint64_t most = UINT64_C(1) << 40; /* an endpoint can say anything */

static uint64_t at_most(uint64_t v)
{
    return v < most ? v : most;
}

static uint64_t price(uint64_t tokens, uint64_t per_million)
{
    uint64_t product;
    if (__builtin_mul_overflow(tokens, per_million, &product))
        return UINT64_MAX / 4;
    return product / 1000000;
}

static uint64_t cost(const struct agent_limits *limits, uint64_t input, uint64_t output)
{
    return price(input, limits->price_in) + price(output, limits->price_out);
}

void budget_add(struct loop *l, const struct question *q, const struct hearing *t,
                const struct model_answer *a)
{
    struct model_usage *sum = &l->o->usage;
    uint64_t input = at_most(a->usage.input), output = at_most(a->usage.output);
    if (input == 0 && output == 0) {
        input = q->tokens;
        output = context_text_tokens(t->bytes);
    }
    sum->input += input;
    sum->output += output;
    sum->cached += at_most(a->usage.cached);
    sum->reasoning += at_most(a->usage.reasoning);
    l->spent += input + output;
    l->o->cost += cost(&l->w->limits, input, output);
}

bool budget_check(struct loop *l, const struct question *q)
{
    const struct agent_limits *max = &l->w->limits;
    uint64_t answer = ANSWER_TOKENS;
    uint64_t tokens = l->spent + q->tokens, more = tokens + answer + q->tokens + answer;
    uint64_t price_now = l->o->cost + cost(max, q->tokens, 0);
    uint64_t price_more = price_now + cost(max, q->tokens + answer, 2 * answer);
    bool is_first = l->o->questions == 0;
    if (!is_first && ((max->tokens_max && tokens > max->tokens_max) ||
                      (max->cost_max && price_now > max->cost_max))) {
        l->limit = AGENT_TOKENS_LIMIT;
        return false;
    }
    if (l->limit == AGENT_ANSWERED && ((max->tokens_max && more > max->tokens_max) ||
                                       (max->cost_max && price_more > max->cost_max)))
        l->limit = AGENT_TOKENS_LIMIT;
    return true;
}
