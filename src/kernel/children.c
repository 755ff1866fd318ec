#include "kernel/children.h"

#include <Python.h>
#include <pthread.h>
#include <string.h>

#include "base/err.h"
#include "kernel/reads.h"

enum { ARGS_MAX = 4096 }; /* of one command line */

/* The text of a str or bytes, without a NUL in it; an own reference in *ret_held. NULL: it is none. */
static const char *text_of(PyObject *value, Py_ssize_t *ret_len, PyObject **ret_held)
{
    char *text = NULL;
    *ret_held = PyUnicode_Check(value) ? PyUnicode_EncodeFSDefault(value)
                : PyBytes_Check(value) ? Py_NewRef(value)
                                       : NULL;
    if (!*ret_held || PyBytes_AsStringAndSize(*ret_held, &text, ret_len) ||
        strlen(text) != (size_t)*ret_len) {
        PyErr_Clear();
        return NULL;
    }
    return text;
}

static void note_value(PyObject *value, const char *cwd)
{
    Py_ssize_t len;
    PyObject *held;
    const char *text = text_of(value, &len, &held);
    if (text)
        reads_words(text, (size_t)len, cwd);
    Py_XDECREF(held);
}

/* A command, as text or as a list. Only what is exactly a list or tuple is looked into: others run code of
 * the session when they are asked. */
static void note_command(PyObject *command, const char *cwd)
{
    if (!PyList_CheckExact(command) && !PyTuple_CheckExact(command)) {
        note_value(command, cwd);
        return;
    }
    Py_ssize_t count = PySequence_Fast_GET_SIZE(command);
    for (Py_ssize_t i = 0; i < count && i < ARGS_MAX; i++)
        note_value(PySequence_Fast_GET_ITEM(command, i), cwd);
}

static PyObject *item(PyObject *args, Py_ssize_t index)
{
    return PyTuple_Check(args) && index < PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, index)
                                                                 : Py_None;
}

static void on_popen(PyObject *args)
{
    Py_ssize_t len;
    PyObject *held;
    const char *cwd = text_of(item(args, 2), &len, &held);
    note_command(item(args, 0), cwd);
    note_command(item(args, 1), cwd);
    Py_XDECREF(held);
}

static void on_exec(PyObject *args)
{
    note_command(item(args, 0), /* cwd= */ NULL);
    note_command(item(args, 1), /* cwd= */ NULL);
}

static const struct {
    const char *event;
    void (*note)(PyObject *args);
} events[] = {
    {"subprocess.Popen", on_popen},
    {"os.system", on_exec},
    {"os.exec", on_exec},
    {"os.posix_spawn", on_exec},
    {"os.spawn", on_exec},
    {"pty.spawn", on_exec},
    {"os.fork", NULL},
    {"os.forkpty", NULL},
};

static int on_event(const char *event, PyObject *args, void *arg)
{
    (void)arg;
    if (event[0] != 'o' && event[0] != 's' && event[0] != 'p')
        return 0;
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (strcmp(event, events[i].event) != 0)
            continue;
        reads_partial();
        if (events[i].note)
            events[i].note(args);
        PyErr_Clear();
        break;
    }
    return 0;
}

int children_watch(struct err *e)
{
    if (PySys_AddAuditHook(on_event, NULL))
        return err_set(e, ERR_NO_MEMORY, "watch for children");
    int why = pthread_atfork(reads_partial, NULL, NULL);
    return why ? err_sys(e, why, "watch for forks") : 0;
}
