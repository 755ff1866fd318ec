/* workdir_int.h -- what workdir.c and bring.c share. */
#ifndef SESSION_WORKDIR_INT_H
#define SESSION_WORKDIR_INT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;

struct workdir {
    char *path;   /* of the outer directory; owned */
    int outer_fd; /* -1: not made yet */
    int data_fd;
    uid_t uid;    /* who the data belongs to; 0: whoever we are */
    size_t files; /* brought so far */
    uint64_t bytes;
};

/* Gives a file in the data directory to the session. */
int workdir_give(const struct workdir *w, int fd, struct err *e);

#endif
