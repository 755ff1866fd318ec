#include "kernel/run.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/scope.h"
#include "kernel/control.h"
#include "kernel/growth.h"
#include "kernel/python.h"
#include "kernel/reads.h"
#include "kernel/signals.h"
#include "kernel/tell.h"

enum { BRIEF_MAX = 32 << 10 }; /* bytes of a message that is told without Python's help */

int shell_init(struct shell *s, PyObject *module, struct err *e)
{
    const struct {
        const char *name;
        PyObject **at;
    } functions[] = {
        {"prepare", &s->prepare}, {"wait", &s->wait},     {"flush", &s->flush},
        {"fail", &s->fail},       {"finish", &s->finish}, {"ask", &s->ask},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!(*functions[i].at = PyObject_GetAttrString(module, functions[i].name)))
            return python_error(e, functions[i].name);
    s->globals = PyModule_GetDict(PyImport_AddModule("__main__"));
    Py_INCREF(s->globals);
    return 0;
}

static PyObject *text_of(const struct field *f)
{
    return PyUnicode_DecodeUTF8((const char *)f->bytes, (Py_ssize_t)f->len, "surrogateescape");
}

/* The field as text, or None when it is missing. */
static PyObject *find_text(const struct frame *request, enum field_tag tag)
{
    struct field f;
    if (field_find(request, tag, &f))
        return text_of(&f);
    Py_RETURN_NONE;
}

static PyObject *find_bytes(const struct frame *request, enum field_tag tag)
{
    struct field f;
    if (field_find(request, tag, &f))
        return PyBytes_FromStringAndSize((const char *)f.bytes, (Py_ssize_t)f.len);
    Py_RETURN_NONE;
}

static PyObject *find_env(const struct frame *request)
{
    PyObject *list = PyList_New(0);
    for (struct field f = {0}; list && field_next(request, &f);) {
        if (f.tag != FIELD_ENV)
            continue;
        PyObject *text = text_of(&f);
        if (!text || PyList_Append(list, text))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* A tuple of steps, (code, what to call with its value or None); NULL with an exception. */
static PyObject *prepare(const struct shell *s, const struct frame *request)
{
    PyObject *code = find_text(request, FIELD_CODE);
    PyObject *name = find_text(request, FIELD_NAME);
    PyObject *input = find_bytes(request, FIELD_STDIN);
    PyObject *env = find_env(request);
    PyObject *steps = NULL;
    if (code && name && input && env)
        steps = PyObject_CallFunctionObjArgs(s->prepare, code, name, input, env, NULL);
    Py_XDECREF(code);
    Py_XDECREF(name);
    Py_XDECREF(input);
    Py_XDECREF(env);
    return steps;
}

static bool is_done(PyObject *result)
{
    Py_XDECREF(result);
    return result != NULL;
}

/* True for code with a top-level await. */
static bool is_coroutine(PyObject *code)
{
    return PyCode_Check(code) && (((PyCodeObject *)code)->co_flags & CO_COROUTINE);
}

/* One step: evaluates the code and hands its value on. */
static bool take_step(const struct shell *s, PyObject *code, PyObject *sink)
{
    PyObject *value = PyEval_EvalCode(code, s->globals, s->globals);
    if (!value)
        return false;
    bool is_fine = sink == Py_None || value == Py_None || is_done(PyObject_CallOneArg(sink, value));
    Py_DECREF(value);
    return is_fine;
}

static bool execute(const struct shell *s, PyObject *steps)
{
    PyObject *code, *sink;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(steps, i), "OO:step", &code, &sink))
            return false;
        if (is_coroutine(code))
            return is_done(PyObject_CallOneArg(s->wait, steps));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        code = PyTuple_GET_ITEM(PyTuple_GET_ITEM(steps, i), 0);
        sink = PyTuple_GET_ITEM(PyTuple_GET_ITEM(steps, i), 1);
        if (!take_step(s, code, sink))
            return false;
    }
    return true;
}

/* Takes the current exception, traceback and all. New reference. */
static PyObject *caught(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        (void)PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
}

/* The text of an exception of Python's own, made of nothing but texts and numbers; NULL for others: asking
 * those runs code of the session. New reference. */
static PyObject *own_message(PyObject *failure)
{
    PyObject *args = ((PyBaseExceptionObject *)failure)->args;
    if ((Py_TYPE(failure)->tp_flags & Py_TPFLAGS_HEAPTYPE) || !args || !PyTuple_CheckExact(args))
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *arg = PyTuple_GET_ITEM(args, i);
        if (!PyUnicode_CheckExact(arg) && !PyLong_CheckExact(arg) && arg != Py_None)
            return NULL;
    }
    PyObject *text = PyObject_Str(failure);
    PyErr_Clear();
    return text;
}

