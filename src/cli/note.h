/* note.h -- what cicada itself has to say, on standard error.
 *
 * Standard output belongs to the code that is run. Notes are lines that begin with "cicada: ". File
 * names and messages in them may come from hostile code, so everything that could steer a terminal
 * is replaced; colours are ours, and only on a terminal that is not asked to do without (NO_COLOR).
 */
#ifndef CLI_NOTE_H
#define CLI_NOTE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

struct notes {
    int fd;
    bool is_coloured;
    bool is_mid_line; /* what stands before did not end its line: a note ends it first */
};

struct notes notes_to_stderr(void);

void note(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same in red: something did not work. */
void note_problem(struct notes *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Appends text as it may be shown: UTF-8, with '?' for each control character. */
void printable(const char *bytes, size_t len, struct buf *out);

/* The same for text of several lines: line feeds and tabs stay. */
void printable_lines(const char *bytes, size_t len, struct buf *out);

/* A note for each line of the text. */
void note_lines(struct notes *n, const char *text);

/* 12 B, 3.4 KiB, 512 MiB: rounded, with one digit after the point at most. */
enum { SIZE_TEXT = 16 };
const char *size_text(unsigned long long bytes, char space[SIZE_TEXT]);

#endif
