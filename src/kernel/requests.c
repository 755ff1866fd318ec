#include "kernel/requests.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/scope.h"
#include "kernel/control.h"
#include "kernel/python.h"
#include "kernel/signals.h"
#include "kernel/tell.h"
#include "wire/frame.h"

#define DATA_DIR "/mnt/data"

enum { NAME_LONGEST = 64 };

/* ---- ENTER */

/* True when the environment says so already: the rule, and then it costs nothing. */
static bool is_set(const struct field *f)
{
    const char *equals = memchr(f->bytes, '=', f->len);
    size_t name_len = equals ? (size_t)(equals - (const char *)f->bytes) : f->len;
    if (!equals || name_len > NAME_LONGEST)
        return false;
    char name[NAME_LONGEST + 1];
    memcpy(name, f->bytes, name_len);
    name[name_len] = '\0';
    const char *value = getenv(name);
    size_t value_len = f->len - name_len - 1;
    return value && strlen(value) == value_len && memcmp(value, equals + 1, value_len) == 0;
}

static PyObject *what_differs(const struct frame *frame)
{
    PyObject *list = PyList_New(0);
    for (struct field f = {0}; list && field_next(frame, &f);) {
        if (f.tag != FIELD_ENV || is_set(&f))
            continue;
        PyObject *text =
            PyUnicode_DecodeUTF8((const char *)f.bytes, (Py_ssize_t)f.len, "surrogateescape");
        if (!text || PyList_Append(list, text))
            Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* A parked kernel was started before there was a directory for it. False when the current directory
 * has another name than when the image was baked. */
static bool is_in_place(struct kernel *k)
{
    char cwd[sizeof DATA_DIR];
    if (!k->is_newborn)
        return true;
    if (chdir(DATA_DIR))
        return false; /* by hand there is none: it stays where it is */
    return getcwd(cwd, sizeof cwd) && strcmp(cwd, k->cwd) == 0;
}

void request_enter(struct kernel *k, const struct frame *frame)
{
    sigset_t before = signals_hold();
    bool in_place = is_in_place(k);
    PyObject *pairs = what_differs(frame);
    if (pairs && (!in_place || PyList_GET_SIZE(pairs) > 0))
        Py_XDECREF(python_call("_cicada_birth", "enter", Py_NewRef(pairs)));
    Py_XDECREF(pairs);
    PyErr_Clear(); /* nobody waits for an answer */
    signals_let(before);
}

/* ---- RESEED, SAVE, RESTORE */

void request_reseed(void)
{
    sigset_t before = signals_hold();
    Py_XDECREF(python_call("_cicada_birth", "reseed", NULL));
    PyErr_Clear();
    signals_let(before);
}

/* Python closes the descriptor and answers. If it could not, everything is lost. */
static void move_variables(const char *function, int fd)
{
    signals_drop_stale();
    PyObject *result = python_call("_cicada_save", function, PyLong_FromLong(fd));
    if (!result) {
        PyErr_Clear();
        (void)close(fd);
        tell_text(FRAME_SAVED, FIELD_LOST, "everything: the kernel failed");
    }
    Py_XDECREF(result);
}

void request_save(int fd)
{
    move_variables("save", fd);
}

void request_restore(int fd)
{
    move_variables("restore", fd);
}

/* ---- WARM */

static int run_cell(struct kernel *k, PyObject *code)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(code, &len);
    if (!text)
        return -1;
    scoped(buf_done) struct buf payload = BUF_INIT(FRAME_PAYLOAD_MAX);
    field_put(&payload, FIELD_CODE, text, (size_t)len);
    const struct frame frame = {
        .kind = FRAME_RUN, .payload = (const uint8_t *)payload.bytes, .len = payload.len};
    shell_run(&k->shell, &frame);
    return 0;
}

int request_run_cells(struct kernel *k, const char *kind)
{
    PyObject *cells = python_call("_cicada_warm", "cells", PyUnicode_FromString(kind));
    if (!cells)
        return -1;
    control_mute(true);
    int failed = 0;
    /* A generator: between two cells it looks how the first went, at the end it cleans up. */
    for (PyObject *code; !failed && (code = PyIter_Next(cells)) != NULL; Py_DECREF(code))
        failed = run_cell(k, code);
    control_mute(false);
    Py_DECREF(cells);
    return PyErr_Occurred() ? -1 : failed;
}

void request_warm(struct kernel *k)
{
    if (request_run_cells(k, "touch"))
        PyErr_Clear();
    tell(FRAME_DONE);
}
