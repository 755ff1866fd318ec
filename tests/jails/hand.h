/* hand.h -- a jail in the hand of a test: asked for by hand, spoken to line by line (player.c). */
#ifndef TESTS_JAILS_HAND_H
#define TESTS_JAILS_HAND_H

#include <sys/types.h>

#include "wire/jail.h"

struct err;
struct spawner;

enum { HAND_WAIT_S = 40, HAND_LINE = 1024 };

struct hand {
    int handle, control, out;
    pid_t player; /* who greeted, as we number it */
    char word[16];
    int counters[JAIL_COUNTERS]; /* that came with STARTED, and */
    size_t counter_count;        /* how many */
};

#define HAND_NONE ((struct hand){.handle = -1, .control = -1, .out = -1})

/* What a jail is made of; only what the spec names is used. */
struct hand_parts {
    int data, image, delta, libraries;
    const struct jail_data *layers; /* instead of `data`, when the spec has lowers */
};

/* Asks for a jail. Does not wait. */
int hand_ask(struct hand *h, struct spawner *s, const struct jail_spec *spec,
             const struct hand_parts *parts, struct err *e);
void hand_done(struct hand *h);

/* A new socket to a player: ours becomes h->control. Its messages tell who sent them. */
int hand_make_control(struct hand *h, int *ret_theirs, struct err *e);

/* Waits for STARTED and for the greeting. Fails with the step when it is FAILED instead. */
int hand_greet(struct hand *h, struct err *e);

/* The greeting of whoever has the other end of `control`. */
int hand_hear_greeting(struct hand *h, struct err *e);

/* Waits for the next event but USED, or for an end when that comes instead. */
int hand_event(struct hand *h, struct jail_event *ret, struct err *e);

/* ATTACH, with all the descriptors. */
int hand_attach(struct hand *h, const struct jail_data *data, struct err *e);

int hand_request(struct hand *h, enum jail_request_kind kind, pid_t pid, int fd, struct err *e);

/* Says a line, with a descriptor unless it is -1, and hears the answer; hand_tell does not wait. */
int hand_tell(struct hand *h, const char *line, int fd, struct err *e);
int hand_say(struct hand *h, const char *line, int fd, char answer[HAND_LINE], struct err *e);

/* Fails unless the answer is `wanted`. */
int hand_expect(struct hand *h, const char *line, const char *wanted, struct err *e);

/* A field of /proc/PID/status; empty when there is none. */
void hand_status(pid_t pid, const char *field, char value[HAND_LINE]);
pid_t hand_parent(pid_t pid);

#endif
