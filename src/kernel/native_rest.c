#include <stdint.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/birth.h"
#include "kernel/control.h"
#include "kernel/native_int.h"
#include "kernel/stream.h"
#include "kernel/workers.h"

enum { MERSENNE_WORDS = 624 }; /* an index of that means: the state is used up, make the next */

PyObject *native_control(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    return PyLong_FromLong(control_fd());
}

PyObject *native_pipes(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    struct stream_pipe out = stream_pipe(STDOUT_FILENO), err = stream_pipe(STDERR_FILENO);
    return Py_BuildValue("(kk)(kk)", (unsigned long)out.device, (unsigned long)out.inode,
                         (unsigned long)err.device, (unsigned long)err.inode);
}

PyObject *native_mark(PyObject *module, PyObject *args)
{
    (void)module;
    unsigned long long bytes, index;
    Py_ssize_t len;
    if (!PyArg_ParseTuple(args, "KnK:mark", &bytes, &len, &index))
        return NULL;
    return PyBool_FromLong(birth_mark((void *)(uintptr_t)bytes, (size_t)len,
                                      (int32_t *)(uintptr_t)index, MERSENNE_WORDS));
}

PyObject *native_reseed(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    struct err e;
    if (birth_reseed(BIRTH_GENERATORS, &e))
        return PyErr_Format(PyExc_OSError, "%s", e.text);
    Py_RETURN_NONE;
}

PyObject *native_forget_sqlite(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    birth_forget_sqlite();
    Py_RETURN_NONE;
}

PyObject *native_stop_workers(PyObject *module, PyObject *none)
{
    (void)module;
    (void)none;
    PyThreadState *thread = PyEval_SaveThread();
    workers_stop();
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

PyObject *native_set_workers(PyObject *module, PyObject *count)
{
    (void)module;
    long number = PyLong_AsLong(count);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number > 0 && number <= 1024)
        workers_set((int)number);
    Py_RETURN_NONE;
}
