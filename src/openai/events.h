/* events.h -- the events of a streamed response, in the order and with the keys that OpenAI's clients insist on.
 *
 *     struct oa_events ev = {.emit = ..., .arg = ...};
 *     oa_events_response(&ev, "response.created", object)
 *     oa_events_item(&ev, 0, item)            output_item.added, and what opens it
 *     oa_events_delta(&ev, 0, OA_TEXT, delta) content_part.added before the first
 *     oa_events_item_done(&ev, 0, item)       annotations, ...done, output_item.done
 *     oa_events_response(&ev, "response.completed", object)
 *     oa_events_done(&ev)
 *
 * Indices of items have no gaps. Every item that was begun is ended. Deltas that nobody was told of are made up from the whole when an
 * item ends, so that who only adds up deltas has all of it. sequence_number is dense from 0 (or whatever `next` is set to). Pure.
 */
#ifndef OPENAI_EVENTS_H
#define OPENAI_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "base/str.h"

struct json_t;

enum { OA_EVENT_MAX = 60 << 20 }; /* bytes of one */

enum oa_delta { OA_TEXT, OA_REFUSAL, OA_REASONING, OA_CODE, OA_ARGUMENTS, OA_DELTAS };

struct oa_events_item; /* one that is being made */

struct oa_events {
    void (*emit)(void *arg, const char *event, struct str data); /* data is one line of JSON */
    void *arg;
    uint64_t next; /* sequence_number of the next event */
    struct oa_events_item *items;
    size_t count, room;
    bool has_failed; /* there was no memory for one; it is missing */
};
void oa_events_done(struct oa_events *ev);

/* created, queued, in_progress, completed, incomplete, failed. `response` as it is to be shown. */
void oa_events_response(struct oa_events *ev, const char *event, const struct json_t *response);

void oa_events_item(struct oa_events *ev, size_t index, const struct json_t *item);
void oa_events_delta(struct oa_events *ev, size_t index, enum oa_delta what, struct str delta);
void oa_events_running(struct oa_events *ev, size_t index, const struct json_t *item);
void oa_events_ran(struct oa_events *ev, size_t index);
void oa_events_item_done(struct oa_events *ev, size_t index, const struct json_t *item);

/* {"type":"error"}: clients throw when they see it. */
void oa_events_error(struct oa_events *ev, const char *type, const char *code, const char *message);

/* All events of a response that is over, made from the object; the last one gets the number `last` if that is larger than its own. */
void oa_events_again(struct oa_events *ev, const struct json_t *response, uint64_t last);

#endif
