/* journal.h -- what happened in a run, note by note, for any number of readers at any time.
 *
 *     journal_add(&j, NOTE_STDOUT, text, len, e)         numbers from 1
 *     while ((note = journal_after(&j, seen)))            the first with a larger number
 *         seen = note->id;
 *
 * It is bounded: when it is full, the oldest output is dropped, and a reader that comes too late
 * sees that numbers are missing. What a run needs to be understood (its beginning, its error, its
 * end) is never dropped. Not safe for threads by itself: whoever owns it has a lock.
 */
#ifndef SERVICE_JOURNAL_H
#define SERVICE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

struct err;

enum {
    JOURNAL_BYTES_MAX = 4 << 20, /* of what may be dropped; what may not is bounded by its maker */
    JOURNAL_NOTES_MAX = 4096,
};

enum note_kind {
    NOTE_STARTED, /* JSON: the run object, not ended */
    NOTE_STDOUT,  /* JSON: {"text"}; written down as it is sent, because many may follow */
    NOTE_STDERR,
    NOTE_DISPLAY, /* JSON: {"data": {mime: ...}, "display_id"?} */
    NOTE_CLEAR,   /* JSON: {} */
    NOTE_RESULT,  /* JSON: {"data": ...} */
    NOTE_ERROR,   /* JSON: the error object */
    NOTE_FILE,    /* JSON: the file object */
    NOTE_DONE,    /* JSON: the run object */
    NOTE_COUNT
};

struct note {
    struct note *next;
    uint64_t id;
    enum note_kind kind;
    size_t len;
    char text[]; /* JSON on one line, NUL-terminated */
};

struct journal {
    struct note *first, *last;
    uint64_t next_id; /* 0 until the first note */
    size_t bytes, count;
    uint64_t dropped; /* notes, ever */
};

void journal_done(struct journal *j);

/* Fails with ERR_NO_MEMORY, and then the note is missing. */
int journal_add(struct journal *j, enum note_kind kind, const void *text, size_t len,
                struct err *e);

/* The first note with a number above `seen`, or NULL. Borrowed until the next journal_add. */
const struct note *journal_after(const struct journal *j, uint64_t seen);

const char *note_name(enum note_kind kind); /* "run.started", "stdout": what clients see */

#endif
