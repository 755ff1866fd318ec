/* seat.h -- a session that somebody owns.
 *
 * What it does is session/session.h's business; here is whose it is, what it is called, how long it
 * is kept, where its files are, and who may use it next. All calls that need the session itself
 * wait for its turn (seat_ask only if told to); they block as their counterparts in session.h do.
 *
 * Sessions of others do not exist: ERR_NOT_FOUND; but the admins of a workspace see those in it (may.h). What
 * makes the kernel do something needs the right to write to the workspace: ERR_DENIED. One that is closed is ERR_NOT_FOUND too, except
 * for seat_show and seat_list.
 */
#ifndef SERVICE_SEAT_H
#define SERVICE_SEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/id.h"
#include "wire/limits.h"

struct err;
struct json_writer;
struct page;
struct seat;
struct service;
struct who;

enum { SEAT_NAME_MAX = 128, SEAT_TZ_MAX = 63, SEAT_IDLE_MAX_S = 30 * 86400 };

/* 0 and NULL: what the server gives. */
struct limit_wishes {
    int64_t memory_mb, cpu, wall_s, pids, output_bytes, disk_mb; /* cpu and wall_s: thousandths */
};

/* A file that comes with a one-shot. */
struct seat_file {
    const char *path;
    const void *bytes;
    size_t len;
};

struct seat_wishes {
    const char *name, *workspace, *tz;
    struct limit_wishes limits;
    int64_t idle_s, snapshots;     /* -1: what the server gives */
    bool is_one_shot;              /* for one run: not counted, closed after it */
    const struct seat_file *files; /* that go to the workspace first */
    size_t file_count;
};

/* Makes one and starts its kernel. Fails with ERR_INVALID (wishes), ERR_CONFLICT (the name is
 * taken), ERR_LIMIT (too many), ERR_OVERLOADED (no memory now), ERR_UNAVAILABLE (no jail). */
int seat_create(struct service *s, const struct who *who, const struct seat_wishes *wishes,
                struct seat **ret, struct err *e);

/* By id, or by the name its owner gave it. */
int seat_find(struct service *s, const struct who *who, const char *id_or_name, struct seat **ret,
              struct err *e);
struct seat *seat_ref(struct seat *s);
void seat_unref(struct seat *s);
static inline void seat_unrefp(struct seat **s)
{
    seat_unref(*s);
}

const char *seat_id(const struct seat *s);
const char *seat_workspace(const struct seat *s);

/* ---- what its user does with it; each takes its turn ---- */

int seat_sleep(struct seat *s, struct err *e); /* ERR_CONFLICT with the reasons when it cannot */
int seat_restart(struct seat *s, struct err *e);

/* Brings its files to what the workspace has, also those that both sides changed. */
int seat_refresh(struct seat *s, const struct who *who, struct err *e);

/* A second one with the same variables and a copy of the files. It knows this one as its parent, and the run whose
 * state it begins with. */
int seat_fork(struct seat *s, const struct who *who, const char *name, struct seat **ret,
              struct err *e);

/* Undoes the last `steps` runs, or if `run` is not NULL that one and those after it: in memory and in its files; in
 * the workspace, if `who` may write there. Those runs say so from then on. Fails with ERR_NOT_FOUND when there is no
 * snapshot of before them, or `run` is none of the history of what the session remembers. */
int seat_rollback(struct seat *s, const struct who *who, uint64_t steps, const char *run,
                  struct err *e);

/* A question about what is in it. */
struct seat_question {
    const char *topic; /* "complete", "inspect", "variables" */
    const char *code;
    uint32_t cursor; /* in characters */
    bool wakes;      /* it may be woken for this */
    bool waits;      /* behind its runs */
};

struct seat_answer {
    char *text;         /* JSON, the caller's to free; NULL: nothing is known */
    const char *status; /* what it was found to be: one that seat_list knows; static */
    bool is_current;    /* it was asked. Otherwise `text` is what it said last, if anything */
    int64_t as_of_us;   /* when; wall clock, 0 when text is NULL */
};

/* Looks, which neither wakes the session nor waits behind a run unless the question says so: then the
 * answer is what is known, within a moment. Of variables that is the list that was given last, or when it
 * fell asleep, as long as this process lives and the list is not large. Fails with ERR_BUSY when it is
 * awake and does not answer (kernel_ask). */
int seat_ask(struct seat *s, const struct who *who, const struct seat_question *question,
             struct seat_answer *ret, struct err *e);

/* Ends the run that goes on, if one does; it does not wait. */
void seat_interrupt(struct seat *s);

struct seat_changes { /* NULL, -1: stays */
    const char *name;
    int64_t idle_s;
};
int seat_change(struct seat *s, const struct seat_changes *changes, struct err *e);

/* Ends it for good: its run, its kernel, its file, its working copy, after what is in that was kept.
 * `why` is kept, and static. */
int seat_close(struct seat *s, const char *why, struct err *e);

/* ---- as JSON ---- */

void seat_object(struct seat *s, struct json_writer *w);

/* Any one that the caller may see, closed ones too. */
int seat_show(struct service *s, const struct who *who, const char *id_or_name,
              struct json_writer *w, struct err *e);

struct seat_filter {
    const char *status, *name, *workspace; /* NULL: any */
};

/* {"data": [...], "has_more", "next_cursor"}, newest first. `status` is "open" (which NULL means),
 * "any", or one that a session can have; what is not "closed" is known only here, so that a page can be
 * shorter than asked for although there are more. */
int seat_list(struct service *s, const struct who *who, const struct seat_filter *filter,
              const struct page *page, struct json_writer *w, struct err *e);

#endif
