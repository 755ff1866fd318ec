/* line.h -- lines from whoever is at standard input.
 *
 * From a terminal with editing, history and completion (libedit); from a pipe or a file as they are.
 * Signals are not handled here but read from a signalfd, so that Ctrl-C while waiting is an answer
 * like another.
 */
#ifndef CLI_LINE_H
#define CLI_LINE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct err;
struct line;

enum line_got {
    LINE_TEXT,
    LINE_INTERRUPTED, /* Ctrl-C: what was typed is gone */
    LINE_END,         /* Ctrl-D, the end of the file, or a signal that ends us */
    LINE_TOO_LONG,
};

/* Completes `text` (the line up to the cursor). Appends what to insert to `insert`, and to `choices`,
 * one on each line, what there is to choose from if that is more than one. *ret_remove: how many
 * characters before the cursor to take away first. Non-zero: there is nothing. */
struct line_completer {
    int (*complete)(void *arg, const char *text, struct buf *insert, struct buf *choices,
                    size_t *ret_remove);
    void *arg;
};

/* `history_path` may be NULL. The completer is copied. */
int line_open(int signal_fd, const char *history_path, const struct line_completer *completer,
              struct line **ret, struct err *e);
void line_close(struct line *l); /* saves the history; NULL is fine */

bool line_is_terminal(const struct line *l);

/* The next line without its line feed, borrowed until the next call. Blocks. */
enum line_got line_read(struct line *l, const char *prompt, const char **ret);

/* Remembers a line for the arrow keys and for the next time. */
void line_remember(struct line *l, const char *text);

#endif
