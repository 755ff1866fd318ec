/* native_int.h -- functions of the module _cicada for rest.py, birth.py and bake.py. */
#ifndef KERNEL_NATIVE_INT_H
#define KERNEL_NATIVE_INT_H

#include <Python.h>

PyObject *native_control(PyObject *module, PyObject *none);
PyObject *native_pipes(PyObject *module, PyObject *none);
PyObject *native_mark(PyObject *module, PyObject *args);
PyObject *native_reseed(PyObject *module, PyObject *none);
PyObject *native_forget_sqlite(PyObject *module, PyObject *none);
PyObject *native_stop_workers(PyObject *module, PyObject *none);
PyObject *native_set_workers(PyObject *module, PyObject *count);

#endif
