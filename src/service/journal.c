#include "service/journal.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void journal_done(struct journal *j)
{
    for (struct note *n = j->first, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    *j = (struct journal){0};
}

static bool is_droppable(enum note_kind kind)
{
    return kind == NOTE_STDOUT || kind == NOTE_STDERR || kind == NOTE_DISPLAY ||
           kind == NOTE_CLEAR || kind == NOTE_FILE;
}

/* The oldest that may go; false if there is none. */
static bool drop_one(struct journal *j)
{
    struct note *before = NULL, *n = j->first;
    while (n && !is_droppable(n->kind)) {
        before = n;
        n = n->next;
    }
    if (!n)
        return false;
    if (before)
        before->next = n->next;
    else
        j->first = n->next;
    if (j->last == n)
        j->last = before;
    j->bytes -= n->len;
    j->count--;
    j->dropped++;
    free(n);
    return true;
}

int journal_add(struct journal *j, enum note_kind kind, const void *text, size_t len, struct err *e)
{
    struct note *n = malloc(sizeof *n + len + 1);
    if (!n)
        return err_set(e, ERR_NO_MEMORY, "remember what happens in a run");
    *n = (struct note){.id = ++j->next_id, .kind = kind, .len = len};
    if (len > 0)
        memcpy(n->text, text, len);
    n->text[len] = '\0';
    while ((j->bytes + len > JOURNAL_BYTES_MAX || j->count >= JOURNAL_NOTES_MAX) && drop_one(j)) {
    }
    if (j->last)
        j->last->next = n;
    else
        j->first = n;
    j->last = n;
    j->bytes += len;
    j->count++;
    return 0;
}

const struct note *journal_after(const struct journal *j, uint64_t seen)
{
    if (!j->last || j->last->id <= seen)
        return NULL;
    const struct note *n = j->first;
    while (n->id <= seen)
        n = n->next;
    return n;
}

const char *note_name(enum note_kind kind)
{
    static const char *const names[NOTE_COUNT] = {
        [NOTE_STARTED] = "run.started", [NOTE_STDOUT] = "stdout", [NOTE_STDERR] = "stderr",
        [NOTE_DISPLAY] = "display",     [NOTE_CLEAR] = "clear",   [NOTE_RESULT] = "result",
        [NOTE_ERROR] = "error",         [NOTE_FILE] = "file",     [NOTE_DONE] = "run.done",
    };
    return names[kind];
}
