#include "kernel/kernel.h"

#include <sys/prctl.h>

#include "base/err.h"
#include "base/scope.h"
#include "kernel/control.h"
#include "kernel/python.h"
#include "kernel/run.h"
#include "sandbox/filter.h"

/* Takes the last rights away. In the jail no_new_privs is on already; by hand it is needed here. */
static int seal(struct err *e)
{
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); /* if this failed, the next will */
    int why = filter_load_seal();
    return why ? err_sys(e, why, "seal the kernel") : 0;
}

static void greet(void)
{
    scoped(buf_done) struct buf out = BUF_INIT(FRAME_PAYLOAD_MAX);
    size_t mark = frame_begin(&out, FRAME_HELLO);
    field_put(&out, FIELD_VERSION, PY_VERSION, sizeof PY_VERSION - 1);
    frame_end(&out, mark);
    (void)control_tell(&out);
}

static _Noreturn void serve(const struct shell *shell)
{
    for (;;) {
        PyThreadState *thread = PyEval_SaveThread();
        struct frame request = control_next();
        PyEval_RestoreThread(thread);
        if (request.kind == FRAME_RUN)
            shell_run(shell, &request);
        else
            shell_ask(shell, &request);
    }
}

int kernel_serve(int control_fd, struct err *e)
{
    struct shell shell;
    PyObject *module;
    if (python_start(e) || python_import("_cicada_start", &module, e))
        return -1;
    Py_DECREF(module);
    python_claim_site();
    if (python_import("_cicada_shell", &module, e) || shell_init(&shell, module, e) ||
        control_init(control_fd, e) || seal(e))
        return -1;
    greet();
    serve(&shell);
}
