/* working_int.h -- the inside of a working copy: working.c (its life, what is known), working_look.c
 * (a look), lowers.c (what lies below), working_copy.c. */
#ifndef SESSION_WORKING_INT_H
#define SESSION_WORKING_INT_H

#include "session/capture_int.h"
#include "session/working.h"

enum {
    WORKING_READ_MS_MAX = 60000, /* what a look did not get to by then is left to the next one */
};

struct working {
    struct jail_data data; /* owns its descriptors */
    struct ignore_rules ignore;
    struct survey_rules rules; /* refers to ignore */
    uint64_t file_max;
    bool is_clock_fine;
    struct snapshot known;
    size_t known_cap;    /* room in it */
    size_t known_sorted; /* so many of it are; working_known appends behind them */
    uint64_t bytes, files;
};

void working_sort(struct working *w);
/* Makes *now what is known; takes it over. */
void working_replace(struct working *w, struct snapshot *now);

/* ---- lowers.c: the layers below, as one tree ---- */

/* What they show at a path: nothing, a file in `layer`, or a directory that is made of several. */
struct lower_place {
    enum { LOWER_NOTHING, LOWER_FILE, LOWER_DIRECTORY, LOWER_OTHER } kind;
    size_t layer;                   /* FILE */
    size_t layers[JAIL_LOWERS_MAX]; /* DIRECTORY: top first */
    size_t count;
};

int lowers_find(const struct jail_data *data, const char *path, struct lower_place *ret,
                struct err *e);

/* Calls `each` with the path of every regular file that they show below the directory `path`.
 * Non-zero ends it. */
struct lower_sink {
    int (*each)(void *arg, const char *path, struct err *e);
    void *arg;
};
int lowers_list(const struct jail_data *data, const char *path, const struct lower_place *place,
                const struct lower_sink *sink, struct err *e);

/* The mark of overlayfs at a directory that hides those below it. */
bool overlay_is_opaque(int dir_fd);

#endif
