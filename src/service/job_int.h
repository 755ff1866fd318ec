/* job_int.h -- the inside of a job: job.c (its way from the line to its end), job_notes.c (watchers),
 * job_record.c (what is written down). */
#ifndef SERVICE_JOB_INT_H
#define SERVICE_JOB_INT_H

#include "service/object.h"
#include "service/service_int.h"

/* ---- job_notes.c ---- */

void job_tell(struct job *j); /* there is more to read; with j->lock held */
void job_note(struct job *j, enum note_kind kind, const struct buf *json);
int job_on_event(void *arg, const struct run_event *event);    /* a run_sink; arg: the job */
void job_note_end(struct job *j, const struct capture *files); /* what is left, then the files */

/* ---- job_record.c ---- */

struct run_card job_card(const struct job *j); /* borrows from the job */
/* What took its session away; static; NULL: nothing did. */
const char *job_taken_away(struct job *j);
/* Over: the record, the object, the last note. With the seat's turn, so that no other run is counted yet. */
void job_conclude(struct job *j, struct run *run);
/* The same for code that was not run: called off, or it could not be. */
void job_conclude_unrun(struct job *j, enum run_end end, const char *hint);

#endif
