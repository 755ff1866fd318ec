/* progress.h -- how far a transfer is: one line on a terminal that changes.
 *
 *     report.bin  45 % [#########-----------]  57.6 MiB of 128 MiB  11.2 MiB/s  0:07 left
 *
 * Nothing is shown for the first second, and nothing at all where there is no terminal. The rate is
 * that of the last few seconds, and counts only what was moved now, not what lay there already.
 */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

enum { PROGRESS_SAMPLES = 16 };

struct progress {
    int fd;                  /* of the terminal; -1: there is none */
    int64_t (*now_us)(void); /* the clock */
    const char *name;        /* of the present file; borrowed */
    uint64_t total;          /* bytes of all files; 0: not known */
    size_t files, file_total;
    uint64_t done, moved; /* bytes: with and without what lay there already */
    int64_t begun_us, shown_us;
    struct {
        int64_t at_us;
        uint64_t moved;
    } samples[PROGRESS_SAMPLES]; /* a ring, one for each line that was shown */
    size_t sample_count;
    bool is_shown;
};

/* To standard error if that is a terminal that can move its cursor. */
struct progress progress_here(void);

/* From here on `total` bytes in so many files. */
void progress_begin(struct progress *p, uint64_t total, size_t file_total);
void progress_file(struct progress *p, const char *name);
void progress_moved(struct progress *p, uint64_t bytes);
void progress_skipped(struct progress *p, uint64_t bytes); /* lay there already */
void progress_undone(struct progress *p, uint64_t bytes);  /* have to be moved again */

/* Takes the line away, so that something else can be said; the next bytes bring it back. */
void progress_clear(struct progress *p);

/* Appends the line as it is at that moment, fitting into `width` columns. */
void progress_text(const struct progress *p, int64_t now_us, size_t width, struct buf *out);

#endif
