/* reproduce_int.h -- the inside of reproduce.h: reproduce.c (its way), reproduce_plan.c (which runs),
 * reproduce_place.c (where: files and sessions), reproduce_compare.c (the same?). */
#ifndef SERVICE_REPRODUCE_INT_H
#define SERVICE_REPRODUCE_INT_H

#include "base/buf.h"
#include "service/reproduce.h"
#include "service/service_int.h"
#include "store/meta_lineage.h"
#include "workspace/files.h"

struct json_t;

/* ---- reproduce_plan.c ---- */

struct step {
    struct run_row run; /* without its code */
    struct input_rows inputs;
    size_t line;               /* of runs that follow each other in one session */
    bool is_again;             /* it is in an earlier line too */
    bool is_skipped;           /* it was cut short then */
    char repeated_as[ID_SIZE]; /* "": not yet */
};

/* Each line is repeated in a session of its own, and has a whole history (lineage.h). Where two part, after a fork or a
 * rollback, what they share is in both. */
struct plan {
    struct step *steps; /* in the order in which they ran */
    size_t count, line_count;
    bool is_partial; /* what they read is not all known */
};

int plan_make(struct service *s, const struct reproduction *wishes, struct plan *ret,
              struct err *e);
/* The same for runs that are known. ERR_CONFLICT when one was forgotten. */
int plan_runs(struct service *s, const char *const *runs, size_t count, struct plan *ret,
              struct err *e);
void plan_done(struct plan *p);
bool plan_makes(const struct plan *p, const char *run); /* that run is one of its steps */

/* ---- reproduce_place.c ---- */

/* A file that was put there. */
struct used_file {
    char *path;
    uint64_t version, newest; /* newest 0: it is gone by now */
};

struct place {
    struct service *service;
    struct who who; /* the caller, who may write here */
    const struct reproduction *wishes;
    struct workspace_row ws; /* id "": not made yet */
    struct actor {
        size_t line; /* that is repeated in it */
        struct seat *seat;
    } * actors;
    size_t actor_count;
    struct used_file *used;
    size_t used_count;
    size_t run_count;
    /* Told of each run (repeat.h); NULL: nobody. */
    int (*watch)(void *arg, struct job *job);
    void *watch_arg;
};

int place_make(struct service *s, const struct who *who, const struct reproduction *wishes,
               struct place *ret, struct err *e);
void place_done(struct place *p); /* closes its sessions, removes the workspace */

/* A commit to its workspace; and a file for it, from the caller's workspace or its own. */
int place_begin(struct place *p, struct commit **ret, struct err *e);
int place_add(struct place *p, struct commit *c, const char *path, const struct content *content,
              bool is_own, struct err *e);
/* What the workspace of the wishes had before that time, as far as it has it still and there is not too much
 * of it. *ret_is_whole: it is all there. repeat_fill.c */
int place_fill(struct place *p, int64_t before_us, bool *ret_is_whole, struct err *e);

/* What the step read and no other step makes is there, and so are the directories it wrote to. */
int place_prepare(struct place *p, const struct plan *plan, const struct step *step, struct err *e);
/* A version of the caller's workspace, or one of the place's own, as a file of the place. */
int place_put(struct place *p, const char *path, const struct version_row *v, bool is_own,
              struct err *e);
/* The session in which the step's line is repeated; a new one for its first. NULL: one for nothing of that. */
int place_seat(struct place *p, const struct step *step, struct seat **ret, struct err *e);

struct repeat_code {
    const char *code, *stdin_text; /* stdin_text NULL: none */
    size_t code_len;
    enum run_language language;
    const char *name;
};
/* One step again, in its session. *ret is the run object, the caller's. */
int place_repeat(struct place *p, const struct plan *plan, struct step *step, struct json_t **ret,
                 struct err *e);
/* Whether it ended as it had. */
bool step_went_well(const struct step *step, const struct json_t *run);
/* Runs it. *ret is the run object, the caller's. */
int place_run(struct place *p, struct seat *seat, const struct repeat_code *what,
              char ret_id[ID_SIZE], struct json_t **ret, struct err *e);

/* ---- reproduce_compare.c ---- */

struct verdict {
    bool is_same;
    char how[16]; /* "bytes", "pixels", "values", "text" */
    char detail[600];
};
/* The version p->wishes->of, with what is at its path here. */
int place_compare(struct place *p, struct verdict *ret, struct err *e);

#endif
