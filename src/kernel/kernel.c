#include "kernel/kernel.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "kernel/bake.h"
#include "kernel/children.h"
#include "kernel/control.h"
#include "kernel/growth.h"
#include "kernel/language.h"
#include "kernel/python.h"
#include "kernel/requests.h"
#include "kernel/rest.h"
#include "kernel/run.h"
#include "kernel/sleep.h"
#include "kernel/stream.h"
#include "kernel/workers.h"
#include "sandbox/filter.h"

enum { IDLE_MS = 100 };

/* Takes the last rights away. In the jail no_new_privs is on already; by hand it is needed here. */
static int seal(struct err *e)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* if this failed, the next will */
    int why = filter_load_seal();
    return why ? err_sys(e, why, "seal the kernel") : 0;
}

/* Gives memory back that a run has left behind. Some other thread could write to a page just when it
 * is given back, so there must be none; idle ones of libraries are stopped for that. */
static void tidy(void)
{
    PyInterpreterState *interpreter = PyInterpreterState_Get();
    bool has_threads = PyThreadState_Next(PyInterpreterState_ThreadHead(interpreter)) != NULL;
    if (!has_threads && workers_all_threads() > 1)
        workers_stop();
    (void)malloc_trim(0);
    if (workers_all_threads() == 1)
        (void)rest_trim();
}

static void handle(struct kernel *k, struct request *request)
{
    switch (request->frame.kind) {
    case FRAME_RUN:
        k->is_newborn = false;
        if (language_of(&request->frame) == LANGUAGE_PYTHON)
            shell_run(&k->shell, &request->frame);
        else
            language_run(&request->frame);
        break;
    case FRAME_ASK: shell_ask(&k->shell, &request->frame); break;
    case FRAME_ENTER: request_enter(k, &request->frame); break;
    case FRAME_RESEED: request_reseed(); break;
    case FRAME_WARM: request_warm(k); break;
    case FRAME_SAVE: request_save(request->fd); break;
    case FRAME_RESTORE: request_restore(request->fd); break;
    case FRAME_SLEEP: sleep_now(k, request); break;
    case FRAME_COPY: sleep_copy(request); break;
    default: break; /* control.c lets no other through */
    }
}

static _Noreturn void serve(struct kernel *k)
{
    bool is_tidy = true;
    for (;;) {
        PyThreadState *thread = PyEval_SaveThread();
        if (!is_tidy && !control_wait(IDLE_MS)) {
            PyEval_RestoreThread(thread);
            tidy();
            is_tidy = true;
            thread = PyEval_SaveThread();
        }
        struct request request = control_next();
        PyEval_RestoreThread(thread);
        handle(k, &request);
        is_tidy = is_tidy && request.frame.kind != FRAME_RUN;
    }
}

/* Python and our side of it, ready for the first request. */
static int start(struct kernel *k, struct err *e)
{
    PyObject *module;
    (void)prctl(PR_SET_NAME, "python3", 0, 0, 0);
    growth_start();
    if (python_start(e) || python_import("_cicada_start", &module, e))
        return -1;
    Py_DECREF(module);
    python_claim_site();
    if (python_import("_cicada_shell", &module, e) || shell_init(&k->shell, module, e))
        return -1;
    stream_note();
    return children_watch(e);
}

int kernel_serve(int control_fd, struct err *e)
{
    struct kernel k = {0};
    if (start(&k, e) || control_init(control_fd, e) || seal(e))
        return -1;
    sleep_greet(NULL);
    serve(&k);
}

int kernel_bake(int control_fd, int image_fd, struct err *e)
{
    struct kernel k = {0};
    if (start(&k, e) || control_init(control_fd, e))
        return -1;
    switch (bake(&k, image_fd, e)) {
    case BAKE_WRITTEN: return 0;
    case BAKE_BORN: serve(&k);
    default: return -1;
    }
}
