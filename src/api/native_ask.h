/* native_ask.h -- what the operations of questions and answers take; ask/ answers them (ask/ask.h). */
#ifndef API_NATIVE_ASK_H
#define API_NATIVE_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "json/fields.h"

/* Which operation of native_ask.c it is. */
enum ask_op {
    ASK_CREATE,
    ASK_LIST,
    ASK_GET,
    ASK_DELETE,
    ASK_CANCEL,
    ASK_EVENTS,
    ASK_TRANSCRIPT,
    ASK_VERIFY,
};

struct question_args {
    const char *question, *workspace, *session, *model, *instructions;
    struct json_texts files;
    bool search, verify, background;
    int64_t max_runs, max_tokens;
    int64_t timeout_s; /* thousandths; 0: none */
};

struct answers_args {
    const char *session, *cursor;
    int64_t limit;
};

enum transcript_format { TRANSCRIPT_MARKDOWN, TRANSCRIPT_NOTEBOOK, TRANSCRIPT_JSON };

struct transcript_args {
    int format;
};

#endif
