/* cases.h -- what the tests of jails share. A test returns -1 with *e set when something is not as
 * it should be. */
#ifndef TESTS_JAILS_CASES_H
#define TESTS_JAILS_CASES_H

#include "hand.h"

struct place {
    struct spawner *spawner;
    int data_fd;          /* of a directory that a session may have */
    int root_fd, file_fd; /* a directory of root's (as root; otherwise -1); a file in data_fd */
    int image, image_rw, delta;
    char tree[256];   /* path of a tree of libraries, in which python3/marker says "of then" */
    int libraries;    /* its descriptor */
    const char *base; /* where a test may make directories */
    const char *spawn, *player; /* the programs, for a spawner of its own */
};

struct test {
    const char *name;
    int (*run)(struct place *p, struct err *e);
};

/* Each ends with {0}. weak_tests are for hosts without namespaces, the others for those with. */
extern const struct test start_tests[], library_tests[], parked_tests[], copy_tests[], life_tests[],
    layer_tests[], weak_tests[];

/* Asks for a jail of that kind, and waits until the player in it has greeted. */
int begin(struct place *p, struct hand *h, const struct jail_spec *spec, struct err *e);

/* The kinds that are used most; waking_old comes with libraries. */
extern const struct jail_spec cold, from_image, parked_image, baking, waking, waking_old;

/* Asks for one that must fail, saying what is wrong with it. */
int expect_no_start(struct place *p, const struct jail_spec *spec, const struct hand_parts *parts,
                    const char *wanted, struct err *e);

/* Fails unless the next event is of that kind. */
int expect_event(struct hand *h, enum jail_event_kind kind, struct jail_event *ret, struct err *e);

/* Fails unless the jail ends next, for that cause. */
int expect_end(struct hand *h, enum jail_cause cause, int status, struct err *e);

/* Fails unless there is no such process any more, or it ends soon. */
int expect_gone(pid_t pid, struct err *e);

/* Fails, saying what. */
int fail(struct err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
