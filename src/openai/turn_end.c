/* turn_end.c -- how a response ended, in the words of the API. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "agent/agent.h"
#include "ask/flight.h"
#include "base/clock.h"
#include "openai/response_object.h"
#include "openai/shape.h"
#include "openai/turn.h"

/* ---- it ended by itself ---- */

static bool has_message(const json_t *output)
{
    const size_t count = json_array_size(output);
    return count > 0 && shape_is(json_array_get(output, count - 1), "type", "message");
}

static void end_well(const struct oa_turn *t, const struct agent_outcome *outcome,
                     struct oa_end *ret)
{
    ret->status = "completed";
    switch (outcome->end) {
    case AGENT_ANSWERED:
    case AGENT_FUNCTION:
    case AGENT_CALLS_LIMIT: return;
    case AGENT_TOKENS_LIMIT:
        if (has_message(json_object_get(t->object, "output")))
            return;
        /* fallthrough */
    case AGENT_OUTPUT_LIMIT: ret->reason = "max_output_tokens"; break;
    case AGENT_FILTERED: ret->reason = "content_filter"; break;
    }
    ret->status = "incomplete";
}

/* ---- it failed ---- */

/* What a client is told of a model that does not answer: e->code and text for who gets no response at all. */
static void say_why(struct oa_turn *t, const struct err *why, int status)
{
    t->why = *why;
    oa_plain(t->oa, t->id, &t->why);
    t->why_code = "server_error";
    t->is_final = true;
    if (why->code == ERR_LIMIT) {
        t->why_code = "rate_limit_exceeded";
        t->is_final = false;
    } else if (status == 401 || status == 403) {
        t->why_code = "server_error";
        (void)err_set(&t->why, ERR_UNAVAILABLE,
                      "The model's endpoint refused this server (HTTP %d). Whoever runs the server "
                      "should check url and key of the section [model] (CICADA_MODEL_KEY).",
                      status);
    } else if (why->code == ERR_INVALID) {
        t->why_code = "invalid_prompt";
    }
}

static void end_halted(struct oa_turn *t, struct oa_end *ret)
{
    const bool is_too_large = t->is_told && flight_count(t->flight) < t->events.next;
    /* Clients that the stop sends away do not end it; nor can others, when they are not let in any more. */
    const bool is_stopped = flights_are_stopping(t->oa->o.flights);
    ret->status = "cancelled";
    if (t->is_cancelled || t->is_deleted || (!t->q.is_background && !is_too_large && !is_stopped))
        return;
    ret->status = "failed";
    ret->error = "server_error";
    ret->message =
        is_too_large ? "The events of this response are more than the server keeps. Save large "
                       "figures to files instead of showing them."
                     : "The server was stopped while this response was being made. Files that its "
                       "code had written are in its container. Create the response again.";
}

/* Nothing is made any more, so no item goes on. */
static void end_items(json_t *output)
{
    size_t i;
    json_t *item;
    json_array_foreach(output, i, item)
    {
        const char *status = shape_text(item, "status");
        if (strcmp(status, "in_progress") == 0 || strcmp(status, "interpreting") == 0)
            (void)json_object_set_new(item, "status",
                                      json_string("incomplete")); /* or it says so */
    }
}

void oa_turn_end(struct oa_turn *t, int failed, const struct err *why,
                 const struct agent_outcome *outcome, bool is_halted)
{
    struct oa_end end = {.ended_s = clock_wall_us() / 1000000, .usage = &outcome->usage};
    pthread_mutex_lock(&t->lock);
    json_t *output = oa_response_output(t->object);
    t->is_empty = json_array_size(output) == 0;
    if (!failed) {
        end_well(t, outcome, &end);
    } else if (is_halted || why->code == ERR_GONE) {
        end_halted(t, &end);
    } else {
        t->has_failed = true;
        say_why(t, why, outcome->status);
        end.status = "failed";
        end.error = t->why_code;
        end.message = t->why.text;
    }
    end_items(output);
    if (oa_response_end(t->object, &end))
        (void)oa_response_status(t->object, "failed"); /* no memory for more words */
    pthread_mutex_unlock(&t->lock);
}
