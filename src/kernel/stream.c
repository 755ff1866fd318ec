#include "kernel/stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/control.h"

static struct stream_pipe pipes[2];

void stream_note(void)
{
    struct stat found;
    for (int i = 0; i < 2; i++)
        if (fstat(STDOUT_FILENO + i, &found) == 0)
            pipes[i] = (struct stream_pipe){.device = found.st_dev, .inode = found.st_ino};
}

struct stream_pipe stream_pipe(int fd)
{
    return pipes[fd == STDERR_FILENO];
}

/* True when bytes written to the other stream have not been read yet. On anything but a pipe the
 * answer may be wrong, which costs a needless SYNC. */
static bool other_is_unread(int fd)
{
    int other = fd == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO;
    int unread = 0;
    return ioctl(other, FIONREAD, &unread) == 0 && unread > 0;
}

/* One write(2) without the GIL. Returns what it returned, with errno. */
static ssize_t write_some(int fd, const char *at, size_t len)
{
    PyThreadState *thread = PyEval_SaveThread();
    ssize_t n = write(fd, at, len);
    int why = errno;
    if (n < 0 && why == EAGAIN) { /* somebody made it non-blocking, asyncio for one */
        struct pollfd room = {.fd = fd, .events = POLLOUT};
        (void)poll(&room, 1, -1);
        why = EINTR;
    }
    PyEval_RestoreThread(thread);
    errno = why;
    return n;
}

static int write_all(int fd, const char *at, size_t len)
{
    while (len > 0) {
        ssize_t n = write_some(fd, at, len);
        if (n < 0 && errno != EINTR) {
            PyErr_SetFromErrno(PyExc_OSError);
            return -1;
        }
        if (n < 0 && PyErr_CheckSignals())
            return -1;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static PyObject *stream_write(PyObject *self, PyObject *bytes)
{
    int fd = PyObject_AsFileDescriptor(self); /* ValueError when the stream was closed */
    if (fd < 0)
        return NULL;
    Py_buffer view;
    if (PyObject_GetBuffer(bytes, &view, PyBUF_CONTIG_RO))
        return NULL;
    bool is_mute = control_is_mute();
    if (!is_mute && other_is_unread(fd)) {
        PyThreadState *thread = PyEval_SaveThread();
        (void)control_sync(); /* a forked child does without */
        PyEval_RestoreThread(thread);
    }
    int failed = is_mute ? 0 : write_all(fd, view.buf, (size_t)view.len);
    Py_ssize_t len = view.len;
    PyBuffer_Release(&view);
    return failed ? NULL : PyLong_FromSsize_t(len);
}

PyObject *stream_type(void)
{
    static PyMethodDef methods[] = {
        {"write", stream_write, METH_O, "Write all of the bytes."},
        {0},
    };
    static PyType_Slot slots[] = {{Py_tp_methods, methods}, {0}};
    static PyType_Spec spec = {
        .name = "_cicada.Stream",
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = slots,
    };
    PyObject *io = PyImport_ImportModule("_io");
    PyObject *base = io ? PyObject_GetAttrString(io, "FileIO") : NULL;
    PyObject *type = base ? PyType_FromSpecWithBases(&spec, base) : NULL;
    Py_XDECREF(base);
    Py_XDECREF(io);
    return type;
}
