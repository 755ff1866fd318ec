/* Fuzzes the tasks of an evaluation: whatever is read has an id, a question and one expectation, and an answer can be held
 * against it. The first line is the answer. */
#include "cli/eval_tasks.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scope.h"
#include "cli/eval_check.h"

#include "fuzz.h"

static void check_task(const struct task *t, const char *answer)
{
    scoped(buf_done) struct buf why = BUF_INIT(16 << 10);
    struct err e = {0};
    bool is_solved = false;
    assert(*t->id && strlen(t->id) <= TASK_ID_MAX && *t->question && t->line > 0);
    assert((t->kind == TASK_CONTAINS) == (t->parts != NULL));
    assert(t->text || t->kind == TASK_NUMBER || t->kind == TASK_CONTAINS);
    if (check_answer(t, answer, /* sha256= */ NULL, &is_solved, &why, &e))
        assert(e.code == ERR_LIMIT || e.code == ERR_NO_MEMORY);
    else
        assert(is_solved || why.len > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const char *text = len ? (const char *)bytes : "";
    const char *feed = len ? memchr(text, '\n', len) : NULL;
    size_t answer_len = feed ? (size_t)(feed - text) : 0, used = feed ? answer_len + 1 : 0;
    scoped(freep) char *answer = strndup(text, answer_len);
    scoped(tasks_done) struct tasks t = {0};
    struct err e = {0};
    assert(answer);
    if (tasks_read(text + used, len - used, &t, &e)) {
        assert(e.code == ERR_INVALID || e.code == ERR_LIMIT || e.code == ERR_NO_MEMORY);
        assert(*e.text);
        return 0;
    }
    assert(t.count > 0);
    for (size_t i = 0; i < t.count; i++)
        check_task(&t.all[i], answer);
    return 0;
}
