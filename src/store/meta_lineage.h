/* meta_lineage.h -- what was made from what: the versions that a run read.
 *
 * They are written with the end of a run (run_row.inputs), in its transaction, and go when the run is
 * forgotten. What a run wrote is its commits' (meta_version_of_run); a version names its run as its author.
 * A version that some run has read is not taken by a rule (meta_thin, meta_purge_trash), only by
 * somebody who asks for just that.
 */
#ifndef STORE_META_LINEAGE_H
#define STORE_META_LINEAGE_H

#include "store/meta_files.h"

struct input_rows {
    struct input_row {
        struct version_row version;
        bool is_guessed;
    } * items; /* by path */
    size_t count;
    size_t purged; /* that were read, and are no more */
};
void input_rows_done(struct input_rows *l);

int meta_run_inputs(struct meta *m, const char *run, struct input_rows *ret, struct err *e);

/* Runs that read that version, newest first, without code and object; at most `limit`, with has_more. */
int meta_version_readers(struct meta *m, const char *file, uint64_t version, uint32_t limit,
                         struct run_rows *ret, struct err *e);

/* A rollback undid the runs of a session with these numbers: they are marked, and the next run begins with the
 * state before number `first`. Of runs with the same number the newest counts that is not undone. Goes with no
 * rider: the act is what becomes of the files. */
int meta_runs_undo(struct meta *m, const char *session, uint64_t first, uint64_t last,
                   int64_t now_us, struct err *e);

/* The number of the run whose state the next run of the session begins with; 0: none, or not known. */
int meta_session_number(struct meta *m, const char *session, uint64_t *ret, struct err *e);

/* The next run of the session begins with nothing. Goes with no rider. */
int meta_session_emptied(struct meta *m, const char *session, struct err *e);

/* The newest version of the file before `version` that is not of that run; ERR_NOT_FOUND. */
int meta_version_before_run(struct meta *m, const char *file, uint64_t version, const char *run,
                            struct version_row *ret, struct err *e);

/* Like meta_run_get, without its object, and with no more than so many bytes of its code: for who looks at
 * many. */
int meta_run_code(struct meta *m, const char *id, uint32_t code_max, struct run_row *ret,
                  struct err *e);

/* The runs of a session before the run `id`, which was handed in at `created_us`; at most `limit`, newest
 * first, without code and object. */
int meta_runs_before(struct meta *m, const char *session, int64_t created_us, const char *id,
                     uint32_t limit, struct run_rows *ret, struct err *e);

#endif