/* What can be said without Python's help, which is gone when there are no descriptors to import with, or
 * when the code took its modules apart. */
static void report_briefly(PyObject *failure)
{
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX + FRAME_HEAD);
    size_t mark = frame_begin(&out, FRAME_ERROR);
    const char *name = Py_TYPE(failure)->tp_name;
    PyObject *message = own_message(failure);
    Py_ssize_t len = 0;
    const char *text = message ? PyUnicode_AsUTF8AndSize(message, &len) : NULL;
    PyErr_Clear();
    field_put(&out, FIELD_NAME, name, strlen(name));
    if (text)
        field_put(&out, FIELD_MESSAGE, text, len < BRIEF_MAX ? (size_t)len : BRIEF_MAX);
    tell_frame(&out, FRAME_ERROR, mark);
    Py_XDECREF(message);
}

/* Describing an exception runs code of the session (__str__), which may fail or be interrupted.
 * Then it is described without; and if even that fails, briefly. */
static void report(const struct shell *s, PyObject *failure)
{
    if (is_done(PyObject_CallFunctionObjArgs(s->fail, failure, Py_False, NULL)))
        return;
    PyErr_Clear();
    sigset_t before = signals_hold();
    if (!is_done(PyObject_CallFunctionObjArgs(s->fail, failure, Py_True, NULL))) {
        PyErr_Clear();
        report_briefly(failure);
    }
    signals_let(before);
}

/* The code forked and the child came out at its end: that is where a script would end too. */
static _Noreturn void leave_child(const struct shell *s, bool is_ok)
{
    if (!is_ok)
        PyErr_Print(); /* does not come back from a SystemExit */
    (void)is_done(PyObject_CallNoArgs(s->finish));
    (void)fflush(NULL);
    _exit(is_ok ? 0 : 1);
}

void shell_run(const struct shell *s, const struct frame *request)
{
    signals_drop_stale();
    sigset_t before = signals_hold();
    PyObject *steps = prepare(s, request);
    reads_begin();
    signals_let(before);

    growth_limit();
    bool is_ok = steps && execute(s, steps);
    growth_free();
    Py_XDECREF(steps);
    if (!control_is_ours())
        leave_child(s, is_ok);
    PyObject *failure = is_ok ? NULL : caught();
    if (!is_done(PyObject_CallOneArg(s->flush, failure ? Py_True : Py_False))) {
        PyObject *later = caught();
        if (!failure)
            failure = later;
        else
            Py_DECREF(later);
    }
    if (failure)
        report(s, failure);
    Py_XDECREF(failure);

    before = signals_hold();
    if (!is_done(PyObject_CallNoArgs(s->finish)))
        PyErr_Clear();
    (void)fflush(NULL);
    tell_done();
    signals_let(before);
}

static uint32_t number_of(const struct frame *request, enum field_tag tag)
{
    struct field f;
    return field_find(request, tag, &f) ? field_u32(&f, 0) : 0;
}

/* Nothing of the session is to run in here: no finalizer of its garbage, no tracer or profiler. */
void shell_ask(const struct shell *s, const struct frame *request)
{
    PyObject *topic = find_text(request, FIELD_TOPIC);
    PyObject *code = find_text(request, FIELD_CODE);
    PyObject *reply = NULL;
    signals_drop_stale();
    int collects = PyGC_Disable();
    PyThreadState_EnterTracing(PyThreadState_Get());
    if (topic && code)
        reply = PyObject_CallFunction(s->ask, "OOkkk", topic, code,
                                      (unsigned long)number_of(request, FIELD_CURSOR),
                                      (unsigned long)number_of(request, FIELD_ROOM),
                                      (unsigned long)number_of(request, FIELD_LIMIT));
    PyThreadState_LeaveTracing(PyThreadState_Get());
    if (collects)
        (void)PyGC_Enable();
    const char *text = reply ? PyUnicode_AsUTF8(reply) : NULL;
    if (!text)
        PyErr_Clear();
    tell_text(FRAME_REPLY, FIELD_DATA, text ? text : "{\"error\": \"the question failed\"}");
    Py_XDECREF(topic);
    Py_XDECREF(code);
    Py_XDECREF(reply);
}
