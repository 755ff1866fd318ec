#include "kernel/bake.h"

#include <dirent.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/birth.h"
#include "kernel/control.h"
#include "kernel/python.h"
#include "kernel/requests.h"
#include "kernel/rest.h"
#include "kernel/sleep.h"
#include "kernel/stream.h"
#include "kernel/workers.h"

/* Threads end a moment after their last word. */
static int check_threads(struct err *e)
{
    enum { TRIES = 200, PAUSE_US = 10000 };
    for (int i = 0; i < TRIES && workers_all_threads() > 1; i++)
        (void)usleep(PAUSE_US);
    int count = workers_all_threads();
    if (count != 1)
        return err_set(e, ERR_INTERNAL, "some library has started threads: there are %d", count);
    return 0;
}

/* The list of files the image is made of, or NULL with an exception. */
static PyObject *prepare(struct kernel *k, int image_fd)
{
    PyObject *done = python_call("_cicada_preload", "load", NULL);
    if (!done || request_run_cells(k, "bake")) {
        Py_XDECREF(done);
        return NULL;
    }
    Py_DECREF(done);
    workers_stop();
    PyObject *deps = python_call("_cicada_bake", "finish", PyLong_FromLong(image_fd));
    /* Once more, now that the garbage is gone: what every cell uses should be at hand. */
    if (!deps || request_run_cells(k, "touch"))
        return NULL;
    done = python_call("_cicada_bake", "freeze", PyLong_FromLong(image_fd));
    if (!done || !PyBytes_Check(deps))
        return NULL;
    Py_DECREF(done);
    return deps;
}

/* A chunk that was freed is put where it belongs only when somebody looks for one; a session that did
 * would write to hundreds of pages for it. */
static void sort_heap(void)
{
    enum { LARGE = 100 << 10 };
    (void)malloc_trim(0);
    void *volatile chunk = malloc(LARGE); /* else the compiler sees that nobody wants it */
    free(chunk);
}

enum baked bake(struct kernel *k, int image_fd, struct err *e)
{
    PyObject *deps = prepare(k, image_fd);
    if (!deps)
        return python_error(e, "prepare the image");
    if (check_threads(e))
        return BAKE_FAILED;
    if (!getcwd(k->cwd, sizeof k->cwd))
        return err_sys(e, errno, "find out where we are");
    k->is_newborn = true;
    struct outside outside;
    outside_note(&outside);
    sort_heap();

    int from_image =
        rest_bake(image_fd, PyBytes_AS_STRING(deps), (size_t)PyBytes_GET_SIZE(deps), e);
    if (from_image < 0)
        return BAKE_FAILED;
    if (!from_image)
        return BAKE_WRITTEN;

    sleep_begin();
    outside_restore(&outside);
    if (birth_reseed(BIRTH_ALL, e))
        return BAKE_FAILED;
    sleep_greet(NULL);
    return BAKE_BORN;
}
