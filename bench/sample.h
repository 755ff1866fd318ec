/* sample.h -- how the C programs of the bench are asked to measure, and answer.
 *
 * bench/run starts them once and interleaves them with everything else it measures. It writes
 *
 *     NAME COUNT\n
 *
 * and reads one line `SERIES MICROSECONDS` per sample, then `done`. End of input ends the program;
 * a failure is printed to stderr and ends it too.
 */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include <stdint.h>

struct err;

struct command {
    const char *name; /* NULL ends the table */
    int (*measure)(void *arg, uint64_t count, struct err *e);
};

double sample_now_us(void); /* monotonic; finer than clock_us */
void sample_print(const char *series, double start_us);

/* Serves commands until the end of input. The exit status for main. */
int sample_serve(const struct command *commands, void *arg);

#endif
