/* flight.h -- something that goes on in a thread of its own while clients follow it, leave, and come back.
 *
 *     flight_start(flights, &options, &f, e)      options.run(arg, f) begins, in a thread of its own
 *     flight_emit(f, "response.created", json)    from there: one event, numbered from 0
 *     flight_stream(f, c, after, e)               answers a request with its events after that number; parks it
 *     flight_wait(f, c)                           or: blocks until it is over
 *     flight_unref(f)
 *
 * Events are kept as they will be sent. One that is not in the background is forgotten at its end, others FLIGHT_KEEP_S after it, sooner when all that
 * are kept have more than FLIGHT_KEEP_BYTES. One that is not in the background is halted when the client that began it leaves.
 */
#ifndef ASK_FLIGHT_H
#define ASK_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct call;
struct err;
struct flight;
struct flights;
struct halt;

enum {
    FLIGHTS_MAX = 256,            /* that go on at once */
    FLIGHTS_OWN_MAX = 128,        /* of one principal */
    FLIGHT_EVENTS_MAX = 64 << 20, /* bytes of one; then it is halted */
    FLIGHT_LAST_MAX = 1 << 20,    /* bytes that its last event may have beyond that */
    FLIGHT_FOLLOWERS_MAX = 16,    /* clients that follow one at once */
    FLIGHTS_EVENTS_MAX =
        512
        << 20, /* bytes of all that go on: past it none begins, and those end that have more than
                                       their share; of one principal a quarter of it */
    FLIGHTS_KEPT_MAX = 256, /* that have ended and are kept */
    FLIGHT_KEEP_S = 600,
    FLIGHT_KEEP_BYTES = 64 << 20,
};

struct flight_options {
    const char *id, *principal; /* copied */
    bool is_background;
    bool
        has_ids; /* events carry a number from 1 on as their id, for who resumes by Last-Event-ID */
    /* What streams are told when the server ends, as an event; static, NULL: nothing. The flight goes on for a while
     * then, although nobody hears it. */
    const char *last_words;
    void (*run)(struct flight *f, void *arg);
    void (*free_arg)(void *arg); /* when nobody holds it any more; also when the start failed */
    void *arg;
};

/* `guests_max`: who may be let in beside flights (flights_enter). */
int flights_open(unsigned guests_max, struct flights **ret, struct err *e);
/* The server is about to end: none begins any more, and those whose client is sent away go on. Any thread. */
void flights_drain(struct flights *all);
size_t flights_going(struct flights *all);
/* None begins any more. Those that go on get `drain_ms`, then they are halted. Blocks until all have ended. */
void flights_stop(struct flights *all, uint32_t drain_ms);
bool flights_are_stopping(struct flights *all); /* one of these two was called */
void flights_close(struct flights *all);        /* NULL is fine */

/* ERR_OVERLOADED past the limits. */
int flight_start(struct flights *all, const struct flight_options *options, struct flight **ret,
                 struct err *e);
/* One that goes on or is still kept; NULL: there is none of theirs. The caller's to unref. */
struct flight *flight_find(struct flights *all, const char *principal, const char *id);
void flight_unref(struct flight *f);

void *flight_arg(struct flight *f);
struct halt *flight_halt(struct flight *f); /* halt_now ends it */

/* From its own thread. `data` is one line of JSON. */
void flight_emit(struct flight *f, const char *event, struct str data);
/* The last one: it may have FLIGHT_LAST_MAX bytes also when there is no room for others. False: it has more, and was left out. */
bool flight_emit_last(struct flight *f, const char *event, struct str data);
uint64_t flight_count(struct flight *f); /* events up to now; that is the next one's number */

/* Answers c with the events from number `from` on, as text/event-stream, until it is over. `is_owner`: when that client leaves, a
 * flight that is not in the background is halted. */
int flight_stream(struct flight *f, struct call *c, uint64_t from, bool is_owner, struct err *e);
/* Blocks until it is over. c not NULL: when that client leaves, it is halted unless it is in the background. */
void flight_wait(struct flight *f, struct call *c);
bool flight_is_over(struct flight *f);

/* ---- what takes a thread of the server for as long as a model speaks ---- */

/* A place among those, or ERR_LIMIT, ERR_OVERLOADED; then flights_leave(all, principal). */
int flights_enter(struct flights *all, const char *principal, struct err *e);
void flights_leave(struct flights *all, const char *principal);

#endif
