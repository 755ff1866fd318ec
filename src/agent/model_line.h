/* model_line.h -- connections to an endpoint, kept for the next question.
 *
 *     scoped(line_closep) struct line *l = lines_get(lines, e)
 *     line_perform(l, &request, &sink, halt, &end)
 *     line_pause(l, 500, halt)
 *     lines_give(lines, take(l))
 *
 * One transfer at a time on each; whoever halts wakes it up at once. TLS is verified, redirects are not followed, nothing but
 * http and https is spoken.
 */
#ifndef AGENT_MODEL_LINE_H
#define AGENT_MODEL_LINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct curl_slist;
struct err;
struct halt;
struct line;

enum { LINES_IDLE_MAX = 16, LINE_REACH_MS = 10000 };

struct lines {
    pthread_mutex_t lock; /* protects the rest */
    struct line *idle[LINES_IDLE_MAX];
    size_t idle_count;
};

struct line_request {
    const char *url;
    struct curl_slist *headers;
    struct str body;     /* ptr NULL: GET */
    uint32_t silence_ms; /* after so long without a byte it is given up */
    uint32_t whole_ms;   /* and after so long, whatever comes */
};

/* -1 from either ends it. */
struct line_sink {
    int (*head)(void *arg, int status, const char *type); /* type "": none */
    int (*bytes)(void *arg, struct str bytes);
    void *arg;
};

enum line_how {
    LINE_COMPLETE,
    LINE_UNREACHED, /* no answer began */
    LINE_CUT,       /* it began, but did not end as it should */
    LINE_SILENT,
    LINE_ENDLESS,
    LINE_STOPPED, /* by the sink */
    LINE_HALTED,
};

struct line_end {
    enum line_how how;
    int status;              /* 0: none */
    uint32_t retry_after_ms; /* 0: it did not say */
    const char *why;         /* static; for LINE_UNREACHED and LINE_CUT */
};

void lines_init(struct lines *all);
void lines_done(struct lines *all);

struct line *lines_get(struct lines *all, struct err *e); /* NULL: no memory */
void lines_give(struct lines *all, struct line *l);
void line_closep(struct line **l);

/* Blocks. halt may be NULL. */
void line_perform(struct line *l, const struct line_request *r, const struct line_sink *sink,
                  struct halt *halt, struct line_end *ret);
/* Waits; true: it was halted. */
bool line_pause(struct line *l, uint32_t ms, struct halt *halt);

#endif
