/* events_again.c -- the events of a response that is over, for who wants to see it as a stream when nobody remembers it as one. */
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/scope.h"
#include "openai/events.h"
#include "openai/shape.h"

/* As it was when it began. */
static json_t *begun(const json_t *response)
{
    static const char *const empty[] = {"completed_at", "error", "incomplete_details", "usage"};
    json_t *o = json_copy((json_t *)response);
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        (void)json_object_set_new(o, empty[i], json_null());
    (void)json_object_set_new(o, "output", json_array());
    (void)json_object_set_new(o, "status", json_string("in_progress"));
    return o;
}

static void items_again(struct oa_events *ev, const json_t *output)
{
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)output, i, item)
    {
        oa_events_item(ev, i, item);
        if (shape_is(item, "type", "code_interpreter_call"))
            oa_events_running(ev, i, item);
        oa_events_item_done(ev, i, item);
    }
}

void oa_events_again(struct oa_events *ev, const struct json_t *response, uint64_t last)
{
    scoped(json_decrefp) json_t *beginning = begun(response);
    char event[64];
    oa_events_response(ev, "response.created", beginning);
    oa_events_response(ev, "response.in_progress", beginning);
    items_again(ev, json_object_get(response, "output"));
    if (ev->next < last)
        ev->next = last;
    if (shape_is(response, "status", "cancelled")) /* there is no such event */
        return;
    (void)snprintf(event, sizeof event, "response.%.40s", shape_text(response, "status"));
    oa_events_response(ev, event, response);
}
