/* python.h -- the interpreter, set up once.
 *
 * It should be hard to tell from `python3`: same paths, same modules, sys.executable is
 * /usr/bin/python3. Different on purpose: no user site, no .pyc written, hashes of strings the same
 * in every kernel, and nothing taken from PYTHON* variables.
 */
#ifndef KERNEL_PYTHON_H
#define KERNEL_PYTHON_H

#include <Python.h>

struct err;

/* Initialises Python with our modules in it. The caller holds the GIL afterwards. */
int python_start(struct err *e);

/* Makes sys.flags say that `site` was imported, once start.py has done its work. */
void python_claim_site(void);

/* Imports a module of ours, by the name in the table. New reference. */
int python_import(const char *name, PyObject **ret, struct err *e);

/* Calls a function of a module of ours with `argument`, which it takes over, or with none if that is
 * NULL. New reference, or NULL with an exception. */
PyObject *python_call(const char *module, const char *function, PyObject *argument);

/* Turns the current exception into an err and clears it. Returns -1. */
int python_error(struct err *e, const char *what);

#endif
