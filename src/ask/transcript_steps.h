/* transcript_steps.h -- what a model said and did on its way to an answer, in order, for who writes it down. Of transcript.h. */
#ifndef ASK_TRANSCRIPT_STEPS_H
#define ASK_TRANSCRIPT_STEPS_H

#include <stddef.h>

#include "base/buf.h"

struct json_t;

enum step_kind { STEP_SAID, STEP_THOUGHT, STEP_RUN, STEP_TOOL };

struct step {
    enum step_kind kind;
    const char *text;         /* said or thought; of a tool what it gave */
    const char *name, *input; /* of a tool */
    const struct json_t *run; /* as it is kept; NULL: it never was run, or is not kept */
    const char *code;
};

/* Calls `put` for each; what the answer itself says is not among them. All is borrowed. */
void steps_each(const struct json_t *record, void (*put)(void *arg, const struct step *s),
                void *arg);

#endif
