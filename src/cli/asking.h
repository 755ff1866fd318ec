/* asking.h -- a question to the model of a server, followed to its answer.
 *
 *     asking_request(&wish, &body)
 *     struct asking a = {.client = client, .put = ..., .arg = ...};
 *     asking_run(&a, &body, e)      a.answer is the whole answer then
 *     asking_done(&a)
 *
 * The answer is made while the connection is open: whoever ends it (a watch of the client that cancels the call, a put that
 * fails) ends the answer, too, on the server. Nothing is repeated, because questions cost money.
 */
#ifndef CLI_ASKING_H
#define CLI_ASKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"

struct buf;
struct client;
struct err;
struct json_t;

#define ASK_PATH "/api/v1/ask"
#define ANSWERS_PATH "/api/v1/answers"

enum { ASK_FILES_MAX = 64, ASK_QUESTION_MAX = 1 << 20, ASK_BODY_MAX = 4 << 20 };

/* NULL and 0: not said, the server decides. All borrowed. */
struct ask_wish {
    const char *question, *workspace, *session, *model, *instructions;
    const char *files[ASK_FILES_MAX]; /* paths in the workspace */
    size_t file_count;
    bool is_searching, is_verified;
    uint64_t max_runs, max_tokens, timeout_s;
};

/* Appends the request. Fails by `out` alone (buf_check). */
void asking_request(const struct ask_wish *wish, struct buf *out);

struct asking {
    struct client *client;
    /* Every event but the last, as it comes; NULL: nobody wants them. A failure ends it. */
    int (*put)(void *arg, const char *event, const struct json_t *value, struct err *e);
    void *arg;
    char id[ID_SIZE];      /* "": not known yet */
    struct json_t *answer; /* owned; NULL: there is none */
};

/* Fails when the server refuses, or its answer was not seen to its end. Blocks for as long as it takes. */
int asking_run(struct asking *a, const struct buf *body, struct err *e);
void asking_done(struct asking *a);

#endif
