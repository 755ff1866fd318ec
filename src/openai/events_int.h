/* events_int.h -- writing one event. */
#ifndef OPENAI_EVENTS_INT_H
#define OPENAI_EVENTS_INT_H

#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "json/write.h"

struct json_t;
struct oa_events;

struct event_writing {
    struct oa_events *ev;
    const char *event;
    struct buf text;
    struct json_writer w;
};

/* {"type":EVENT,"sequence_number":N, ... */
void event_begin(struct event_writing *it, struct oa_events *ev, const char *event);
void event_finish(struct event_writing *it); /* ... } and out it goes */

void event_u64(struct event_writing *it, const char *key, uint64_t v);
void event_str(struct event_writing *it, const char *key, struct str v);
void event_text(struct event_writing *it, const char *key, const char *v); /* NULL: null */
void event_json(struct event_writing *it, const char *key, const struct json_t *v);

/* The same item before anything was in it; the caller's. */
struct json_t *event_empty_item(const struct json_t *item);

#endif
