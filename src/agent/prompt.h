/* prompt.h -- what a model is told before anything else: that it can run code, and how. */
#ifndef AGENT_PROMPT_H
#define AGENT_PROMPT_H

#include <stdbool.h>

struct buf;
struct json_t;

struct prompt {
    bool has_python;
    bool is_fenced;                 /* it runs code by writing blocks */
    bool must_run;                  /* then: it has to, now */
    const struct json_t *functions; /* then: others that it can call so; NULL: none */
    const char *own;                /* instructions of the caller; NULL: none */
};

/* Appends it; nothing when there is nothing to say. */
void prompt_write(const struct prompt *p, struct buf *out);

/* The tool, as model_question has it. */
extern const char prompt_python_name[], prompt_python_tool[];

#endif
