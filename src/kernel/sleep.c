#include "kernel/sleep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/birth.h"
#include "kernel/control.h"
#include "kernel/plain.h"
#include "kernel/python.h"
#include "kernel/reads.h"
#include "kernel/requests.h"
#include "kernel/rest.h"
#include "kernel/signals.h"
#include "kernel/stream.h"
#include "kernel/tell.h"

static _Noreturn void give_up(const struct err *e)
{
    fprintf(stderr, "cicada-kernel: %s\n", e->text);
    _exit(1);
}

void sleep_begin(void)
{
    struct err e;
    int fd = rest_control();
    if (fd < 3) {
        (void)err_set(&e, ERR_INTERNAL, "no control socket");
        give_up(&e);
    }
    /* What the loader read from, and numbers that meant something in another life. */
    if (fd > 3)
        (void)close_range(3, (unsigned)fd - 1, 0);
    (void)close_range((unsigned)fd + 1, ~0U, 0);
    if (control_init(fd, &e))
        give_up(&e);
    stream_note();
    reads_forget_place();
}

void sleep_greet(PyObject *lost)
{
    tell_all(FRAME_HELLO, PY_VERSION, FIELD_LOST, lost);
}

static void refuse(const char *why)
{
    tell_text(FRAME_REFUSED, FIELD_MESSAGE, why);
}

/* Lets rest.py prepare for `how`, "sleep" or "copy". False when it was refused, and said so. */
static bool settle(const char *how, int fd)
{
    PyObject *reasons = python_call("_cicada_rest", "settle", Py_BuildValue("(si)", how, fd));
    bool may = reasons && PyList_Check(reasons) && PyList_GET_SIZE(reasons) == 0;
    if (!reasons)
        refuse("the kernel could not find out whether it may rest");
    else if (!may)
        tell_all(FRAME_REFUSED, NULL, FIELD_MESSAGE, reasons);
    PyErr_Clear();
    Py_XDECREF(reasons);
    return may;
}

/* Afterwards, in whoever goes on. Gives the list of what is lost, NULL if nothing can be said. */
static PyObject *resume(const char *how)
{
    PyObject *lost = python_call("_cicada_rest", how, NULL);
    PyErr_Clear();
    return lost;
}

static void greet_and_release(PyObject *lost)
{
    sleep_greet(lost);
    Py_XDECREF(lost);
}

/* Mapped files are put back by the loader, before Python runs. */
static void add_lost_mappings(PyObject *lost)
{
    int count = rest_lost_files();
    if (!lost || !PyList_Check(lost) || count <= 0)
        return;
    PyObject *text =
        PyUnicode_FromFormat("%d mapped files: they were gone, zeros are in their place", count);
    if (!text || PyList_Append(lost, text))
        PyErr_Clear();
    Py_XDECREF(text);
}

static bool stays(const struct frame *frame)
{
    struct field f;
    return field_find(frame, FIELD_STAYS, &f) && field_u32(&f, 0) == 1;
}

static void write_down(struct kernel *k, struct request *request)
{
    bool is_staying = stays(&request->frame);
    struct outside outside;
    const char *why = "the kernel could not be written down";
    outside_note(&outside);
    int came = rest_sleep(request->fd, &why);
    if (came == 1) {
        sleep_begin();
        outside_restore(&outside);
        k->is_newborn = false;
        PyObject *lost = resume("wake");
        add_lost_mappings(lost);
        greet_and_release(lost);
        return;
    }
    if (came == 0 && !is_staying) {
        (void)close(request->fd);
        tell(FRAME_SLEPT);
        _exit(0); /* nothing of it ends: it lives on in what was written */
    }
    (void)close(request->fd);
    Py_XDECREF(resume("go_on"));
    if (came == 0)
        tell(FRAME_SLEPT);
    else
        refuse(why);
}

void sleep_now(struct kernel *k, struct request *request)
{
    signals_drop_stale();
    sigset_t before = signals_hold();
    if (request->fd < 0)
        refuse("there is no pipe to write to");
    else if (!rest_is_image())
        refuse(
            "this session was not started from an image, and only what differs from one can be kept");
    else if (settle("sleep", request->fd)) {
        write_down(k, request);
        request->fd = -1;
    }
    if (request->fd >= 0)
        (void)close(request->fd);
    signals_let(before);
}

/* HELLO on the copy's own socket: what matters of it is which process it came from. */
static void greet_aside(int fd)
{
    static const uint8_t hello[FRAME_HEAD] = {[4] = FRAME_HELLO};
    if (send(fd, hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        _exit(1);
}

/* What was meant for the kernel before us, and half of what it may have left unread. */
static void drain(int fd)
{
    char bytes[4096];
    while (recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
    }
}

/* In the copy. It has the control socket too, but leaves it alone until a byte on its own says that
 * the other is gone; a copy nobody wants any more sees that socket close. (It could not put a socket in
 * the place of the other: the limit of descriptors is below that number.) */
static void live_as_copy(int fd)
{
    struct err e;
    char go;
    greet_aside(fd);
    if (recv(fd, &go, 1, 0) != 1)
        _exit(0);
    (void)close(fd);
    drain(control_fd());
    if (control_init(control_fd(), &e))
        _exit(1);
    greet_and_release(resume("part"));
}

/* True in the copy, which has nothing left to do here. A plain process was not told to settle, so it
 * need not be told to go on. */
static bool split(int fd, bool is_plain)
{
    int came = rest_copy();
    int why = errno;
    if (came == 1) {
        live_as_copy(fd);
        return true;
    }
    if (came == 0)
        tell(FRAME_SLEPT);
    else
        refuse(strerror(why));
    if (!is_plain)
        Py_XDECREF(resume("go_on"));
    return false;
}

void sleep_copy(struct request *request)
{
    signals_drop_stale();
    sigset_t before = signals_hold();
    bool is_copy = false, is_plain = false;
    if (request->fd < 0)
        refuse("there is no socket for the copy");
    else if (!rest_is_image())
        refuse("this session was not started from an image and cannot be copied");
    else if ((is_plain = plain_is(request->fd)) || settle("copy", request->fd))
        is_copy = split(request->fd, is_plain);
    if (request->fd >= 0 && !is_copy)
        (void)close(request->fd);
    signals_let(before);
}
