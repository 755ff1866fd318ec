/* language.h -- runs in another language than Python, from RUN to DONE.
 *
 * One process for each run (process.h): /bin/bash or /usr/bin/node of the jail, in /mnt/data, with the
 * environment of the session and the run's on top, stdin as given or empty. Nothing is kept between two
 * of them but files; Python's variables are not touched.
 *
 *     it ended with 0          DONE
 *     with another status      ERROR ExitStatus
 *     killed by a signal       ERROR Signal
 *     could not be started     ERROR NotInstalled, OSError
 */
#ifndef KERNEL_LANGUAGE_H
#define KERNEL_LANGUAGE_H

#include "wire/frame.h"

/* What a RUN is written in. */
enum run_language language_of(const struct frame *request);

/* Needs the GIL, and lets go of it meanwhile. Always answers. */
void language_run(const struct frame *request);

#endif
