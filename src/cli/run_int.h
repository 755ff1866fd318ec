/* run_int.h -- what `cicada run` here and `cicada run` through a server share. */
#ifndef CLI_RUN_INT_H
#define CLI_RUN_INT_H

#include <stdbool.h>

#include "cli/image.h"

struct err;
struct notes;
struct run;
struct run_options;

/* Runs the pieces through a server; returns the exit code. */
int run_remote(struct run_options *o);

/* False if a server cannot do what the options ask for. */
bool run_remote_can(const struct run_options *o);

/* Looks before anything is started, so that a typing mistake is answered at once. */
int run_check_guests(const struct run_options *o, struct err *e);

/* How to show figures here, with a note if that was asked for and cannot be done. */
enum image_way run_images(const struct run_options *o, struct notes *notes);

/* How standard output failed (an errno), as an exit code; EXIT_DONE if it did not. */
int run_output_exit(struct notes *notes, int failed);

/* What there is to say about a run after its output. */
void run_tell_end(struct notes *notes, const struct run *run);

#endif
