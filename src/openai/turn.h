/* turn.h -- one response while it is made: what is known of it, from the request to the last event.
 *
 *     oa_turn_new(&request, ...)       in the handler: everything that can be refused has been by then
 *     flight_start(... oa_turn_run ...) in a thread of its own: the model is asked, code is run, events are told
 *     oa_turn_object(t)                from any thread: the response as it is now
 *
 * The parts: turn_new.c (what has to be there first), turn_container.c (where code runs), attach.c (files of the input go to the
 * container), told.c (items as the model gets them), turn_sink.c (what the agent does, as items and events), turn_files.c (files of
 * runs, and citing them), turn_end.c (how it ended).
 */
#ifndef OPENAI_TURN_H
#define OPENAI_TURN_H

#include <pthread.h>
#include <stdbool.h>

#include "ask/hands.h"
#include "openai/events.h"
#include "openai/openai_int.h"
#include "openai/request.h"

struct agent_outcome;
struct agent_sink;
struct flight;
struct halt;
struct json_t;

enum {
    OA_IMAGES_MAX = 24 << 20
}; /* bytes of all images of a response: they are in two events, FLIGHT_EVENTS_MAX */

struct oa_turn {
    struct openai *oa;
    struct caller *caller; /* owned */
    struct oa_request q;
    char id[ID_SIZE];
    struct json_t *input; /* owned: the items of the request, as they are kept */
    struct json_t *items; /* owned: the whole conversation, as the model gets it */
    char *instructions;   /* owned; NULL: none */
    bool has_outputs;     /* clients see the outputs of code */

    bool has_container, is_container_new; /* made for this response */
    struct oa_container container;
    struct hands hands;
    size_t image_bytes;   /* of its images up to now */
    struct json_t *marks; /* owned: what is to be put on the call that has just run */
    struct json_t *names; /* owned: of files that came with the request (names.h) */
    struct json_t *made;  /* owned: files that runs made and no text has cited yet (turn_files.c) */

    struct oa_events events;
    struct flight *flight;    /* borrowed, valid while it runs; NULL: it never did */
    bool is_told;             /* events are kept for clients */
    bool is_ending, is_ended; /* its last event is told, and was kept */

    pthread_mutex_t lock;  /* protects what follows */
    struct json_t *object; /* owned: the response */
    bool is_cancelled, is_deleted;
    /* Valid once it is over: */
    bool has_failed, is_empty; /* nothing was made before it failed */
    struct err why;            /* then: what clients are told instead */
    const char *why_code;      /* of its error; static */
    bool is_final;             /* asking again makes no sense */
};

/* turn_new.c: everything that has to be there before the model is asked. Takes *q, also when it fails. */
int oa_turn_new(struct oa_call *o, struct oa_request *q, struct oa_turn **ret, struct err *e);
void oa_turn_free(void *turn);

void oa_turn_run(struct flight *f, void *turn);

/* Once it is over and nobody waits for it: all that is large is forgotten, though the flight is still known for a while. What a
 * client asks for then is on the card. */
void oa_turn_release(struct oa_turn *t);
/* Asks the model, for who tells of it in another way (chat_code.c). *outcome is to be freed in any case. */
int oa_turn_ask(struct oa_turn *t, const struct agent_sink *sink, struct halt *halt,
                struct agent_outcome *outcome, struct err *e);

/* Copies, the caller's; NULL: no memory, or they are forgotten. */
struct json_t *oa_turn_object(struct oa_turn *t);
struct json_t *oa_turn_input(struct oa_turn *t);
bool oa_turn_is_kept(struct oa_turn *t); /* stored, and not deleted meanwhile */
/* When it is halted after this, it ends as cancelled, or so that nothing is kept. */
void oa_turn_cancel(struct oa_turn *t);
void oa_turn_delete(struct oa_turn *t);

/* ---- container (turn_container.c) ---- */

/* Finds the container of the request: that of the tool, or that of earlier code among `items`; none is made. */
int oa_turn_find(struct oa_turn *t, const struct json_t *items, struct err *e);
/* Makes one unless there is one. */
int oa_turn_open(struct oa_turn *t, struct err *e);
/* Deletes one that was made for a response that is not made after all. */
void oa_turn_unmake(struct oa_turn *t);
int oa_turn_code(void *turn, struct str code, struct halt *halt, struct json_t **ret_run,
                 struct err *e);
/* Appends what files are there, in words. */
void oa_turn_tell_files(struct oa_turn *t, struct buf *out);

/* ---- input (attach.c, told.c) ---- */

/* The files of `input` go to the container, and the parts say where they are (x_path). */
int oa_attach(struct oa_turn *t, struct oa_call *o, struct json_t *input, struct err *e);
/* Appends the items as a model gets them: files as places, texts or images, not as ids. */
int oa_told(struct oa_turn *t, const struct json_t *items, struct json_t *out, struct err *e);

/* ---- what the agent does (turn_sink.c, turn_files.c) ---- */

void oa_turn_sink(struct oa_turn *t, struct agent_sink *ret);
/* Makes x_exec and x_files for the item of a call that has run, and notes the files. */
void oa_turn_ran(struct oa_turn *t, const struct json_t *run, struct json_t *ret_marks);
/* container_file_citations for a text. *ret is the caller's. */
void oa_turn_cite(struct oa_turn *t, const char *text, struct json_t **ret);

/* ---- its end (turn_end.c) ---- */

/* Notes how it ended: `failed` and *why of agent_run, and the outcome. */
void oa_turn_end(struct oa_turn *t, int failed, const struct err *why,
                 const struct agent_outcome *outcome, bool is_halted);

#endif
