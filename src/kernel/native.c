#include "kernel/native.h"

#include "base/err.h"
#include "base/scope.h"
#include "kernel/control.h"
#include "kernel/look.h"
#include "kernel/native_int.h"
#include "kernel/stream.h"

struct native {
    PyObject *input;    /* the built-in function we stand in for */
    int is_input_given; /* by the engine, for this run */
};

static struct native *state_of(PyObject *module)
{
    return PyModule_GetState(module);
}

/* Appends one (tag, value) pair. -1 with an exception when it is not one. */
static int put_field(struct buf *out, PyObject *pair)
{
    int tag;
    PyObject *value;
    if (!PyTuple_Check(pair)) {
        PyErr_SetString(PyExc_TypeError, "a field is a (tag, value) pair");
        return -1;
    }
    if (!PyArg_ParseTuple(pair, "iO:field", &tag, &value))
        return -1;
    if (PyLong_Check(value)) {
        unsigned long number = PyLong_AsUnsignedLong(value);
        if (PyErr_Occurred())
            return -1;
        field_put_u32(out, (enum field_tag)tag, (uint32_t)number);
        return 0;
    }
    char *bytes;
    Py_ssize_t len;
    if (PyBytes_AsStringAndSize(value, &bytes, &len))
        return -1;
    if (len > FRAME_PAYLOAD_MAX)
        out->failed = true;
    else
        field_put(out, (enum field_tag)tag, bytes, (size_t)len);
    return 0;
}

static int put_fields(struct buf *out, PyObject *fields)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++)
        if (put_field(out, PyTuple_GET_ITEM(fields, i)))
            return -1;
    return 0;
}

static PyObject *native_send(PyObject *module, PyObject *args)
{
    (void)module;
    int kind, wait;
    PyObject *fields;
    if (!PyArg_ParseTuple(args, "iO!p:send", &kind, &PyTuple_Type, &fields, &wait))
        return NULL;
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX + FRAME_HEAD);
    size_t mark = frame_begin(&out, (enum frame_kind)kind);
    if (put_fields(&out, fields))
        return NULL;
    frame_end(&out, mark);
    struct err e;
    if (buf_check(&out, &e))
        return PyErr_Format(PyExc_ValueError, "frame %s", e.text);

    PyThreadState *thread = PyEval_SaveThread();
    /* After the result of a run comes, at the latest, the word that it is over. */
    bool sent = wait                   ? control_ask(&out)
                : kind == FRAME_RESULT ? control_tell_later(&out)
                                       : control_tell(&out);
    PyEval_RestoreThread(thread);
    return PyBool_FromLong(sent);
}

static PyObject *native_input(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    struct native *state = state_of(module);
    PyObject *line = PyObject_Vectorcall(state->input, args, (size_t)count, NULL);
    if (!line && PyErr_ExceptionMatches(PyExc_EOFError) && !state->is_input_given)
        PyErr_SetString(
            PyExc_EOFError,
            "input() has nothing to read: this run was given no input text. Pass it along "
            "with the code (--stdin on the command line, \"stdin\" in the API), or put "
            "the value into the code");
    return line;
}

static PyObject *native_give(PyObject *module, PyObject *flag)
{
    int is_given = PyObject_IsTrue(flag);
    if (is_given < 0)
        return NULL;
    state_of(module)->is_input_given = is_given;
    Py_RETURN_NONE;
}

/* Python's own search for a name that is spelled nearly the same. Not for the public; where
 * libpython does not let us have it, there are no suggestions. */
extern PyObject *_Py_Offer_Suggestions(PyObject *exception) __attribute__((weak));

static PyObject *native_suggest(PyObject *module, PyObject *exception)
{
    (void)module;
    PyObject *name = _Py_Offer_Suggestions ? _Py_Offer_Suggestions(exception) : NULL;
    if (name)
        return name;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static int add_numbers(PyObject *module)
{
    // clang-format off
#define NUMBER(name) {#name, name}
    static const struct {
        const char *name;
        long value;
    } numbers[] = {
        NUMBER(FRAME_DISPLAY), NUMBER(FRAME_CLEAR), NUMBER(FRAME_RESULT), NUMBER(FRAME_ERROR),
        NUMBER(FRAME_SAVED), NUMBER(FRAME_PROGRESS), NUMBER(FIELD_LOST),
        NUMBER(FIELD_NAME), NUMBER(FIELD_MIME), NUMBER(FIELD_FORM), NUMBER(FIELD_DATA),
        NUMBER(FIELD_MESSAGE), NUMBER(FIELD_LINE), NUMBER(FIELD_TRACEBACK), NUMBER(FIELD_ID),
        NUMBER(FIELD_UPDATE), NUMBER(FIELD_WAIT),
        NUMBER(FORM_TEXT), NUMBER(FORM_BINARY), NUMBER(FORM_JSON),
        NUMBER(TRACEBACK_MAX),
    };
#undef NUMBER
    // clang-format on
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (PyModule_AddIntConstant(module, numbers[i].name, numbers[i].value))
            return -1;
    return 0;
}

static int native_exec(PyObject *module)
{
    struct native *state = state_of(module);
    state->input = PyObject_GetAttrString(PyImport_AddModule("builtins"), "input");
    PyObject *stream = stream_type();
    if (!state->input || !stream || PyModule_AddObject(module, "Stream", stream)) {
        Py_XDECREF(stream);
        return -1;
    }
    return add_numbers(module);
}

PyObject *native_init(void)
{
    static PyMethodDef methods[] = {
        {"send", native_send, METH_VARARGS, "Send one frame to the engine."},
        {"input", (PyCFunction)(void (*)(void))native_input, METH_FASTCALL,
         "input($module, prompt='', /)\n--\n\n"
         "Read a line from the text given with this run; the newline is stripped.\n\n"
         "The prompt, if given, is printed to standard output first. EOFError is raised when\n"
         "there is nothing left to read."},
        {"suggest", native_suggest, METH_O, "What a misspelled name might have meant, or None."},
        {"give", native_give, METH_O, "Say whether this run came with text for input()."},
        {"look", native_look, METH_VARARGS, "Have a copy of the process call a function."},
        {"control", native_control, METH_NOARGS, "The number of the control socket."},
        {"pipes", native_pipes, METH_NOARGS, "(device, inode) of stdout and of stderr."},
        {"mark", native_mark, METH_VARARGS,
         "Mark a random state: address, length, index's address."},
        {"reseed", native_reseed, METH_NOARGS, "Fill the random states that are marked."},
        {"forget_sqlite", native_forget_sqlite, METH_NOARGS, "Start SQLite's random numbers anew."},
        {"stop_workers", native_stop_workers, METH_NOARGS, "End idle threads of libraries."},
        {"set_workers", native_set_workers, METH_O, "How many threads libraries may use."},
        {0},
    };
    static PyModuleDef_Slot slots[] = {{Py_mod_exec, native_exec}, {0}};
    static struct PyModuleDef def = {
        PyModuleDef_HEAD_INIT, .m_name = "_cicada", .m_size = sizeof(struct native),
        .m_methods = methods,  .m_slots = slots,
    };
    return PyModuleDef_Init(&def);
}
