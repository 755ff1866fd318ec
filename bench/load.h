/* load.h -- what bench-load is told on its command line; load.c says what each option means. */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/buf.h"

struct load_options {
    const char *method, *path, *body, *expected;
    struct buf headers;
    uint64_t zeros, count, seconds, warmup, pause_us, connections;
    int status;
    bool is_fresh;
    struct sockaddr_storage address;
    socklen_t address_len;
};

/* Ends the program when the command line is wrong. The texts are those of argv. */
void load_options_read(struct load_options *ret, int argc, char **argv);

#endif
