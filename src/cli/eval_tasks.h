/* eval_tasks.h -- the tasks of an evaluation, one JSON object on each line.
 *
 *     {"id": "top", "question": "Which city sells most?", "files": ["sales.csv"], "expect": {"contains": ["Oslo"]}}
 *
 * "expect" says when a task is solved, in exactly one way:
 *
 *     {"number": x, "tolerance": t}     a number of the answer is at most t away from x (exactly x without t)
 *     {"text": "..."}                   the answer is this, but for blanks around it
 *     {"contains": ["...", ...]}        all of these stand in it, in letters of either case
 *     {"regex": "..."}                  it fits somewhere (PCRE2)
 *     {"file": "out.csv", "sha256": h}  this file is in the workspace afterwards, with that content if it is given
 *
 * A file is named relative to where the tasks are, and is found under the same name by the code. Lines that are empty are
 * passed over. What is wrong is told with the number of its line.
 *
 *     scoped(tasks_done) struct tasks t = {0};
 *     tasks_read(text, len, &t, e)
 */
#ifndef CLI_EVAL_TASKS_H
#define CLI_EVAL_TASKS_H

#include <stddef.h>

struct err;
struct json_t;

enum {
    TASKS_MAX = 10000,
    TASKS_BYTES_MAX = 16 << 20,
    TASK_ID_MAX = 64,
    TASK_FILES_MAX = 64,
    TASK_PARTS_MAX = 64, /* of "contains" */
};

enum task_kind { TASK_NUMBER, TASK_TEXT, TASK_CONTAINS, TASK_REGEX, TASK_FILE };

struct task {
    struct json_t *object; /* owned; the rest is borrowed from it */
    const char *id, *question;
    const struct json_t *files; /* array of texts; NULL: none */
    enum task_kind kind;
    double number, tolerance;
    const char *text;           /* of TASK_TEXT; the expression; the path of the file */
    const char *sha256;         /* NULL: any */
    const struct json_t *parts; /* of TASK_CONTAINS */
    size_t line;                /* from 1 */
};

struct tasks {
    struct task *all; /* owned */
    size_t count;
};

/* Fails with ERR_INVALID, "line 3: ...", or ERR_LIMIT. Call tasks_done in any case. */
int tasks_read(const char *text, size_t len, struct tasks *ret, struct err *e);
void tasks_done(struct tasks *t);

#endif
