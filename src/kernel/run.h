/* run.h -- one piece of code, from RUN to DONE.
 *
 * shell.py prepares code objects and handles what comes out; the code itself is evaluated from
 * here. So no frame of ours is below it on Python's stack: not in tracebacks, not in
 * inspect.stack(), not in the recursion limit, not in a fault handler's dump. (Code with a
 * top-level await is the exception: it runs in an event loop, see loop.py.)
 *
 *     prepare   compile; set stdin, env, signal handler          signals wait
 *     execute   the statements, then the last expression
 *     flush     its value, figures that are still open           -> RESULT, DISPLAY
 *     fail      the first exception of any step above            -> ERROR
 *     finish    put stdin and env back, flush streams            signals wait
 *                                                                -> DONE
 */
#ifndef KERNEL_RUN_H
#define KERNEL_RUN_H

#include <Python.h>

struct err;
struct frame;

/* The functions of shell.py. */
struct shell {
    PyObject *globals; /* of __main__ */
    PyObject *prepare, *wait, *flush, *fail, *finish, *ask;
};

/* `module` is _cicada_shell. */
int shell_init(struct shell *s, PyObject *module, struct err *e);

/* Both hold the GIL and always answer, whatever the code does short of ending the process. */
void shell_run(const struct shell *s, const struct frame *request);
void shell_ask(const struct shell *s, const struct frame *request);

#endif
