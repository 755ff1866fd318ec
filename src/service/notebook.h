/* notebook.h -- a session as a document: its code and what came of it, in the order in which it ran.
 *
 *     ipynb   a Jupyter notebook (nbformat 4.5): cells with outputs, results, pictures, errors. Code in
 *             bash and JavaScript becomes cells with %%bash and %%script node
 *     py      a script: the code alone, with a line before each run that says when it ran. What only
 *             IPython understands (%magics, !commands) and what is not Python is there as comments
 *
 * Runs that never began, and those that a rollback undid, are left out. Of a session that was forked from another
 * the runs come first that made the state it began with.
 */
#ifndef SERVICE_NOTEBOOK_H
#define SERVICE_NOTEBOOK_H

struct buf;
struct err;
struct service;
struct who;

enum { NOTEBOOK_RUNS_MAX = 2000 }; /* the newest ones of a session */

enum notebook_format { NOTEBOOK_IPYNB, NOTEBOOK_SCRIPT };

/* A session that the caller may see, also a closed one, by its id or name. Fails with ERR_NOT_FOUND. */
int notebook_write(struct service *s, const struct who *who, const char *session,
                   enum notebook_format format, struct buf *out, struct err *e);

#endif
