/* capture_int.h -- what capture and working share: looking around, comparing, reading one file. */
#ifndef SESSION_CAPTURE_INT_H
#define SESSION_CAPTURE_INT_H

#include "session/capture.h"
#include "session/ignore.h"

struct statx;

/* What a survey makes of what it sees. */
struct survey_rules {
    const struct ignore_rules *ignore;
    bool is_upper;  /* of an overlay: directories and whiteouts are found too */
    bool is_strict; /* a name that no workspace can keep is odd: not UTF-8, or with controls */
};

/* Walks the tree below `dir_fd` and writes what is there to *ret, sorted, without duplicates. What
 * could not be looked at goes to `missed`, unless that is NULL. */
int survey_take(int dir_fd, const struct survey_rules *rules, int64_t deadline_us,
                struct capture *missed, struct snapshot *ret, struct err *e);

/* Sorts, drops what is GONE, and of those with the same path all but the latest. */
void snapshot_sort(struct snapshot *s);
/* In one that is sorted; NULL: not there. */
struct file_stamp *snapshot_find(const struct snapshot *s, const char *path);
/* Makes room for one more. */
int snapshot_grow(struct snapshot *s, size_t *cap, struct err *e);

/* Everything but the path; what is special about a directory is found out elsewhere. */
void stamp_set(struct file_stamp *stamp, const struct statx *st, bool is_upper);
bool stamp_is_same(const struct file_stamp *was, const struct file_stamp *is);

/* The clock that files are stamped with: it stands still for milliseconds. */
int64_t tick_ns(void);

/* What became of the attempt to read a file. */
enum reading {
    READING_DONE,
    READING_GONE,      /* there is no such file any more */
    READING_DENIED,    /* we may not */
    READING_FAILED,    /* for now: the disk cannot, or too much is open */
    READING_TOO_LARGE, /* over the limit */
    READING_RESTLESS,  /* it was changed while being read, each time */
    READING_BUSY,      /* somebody has a lease on it and has to give that back first */
    READING_LATE,      /* the time is used up */
    READING_LINK,      /* something else than a regular file is there by now */
    READING_ODD,
    READING_COUNT
};
const char *reading_reason(enum reading reading); /* not for DONE and GONE */

/* One comparison of what is there with what was known, and who hears of it. */
struct look;
struct look_sink {
    /* Reads `fd`, of `is->size` bytes, from its start; called again when it changed meanwhile, and
     * always followed by `settled`. The answer is -1 with *e set, which ends the look, or one of
     * enum reading: DONE, RESTLESS, LATE, FAILED. */
    int (*changed)(struct look *l, const struct file_stamp *is, int fd, struct err *e);
    int (*settled)(struct look *l, const struct file_stamp *is, bool is_torn, struct err *e);
    /* A regular file that could not be read. */
    int (*unread)(struct look *l, const struct file_stamp *is, enum reading reading, struct err *e);
    int (*deleted)(struct look *l, const char *path, struct err *e);
};

struct look {
    int dir_fd;
    const struct survey_rules *rules;
    int64_t walk_deadline_us, read_deadline_us;
    uint64_t file_max;
    bool is_written_back; /* dirty pages are cleaned before a file is read: see working.h */
    bool is_clock_fine;   /* whoever changes a file after it was looked at gets a time of his own */
    bool is_all_told;     /* what the earlier look did not get to is told, however old it is */
    const struct snapshot *before;
    struct snapshot now; /* the look's */
    size_t seen;         /* of now.files: sorted; behind them are those that may still be there */
    const struct look_sink *sink;
    struct capture *missed;
    void *arg; /* the sink's */
};

/* Looks and compares: tells what was deleted, marks what changed. Then whoever wants to know more
 * asks l->now, and the rest is told: look_read. Both fail with what the sink fails with. */
int look_compare(struct look *l, struct err *e);
int look_read(struct look *l, struct err *e);

/* Reads one file into the sink: content.c. *is becomes what it was when it was read. -1 when the
 * sink ended the look; otherwise what became of it. */
int look_read_file(struct look *l, struct file_stamp *is, struct err *e);
/* Has the kernel begin to write back what will be read. */
void content_prepare(const struct look *l, const struct file_stamp *is);
/* Whether a file that was stamped when fresh can have changed all the same, stamp or not. */
bool content_is_known(const struct look *l, const struct file_stamp *was);
/* Cleans the pages of an open file and stamps it. False: somebody wrote to it meanwhile. */
bool content_settle(int fd, bool is_written_back, struct file_stamp *ret);

#endif
