/* prompts.h -- what prompts there are, for prompts.c and completion.c. */
#ifndef MCP_PROMPTS_H
#define MCP_PROMPTS_H

#include <stdbool.h>

struct buf;
struct err;
struct json_t;
struct mcp_call;

enum { PROMPT_ARGUMENTS_MAX = 2 };

struct prompt_argument {
    const char *name, *title, *description;
    bool is_required;
};

/* The messages of a prompt, written to m->w by write(). */
struct prompt {
    const char *name, *title, *description;
    struct prompt_argument arguments[PROMPT_ARGUMENTS_MAX]; /* name NULL: no more */
    int (*write)(struct mcp_call *m, const char *const *values, struct err *e);
};

extern const struct prompt prompts[]; /* name NULL at the end */
const struct prompt *prompt_find(const char *name);

/* ---- messages (prompts_say.c) ---- */

/* The user says it. */
void prompt_say(struct mcp_call *m, const struct buf *text);
/* And gives a file along: in full when it is short text, otherwise by its name. `path` is as a person
 * writes it. Fails with an error of the protocol when there is none. */
int prompt_show_file(struct mcp_call *m, const char *workspace, const char *path, struct err *e);
/* The failure of a native operation, as one of an argument. */
int prompt_wrong(struct mcp_call *m, const char *argument, const char *value, struct err *e);

#endif
